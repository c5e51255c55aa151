//! Clients of a server: requests as curl sends them, and an attached terminal.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::serve::Server;
use crate::support::{PATIENCE, Project};

/// A client of a server.
pub(crate) struct Api {
    address: String,
    token: String,
}

impl Api {
    /// Returns the client of an address with its token, as `emend serve` prints it.
    pub(crate) fn of(url: &str) -> Self {
        let (address, token) = url.trim_start_matches("http://").split_once("/?token=").unwrap();
        Self { address: address.to_owned(), token: token.to_owned() }
    }

    /// Sends a request as curl does; returns status and body.
    pub(crate) fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
    }

    pub(crate) fn ok(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, reply) = self.send(method, path, body);
        assert!((200..300).contains(&status), "{method} {path}: {status} {reply}");
        reply
    }
}

/// An attached terminal.
pub(crate) struct Terminal {
    child: Child,
    input: Option<ChildStdin>,
    lines: std::sync::mpsc::Receiver<String>,
}

impl Terminal {
    pub(crate) fn attach(project: &Project, server: &Server, options: &[&str]) -> Self {
        Self::attach_at(project, &server.url(), options)
    }

    pub(crate) fn attach_at(project: &Project, url: &str, options: &[&str]) -> Self {
        let mut command = project.command(&[&["attach", url], options].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok()));
        let input = child.stdin.take();
        Self { child, input, lines }
    }

    pub(crate) fn type_line(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Waits for a line that contains a text.
    pub(crate) fn expect(&self, text: &str) -> String {
        self.wait(text).1
    }

    /// Waits for a line that contains a text. Returns the lines before it.
    pub(crate) fn lines_until(&self, text: &str) -> Vec<String> {
        self.wait(text).0
    }

    fn wait(&self, text: &str) -> (Vec<String>, String) {
        let mut seen = Vec::new();
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("{text:?} is not in {seen:#?}"));
            if line.contains(text) {
                return (seen, line);
            }
            seen.push(line);
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn leave(mut self) {
        drop(self.input.take());
        self.expect("detached");
        assert!(self.child.wait().unwrap().success());
    }
}
