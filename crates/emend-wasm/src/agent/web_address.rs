//! Tells JavaScript which IP addresses are on the public internet, by the rule of `emend-agent`.

use std::net::IpAddr;

use emend_agent::web::is_public;
use wasm_bindgen::prelude::wasm_bindgen;

/// Returns whether `address` is on the public internet. False if it is not an IP address.
#[wasm_bindgen(js_name = isPublicAddress)]
pub fn is_public_address(address: &str) -> bool {
    address.parse::<IpAddr>().is_ok_and(is_public)
}
