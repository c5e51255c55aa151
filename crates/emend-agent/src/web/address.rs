//! Web addresses: strict parsing, redirects, and the difference between public and private hosts.
//!
//! The parser accepts only addresses that all parsers read alike. An address such as `http://2130706433/` is rejected,
//! because it usually tries to circumvent a check like this.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::error_code::Code;

/// An address of a web page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    is_secure: bool,
    /// Lower case, without a trailing dot; an IPv6 address in brackets.
    host: String,
    port: Option<u16>,
    /// Starts with `/`; may contain a query.
    path: String,
}

/// Why an address is not fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The scheme is neither http nor https.
    #[error("{url} is not fetched: only http and https addresses are")]
    Scheme {
        /// The address as the caller gave it.
        url: String,
    },
    /// The address is malformed or ambiguous.
    #[error("{url} is not a web address: {reason}")]
    Malformed {
        /// The address as the caller gave it.
        url: String,
        /// The reason.
        reason: &'static str,
    },
    /// The host belongs to a private network.
    #[error("{host} is not fetched: it is not on the public internet")]
    Private {
        /// Host name or IP address.
        host: String,
    },
}

impl AddressError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Scheme { .. } | Self::Malformed { .. } => Code::InvalidArgument,
            Self::Private { .. } => Code::PermissionDenied,
        }
    }
}

impl Address {
    /// Parses an absolute address. A fragment is dropped, because it is never sent.
    ///
    /// # Errors
    ///
    /// See [`AddressError`].
    pub fn parse(url: &str) -> Result<Self, AddressError> {
        let malformed = |reason| Err(AddressError::Malformed { url: url.to_owned(), reason });
        let (scheme, rest) = match url.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            _ => return Err(AddressError::Scheme { url: url.to_owned() }),
        };
        // Some parsers remove line breaks and read a backslash as a slash.
        if rest.contains(|char: char| char.is_ascii_control() || char == '\\' || char == ' ') {
            return malformed("it has a space, a backslash or a control character");
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        if authority.contains('@') {
            return malformed("it holds a user name");
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (authority, None),
        };
        let port = match port.map(str::parse::<u16>) {
            None => None,
            Some(Ok(port)) if port > 0 => Some(port),
            Some(_) => return malformed("its port is no number from 1 to 65535"),
        };
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        if let Some(reason) = wrong_with_host(&host) {
            return malformed(reason);
        }
        Ok(Self { is_secure: scheme, host, port, path })
    }

    /// Resolves the `Location` header of a redirect response of this address.
    ///
    /// # Errors
    ///
    /// See [`AddressError`].
    pub fn follow(&self, location: &str) -> Result<Self, AddressError> {
        let location = location.trim();
        let is_scheme = |start: &str| {
            start.starts_with(|char: char| char.is_ascii_alphabetic())
                && start.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '+' | '-' | '.'))
        };
        if location.split_once(':').is_some_and(|(start, _)| is_scheme(start)) {
            return Self::parse(location);
        }
        let scheme = if self.is_secure { "https" } else { "http" };
        if location.starts_with("//") {
            return Self::parse(&format!("{scheme}:{location}"));
        }
        let own_path = self.path.split('?').next().unwrap_or_default();
        let target = match location.chars().next() {
            Some('/') => location.to_owned(),
            None => self.path.clone(),
            Some('?') => format!("{own_path}{location}"),
            Some('#') => self.path.clone(),
            Some(_) => {
                let (path, query) = location.split_at(location.find(['?', '#']).unwrap_or(location.len()));
                let above = own_path.rsplit_once('/').map_or("", |(above, _)| above);
                format!("{}{query}", without_dots(&format!("{above}/{path}")))
            }
        };
        let origin = Self { path: String::new(), ..self.clone() };
        Self::parse(&format!("{origin}{target}"))
    }

    /// Rejects the address of a private network: a reserved name, or an IP address that is not public. The addresses of
    /// other names are known only to a resolver.
    ///
    /// # Errors
    ///
    /// [`AddressError::Private`].
    pub fn check_public(&self) -> Result<(), AddressError> {
        let host = self.host.trim_matches(['[', ']']);
        let is_private = match host.parse::<IpAddr>() {
            Ok(address) => !is_public(address),
            Err(_) => {
                let within =
                    |name: &str| host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
                ["localhost", "local", "internal", "home.arpa"].into_iter().any(within) || !host.contains('.')
            }
        };
        if is_private { Err(AddressError::Private { host: self.host.clone() }) } else { Ok(()) }
    }

    /// Returns the host as in the address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns whether the connection is encrypted.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.is_secure { "https://" } else { "http://" })?;
        formatter.write_str(&self.host)?;
        if let Some(port) = self.port {
            write!(formatter, ":{port}")?;
        }
        formatter.write_str(&self.path)
    }
}

/// Returns the reason why a host is rejected.
fn wrong_with_host(host: &str) -> Option<&'static str> {
    if let Some(inner) = host.strip_prefix('[') {
        let address = inner.strip_suffix(']').and_then(|inner| inner.parse::<Ipv6Addr>().ok());
        return address.is_none().then_some("its host is no IPv6 address");
    }
    if host.is_empty() || host.split('.').any(str::is_empty) {
        return Some("it has no host, or one with an empty part");
    }
    if !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')) {
        return Some("its host has characters that need encoding; write names of other scripts as xn--…");
    }
    // A host whose last part is numeric is an IP address, which has a dozen spellings.
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    (is_number && host.parse::<Ipv4Addr>().is_err()).then_some("write a numeric host as four decimal numbers")
}

fn without_dots(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    let mut ends_in_directory = false;
    for segment in path.split('/').skip(1) {
        ends_in_directory = matches!(segment, "" | "." | "..");
        match segment {
            ".." => {
                segments.pop();
            }
            "." | "" => {}
            segment => segments.push(segment),
        }
    }
    let slash = if ends_in_directory && !segments.is_empty() { "/" } else { "" };
    format!("/{}{slash}", segments.join("/"))
}

/// Returns whether the IP address is globally reachable.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // IPv4 addresses in IPv6 form: mapped, translated, tunnelled.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            v4(high, low)
        }
        [0x2001, 0xdb8 | 0, ..] => false,
        // Only global unicast addresses are assigned.
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(url: &str, expected: &str) {
        let found = Address::parse(url).and_then(|address| address.check_public().map(|()| address.to_string()));
        let found = found.unwrap_or_else(|error| match error {
            AddressError::Scheme { .. } => "scheme".to_owned(),
            AddressError::Malformed { .. } => "malformed".to_owned(),
            AddressError::Private { .. } => "private".to_owned(),
        });
        assert_eq!(found, expected, "{url:?}");
    }

    #[test]
    fn addresses_are_read_strictly() {
        check("https://example.com", "https://example.com/");
        check("HTTP://Example.COM./a?b=c#d", "http://example.com/a?b=c");
        check("https://example.com:8443?x", "https://example.com:8443/?x");
        check("https://a.example/with/://inside", "https://a.example/with/://inside");
        for url in ["ftp://a.example", "file:///etc/passwd", "javascript:alert(1)", "a.example", "", "data:text/html,x"]
        {
            check(url, "scheme");
        }
        for url in [
            "https://",
            "https:///x",
            "https://user:key@a.example/",
            "https://a.example\\@127.0.0.1/",
            "https://a.ex ample/",
            "https://a.example/\r\nhost: b",
            "https://a..example/",
            "https://a.example:0/",
            "https://a.example:99999/",
            "https://%31%32%37.0.0.1/",
            "https://１２７.0.0.1/",
            "https://[::1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://127.1/",
            "https://0177.0.0.1/",
        ] {
            check(url, "malformed");
        }
    }

    #[test]
    fn what_is_not_on_the_public_internet_is_refused() {
        for host in [
            "localhost",
            "a.localhost",
            "LOCALHOST.",
            "printer",
            "nas.local",
            "metadata.google.internal",
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "[::1]",
            "[::]",
            "[fe80::1]",
            "[fd00::1]",
            "[::ffff:10.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "[2001:db8::1]",
        ] {
            check(&format!("http://{host}/"), "private");
        }
        for host in
            ["1.1.1.1", "172.32.0.1", "100.128.0.1", "[2606:4700::1111]", "[::ffff:1.1.1.1]", "notlocal.example"]
        {
            check(&format!("http://{host}/"), &format!("http://{host}/"));
        }
    }

    #[test]
    fn redirects_lead_on_from_where_they_were() {
        let from = Address::parse("https://a.example:8443/one/two?x=1").unwrap();
        let to = |location: &str| {
            from.follow(location).map_or_else(|error| error.code().as_str().to_owned(), |address| address.to_string())
        };
        assert_eq!(to("https://b.example/c"), "https://b.example/c");
        assert_eq!(to("//b.example/c"), "https://b.example/c");
        assert_eq!(to("/c?d#e"), "https://a.example:8443/c?d");
        assert_eq!(to("three?u=https://c.example"), "https://a.example:8443/one/three?u=https://c.example");
        assert_eq!(to("../three/"), "https://a.example:8443/three/");
        assert_eq!(to("?y=2"), "https://a.example:8443/one/two?y=2");
        assert_eq!(to(""), "https://a.example:8443/one/two?x=1");
        assert_eq!(to("ftp://b.example/"), "invalid_argument");
        assert_eq!(to("//b.example\\c"), "invalid_argument");
    }
}
