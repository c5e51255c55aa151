//! The client over HTTP against a server that others wrote, aimock from npm: natively and from a page.
//!
//! The tests are the targets `http` and `http-page` of the suite, which a plain `cargo test` leaves out: aimock has to
//! be installed first, as setup does.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::browser;
use super::context::Context;
use super::counts::Counts;
use super::native::worth_showing;
use crate::process::{command, run as run_program};
use crate::repo::Repo;
use crate::settings::Settings;
use crate::setup::browser::Browser;
use crate::toolchain::WasmToolchain;

/// Runs the tests natively.
pub(super) fn native(context: &Context<'_>) -> Result<Counts> {
    let repo = context.repo;
    // All packages are named, as by the step `native`: features add up, and with others all would be built once more.
    run_program(command("cargo", repo.root()).args(["build", "--quiet", "--workspace", "--example", "smoke"]))?;
    let mut cargo = command("cargo", repo.root());
    let smoke = repo.path("target/debug/examples").join(format!("smoke{}", std::env::consts::EXE_SUFFIX));
    cargo.env("EMEND_SMOKE", smoke);
    cargo.args(["test", "--workspace", "--test", "http", "--", "aimock::", "--show-output"]);
    let output = context.program("http", &mut cargo, worth_showing)?;
    Ok(Counts::from_libtest(&output.text).of_program(output.success))
}

/// Runs the tests in Chromium.
pub(super) fn page(context: &Context<'_>) -> Result<Counts> {
    let mock = Mock::start(context.repo)?;
    in_page(context, "aimock", ("EMEND_MOCK", &mock.url))
}

/// Runs the tests whose names begin so in Chromium, with the address of a server compiled in.
pub(super) fn in_page(context: &Context<'_>, tests: &str, (variable, url): (&str, &str)) -> Result<Counts> {
    let repo = context.repo;
    let features = Settings::read(repo)?.core.target_features;
    let mut cargo = WasmToolchain::require(repo)?.cargo(repo, "test", &features);
    Browser::find().set_up_tests(repo, &mut cargo);
    cargo.args(browser::package_arguments(repo)?).args(["--test", "http-page"]);
    cargo.args(["--", &format!("{tests}::")]).env(variable, url);
    let output = context.program(&format!("{tests}-page"), &mut cargo, worth_showing)?;
    Ok(Counts::from_libtest(&output.text).of_program(output.success))
}

/// A running aimock, ended when dropped.
struct Mock {
    child: Child,
    url: String,
}

impl Mock {
    fn start(repo: &Repo) -> Result<Self> {
        let mut node = command("node", &repo.path("tests/http"));
        let mut child = node.arg("mock.mjs").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("node")?;
        let output = child.stdout.take();
        let mut mock = Self { child, url: String::new() };
        BufReader::new(output.context("node has no output")?).read_line(&mut mock.url)?;
        mock.url.truncate(mock.url.trim_end().len());
        ensure!(mock.url.starts_with("http://"), "tests/http/mock.mjs printed no address");
        Ok(mock)
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        // If it has ended by itself there is nothing left to do.
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}
