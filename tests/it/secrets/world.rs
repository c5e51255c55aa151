//! A session with a marked secret in every setting and file, and a record of all its outputs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use emend_agent::session::{ProfileChoice, Session, SessionBuilder, SessionConfig, SessionOptions};
use emend_agent::store::{MemStore, Store};
use emend_agent::workspace::{Mode, Workspace};
use emend_host::{LocalEnvironment, ReqwestTransport};
use emend_llm::cassette::{Recorder, RecorderOptions};
use emend_llm::{Api, CancelToken, Config, Headers, HttpProvider, Provider, Random, Request, Transport};
use emend_tests::chance::Ticks;
use futures::StreamExt;

use crate::http_server::{Server, say};
use crate::llm_faults::ask::{logged, patient};

/// Settings with their secrets. Each secret has a unique beginning.
pub(super) const PLACES: [(&str, &str); 4] = [
    ("key", "Zq7KxWpJ2m-93bTtR1v9"),
    ("header", "Hm3VtBq8Lr-51cYyN6d4"),
    ("query", "Qs9FwGz4Td-27hPpX3k8"),
    ("password", "Pw5MjCk6Vn-84rSsB2f7"),
];

/// Files with one secret each.
pub(super) const FILES: [(&str, &str); 4] = [
    (".env", "Ev2RdHx7Jg-62wLlK4t3"),
    (".env.local", "El8YnUf3Sc-75qMmZ9b6"),
    ("config/.env", "Ec4TgOv5Ph-18xDdF7j2"),
    ("id_rsa", "Id6BkAe9Ws-36uHhC5n8"),
];

/// User and password as the request's header carries them, in Base64.
const BASIC: &str = "bWU6UHc1TWpDazZWbi04NHJTc0IyZjc=";

/// A text that every output must contain, as the positive control.
pub(super) const CONTROL: &str = "plain-control";

/// Returns the beginning of a secret, which masked forms still show.
fn start(secret: &str) -> &str {
    &secret[..6]
}

/// Returns an echo of all secrets, plain and masked.
pub(super) fn echo() -> String {
    let parts = PLACES.map(|(_, secret)| format!("{secret} or {}****{}", start(secret), &secret[14..]));
    let address = format!("http://me:{}@host/v1?sig={}", PLACES[3].1, PLACES[2].1);
    format!("{CONTROL} {} at {address} Authorization: Bearer {} Basic {}", parts.join(", "), PLACES[0].1, BASIC)
}

/// Returns the names of the secrets that `text` contains.
pub(super) fn leaks(text: &str, secrets: &[(&'static str, &'static str)]) -> Vec<&'static str> {
    let mut found: Vec<&str> =
        secrets.iter().filter(|(_, secret)| text.contains(start(secret))).map(|(at, _)| *at).collect();
    if secrets.contains(&PLACES[3]) && text.contains(BASIC) {
        found.push("password in base 64");
    }
    found
}

/// Prepared responses, then always the same one.
#[derive(Default)]
struct Script {
    answers: VecDeque<Vec<u8>>,
    then: Vec<u8>,
}

/// A session over one wire format, its server, and its outputs.
pub(super) struct World {
    api: Api,
    _folder: tempfile::TempDir,
    pub(super) server: Server,
    script: Arc<Mutex<Script>>,
    recorder: Arc<Recorder>,
    workspace: Arc<Workspace>,
    pub(super) store: Arc<MemStore>,
    pub(super) session: Session,
    /// All events, as JSON and as debug output.
    pub(super) seen: String,
}

impl World {
    pub(super) fn new(api: Api) -> Self {
        logged();
        let folder = tempfile::tempdir().unwrap();
        for (path, secret) in FILES {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("SETTING={secret}\n")).unwrap();
        }
        std::fs::write(folder.path().join("notes.md"), format!("{CONTROL}\ntwo\n")).unwrap();
        let script: Arc<Mutex<Script>> = Arc::default();
        let server = Server::start({
            let script = Arc::clone(&script);
            move |stream| {
                let mut script = script.lock().unwrap();
                let answer = script.answers.pop_front().unwrap_or_else(|| script.then.clone());
                drop(script);
                say(stream, &answer);
            }
        });
        let environment = Arc::new(LocalEnvironment::new(folder.path()).unwrap());
        let workspace = Arc::new(Workspace::new(environment, Mode::Direct, Arc::new(Ticks::default())));
        let options = RecorderOptions { root: folder.path().display().to_string(), ..RecorderOptions::default() };
        let recorder = Arc::new(Recorder::new(Arc::new(ReqwestTransport::new(patient())), options));
        let provider = provider(api, Arc::clone(&recorder) as Arc<dyn Transport>, &server.url());
        let store: Arc<MemStore> = Arc::default();
        let session = Session::new(options_of(provider, &workspace));
        let session = session.with_store(Arc::clone(&store) as Arc<dyn Store>);
        let (seen, _folder) = (String::new(), folder);
        Self { api, _folder, server, script, recorder, workspace, store, session, seen }
    }

    /// Returns options for another session with the same files and server.
    pub(super) fn options(&self) -> SessionOptions {
        self.options_at(&self.server.url(), PLACES[0].1)
    }

    /// Returns options with another base URL and another key.
    pub(super) fn options_at(&self, url: &str, key: &str) -> SessionOptions {
        let transport = Arc::clone(&self.recorder) as Arc<dyn Transport>;
        options_of(provider_with(self.api, transport, url, key), &self.workspace)
    }

    /// Prepares the next responses, and the response to all later requests.
    pub(super) fn prepare(&self, answers: Vec<Vec<u8>>, then: Vec<u8>) {
        *self.script.lock().unwrap() = Script { answers: answers.into(), then };
    }

    /// Submits a message and returns the run's events as text.
    pub(super) async fn submit(&mut self, text: &str) -> String {
        let mut seen = String::new();
        let mut run = match self.session.submit(text, CancelToken::new()) {
            Ok(run) => run,
            Err(error) => panic!("{text}: {error}"),
        };
        while let Some(event) = run.next().await {
            seen += &format!("{}\n{event:?}\n", serde_json::to_string(&event).unwrap());
        }
        self.seen += &seen;
        seen
    }

    /// Returns every output: its name, its text, and a text that it must contain.
    pub(super) async fn outlets(&self) -> Vec<(&'static str, String, String)> {
        let mut saved = String::new();
        for name in self.store.names().await.unwrap() {
            saved += &self.store.load(&name).await.unwrap().unwrap_or_default();
        }
        let config = config(&self.server.url(), PLACES[0].1);
        let debug =
            format!("{config:?} {:?}", self.api.adapter(config.clone()).encode(&Request::default(), true).unwrap());
        let control = || CONTROL.to_owned();
        let host = self.server.url().replace("http://", "");
        vec![
            ("events", self.seen.clone(), control()),
            ("saved sessions", saved, control()),
            ("cassette", self.recorder.cassette().to_json(), control()),
            ("debug forms", debug, host),
            ("log", logged(), "reqwest".to_owned()),
        ]
    }

    /// Returns the bodies of all requests, which the model has seen.
    pub(super) fn bodies(&self) -> String {
        let requests = self.server.requests();
        requests.iter().filter_map(|request| request.split_once("\r\n\r\n")).map(|(_, body)| body).collect()
    }
}

fn config(url: &str, key: &str) -> Config {
    let [_, (_, header), (_, query), (_, password)] = PLACES;
    let host = url.replace("http://", "");
    Config {
        api_key: key.to_owned(),
        base_url: Some(format!("http://me:{password}@{host}/v1?sig={query}")),
        headers: Headers(vec![("x-gateway-pass".to_owned(), header.to_owned())]),
        ..Config::default()
    }
}

fn provider(api: Api, transport: Arc<dyn Transport>, url: &str) -> Arc<dyn Provider> {
    provider_with(api, transport, url, PLACES[0].1)
}

fn provider_with(api: Api, transport: Arc<dyn Transport>, url: &str, key: &str) -> Arc<dyn Provider> {
    Arc::new(HttpProvider::new(api.adapter(config(url, key)), transport))
}

fn options_of(provider: Arc<dyn Provider>, workspace: &Arc<Workspace>) -> SessionOptions {
    let time = Arc::new(Ticks::default());
    // Long enough for slow machines.
    let config = SessionConfig { default_command_timeout_ms: 600_000, ..SessionConfig::default() };
    let builder = SessionBuilder::new(provider, "m", Arc::clone(workspace), Arc::clone(&time) as Arc<dyn Random>);
    let builder = builder.clock(time).profile(ProfileChoice::None).subagents(true).config(config);
    builder.options().unwrap()
}
