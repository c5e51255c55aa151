//! The built wasm modules compile in Node, import only their glue, and stay within their size budgets.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::context::Context;
use super::counts::Counts;
use crate::build::{Built, Inspection};
use crate::progress::say;
use crate::repo::Repo;
use crate::settings::{Budget, Settings};

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let Settings { size: sizes, outline, .. } = Settings::read(context.repo)?;
    let modules = context.modules()?;
    let core = check(context.repo, &modules.core, ("core", sizes.core), ("glue", sizes.glue))?;
    let edit = check(context.repo, &modules.edit, ("edit", sizes.edit), ("edit-glue", sizes.edit_glue))?;
    let llm = check(context.repo, &modules.llm, ("llm", sizes.llm), ("llm-glue", sizes.llm_glue))?;
    let offline =
        check(context.repo, &modules.offline, ("offline", sizes.offline), ("offline-glue", sizes.offline_glue))?;
    let regex = check(context.repo, &modules.regex, ("regex", sizes.regex), ("regex-glue", sizes.regex_glue))?;
    let shell = check(context.repo, &modules.shell, ("shell", sizes.shell), ("shell-glue", sizes.shell_glue))?;
    let service =
        check(context.repo, &modules.service, ("service", sizes.service), ("service-glue", sizes.service_glue))?;
    let mut counts = core + edit + llm + offline + regex + shell + service;
    for (language, wasm) in &modules.outlines {
        let budget = outline.languages.get(language).copied().with_context(|| language.clone())?;
        let name = format!("outline.languages.{language}");
        let found = Inspection::of(context.repo, wasm)?;
        let problems = [foreign_imports(&found.import_modules, "emend"), over_budget(&name, budget, found.brotli)];
        counts = counts + counted(&problems);
    }
    Ok(counts)
}

/// Checks one module and its glue, each given with the name of its budget.
fn check(repo: &Repo, built: &Built, of_wasm: (&str, Budget), of_glue: (&str, Budget)) -> Result<Counts> {
    let wasm = Inspection::of(repo, &built.wasm)?;
    let glue = Inspection::of(repo, &built.glue)?;
    let glue_module = format!("./{}.js", built.wasm.file_stem().unwrap_or_default().to_string_lossy());
    let problems = [
        foreign_imports(&wasm.import_modules, &glue_module),
        code_from_text(&built.glue)?,
        over_budget(&format!("size.{}", of_wasm.0), of_wasm.1, wasm.brotli),
        over_budget(&format!("size.{}", of_glue.0), of_glue.1, glue.brotli),
    ];
    Ok(counted(&problems))
}

fn counted(problems: &[Option<String>]) -> Counts {
    problems.iter().fold(Counts::default(), |sum, problem| match problem {
        None => sum + Counts::passed(1),
        Some(problem) => {
            say!("{problem}");
            sum + Counts::failed(1)
        }
    })
}

/// Reports imports from other modules ("env", "wasi…"): code that calls a host without the bindings.
fn foreign_imports(modules: &[String], glue: &str) -> Option<String> {
    let foreign: Vec<&String> = modules.iter().filter(|module| *module != glue).collect();
    (!foreign.is_empty()).then(|| format!("the module imports from {foreign:?}; only {glue} is allowed"))
}

/// Reports code made from text, which a strict content security policy forbids.
fn code_from_text(glue: &Path) -> Result<Option<String>> {
    let text = std::fs::read_to_string(glue).with_context(|| glue.display().to_string())?;
    let found = ["new Function(", "eval("].into_iter().find(|call| text.contains(call));
    Ok(found.map(|call| format!("the glue calls {call}…), which a strict page forbids")))
}

fn over_budget(name: &str, budget: Budget, bytes: u64) -> Option<String> {
    say!("{name}: {bytes} bytes with brotli, {} allowed", budget.at_most);
    budget.objection(bytes).map(|objection| format!("{name} in wasm-pack.toml: {objection}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_glue_may_be_imported() {
        let modules = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(foreign_imports(&modules(&["./core_bg.js"]), "./core_bg.js"), None);
        assert_eq!(foreign_imports(&[], "./core_bg.js"), None);
        let found = foreign_imports(&modules(&["./core_bg.js", "env"]), "./core_bg.js");
        assert!(found.is_some_and(|text| text.contains("env")));
    }
}
