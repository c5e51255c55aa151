//! The conformance suite: cases that every `ExecutionEnvironment` must pass.
//!
//! A host creates the tree of [`fixture`] once per case and runs each of [`CASES`] on it. All environments of this
//! project pass; an environment written elsewhere should too. Special properties of an environment (FIFOs, races,
//! crashes) have tests of their own.

mod cases;
mod commands;
#[cfg(not(target_family = "wasm"))]
mod first_step;
mod sandbox;
mod script;

use emend_llm::BoxFuture;

pub use script::{CALLS, transcript};

use crate::environment::FileMatches;
use crate::environment::{Access, DirEntry, EntryKind, EnvError, ExecutionEnvironment, FilePath, GrepQuery};
use crate::search::Matcher;

/// A property and the code that checks it.
pub struct Case {
    /// Name of the property, as an identifier.
    pub name: &'static str,
    check: for<'a> fn(&'a dyn ExecutionEnvironment) -> BoxFuture<'a, Outcome>,
}

/// A violated property.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: found {found}, expected {expected}")]
pub struct Violation {
    /// The operation.
    pub what: String,
    /// The actual result.
    pub found: String,
    /// The expected result.
    pub expected: String,
}

type Outcome = Result<(), Violation>;

impl Case {
    /// Checks the property on `environment`, which must hold the unchanged tree of [`fixture`].
    ///
    /// # Errors
    ///
    /// Returns the first [`Violation`].
    pub async fn run(&self, environment: &dyn ExecutionEnvironment) -> Outcome {
        (self.check)(environment).await
    }
}

macro_rules! list {
    ($($(#[$only:meta])? $module:ident::$name:ident),* $(,)?) => {
        &[$($(#[$only])? Case { name: stringify!($name), check: |environment| Box::pin($module::$name(environment)) },)*]
    };
}

/// All cases.
pub const CASES: &[Case] = list![
    cases::names_itself,
    cases::reads_bytes_as_they_are,
    cases::reads_no_directories,
    cases::reads_what_may_not_exist,
    cases::knows_what_paths_are,
    cases::writes_and_creates_parents,
    cases::writes_through_links,
    cases::writes_only_files,
    cases::removes_only_files,
    cases::changes_all_files_or_none,
    #[cfg(not(target_family = "wasm"))]
    first_step::changes_after_the_first_step,
    cases::lists_sorted_to_a_depth,
    cases::lists_only_directories,
    cases::globs_what_a_walk_finds,
    cases::globs_from_anywhere,
    cases::greps_lines_with_their_numbers,
    cases::greps_within_limits,
    cases::greps_what_is_asked_for,
    cases::sees_changes_at_once,
    sandbox::finds_paths_inside,
    sandbox::refuses_paths_outside,
    sandbox::refuses_malformed_paths,
    sandbox::suggests_names,
    sandbox::follows_no_link_unresolved,
    commands::runs_commands,
    commands::stops_commands,
];

/// Returns the tree of the suite as text for [`MemFs::from_fixture`](crate::environment::memory::MemFs::from_fixture)
/// and [`parse_fixture`](crate::environment::memory::parse_fixture). `root` is the working directory of the
/// environment.
///
/// Entries beside the root may have any name but `not-there`.
#[must_use]
pub fn fixture(root: &str) -> String {
    include_str!("fixture.txt").replace("{root}", root).replace("{cr}", "\r").replace("{nul}", "\0")
}

fn expect<T: PartialEq + std::fmt::Debug>(what: impl Into<String>, found: T, expected: T) -> Outcome {
    if found == expected {
        return Ok(());
    }
    Err(Violation { what: what.into(), found: format!("{found:?}"), expected: format!("{expected:?}") })
}

fn expect_code<T: std::fmt::Debug>(what: impl Into<String>, found: Result<T, EnvError>, code: &str) -> Outcome {
    let found = found.map_err(|error| error.code().as_str());
    match found {
        Err(found) if found == code => Ok(()),
        found => Err(Violation { what: what.into(), found: format!("{found:?}"), expected: code.to_owned() }),
    }
}

fn succeed<T>(what: impl Into<String>, found: Result<T, EnvError>) -> Result<T, Violation> {
    found.map_err(|error| Violation {
        what: what.into(),
        found: format!("{}: {error}", error.code().as_str()),
        expected: "success".to_owned(),
    })
}

async fn resolve(environment: &dyn ExecutionEnvironment, path: &str, access: Access) -> Result<FilePath, Violation> {
    succeed(format!("resolve {path:?}"), environment.resolve(path, access).await)
}

async fn read(environment: &dyn ExecutionEnvironment, path: &str) -> Result<Vec<u8>, Violation> {
    let path = resolve(environment, path, Access::Read).await?;
    succeed(format!("read {path}"), environment.read(&path).await)
}

async fn write(environment: &dyn ExecutionEnvironment, path: &str, content: &[u8]) -> Outcome {
    let path = resolve(environment, path, Access::Write).await?;
    succeed(format!("write {path}"), environment.write(&path, content).await)
}

async fn glob(environment: &dyn ExecutionEnvironment, path: &str, glob: &str) -> Result<Vec<String>, Violation> {
    let path = resolve(environment, path, Access::Read).await?;
    let found = names(&succeed(format!("glob {glob} in {path}"), environment.glob(&path, glob).await)?);
    let paths = succeed(format!("paths of {glob} in {path}"), environment.glob_paths(&path, glob).await)?;
    let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
    expect(format!("paths of {glob} in {path}"), paths, found.clone())?;
    Ok(found)
}

/// Lists `path`, with `/` after directories and the size after files.
async fn list(environment: &dyn ExecutionEnvironment, path: &str, depth: usize) -> Result<Vec<String>, Violation> {
    let path = resolve(environment, path, Access::List).await?;
    let found = succeed(format!("list {path}"), environment.list(&path, depth).await)?;
    Ok(rendered(&found))
}

/// Formats entries with `/` after directories and the size after files.
fn rendered(entries: &[DirEntry]) -> Vec<String> {
    let rendered = entries.iter().map(|entry| match entry.metadata.kind {
        EntryKind::File => format!("{} {}", entry.path, entry.metadata.size),
        EntryKind::Directory => format!("{}/", entry.path),
    });
    rendered.collect()
}

/// Copies a list of expected lines.
fn own(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

fn names(entries: &[DirEntry]) -> Vec<String> {
    entries.iter().map(|entry| entry.path.as_str().to_owned()).collect()
}

/// Returns a query for a literal in the whole tree, with all other options off.
fn query(pattern: &str) -> Result<GrepQuery, Violation> {
    let matcher = Matcher::new(pattern, false).map_err(|error| Violation {
        what: format!("compile {pattern}"),
        found: error.to_string(),
        expected: "success".to_owned(),
    })?;
    Ok(GrepQuery {
        matcher,
        path: FilePath::root(),
        glob: None,
        exclude: Vec::new(),
        max_results: 100,
        context_lines: 0,
    })
}

/// Runs `query` and formats matching lines as `path:3:text` and context lines as `path-4-text`.
async fn grep(environment: &dyn ExecutionEnvironment, query: &GrepQuery) -> Result<Vec<String>, Violation> {
    let what = format!("grep {} in {}", query.matcher.pattern(), query.path);
    let found: Vec<FileMatches> = succeed(what, environment.grep(query).await)?;
    Ok(rendered_lines(&found))
}

fn rendered_lines(found: &[FileMatches]) -> Vec<String> {
    let rendered = found.iter().flat_map(|file| {
        file.lines.iter().map(|line| {
            let mark = if line.is_match { ':' } else { '-' };
            format!("{}{mark}{}{mark}{}", file.path, line.line, line.text)
        })
    });
    rendered.collect()
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::environment::layers::{LogEvent, Logging, ReadOnly};
    use crate::environment::memory::MemFs;
    use crate::test_support::{Standstill, covers};
    use emend_llm::Shared;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_file_system_in_memory_conforms() {
        covers("environment.custom");
        for case in CASES {
            let files = MemFs::from_fixture(&fixture("/workspace"));
            assert_eq!(block_on(case.run(&files)), Ok(()), "{}", case.name);
        }
    }

    #[test]
    fn the_same_tree_answers_the_same_whatever_is_around_it() {
        covers("environment.custom");
        let files = || MemFs::from_fixture(&fixture("/workspace"));
        let elsewhere = MemFs::from_fixture(&fixture("/home/me")).with_root("/home/me");
        let shared = || Shared::new(files()) as Shared<dyn ExecutionEnvironment>;
        let logging = Logging::new(shared(), Shared::new(Standstill(0)), Shared::new(|_: &LogEvent<'_>| {}));
        let expected = block_on(transcript(&files(), true));
        assert_eq!(expected.lines().count(), CALLS);
        // The script is worth comparing only if each kind of call both succeeds and fails.
        let answers = |kind: &str, refused: bool| {
            let of_kind = expected.lines().filter(|line| line.split(' ').nth(1) == Some(kind));
            let codes = ["not_found", "invalid_argument", "permission_denied"];
            of_kind.filter(|line| codes.iter().any(|code| line.contains(&format!(": \"{code}: "))) == refused).count()
        };
        for kind in ["write", "read", "list", "glob", "grep", "remove", "resolve"] {
            assert!(answers(kind, false) > 0 && answers(kind, true) > 0, "{kind}: {expected}");
        }
        for environment in [&files() as &dyn ExecutionEnvironment, &elsewhere, &logging] {
            assert_eq!(block_on(transcript(environment, true)), expected);
        }
        let expected = block_on(transcript(&files(), false));
        assert_eq!(block_on(transcript(&ReadOnly::new(shared()), false)), expected);
    }

    #[test]
    fn a_wrong_environment_is_found_out() {
        let empty = MemFs::new();
        let failed = CASES.iter().filter(|case| block_on(case.run(&empty)).is_err()).count();
        // Cases that an empty tree passes: its name, the missing shell, and rejected paths.
        assert!(failed >= CASES.len() - 7, "only {failed} of {} cases noticed that nothing is there", CASES.len());
    }
}
