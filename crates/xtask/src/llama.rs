//! llama.cpp's server with a small model, on a free port of this machine.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::process::command;
use crate::repo::Repo;
use crate::setup::llama::Llama;

/// How long a busy machine may take to load the model.
const LOADING: Duration = Duration::from_secs(180);

/// A running server, ended when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // If it has ended by itself there is nothing left to do.
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

impl Server {
    /// Starts the server on a free port and waits until it has loaded its model.
    pub(crate) fn start(repo: &Repo, llama: &Llama) -> Result<Self> {
        let log = repo.path("target/logs/llama-server.log");
        std::fs::create_dir_all(repo.path("target/logs"))?;
        let file = File::create(&log).with_context(|| log.display().to_string())?;
        let mut server = command(&llama.server, repo.root());
        server.arg("--model").arg(&llama.model).args(["--host", "127.0.0.1", "--port", "0", "--jinja"]);
        server.args(["--ctx-size", "8192", "--parallel", "1", "--seed", "1"]);
        // Several threads wait for each other at each step. Beside other programs that takes many times longer than the work.
        server.args(["--threads", "1", "--threads-batch", "1"]);
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
