//! Resolves names to addresses on the public internet, and to no others.
//!
//! The check is on the very addresses that are connected to, so that a name cannot stand for one address when it is
//! checked and for another when it is used. Numeric hosts are not resolved; the transport checks those itself.

use std::net::SocketAddr;
use std::sync::Arc;

use emend_agent::web::is_public;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Variables that name a proxy, in either case.
const PROXY_VARIABLES: [&str; 3] = ["http_proxy", "https_proxy", "all_proxy"];

/// The resolver.
pub(super) struct PublicResolver {
    /// Hosts that may be anywhere.
    proxies: Vec<String>,
}

impl PublicResolver {
    /// Returns a resolver that lets the proxies of the environment be reached wherever they are.
    pub(super) fn new() -> Arc<Self> {
        let names = PROXY_VARIABLES.iter().flat_map(|name| [(*name).to_owned(), name.to_ascii_uppercase()]);
        let proxies = names.filter_map(|name| host_of(&std::env::var(name).ok()?)).collect();
        Arc::new(Self { proxies })
    }
}

/// Returns the host of a proxy, which may be written without a scheme.
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
                return Err(format!("{} is not on the public internet", name.as_str()).into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}
