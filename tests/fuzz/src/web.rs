//! Targets for data from the web: addresses and pages.

use std::net::IpAddr;

use emend_agent::web::{Address, is_public, to_text};

use crate::{Target, texts};

pub(crate) const ADDRESSES: Target = Target {
    name: "addresses",
    run: run_addresses,
    samples: &[
        "https://a.example:8443/one/two?x=1#y\u{1e}../three?u=https://b.example",
        "http://[2606:4700::1111]/\u{1e}//c.example/",
        "http://1.1.1.1/\u{1e}?y",
    ],
    words: &[
        "//",
        "..",
        "@",
        "\\",
        "%31",
        "0x7f",
        "127.0.0.1",
        "[::ffff:10.0.0.1]",
        "localhost",
        ".",
        ":",
        "\r\n",
        "#",
        "?",
    ],
};

fn run_addresses(data: &[u8]) {
    let [url, location] = texts(data);
    let Ok(address) = Address::parse(&url) else { return };
    check(&address);
    if let Ok(next) = address.follow(&location) {
        check(&next);
    }
}

/// Checks that a formatted address parses to itself, and that it is public exactly if its IP address is.
fn check(address: &Address) {
    let text = address.to_string();
    assert_eq!(Address::parse(&text).as_ref(), Ok(address), "{text:?}");
    assert!(!text.contains(|char: char| char.is_ascii_control() || char == '\\' || char == ' '), "{text:?}");
    if let Ok(numeric) = address.host().trim_matches(['[', ']']).parse::<IpAddr>() {
        assert_eq!(address.check_public().is_ok(), is_public(numeric), "{text:?}");
    }
}

pub(crate) const PAGES: Target = Target {
    name: "pages",
    run: run_pages,
    samples: &[
        "<!doctype html><title>T</title><h1>One</h1><p>a <b>b</b> &amp; <a href=\"/c\">c</a><ul><li>x</ul><pre>y\n</pre>",
        "<table><tr><td>1<td>2</table><script>if (a < b) {}</script><!-- no --><![CDATA[z]]><img alt='é'>",
    ],
    words: &[
        "<", ">", "</", "<a href=", "<pre>", "</pre>", "<script", "</script", "<!--", "-->", "&#", "&", ";", "\"", "'",
    ],
};

fn run_pages(data: &[u8]) {
    let page = String::from_utf8_lossy(data);
    let text = to_text(&page);
    assert!(text.len() <= 4 * page.len() + 16, "{} bytes became {}", page.len(), text.len());
    assert!(!text.ends_with(char::is_whitespace), "{text:?}");
}
