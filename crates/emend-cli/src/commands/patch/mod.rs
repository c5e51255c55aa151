//! `emend patch`: applies a patch to a directory, all of it or nothing, even if the program is killed halfway.
//!
//! [`input`] parses the formats and [`report`] prints the outcome. `emend-edit` locates and applies the edits, and
//! `emend-host` writes the files.

mod input;
mod report;
mod steps;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use emend_agent::environment::{Access, EnvError, ExecutionEnvironment as _, FileChange, FilePath};
use emend_agent::error_code::Code;
use emend_edit::ContentHash;
use emend_edit::patch::unified::{DiffMode, FileKind};
use emend_edit::patch::{Change, Diagnostic, EditError, Operation, Patch, PlannedFile, plan};
use emend_edit::text::{DecodeError, decode, split_bom};
use emend_host::LocalEnvironment;

use self::input::Input;
use self::report::FileState;
use crate::args::PatchArgs;
use crate::failure::Failure;
use crate::place::Place;
use crate::project::{Project, open_state};

/// Exit status for a patch that was rejected.
const EXIT_REFUSED: u8 = 1;

/// Exit status for an invalid command line.
const EXIT_USAGE: u8 = 2;

/// Suggestions that a refusal gives.
const SUGGESTIONS_MAX: usize = 3;

/// A patch that was applied, or that applies.
struct Done {
    planned: Vec<PlannedFile>,
    diagnostics: Vec<Diagnostic>,
    /// The resulting file, in the format `safe`.
    state: Option<FileState>,
}

/// A patch that was rejected.
struct Refusal {
    failure: Failure,
    status: u8,
    /// The current file, in the format `safe`.
    state: Option<FileState>,
}

impl Refusal {
    fn usage(code: Code, message: impl Into<String>) -> Self {
        Self { status: EXIT_USAGE, ..Self::from(Failure::new(code, message)) }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self { failure, status: EXIT_REFUSED, state: None }
    }
}

impl From<EnvError> for Refusal {
    fn from(error: EnvError) -> Self {
        Failure::from(emend_agent::tool::ToolError::from(error)).into()
    }
}

pub(crate) async fn patch(args: PatchArgs) -> ExitCode {
    let outcome = carry_out(&args).await;
    report::print(&outcome, args.json, args.check)
}

async fn carry_out(args: &PatchArgs) -> Result<Done, Refusal> {
    let text = read_patch(args.file.as_deref())?;
    let format = match args.format {
        Some(format) => format,
        None => input::detect(&text)?,
    };
    let mut input = input::parse(format, &text)?;
    let environment = LocalEnvironment::new(&args.root).map_err(|error| {
        let message = format!("cannot open {}: {error}; give a directory with --root", args.root.display());
        Refusal::usage(Code::Configuration, message)
    })?;
    // A check writes nothing, so it neither recovers an interrupted patch nor locks the project.
    let place = Place::here(&args.root)?;
    // The journal of a patch belongs to the directory of the patch, the lock to the project.
    let _lock = match args.check || place.start().is_root() {
        true => None,
        false => Some(open_state(&Project::environment(place.root())?)?),
    };
    let state = if args.check { None } else { Some(open_state(&environment)?) };
    if args.check && environment.has_unfinished_commit() {
        let message =
            "an earlier change was interrupted; the next emend command that writes here completes or reverts it";
        return Err(Failure::new(Code::Busy, message).into());
    }
    let texts = read_files(&environment, &mut input.patch).await?;
    if let Some(error) = mismatch(&input, &texts) {
        return Err(error);
    }
    let planned = match plan(&input.patch, &texts) {
        Ok(planned) => planned,
        Err(error) => return Err(refused(&environment, &input, &texts, &error).await),
    };
    let changes = changes(&planned, &texts)?;
    let outcome = match &state {
        None => environment.check_commit(&changes),
        Some(state) => environment.commit(state, &changes, &mut steps::observer()),
    };
    outcome.map_err(Failure::from)?;
    // Reading the file is version 1, writing it version 2.
    let version = if args.check { 1 } else { 2 };
    let after = if args.check { None } else { planned.first() };
    let state = input.base_hash.and_then(|_| {
        let path = input.patch.edits.first()?.path.clone();
        let text = after.map_or_else(|| texts.get(&path).cloned().flatten(), |file| file.after.clone());
        Some(FileState::new(&path, version, text))
    });
    Ok(Done { planned, diagnostics: input.diagnostics, state })
}

/// Returns the text of the patch without a byte-order mark.
fn read_patch(file: Option<&Path>) -> Result<String, Refusal> {
    let mut bytes = Vec::new();
    match file.filter(|file| *file != Path::new("-")) {
        Some(file) => {
            bytes = std::fs::read(file).map_err(|error| {
                Refusal::usage(Code::NotFound, format!("cannot read the patch {}: {error}", file.display()))
            })?;
        }
        None => {
            std::io::stdin().lock().read_to_end(&mut bytes).map_err(Failure::from)?;
        }
    }
    let text = decode(&bytes).map_err(|error| {
        let offset = match error {
            DecodeError::Binary { offset } => format!("a NUL byte at offset {offset}"),
            DecodeError::InvalidUtf8 { offset } => format!("an invalid byte at offset {offset}"),
        };
        Failure::new(Code::InvalidArgument, format!("the patch is not UTF-8 text ({offset}); convert it to UTF-8"))
    })?;
    let text = split_bom(text).1;
    if text.trim().is_empty() {
        return Err(Failure::new(Code::InvalidArgument, "the patch is empty").into());
    }
    Ok(text.to_owned())
}

/// Reads every file that the patch names, and replaces the names in the patch by resolved paths, so that edits of one
/// file under several names are combined.
async fn read_files(
    environment: &LocalEnvironment,
    patch: &mut Patch,
) -> Result<BTreeMap<String, Option<String>>, Refusal> {
    let mut texts = BTreeMap::new();
    for edit in &mut patch.edits {
        let moves = edit.moved_to().is_some();
        if (moves || edit.change == Change::Delete || deletes(&edit.change)) && environment.is_link(&edit.path)? {
            let verb = if moves { "move" } else { "delete" };
            let target = environment.resolve(&edit.path, Access::Write).await?;
            let message = format!("{} is a symbolic link; {verb} its target, {target}, instead", edit.path);
            return Err(Failure::new(Code::Unsupported, message).into());
        }
        let target = match &mut edit.change {
            Change::Update { move_to, .. } => move_to.as_mut(),
            Change::Unified(unified) => unified.rename_to.as_mut(),
            _ => None,
        };
        for name in [Some(&mut edit.path), target].into_iter().flatten() {
            let path = environment.resolve(name, Access::Write).await?;
            if path.as_str().split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
                let message = format!("{path} is a file of git, which a patch cannot change");
                return Err(Failure::new(Code::InvalidArgument, message).into());
            }
            if !texts.contains_key(path.as_str()) {
                texts.insert(path.as_str().to_owned(), read_file(environment, &path).await?);
            }
            path.as_str().clone_into(name);
        }
    }
    Ok(texts)
}

fn deletes(change: &Change) -> bool {
    matches!(change, Change::Unified(unified) if unified.kind == FileKind::Delete)
}

/// Returns the text of a file, `None` if it does not exist.
async fn read_file(environment: &LocalEnvironment, path: &FilePath) -> Result<Option<String>, Refusal> {
    let bytes = match environment.read(path).await {
        Ok(bytes) => bytes,
        Err(EnvError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let text = decode(&bytes).map_err(|error| Failure::new(error.code().into(), format!("{path}: {error}")))?;
    Ok(Some(text.to_owned()))
}

/// Returns the refusal of a patch whose hash does not match the file.
fn mismatch(input: &Input, texts: &BTreeMap<String, Option<String>>) -> Option<Refusal> {
    let expected = input.base_hash?;
    let path = &input.patch.edits.first()?.path;
    let text = texts.get(path)?;
    let actual = ContentHash::of(text.as_deref().unwrap_or_default().as_bytes());
    let mut failure = Failure::new(Code::Stale, input::STATE_MISMATCH);
    failure
        .suggestions
        .push(format!("make the diff against the current content of {path}, whose hash is {}", actual.hex()));
    let state = Some(FileState::new(path, 1, text.clone()));
    (actual != expected).then_some(Refusal { failure, status: EXIT_REFUSED, state })
}

/// Returns the refusal of a patch that does not apply.
async fn refused(
    environment: &LocalEnvironment,
    input: &Input,
    texts: &BTreeMap<String, Option<String>>,
    error: &EditError,
) -> Refusal {
    let mut failure = Failure::new(error.code().into(), error.to_string());
    failure.suggestions = error.suggestions();
    if let EditError::NotFound { path, .. } = error
        && let Err(missing) = environment.resolve(path, Access::Read).await
    {
        failure.suggestions = missing.suggestions();
    }
    if failure.suggestions.is_empty() {
        failure.suggestions = right_lines(&input.patch, texts);
    }
    if input.base_hash.is_some() && failure.code == Code::Conflict {
        failure.message = format!("{}\n{}", input::INVALID_DIFF, failure.message);
    }
    let path = input.base_hash.and(input.patch.edits.first()).map(|edit| &edit.path);
    let state = path.map(|path| FileState::new(path, 1, texts.get(path).cloned().flatten()));
    Refusal { failure, status: EXIT_REFUSED, state }
}

/// Returns the correct positions of the hunks of a strict diff if only its line numbers are wrong.
fn right_lines(patch: &Patch, texts: &BTreeMap<String, Option<String>>) -> Vec<String> {
    let mut located = patch.clone();
    for edit in &mut located.edits {
        if let Change::Unified(unified) = &mut edit.change {
            unified.mode = DiffMode::Located;
        }
    }
    let planned = if located == *patch { Vec::new() } else { plan(&located, texts).unwrap_or_default() };
    let notes = planned.iter().flat_map(|file| {
        let moved = file.diagnostics.iter().filter(|diagnostic| diagnostic.code == "wrong_line");
        moved.map(|diagnostic| format!("correct the header in {}: {}", file.path, diagnostic.message))
    });
    notes.take(SUGGESTIONS_MAX).collect()
}

/// Returns the changes of the files on disk.
fn changes(planned: &[PlannedFile], texts: &BTreeMap<String, Option<String>>) -> Result<Vec<FileChange>, Refusal> {
    let change = |path: &str, after: Option<&String>, mode_of: Option<&String>, executable: Option<bool>| {
        let clean = |path: &str| {
            let outside = || Failure::new(Code::Internal, format!("{path} is not a path inside the root"));
            FilePath::clean(path).ok_or_else(outside)
        };
        let before = texts.get(path).and_then(Option::as_ref).map(|text| text.as_bytes().to_vec());
        let after = after.map(|text| text.as_bytes().to_vec());
        let mode_of = mode_of.map(|path| clean(path)).transpose()?;
        Ok::<_, Refusal>(FileChange { path: clean(path)?, before, after, mode_of, executable, over_read_only: false })
    };
    let mut changes = Vec::new();
    for file in planned {
        let from = match &file.operation {
            Operation::Rename { from } => Some(from),
            _ => None,
        };
        changes.push(change(&file.path, file.after.as_ref(), from, file.executable)?);
        // The patch may create another file under the old name.
        if let Some(from) = from.filter(|from| planned.iter().all(|file| file.path != **from)) {
            changes.push(change(from, None, None, None)?);
        }
    }
    Ok(changes)
}
