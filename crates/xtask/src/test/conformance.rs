//! Compares `docs/*-conformance.md` with the tests that ran, or writes these pages (`UPDATE_EXPECT=1`).
//!
//! The pages are made from the output of the steps `native` and `http`, so a test that failed, was skipped or returned
//! early gives no tick. A line of a page whose tests were skipped on this machine counts as skipped.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use syn::visit::{self, Visit};

use super::checklist::{self, Page};
use super::context::Context;
use super::counts::Counts;
use super::planted_faults;
use super::run_log::RunLog;
use crate::progress::say;
use crate::repo::Repo;

/// The binary of the step `http`, whose tests count as skipped if the step did not run.
const HTTP: &str = "http";

/// The pages: the name that their files share, and the title.
const PAGES: [(&str, &str); 2] = [("agent", "Conformance of the agent"), ("llm", "Conformance of the LLM client")];

fn header(name: &str, title: &str) -> String {
    format!(
        "# {title}\n\n\
         Generated from a run of the tests by `UPDATE_EXPECT=1 cargo xtask test --only conformance`; edit the tests, not this\n\
         page. A tick means that the tests in the last column cover the item, ran, passed and skipped nothing. Items that\n\
         need a provider's key are checked by hand; open items are not implemented. The items are listed in\n\
         `tests/it/{name}_checklist.txt`.\n"
    )
}

/// Compares or writes each page, and checks the places of `covers` calls and the items of planted faults.
pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let repo = context.repo;
    let log = read_logs(repo)?;
    let mut counts = Counts::default();
    let mut ids = BTreeSet::new();
    let is_update = std::env::var_os("UPDATE_EXPECT").is_some();
    for (name, title) in PAGES {
        let checklist = read(&repo.path(&format!("tests/it/{name}_checklist.txt")))?;
        for id in checklist::ids(&checklist) {
            if !ids.insert(id.clone()) {
                bail!("{id} is listed twice");
            }
        }
        let path = repo.path(&format!("docs/{name}-conformance.md"));
        let made = checklist::page(&header(name, title), &checklist, &log.covered);
        if is_update {
            std::fs::write(&path, &made.text).with_context(|| path.display().to_string())?;
        }
        let compared = compare(&made, &read(&path)?, |test| log.is_skipped(test));
        say!("{}: {}", path.display(), made.text.lines().last().unwrap_or_default());
        compared.faults.iter().for_each(|fault| say!("  {fault}"));
        counts = counts + compared.counts();
    }
    let unknown = log.covered.keys().filter(|item| !ids.contains(*item));
    let mut faults: Vec<String> = unknown.map(|item| format!("{item} is covered and on no checklist")).collect();
    faults.extend(planted_faults::unknown_to_tests(repo, &log.covered)?);
    faults.extend(early_returns(repo)?);
    faults.iter().for_each(|fault| say!("  {fault}"));
    Ok(counts + if faults.is_empty() { Counts::passed(1) } else { Counts::failed(faults.len()) })
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}

fn read_logs(repo: &Repo) -> Result<RunLog> {
    let mut log = RunLog::default();
    let native = repo.path("target/logs/native.log");
    log.read(&read(&native).context("run `cargo xtask test --only native` first")?);
    if let Ok(http) = std::fs::read_to_string(repo.path("target/logs/http.log")) {
        log.read(&http);
    }
    Ok(log)
}

impl RunLog {
    /// The test left cases out in this run, or its step did not run.
    fn is_skipped(&self, test: &str) -> bool {
        let binary = test.split("::").next().unwrap_or_default();
        self.skipped.contains(test) || (binary == HTTP && !self.binaries.contains(HTTP))
    }
}

/// The result of a comparison of a page with a run.
#[derive(Debug, Default, PartialEq)]
struct Compared {
    faults: Vec<String>,
    n_skipped: usize,
}

impl Compared {
    fn counts(&self) -> Counts {
        let passed = usize::from(self.faults.is_empty());
        Counts { passed, failed: self.faults.len(), skipped: self.n_skipped }
    }
}

/// Compares the page that a run gives with the page in the repository.
fn compare(made: &Page, kept: &str, is_skipped: impl Fn(&str) -> bool) -> Compared {
    let mut compared = Compared::default();
    let kept: BTreeSet<&str> = kept.lines().collect();
    for line in made.text.lines().filter(|line| !line.ends_with("are covered by tests.")) {
        let fault = made.faults.iter().find_map(|(wrong, fault)| (wrong == line).then_some(fault.as_str()));
        // A line of the page with the same item, some of whose tests were skipped in this run.
        let item = item_of(line);
        let names_skipped = |kept: &&&str| item.is_some() && item_of(kept) == item && tests_of(kept).any(&is_skipped);
        if (fault.is_some() || !kept.contains(line)) && kept.iter().any(|kept| names_skipped(&kept)) {
            compared.n_skipped += 1;
        } else if let Some(fault) = fault {
            compared.faults.push(fault.to_owned());
        } else if !kept.contains(line) {
            compared.faults.push(format!("UPDATE_EXPECT=1 would add: {line}"));
        }
    }
    let made: BTreeSet<Option<&str>> = made.text.lines().map(item_of).collect();
    let removed = kept.iter().filter(|line| item_of(line).is_some_and(|item| !made.contains(&Some(item))));
    compared.faults.extend(removed.map(|line| format!("UPDATE_EXPECT=1 would remove: {line}")));
    compared
}

/// Returns the id in the first column of a table.
fn item_of(line: &str) -> Option<&str> {
    let cell = line.strip_prefix("| ")?;
    cell.trim_start_matches(['☑', '☐', ' ']).strip_prefix('`')?.split('`').next()
}

/// Returns the tests in the last column of a table.
fn tests_of(line: &str) -> impl Iterator<Item = &str> {
    let cell = line.trim_end_matches(" |").rsplit("| ").next().unwrap_or_default();
    cell.split(", ").map(|test| test.trim_matches('`'))
}

/// Returns a line for each test that could return after it named its items: it would cover them without checking them.
fn early_returns(repo: &Repo) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for file in repo.files()?.into_iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs")) {
        let text = read(&repo.root().join(&file))?;
        if !text.contains("covers(\"") {
            continue;
        }
        let parsed = syn::parse_file(&text).with_context(|| file.display().to_string())?;
        let names = returning_after_covers(&parsed);
        faults.extend(names.iter().map(|name| format!("{}: {name} may return after `covers`", file.display())));
    }
    Ok(faults)
}

fn returning_after_covers(file: &syn::File) -> Vec<String> {
    let mut tests = Tests::default();
    tests.visit_file(file);
    tests.returning
}

/// Finds functions with a `return` after a call of `covers`.
#[derive(Default)]
struct Tests {
    returning: Vec<String>,
    /// Of the current function: a call of `covers` was met, then a `return`.
    has_covers: bool,
    has_return: bool,
}

impl<'ast> Visit<'ast> for Tests {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        let outer = (self.has_covers, self.has_return);
        (self.has_covers, self.has_return) = (false, false);
        visit::visit_item_fn(self, function);
        if self.has_return {
            self.returning.push(function.sig.ident.to_string());
        }
        (self.has_covers, self.has_return) = outer;
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let syn::Expr::Path(path) = &*call.func {
            self.has_covers |= path.path.segments.last().is_some_and(|segment| segment.ident == "covers");
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_return(&mut self, returned: &'ast syn::ExprReturn) {
        self.has_return |= self.has_covers;
        visit::visit_expr_return(self, returned);
    }

    /// A `return` in a closure or an async block does not end the test.
    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}

    fn visit_expr_async(&mut self, _: &'ast syn::ExprAsync) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: &str = "# Page\n\n| ☑ `file.read` | Files are read | `x::a`, `x::b` |\n| ☑ `file.sign` | Signed | `x::c` |\n\n2 of 2 are covered by tests.\n";

    #[track_caller]
    fn check(rows: &[&str], skipped: &str, expected: &[&str], n_skipped: usize) {
        let text = format!("# Page\n\n{}\n\n1 of 2 are covered by tests.\n", rows.join("\n"));
        let faults = rows.iter().filter(|row| row.contains('☐')).map(|row| ((*row).to_owned(), "no test".to_owned()));
        let compared = compare(&Page { text, faults: faults.collect() }, KEPT, |test| test == skipped);
        assert_eq!(
            (compared.faults, compared.n_skipped),
            (expected.iter().map(|&fault| fault.into()).collect(), n_skipped)
        );
    }

    #[test]
    fn a_line_differs_only_if_its_tests_were_skipped() {
        let (read, sign) =
            ("| ☑ `file.read` | Files are read | `x::a`, `x::b` |", "| ☑ `file.sign` | Signed | `x::c` |");
        let (less, none) = ("| ☑ `file.read` | Files are read | `x::a` |", "| ☐ `file.sign` | Signed |  |");
        check(&[read, sign], "", &[], 0);
        check(&[less, sign], "x::b", &[], 1);
        check(&[read, none], "x::c", &[], 1);
        check(&[less, sign], "", &["UPDATE_EXPECT=1 would add: | ☑ `file.read` | Files are read | `x::a` |"], 0);
        check(&[read, none], "x::b", &["no test"], 0);
        check(&[read], "", &["UPDATE_EXPECT=1 would remove: | ☑ `file.sign` | Signed | `x::c` |"], 0);
    }

    #[test]
    fn a_test_names_its_items_after_its_last_early_return() {
        let returning = |body: &str| {
            let text = format!("mod tests {{ #[test] fn reads() {{ {body} }} }}");
            !returning_after_covers(&syn::parse_file(&text).unwrap()).is_empty()
        };
        assert!(returning("covers(\"a\"); let Some(x) = f() else { return };"));
        assert!(returning("support::covers(\"a\"); if g() { return; } check();"));
        assert!(!returning("let Some(x) = f() else { return }; covers(\"a\"); check();"));
        assert!(!returning("covers(\"a\"); h(|x| { return x; }); block_on(async { return 1; });"));
    }
}
