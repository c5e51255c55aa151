//! A web server for a folder of built files, on 127.0.0.1 only.
//!
//! It supports GET and HEAD and the media types of a built page.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

/// The longest request line that is read; a page asks for short paths.
const REQUEST_BYTES_MAX: u64 = 16 * 1024;

/// Serves `folder` on a free port of 127.0.0.1 until the process ends, and returns the URL.
pub(crate) fn start(folder: &Path) -> Result<String> {
    let folder = folder.canonicalize().with_context(|| folder.display().to_string())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")?;
    let url = format!("http://{}/", listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let folder = folder.clone();
            // A client that disconnects during a response must not disturb the others.
            thread::spawn(move || drop(answer(stream, &folder)));
        }
    });
    Ok(url)
}

fn answer(mut stream: TcpStream, folder: &Path) -> Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let reader = BufReader::new(std::io::Read::take(stream.try_clone()?, REQUEST_BYTES_MAX));
    let mut lines = reader.lines();
    let request = lines.next().context("no request")??;
    // Unread headers would make the kernel reset the connection and cut the response off.
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let mut words = request.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if !matches!(method, "GET" | "HEAD") {
        return reply(&mut stream, "405 Method Not Allowed", "text/plain", b"only GET and HEAD\n", true);
    }
    let found = local_file(folder, target).and_then(|file| Some((media_type(&file), std::fs::read(&file).ok()?)));
    match found {
        Some((kind, body)) => reply(&mut stream, "200 OK", kind, &body, method == "GET"),
        None => reply(&mut stream, "404 Not Found", "text/plain", b"not found\n", method == "GET"),
    }
}

fn reply(stream: &mut TcpStream, status: &str, kind: &str, body: &[u8], with_body: bool) -> Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    )?;
    if with_body {
        stream.write_all(body)?;
    }
    Ok(stream.flush()?)
}

/// Returns the file that a request names, if it lies inside `folder`.
fn local_file(folder: &Path, target: &str) -> Option<PathBuf> {
    let path = target.split(['?', '#']).next()?.strip_prefix('/')?;
    let relative = Path::new(path);
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let mut file = folder.join(relative);
    if file.is_dir() {
        file.push("index.html");
    }
    // Resolved again, so that a link in the folder cannot lead out of it.
    let file = file.canonicalize().ok()?;
    (file.starts_with(folder) && file.is_file()).then_some(file)
}

/// Returns the media type. Browsers stream-compile wasm modules and run scripts only if it is right.
fn media_type(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("webmanifest") => "application/manifest+json",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("md" | "txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn site() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret"), "no").unwrap();
        let public = folder.path().join("dist");
        std::fs::create_dir_all(public.join("assets")).unwrap();
        std::fs::write(public.join("index.html"), "<p>hello").unwrap();
        std::fs::write(public.join("assets/core.wasm"), b"\0asm").unwrap();
        folder
    }

    fn ask(url: &str, request: &str) -> String {
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "{request} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn serves_files_with_their_media_types() {
        let folder = site();
        let url = start(&folder.path().join("dist")).unwrap();
        let page = ask(&url, "GET /?q=1");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"), "{page}");
        assert!(page.ends_with("\r\n\r\n<p>hello"), "{page}");
        let module = ask(&url, "GET /assets/core.wasm");
        assert!(module.contains("Content-Type: application/wasm\r\nContent-Length: 4\r\n"), "{module}");
        let head = ask(&url, "HEAD /index.html");
        assert!(head.contains("Content-Length: 8\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    }

    #[test]
    fn nothing_outside_the_folder_is_served() {
        let folder = site();
        let dist = folder.path().join("dist");
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path().join("secret"), dist.join("link")).unwrap();
        let url = start(&dist).unwrap();
        for target in ["/../secret", "/assets/../../secret", "//etc/passwd", "/link", "/missing", "secret"] {
            let answer = ask(&url, &format!("GET {target}"));
            assert!(answer.starts_with("HTTP/1.1 404 "), "{target}: {answer}");
        }
        assert!(ask(&url, "POST /index.html").starts_with("HTTP/1.1 405 "));
    }
}
