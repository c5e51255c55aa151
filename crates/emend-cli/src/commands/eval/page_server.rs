//! The page of `emend eval --backend browser` on a free port of 127.0.0.1: the script, the npm package, the work, and the
//! messages of the page.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use serde_json::{Value, json};

/// Bytes of the head of a request.
const HEAD_BYTES_MAX: u64 = 64 * 1024;

/// Bytes of a message: the events, requests and files of one task.
const MESSAGE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Time for reading a request from a page of this machine.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

const SCRIPT: &str = include_str!("page.js");

/// A message of the page.
#[derive(Debug)]
pub(super) enum Message {
    /// A run, in the form that `--judge` reads.
    Run(String),
    End,
    Failure(String),
}

struct Site {
    origin: String,
    /// The directory of the npm package, without links.
    package: PathBuf,
    html: String,
    work: String,
    messages: UnboundedSender<Message>,
}

/// Starts the server, which ends with the program. Returns the address of the page and its messages.
pub(super) fn start(package: &Package, work: &Value) -> std::io::Result<(String, UnboundedReceiver<Message>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let origin = format!("http://{}", listener.local_addr()?);
    let (messages, received) = unbounded();
    let html = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>emend eval</title><link rel=\"icon\" href=\"data:,\">\
         <script type=\"importmap\">{}</script><script type=\"module\" src=\"/page.js\"></script>",
        package.import_map()
    );
    let site =
        Site { origin: origin.clone(), package: package.directory.clone(), html, work: work.to_string(), messages };
    let site = Arc::new(site);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let site = Arc::clone(&site);
            // A connection that breaks concerns its own request only.
            thread::spawn(move || drop(site.answer(stream)));
        }
    });
    Ok((format!("{origin}/"), received))
}

impl Site {
    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            reader.by_ref().take(HEAD_BYTES_MAX).read_line(&mut line)?;
            let line = line.trim_end();
            if line.is_empty() || head.len() > 200 {
                break;
            }
            head.push(line.to_owned());
        }
        let header = |name: &str| {
            let mut fields = head.iter().skip(1).filter_map(|line| line.split_once(':'));
            fields.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
        };
        let mut words = head.first().map_or("", String::as_str).split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        match method {
            "GET" => match self.content(target) {
                Some((kind, body)) => reply(&mut stream, "200 OK", kind, &body),
                None => reply(&mut stream, "404 Not Found", "text/plain", b"not found"),
            },
            // Other pages of a browser can send messages here, too.
            "POST" if header("Origin").as_deref() == Some(&self.origin) => {
                let length = header("Content-Length").and_then(|length| length.parse::<u64>().ok()).unwrap_or_default();
                let mut body = Vec::new();
                if length <= MESSAGE_BYTES_MAX {
                    reader.take(length).read_to_end(&mut body)?;
                }
                let body = String::from_utf8_lossy(&body).into_owned();
                let message = match target {
                    "/run" => Message::Run(body),
                    "/end" => Message::End,
                    "/failure" => Message::Failure(serde_json::from_str(&body).unwrap_or(body)),
                    _ => return reply(&mut stream, "404 Not Found", "text/plain", b"not found"),
                };
                // The last message ends the program, so its reply comes first. The others are read in their order.
                let is_last = !matches!(message, Message::Run(_));
                if is_last {
                    reply(&mut stream, "200 OK", "text/plain", b"")?;
                }
                // The page may send more than is read.
                let _ = self.messages.unbounded_send(message);
                if is_last { Ok(()) } else { reply(&mut stream, "200 OK", "text/plain", b"") }
            }
            _ => reply(&mut stream, "403 Forbidden", "text/plain", b"forbidden"),
        }
    }

    fn content(&self, target: &str) -> Option<(&'static str, Vec<u8>)> {
        const SCRIPT_TYPE: &str = "text/javascript; charset=utf-8";
        match target {
            "/" => Some(("text/html; charset=utf-8", self.html.clone().into_bytes())),
            "/page.js" => Some((SCRIPT_TYPE, SCRIPT.into())),
            "/work" => Some(("application/json", self.work.clone().into_bytes())),
            _ => {
                let relative = Path::new(target.strip_prefix("/package/")?);
                if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
                    return None;
                }
                let file = self.package.join(relative).canonicalize().ok()?;
                let kind = match file.extension().and_then(|extension| extension.to_str()) {
                    Some("js" | "mjs") => SCRIPT_TYPE,
                    Some("wasm") => "application/wasm",
                    Some("json") => "application/json",
                    _ => "application/octet-stream",
                };
                let body = file.starts_with(&self.package).then(|| std::fs::read(&file))?.ok()?;
                Some((kind, body))
            }
        }
    }
}

fn reply(stream: &mut TcpStream, status: &str, kind: &str, body: &[u8]) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body)?;
    stream.flush()
}

/// The npm package `emend` in a directory.
#[derive(Debug)]
pub(super) struct Package {
    directory: PathBuf,
    manifest: Value,
}

impl Package {
    /// Opens the package. The error says what is missing.
    pub(super) fn open(directory: &Path) -> Result<Self, String> {
        let file = directory.join("package.json");
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let manifest: Value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        if manifest["name"] != "emend" {
            return Err(format!("{} is not the package emend", directory.display()));
        }
        let directory = directory.canonicalize().map_err(|error| error.to_string())?;
        let package = Self { directory, manifest };
        let entry = package.file(&package.manifest["exports"]["."]);
        if !entry.as_deref().is_some_and(|entry| package.directory.join(entry).is_file()) {
            let entry = entry.unwrap_or_else(|| "its entry".to_owned());
            return Err(format!("{} has no {entry}; build the package first", package.directory.display()));
        }
        Ok(package)
    }

    /// Returns the file that a page gets from an entry of the manifest.
    fn file(&self, entry: &Value) -> Option<String> {
        let file = entry.as_str().or_else(|| entry["default"].as_str())?;
        Some(file.trim_start_matches("./").to_owned())
    }

    /// Returns the import map of a page.
    fn import_map(&self) -> Value {
        let mut imports = serde_json::Map::new();
        let own = [("emend".to_owned(), &self.manifest["exports"]["."])];
        let inner = self.manifest["imports"].as_object().into_iter().flatten();
        for (name, entry) in own.into_iter().chain(inner.map(|(name, entry)| (name.clone(), entry))) {
            if let Some(file) = self.file(entry) {
                // A map of a page has prefixes where a manifest has patterns.
                let file = format!("/package/{}", file.trim_end_matches('*'));
                imports.insert(name.trim_end_matches('*').to_owned(), file.into());
            }
        }
        json!({ "imports": imports })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package() -> (tempfile::TempDir, Package) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("emend");
        std::fs::create_dir_all(root.join("dist")).unwrap();
        std::fs::write(directory.path().join("secret.js"), "no").unwrap();
        let manifest = json!({
            "name": "emend",
            "exports": { ".": { "types": "./dist/index.d.ts", "default": "./dist/index.js" } },
            "imports": { "#a/*": { "node": "./dist/node/*", "default": "./dist/files/*" } },
        });
        std::fs::write(root.join("package.json"), manifest.to_string()).unwrap();
        let missing = Package::open(&root).unwrap_err();
        assert!(missing.ends_with("has no dist/index.js; build the package first"), "{missing}");
        std::fs::write(root.join("dist/index.js"), "export {};").unwrap();
        let package = Package::open(&root).unwrap();
        (directory, package)
    }

    fn ask(url: &str, request: &str, head: &str, body: &str) -> String {
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "{request} HTTP/1.1\r\n{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_page_imports_the_package_as_its_manifest_says() {
        let (_directory, package) = package();
        let imports = json!({ "emend": "/package/dist/index.js", "#a/": "/package/dist/files/" });
        assert_eq!(package.import_map(), json!({ "imports": imports }));
    }

    #[test]
    fn only_files_of_the_package_are_served() {
        let (directory, package) = package();
        #[cfg(unix)]
        std::os::unix::fs::symlink(directory.path().join("secret.js"), package.directory.join("link.js")).unwrap();
        let (url, _messages) = start(&package, &json!(["one"])).unwrap();
        let get = |path: &str| ask(&url, &format!("GET {path}"), "", "");
        assert!(get("/").contains("<script type=\"importmap\">{\"imports\":{"), "{}", get("/"));
        assert!(get("/work").ends_with("\r\n\r\n[\"one\"]"));
        assert!(get("/package/dist/index.js").contains("Content-Type: text/javascript"));
        for path in ["/package/../secret.js", "/package/link.js", "/package//etc/passwd", "/dist/index.js", ""] {
            assert!(get(path).starts_with("HTTP/1.1 404 "), "{path}: {}", get(path));
        }
        drop(directory);
    }

    #[test]
    fn only_the_page_itself_can_send_messages() {
        let (_directory, package) = package();
        let (url, mut messages) = start(&package, &json!([])).unwrap();
        let own = format!("Origin: {}\r\n", url.trim_end_matches('/'));
        for (head, expected) in [("", "403"), ("Origin: http://example.com\r\n", "403"), (own.as_str(), "200")] {
            let answer = ask(&url, "POST /failure", head, "\"broken\"");
            assert!(answer.starts_with(&format!("HTTP/1.1 {expected} ")), "{head}: {answer}");
        }
        let Ok(Message::Failure(text)) = messages.try_recv() else { panic!("no message") };
        assert_eq!(text, "broken");
        assert!(messages.try_recv().is_err());
    }
}
