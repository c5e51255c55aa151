//! Chromium and its driver, for the tests that run in a page.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::debian;
use super::outcome::Done;
use crate::process::which;
use crate::repo::Repo;

/// The browser programs of this machine.
pub(crate) struct Browser {
    /// The browser itself, which the end-to-end tests start.
    pub(crate) chromium: Option<PathBuf>,
    /// Its WebDriver server, through which wasm-bindgen's test runner starts it.
    pub(crate) driver: Option<PathBuf>,
}

impl Browser {
    /// Finds both on PATH; the environment variables `CHROMIUM` and `CHROMEDRIVER` take precedence.
    pub(crate) fn find() -> Self {
        let from_variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|file| file.is_file());
        let names = ["chromium", "chromium-browser", "google-chrome"];
        Self {
            chromium: from_variable("CHROMIUM").or_else(|| names.into_iter().find_map(which)),
            driver: from_variable("CHROMEDRIVER").or_else(|| which("chromedriver")),
        }
    }

    /// Sets the environment variables with which `cargo test` for wasm32 runs in this browser.
    pub(crate) fn set_up_tests(&self, repo: &Repo, cargo: &mut Command) {
        let runner = repo.tools().join("bin/wasm-bindgen-test-runner");
        cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", runner);
        cargo.env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", repo.path("crates/xtask/browser/webdriver.json"));
        // In a browser even if a crate is configured for Node, and with time for a property test on a busy machine.
        cargo.env("WASM_BINDGEN_USE_BROWSER", "1").env("WASM_BINDGEN_TEST_TIMEOUT", "600");
        if let Some(driver) = &self.driver {
            cargo.env("CHROMEDRIVER", driver);
        }
    }
}

pub(super) fn set_up(repo: &Repo) -> Result<Done> {
    if let Browser { chromium: Some(chromium), driver: Some(driver) } = Browser::find() {
        return Ok(Done::Skipped(format!("{} and {}", chromium.display(), driver.display())));
    }
    debian::install(repo, &["chromium", "chromium-driver"])?;
    match Browser::find() {
        Browser { chromium: Some(chromium), driver: Some(driver) } => {
            Ok(Done::Installed(format!("{} and {}", chromium.display(), driver.display())))
        }
        _ => Ok(Done::Missing("apt-get installed chromium and chromium-driver, yet they are not on PATH".to_owned())),
    }
}
