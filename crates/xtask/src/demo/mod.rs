//! `cargo xtask demo`: shows the agent first in the terminal, then on the page.
//!
//! The page is served until the user ends it, or driven in a headless browser that leaves screenshots.

mod terminal;

use anyhow::{Result, bail};

use crate::build;
use crate::process::{command, run};
use crate::repo::Repo;
use crate::serve;
use crate::setup;
use crate::setup::browser::Browser;

/// Shows both. With `--headless`, a script operates the page and saves screenshots.
pub(crate) fn run_demo(repo: &Repo, arguments: &[String]) -> Result<()> {
    let (mut headless, mut built) = (false, false);
    for argument in arguments {
        match argument.as_str() {
            "--headless" => headless = true,
            // For `cargo xtask test`, which has set everything up and built the page already.
            "--built" => built = true,
            unknown => bail!("unknown argument `{unknown}`; `cargo xtask demo` knows --headless"),
        }
    }
    if !built {
        setup::set_up(repo)?;
        println!("== build");
        build::all(repo)?;
    }
    println!("== in the terminal");
    terminal::show(repo)?;
    println!("== on the page");
    let url = serve::start(&repo.path("web/dist"))?;
    if headless {
        return drive(repo, &url);
    }
    println!("\nEmend is served at {url}\nPress Ctrl-C to stop.");
    loop {
        std::thread::park();
    }
}

/// Runs the demonstration script on the `crates` folder of this checkout.
fn drive(repo: &Repo, url: &str) -> Result<()> {
    let screenshots = repo.path("target/demo");
    std::fs::create_dir_all(&screenshots)?;
    let mut node = command("node", repo.root());
    if let Some(chromium) = Browser::find().chromium {
        node.env("CHROMIUM", chromium);
    }
    node.arg(repo.path("tests/e2e/demo.mjs")).arg(url).arg(repo.path("crates")).arg(&screenshots);
    run(&mut node)?;
    println!("screenshots are in {}", screenshots.display());
    Ok(())
}
