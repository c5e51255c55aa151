//! The files of the web app.

use crate::ServerLimits;
use crate::tests::bench::Bench;

fn site() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret"), "no").unwrap();
    let dist = folder.path().join("dist");
    std::fs::create_dir_all(dist.join("assets")).unwrap();
    std::fs::write(dist.join("index.html"), "<p>hello").unwrap();
    std::fs::write(dist.join(".env"), "no").unwrap();
    std::fs::write(dist.join("assets/core-B1x_9aQz.wasm"), b"\0asm").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path().join("secret"), dist.join("link")).unwrap();
    folder
}

#[tokio::test]
async fn files_have_their_headers() {
    let site = site();
    let bench = Bench::with(ServerLimits::default(), Some(site.path().join("dist")), "127.0.0.1:8080");
    let page = bench.raw("GET", "/", &[], "").await;
    assert_eq!((page.status, page.text.as_str()), (200, "<p>hello"));
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(page.header("cache-control"), "no-cache");
    assert!(page.header("content-security-policy").contains("frame-ancestors 'none'"));
    let module = bench.raw("GET", "/assets/core-B1x_9aQz.wasm", &[], "").await;
    assert_eq!(module.header("content-type"), "application/wasm");
    assert_eq!(module.header("cache-control"), "public, max-age=31536000, immutable");
    let head = bench.raw("HEAD", "/index.html", &[], "").await;
    assert_eq!((head.status, head.header("content-length"), head.text.as_str()), (200, "8", ""));
}

#[tokio::test]
async fn no_path_leads_out_of_the_folder() {
    let site = site();
    let bench = Bench::with(ServerLimits::default(), Some(site.path().join("dist")), "127.0.0.1:8080");
    let paths = [
        "/../secret",
        "/assets/../../secret",
        "/..%2fsecret",
        "/%2e%2e/secret",
        "/%2e%2e%2fsecret",
        "/..%5csecret",
        "/..\\secret",
        "/link",
        "/.env",
        "/%2eenv",
        "/assets",
        "/assets/",
        "/index.html%00.txt",
        "/index.html/",
        "/missing",
        "//etc/passwd",
        "/C:/secret",
        "/%252e%252e/secret",
        "/assets//core-B1x_9aQz.wasm",
        "/%c0%ae%c0%ae/secret",
    ];
    for path in paths {
        let Ok(_) = path.parse::<axum::http::Uri>() else { continue };
        let reply = bench.raw("GET", path, &[], "").await;
        assert_eq!(reply.status, 404, "{path}: {reply:?}");
    }
    assert_eq!(bench.raw("POST", "/index.html", &[], "").await.status, 405);
    assert_eq!(bench.raw("GET", "/index.html", &[], "").await.status, 200);
}
