//! Reads `wasm-pack.toml`, the settings of the wasm build.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::repo::Repo;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) core: Module,
    pub(crate) edit: Module,
    pub(crate) llm: Module,
    pub(crate) offline: Module,
    pub(crate) regex: Module,
    pub(crate) shell: Module,
    pub(crate) service: Module,
    pub(crate) outline: Outlines,
    pub(crate) size: Sizes,
}

/// One wasm module, and how it is made from its package.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Module {
    pub(crate) package: String,
    pub(crate) features: Vec<String>,
    /// Instructions beyond the wasm baseline, by their `rustc` names.
    #[serde(default)]
    pub(crate) target_features: Vec<String>,
    /// Stack size in bytes, if more than the linker's default of 1 MiB.
    pub(crate) stack_bytes: Option<u64>,
    pub(crate) profile: String,
    /// Optimization levels of packages that differ from those of the profile.
    #[serde(default)]
    pub(crate) opt_level: BTreeMap<String, u8>,
    pub(crate) out_dir: String,
    pub(crate) out_name: String,
    pub(crate) wasm_bindgen: Vec<String>,
    pub(crate) wasm_opt: Vec<String>,
    /// Whether similar functions are put next to each other after everything else.
    #[serde(default)]
    pub(crate) similar_functions_together: bool,
}

/// The modules of outlines: one for each language, without the glue of wasm-bindgen.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Outlines {
    pub(crate) package: String,
    /// The languages, which are features of the package, with the budgets of their modules.
    pub(crate) languages: BTreeMap<String, Budget>,
    pub(crate) stack_bytes: u64,
    pub(crate) profile: String,
    pub(crate) out_dir: String,
    pub(crate) wasm_opt: Vec<String>,
}

/// The size budgets, one for each file that a page loads.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Sizes {
    pub(crate) core: Budget,
    pub(crate) glue: Budget,
    pub(crate) edit: Budget,
    pub(crate) edit_glue: Budget,
    pub(crate) llm: Budget,
    pub(crate) llm_glue: Budget,
    pub(crate) offline: Budget,
    pub(crate) offline_glue: Budget,
    pub(crate) regex: Budget,
    pub(crate) regex_glue: Budget,
    pub(crate) shell: Budget,
    pub(crate) shell_glue: Budget,
    pub(crate) service: Budget,
    pub(crate) service_glue: Budget,
}

/// Maximum size of a file in bytes after brotli.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Budget {
    pub(crate) at_most: u64,
    pub(crate) recorded: Option<u64>,
}

/// Growth over the recorded size that is allowed without a new record, in percent.
const GROWTH_PERCENT: u64 = 2;

impl Settings {
    pub(crate) fn read(repo: &Repo) -> Result<Self> {
        let text = std::fs::read_to_string(repo.path("wasm-pack.toml")).context("wasm-pack.toml")?;
        toml::from_str(&text).context("wasm-pack.toml")
    }

    /// Returns the module with this name.
    pub(crate) fn module(&self, name: &str) -> Result<&Module> {
        Ok(match name {
            "core" => &self.core,
            "edit" => &self.edit,
            "llm" => &self.llm,
            "offline" => &self.offline,
            "regex" => &self.regex,
            "shell" => &self.shell,
            "service" => &self.service,
            unknown => bail!("wasm-pack.toml has no module `{unknown}`"),
        })
    }
}

impl Budget {
    /// Returns the reason why a size is not accepted.
    pub(crate) fn objection(self, bytes: u64) -> Option<String> {
        if bytes > self.at_most {
            return Some(format!("{bytes} bytes are over the budget of {}", self.at_most));
        }
        let recorded = self.recorded?;
        let grown = bytes * 100 > recorded * (100 + GROWTH_PERCENT);
        grown.then(|| {
            format!(
                "{bytes} bytes are more than {GROWTH_PERCENT} % over the recorded {recorded}: agree by recording them"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_may_grow_by_two_percent_but_never_past_its_budget() {
        let budget = Budget { at_most: 1_010, recorded: Some(1_000) };
        assert_eq!(budget.objection(1_010), None);
        assert!(budget.objection(1_011).is_some_and(|text| text.contains("over the budget of 1010")));
        let roomy = Budget { at_most: 5_000, ..budget };
        assert_eq!(roomy.objection(1_020), None);
        assert!(roomy.objection(1_021).is_some_and(|text| text.contains("the recorded 1000")));
        assert_eq!(Budget { recorded: None, ..roomy }.objection(4_999), None);
    }
}
