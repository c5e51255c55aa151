//! Chromium and its driver, for the tests that run in a page.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::debian;
use super::outcome::Done;
use crate::process::which;
use crate::repo::Repo;

/// Names of the browser on PATH, the preferred one first.
const NAMES: [&str; 4] = [HEADLESS, "chromium", "chromium-browser", "google-chrome"];
/// Chromium without windows.
const HEADLESS: &str = "chromium-headless-shell";
const DRIVER: &str = "chromium-driver";

/// The browser programs of this machine.
pub(crate) struct Browser {
    /// The browser that the end-to-end tests start. Preferably its version without windows: it takes half of the time.
    pub(crate) chromium: Option<PathBuf>,
    /// Its WebDriver server, through which wasm-bindgen's test runner starts it.
    pub(crate) driver: Option<PathBuf>,
}

impl Browser {
    /// Finds both on PATH; the environment variables `CHROMIUM` and `CHROMEDRIVER` take precedence.
    pub(crate) fn find() -> Self {
        let from_variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|file| file.is_file());
        Self {
            chromium: from_variable("CHROMIUM").or_else(|| NAMES.into_iter().find_map(which)),
            driver: from_variable("CHROMEDRIVER").or_else(|| which("chromedriver")),
        }
    }

    /// Sets the environment variables with which `cargo test` for wasm32 runs in a browser that the driver finds. The one
    /// without windows would outlive the driver on a busy machine.
    pub(crate) fn set_up_tests(&self, repo: &Repo, cargo: &mut Command) {
        set_up_runner(repo, cargo, "webdriver.json");
        if let Some(driver) = &self.driver {
            cargo.env("CHROMEDRIVER", driver);
        }
    }
}

/// As [`Browser::set_up_tests`], for Firefox with the driver of the set-up.
pub(crate) fn set_up_tests_in_firefox(repo: &Repo, cargo: &mut Command) {
    set_up_runner(repo, cargo, "firefox.json");
    cargo.env("GECKODRIVER", repo.tools().join("bin/geckodriver"));
}

/// Sets the environment variables that the tests of every browser need. `capabilities` names the file for the driver.
fn set_up_runner(repo: &Repo, cargo: &mut Command, capabilities: &str) {
    let runner = repo.tools().join("bin/wasm-bindgen-test-runner");
    cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", runner);
    cargo.env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", repo.path("crates/xtask/browser").join(capabilities));
    // The runner takes the first driver that it finds a variable for.
    for driver in ["CHROMEDRIVER", "GECKODRIVER", "SAFARIDRIVER", "MSEDGEDRIVER"] {
        cargo.env_remove(driver);
    }
    // In a browser even if a crate is configured for Node, and with time for a property test on a busy machine.
    cargo.env("WASM_BINDGEN_USE_BROWSER", "1").env("WASM_BINDGEN_TEST_TIMEOUT", "600");
}

pub(super) fn set_up(repo: &Repo) -> Result<Done> {
    let found = || {
        let Browser { chromium, driver } = Browser::find();
        Some(format!("{} and {}", chromium?.display(), driver?.display()))
    };
    let before = found();
    if let Some(both) = &before
        && (which(HEADLESS).is_some() || std::env::var_os("CHROMIUM").is_some())
    {
        return Ok(Done::Skipped(both.clone()));
    }
    if let Err(error) = debian::install(repo, &[HEADLESS, DRIVER]) {
        // A browser with windows does, too. Older releases have no other one.
        if let Some(both) = before {
            return Ok(Done::Skipped(both));
        }
        debian::install(repo, &["chromium", DRIVER]).map_err(|_| error)?;
    }
    let missing = || Done::Missing(format!("apt-get installed {DRIVER}, yet the browser or its driver is not on PATH"));
    Ok(found().map_or_else(missing, Done::Installed))
}
