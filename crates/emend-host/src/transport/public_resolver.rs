//! Resolves names to public internet addresses only.
//!
//! The check applies to the same addresses that are then connected to, so a name cannot resolve to one address for the check
//! and to another for the connection. Numeric hosts are not resolved; the transport checks them itself.

use std::net::SocketAddr;
use std::sync::Arc;

use emend_agent::web::is_public;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Environment variables with the address of a proxy, in lower or upper case.
const PROXY_VARIABLES: [&str; 3] = ["http_proxy", "https_proxy", "all_proxy"];

/// A resolver that rejects names without a public address.
pub(super) struct PublicResolver {
    /// Host names of proxies, which may have any address.
    proxies: Vec<String>,
}

impl PublicResolver {
    /// Returns a resolver that exempts the proxies in the environment variables.
    pub(super) fn new() -> Arc<Self> {
        let names = PROXY_VARIABLES.iter().flat_map(|name| [(*name).to_owned(), name.to_ascii_uppercase()]);
        let proxies = names.filter_map(|name| host_of(&std::env::var(name).ok()?)).collect();
        Arc::new(Self { proxies })
    }
}

/// Returns the host of a proxy's address, which may lack a scheme.
fn host_of(proxy: &str) -> Option<String> {
    let url = if proxy.contains("://") { Url::parse(proxy) } else { Url::parse(&format!("http://{proxy}")) };
    url.ok()?.host_str().map(str::to_owned)
}

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let is_proxy = self.proxies.iter().any(|proxy| proxy.eq_ignore_ascii_case(name.as_str()));
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let n_found = found.len();
            let public: Vec<SocketAddr> =
                found.into_iter().filter(|address| is_proxy || is_public(address.ip())).collect();
            if public.is_empty() && n_found > 0 {
                return Err(format!("{} is not a public internet address", name.as_str()).into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}
