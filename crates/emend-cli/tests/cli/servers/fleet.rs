//! Several `emend serve` on one database, and requests to any of them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::model::Model;
use super::random::Seeded;
use crate::support::Project;

const TOKEN: &str = "a-token-for-the-tests";

/// Jobs that one server runs at the same time, unless a test says otherwise.
pub(super) const RUNNING_MAX: usize = 4;

/// Time for which a request is tried again while no server answers.
const PATIENCE: Duration = Duration::from_secs(120);

/// The servers; killed when they are dropped.
pub(super) struct Fleet<'a> {
    project: &'a Project,
    model: &'a Model,
    store: String,
    running_max: usize,
    servers: Vec<Mutex<Running>>,
    random: Seeded,
}

struct Running {
    child: Child,
    address: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl<'a> Fleet<'a> {
    pub(super) fn start(project: &'a Project, model: &'a Model, store: &str, n_servers: usize, seed: u64) -> Self {
        Self::start_with(project, model, store, (n_servers, RUNNING_MAX), seed)
    }

    /// Starts so many servers, of which each runs up to so many jobs at the same time.
    pub(super) fn start_with(
        project: &'a Project,
        model: &'a Model,
        store: &str,
        (n_servers, running_max): (usize, usize),
        seed: u64,
    ) -> Self {
        let store = format!("postgres:{store}");
        let mut fleet = Self { project, model, store, running_max, servers: Vec::new(), random: Seeded::new(seed) };
        fleet.servers = (0..n_servers).map(|n| Mutex::new(fleet.serve(n))).collect();
        fleet
    }

    /// Kills a server with SIGKILL and starts it again.
    pub(super) fn kill(&self, server: usize) {
        let mut running = self.servers[server].lock().unwrap();
        running.child.kill().unwrap();
        running.child.wait().unwrap();
        *running = self.serve(server);
    }

    /// Stops a server without its knowledge, or lets it go on.
    pub(super) fn pause(&self, server: usize, is_paused: bool) {
        let pid = self.servers[server].lock().unwrap().child.id();
        let signal = if is_paused { "-STOP" } else { "-CONT" };
        let done = std::process::Command::new("kill").args([signal, &pid.to_string()]).status();
        assert!(done.unwrap().success(), "{signal} {pid}");
    }

    /// Reads the stream of all events of one server until a message is there.
    pub(super) fn read_stream(
        &self,
        server: usize,
        is_there: impl Fn(&Value) -> bool + Send + 'static,
    ) -> Receiver<Value> {
        let address = self.servers[server].lock().unwrap().address.clone();
        let mut stream = TcpStream::connect(&address).unwrap();
        let head =
            format!("GET /api/agent/stream HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        // The stream has begun before anything happens.
        lines.find(|line| line.contains("attached")).unwrap();
        let (sender, found) = channel();
        std::thread::spawn(move || {
            let messages = lines.filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
            for message in messages.filter(|message| is_there(message)) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        found
    }

    /// Sends a request to any server; `None` if it does not answer.
    pub(super) fn send(&self, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
        self.send_to(self.random.below(self.servers.len() as u64) as usize, method, path, body).ok()
    }

    /// Sends a request to one server; the reason if it does not answer.
    pub(super) fn send_to(
        &self,
        server: usize,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<(u16, Value), String> {
        let address = match self.servers[server].try_lock() {
            Ok(running) => running.address.clone(),
            Err(_) => return Err("the server is being replaced".to_owned()),
        };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut answer = String::new();
        exchange(&address, method, path, &body, &mut answer)
            .map_err(|error| format!("{method} {path}: {error} after {answer:?}"))?;
        read_reply(&answer).ok_or_else(|| format!("{method} {path}: {answer:?} is not a reply"))
    }

    /// Sends a request until a server answers it. Repeats are harmless for reads only.
    pub(super) fn get(&self, path: &str) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            assert!(Instant::now() < until, "no server answers to {path}");
            match self.send("GET", path, &Value::Null) {
                Some((200, reply)) => return reply,
                Some((status @ 400..500, reply)) => panic!("{path}: {status} {reply}"),
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Starts a server, again and again while the database does not answer, as a supervisor of services does.
    fn serve(&self, server: usize) -> Running {
        let mut reasons = Vec::new();
        for _ in 0..50 {
            match self.try_to_serve(server) {
                Ok(running) => return running,
                Err(reason) => reasons.push(reason),
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        panic!("server {server} does not start: {reasons:?}");
    }

    fn try_to_serve(&self, server: usize) -> Result<Running, String> {
        let args = ["serve", "--port", "0", "--model", "openai_compatible:m", "--log", "none", "--rate-limit", "0"];
        let mut command =
            self.project.command(&[&args[..], &["--subagents", "--job-lease", "2", "--store", &self.store]].concat());
        command.env("EMEND_TOKEN", TOKEN).env("OPENAI_COMPATIBLE_API_KEY", "key");
        command.env("OPENAI_COMPATIBLE_BASE_URL", format!("http://{}/s{server}/v1", self.model.address));
        let running_max = self.running_max.to_string();
        for (name, value) in [("SESSIONS", "0"), ("JOBS_PER_SESSION", "0"), ("RUNNING_JOBS", &running_max)] {
            command.env(format!("EMEND_MAX_{name}"), value);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        if !line.starts_with("emend serves ") {
            let mut text = String::new();
            child.stderr.as_mut().unwrap().read_to_string(&mut text).unwrap();
            child.wait().unwrap();
            return Err(format!("{line}{text}"));
        }
        let address = line.trim_end().trim_end_matches('/').rsplit("http://").next().unwrap().to_owned();
        Ok(Running { child, address })
    }
}

/// Sends one request on a connection of its own, and reads until the server closes it.
fn exchange(address: &str, method: &str, path: &str, body: &str, answer: &mut String) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    stream.read_to_string(answer).map(drop)
}

fn read_reply(answer: &str) -> Option<(u16, Value)> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.get(9..12)?.parse().ok()?, serde_json::from_str(body).ok()?))
}
