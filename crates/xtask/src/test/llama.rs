//! A real model: llama.cpp's server with a model of 135 million parameters, which answers with words that make some
//! sense. The client talks to it in three formats, natively and from a page, and has it call a tool.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::context::Context;
use super::counts::Counts;
use super::http::in_page;
use super::native::worth_showing;
use crate::process::command;
use crate::progress::say;
use crate::repo::Repo;
use crate::setup::llama::{self, Llama};

/// How long a busy machine may take to load the model.
const LOADING: Duration = Duration::from_secs(180);

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let server = Server::start(context.repo, &llama::set_up(context.repo)?)?;
    say!("the model answers at {}", server.url);
    let mut cargo = command("cargo", context.repo.root());
    // One at a time: the model has one place, and few processors to think with.
    cargo.args(["test", "-p", "emend-tests", "--test", "http", "--", "llama::", "--show-output", "--test-threads=1"]);
    let show = |line: &str| worth_showing(line) || line.starts_with("the model called");
    let output = context.program("llama", cargo.env("EMEND_LLAMA", &server.url), show)?;
    let native = Counts::from_libtest(&output.text).of_program(output.success);
    Ok(native + in_page(context, "llama", ("EMEND_LLAMA", &server.url))?)
}

/// A running server, ended when dropped.
struct Server {
    child: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // If it has ended by itself there is nothing left to do.
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

impl Server {
    /// Starts the server on a free port and waits until it has loaded its model.
    fn start(repo: &Repo, llama: &Llama) -> Result<Self> {
        let log = repo.path("target/logs/llama-server.log");
        std::fs::create_dir_all(repo.path("target/logs"))?;
        let file = File::create(&log).with_context(|| log.display().to_string())?;
        let mut server = command(&llama.server, repo.root());
        server.arg("--model").arg(&llama.model).args(["--host", "127.0.0.1", "--port", "0", "--jinja"]);
        server.args(["--ctx-size", "8192", "--parallel", "1", "--seed", "1"]);
        let child = server.stdout(Stdio::null()).stderr(file).spawn().context("llama-server")?;
        let mut server = Self { child, url: String::new() };
        server.url = server.wait_for_url(&log)?;
        Ok(server)
    }

    fn wait_for_url(&mut self, log: &Path) -> Result<String> {
        let begun = Instant::now();
        while begun.elapsed() < LOADING {
            let text = std::fs::read_to_string(log).unwrap_or_default();
            if let Some((url, _)) = text.split_once("listening on ").and_then(|(_, rest)| rest.split_once('\n')) {
                return Ok(url.trim().to_owned());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("llama-server ended with {status}; see {}", log.display());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        bail!("llama-server did not load its model; see {}", log.display());
    }
}
