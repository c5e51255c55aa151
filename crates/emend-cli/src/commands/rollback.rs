//! `emend rollback --scoped` and `--hard`.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write};
use std::process::ExitCode;

use emend_agent::environment::{FilePath, KeptPreview};
use emend_agent::error_code::Code;
use emend_agent::workspace::{Mode, RollbackMode, RollbackRequest, RolledBackFile};

use super::blocked::{Blocked, write_kept};
use super::checkpoints::{listed, nothing_done, refusal, sentence_of_lost, shown, since, write_lost};
use super::review::ask_on_stdin;
use super::undo::report_finished;
use crate::failure::Failure;
use crate::place::Start;
use crate::project::Project;
use crate::style::Painter;
use crate::text_diff;
use crate::visible::{Guarded, listing as stdout};
use crate::wrap::folded;

/// Undoes one run. Hunks on which later edits depend stay, and are named.
pub(crate) async fn scoped(root: &Start, run: u64, check: bool) -> Result<ExitCode, Failure> {
    let project = if check { Project::open_to_read(root).await? } else { Project::open(root, Mode::Direct).await? };
    project.workspace.take_in_changes().await?;
    since(&project, run)?;
    let known = project.workspace.runs().into_iter().find(|known| known.run_id == run);
    let lost = known.map(|known| known.lost).unwrap_or_default();
    let request = RollbackRequest { runs: vec![run], preview: check, ..RollbackRequest::default() };
    let files = project.workspace.rollback(&request).await?.files;
    if files.iter().all(|file| !is_changed(file) && file.conflicts.is_empty() && !file.refused) {
        if !check {
            project.save()?;
        }
        if report_finished(&project, Some(&[run])).await? {
            return name_kept(&project, run).await;
        }
        let paths = beside_texts(&project, run).await?;
        if !paths.is_empty() {
            let advice = format!("to undo it and all later runs: emend rollback {run}");
            let message =
                format!("run {run} changed no text, and --scoped undoes texts alone: {}; {advice}", listed(&paths));
            return Err(Failure::new(Code::InvalidArgument, message));
        }
        let reasons: Vec<String> = sentence_of_lost(&lost).into_iter().collect();
        return Err(nothing_done(format!("run {run} has nothing left to undo"), &reasons));
    }
    // First the report, as of an undo.
    let reported = report_scoped(&project, files, check).await;
    if !check {
        project.save()?;
    }
    reported?;
    name_kept(&project, run).await
}

/// Returns whether a rollback changes the file. The keeper changes a text without a change in its log, such as one with hard
/// links.
fn is_changed(file: &RolledBackFile) -> bool {
    file.reverted > 0 || file.texts.before != file.texts.after
}

/// Prints the changes that a scoped rollback makes, or would make, and those that it keeps.
async fn report_scoped(project: &Project, files: Vec<RolledBackFile>, check: bool) -> Result<(), Failure> {
    let mut stdout = stdout();
    for file in files {
        let name = shown(&file.file_path);
        if check && file.texts.before != file.texts.after {
            let (before, after) = (file.texts.before.as_deref(), file.texts.after.as_deref());
            stdout.write_own(&text_diff::coloured(Painter::stdout(), file.file_path.as_str(), before, after))?;
        } else if !check && is_changed(&file) && (file.texts.before.is_some() || file.texts.after.is_some()) {
            let action = if file.texts.after.is_none() { "removed" } else { "restored" };
            writeln!(stdout, "{action} {name}")?;
        }
        if file.refused {
            writeln!(stdout, "{}", folded(&format!("kept {name}: {}", refusal(project, &file.file_path).await)))?;
        }
        match file.conflicts.len() {
            0 => {}
            1 => writeln!(stdout, "kept 1 hunk of {name}: later edits depend on it")?,
            n => writeln!(stdout, "kept {n} hunks of {name}: later edits depend on them")?,
        }
    }
    Ok(())
}

/// Names the changes of a run that a scoped rollback keeps.
async fn name_kept(project: &Project, run: u64) -> Result<ExitCode, Failure> {
    let paths = beside_texts(project, run).await?;
    if !paths.is_empty() {
        let advice = format!("to undo that and all later runs: emend rollback {run}");
        let line = format!("kept the changes that are not of texts: {}; {advice}", listed(&paths));
        writeln!(stdout(), "{}", folded(&line))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Gives the files of a run and of all later runs the text that they had before it, after a question.
pub(crate) async fn hard(root: &Start, run: u64, check: bool, yes: bool) -> Result<ExitCode, Failure> {
    let project = if check { Project::open_to_read(root).await? } else { Project::open(root, Mode::Direct).await? };
    let runs = since(&project, run)?;
    let others = project.workspace.other_changes(&runs, true).await?;
    let (blocked, others): (Vec<KeptPreview>, Vec<KeptPreview>) =
        others.into_iter().partition(|other| other.is_blocked);
    let blocked: Vec<FilePath> = blocked.into_iter().map(|change| change.path).collect();
    let blocked = Blocked::all(&project, &blocked).await;
    let undone = project.workspace.runs().into_iter().filter(|known| runs.contains(&known.run_id));
    let lost: BTreeSet<FilePath> = undone.flat_map(|known| known.lost).collect();
    let lost: Vec<FilePath> = lost.into_iter().collect();
    let preview = RollbackRequest { mode: RollbackMode::HardAll, runs, preview: true, ..RollbackRequest::default() };
    let mut files = project.workspace.rollback(&preview).await?.files;
    let refused = refusals(&project, &files).await;
    files.retain(|file| file.texts.before != file.texts.after);
    let ignored = text_diff::ignored(&project.workspace.ignored_changes(&preview.runs, true));
    if files.is_empty() && others.is_empty() && ignored.is_empty() {
        if !check {
            project.save()?;
        }
        if blocked.is_empty() && refused.is_empty() && report_finished(&project, Some(&preview.runs)).await? {
            return Ok(ExitCode::SUCCESS);
        }
        let message = match (blocked.is_empty(), refused.is_empty()) {
            (true, true) if lost.is_empty() => format!("the files of run {run} are as they were before it"),
            (true, _) => "nothing was changed".to_owned(),
            (false, _) => "nothing was changed; after a path is moved away, the same command restores it".to_owned(),
        };
        let refused = refused.iter().map(|(path, reason)| format!("{path}: {reason}"));
        let reasons = blocked.iter().map(Blocked::sentence).chain(refused).chain(sentence_of_lost(&lost));
        return Err(nothing_done(message, &reasons.collect::<Vec<_>>()));
    }
    let mut stdout = stdout();
    if check {
        for file in files {
            let (before, after) = (file.texts.before.as_deref(), file.texts.after.as_deref());
            stdout.write_own(&text_diff::coloured(Painter::stdout(), file.file_path.as_str(), before, after))?;
        }
        for change in &others {
            writeln!(stdout, "{}", text_diff::other(&change.path, change.after.as_ref(), change.before.as_ref()))?;
        }
        for line in ignored {
            writeln!(stdout, "{line}")?;
        }
        write_kept(&mut stdout, &blocked)?;
        write_refused(&mut stdout, &refused)?;
        write_lost(&mut stdout, "", &lost)?;
        return Ok(ExitCode::SUCCESS);
    }
    let of_other = |change: &KeptPreview| text_diff::other(&change.path, change.after.as_ref(), change.before.as_ref());
    let of_paths = files.iter().map(|file| (Some(&file.file_path), loss(file)));
    let of_paths = of_paths.chain(others.iter().map(|change| (Some(&change.path), of_other(change))));
    let losses: Vec<(Option<&FilePath>, String)> =
        of_paths.chain(ignored.into_iter().map(|line| (None, line))).collect();
    let lines = losses.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>();
    if !yes {
        drop(stdout);
        if !std::io::stdin().is_terminal() {
            let message = format!("--hard loses {}; add --yes to do so without a question", lines.join("; "));
            return Err(Failure::new(Code::InvalidArgument, message));
        }
        let question = format!("This takes back:\n  {}\nContinue? [y]es, [n]o: ", lines.join("\n  "));
        let answer = ask_on_stdin()(&question)?.unwrap_or_default();
        if !["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
            return Err(Failure::new(Code::Aborted, "nothing was changed"));
        }
        stdout = self::stdout();
    }
    let done = project.workspace.rollback(&RollbackRequest { preview: false, ..preview }).await?;
    let refused: Vec<&FilePath> = done.files.iter().filter(|file| file.refused).map(|file| &file.file_path).collect();
    let others: Vec<FilePath> = done.kept.into_iter().filter(|path| !refused.contains(&path)).collect();
    // The preview does not know that the system refuses a change.
    let is_kept = |path: &FilePath| refused.contains(&path) || others.contains(path) && !done.restored.contains(path);
    let taken: Vec<&str> =
        losses.iter().filter(|(path, _)| !path.is_some_and(is_kept)).map(|(_, line)| line.as_str()).collect();
    let kept = Blocked::all(&project, &others).await;
    let refused = refusals(&project, &done.files).await;
    if taken.is_empty() {
        project.save()?;
        let refused = refused.iter().map(|(path, reason)| format!("{path}: {reason}"));
        let reasons = kept.iter().map(Blocked::sentence).chain(refused).chain(sentence_of_lost(&lost));
        let reasons: Vec<String> = reasons.collect();
        return Err(nothing_done("nothing was taken back".to_owned(), &reasons));
    }
    let report = || -> Result<(), Failure> {
        for line in taken {
            writeln!(stdout, "took back {line}")?;
        }
        write_kept(&mut stdout, &kept)?;
        write_refused(&mut stdout, &refused)?;
        write_lost(&mut stdout, "", &lost)?;
        writeln!(stdout, "emend redo restores them, until the next run changes a file")?;
        Ok(stdout.flush()?)
    };
    // First the report: after a kill between the two, a command that is repeated finds the rollback unfinished, and says so.
    let reported = report();
    project.save()?;
    reported?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the paths and ignored directories that commands of a run changed, other than texts with line logs.
async fn beside_texts(project: &Project, run: u64) -> Result<Vec<String>, Failure> {
    let others = project.workspace.other_changes_of_runs(&[run]).await?;
    let ignored = project.workspace.ignored_changes(&[run], true);
    Ok(others.iter().map(|change| &change.path).chain(ignored.keys()).map(shown).collect())
}

/// Returns the changes of a file that a rollback takes back.
fn loss(file: &RolledBackFile) -> String {
    let count = |n: usize, whose: &str| match n {
        0 => None,
        1 => Some(format!("1 change {whose}")),
        n => Some(format!("{n} changes {whose}")),
    };
    let parts = [count(file.reverted, "of the agent"), count(file.reverted_from_user, "of yours")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    // Changes that were undone before the rollback come back.
    let parts = if parts.is_empty() { "its present text".to_owned() } else { parts.join(" and ") };
    format!("{}: {parts}", shown(&file.file_path))
}

/// Returns the texts that a rollback leaves as they are, each with the reason.
async fn refusals(project: &Project, files: &[RolledBackFile]) -> Vec<(String, String)> {
    let mut refusals = Vec::new();
    for file in files.iter().filter(|file| file.refused) {
        refusals.push((shown(&file.file_path), refusal(project, &file.file_path).await));
    }
    refusals
}

/// Prints a line for each text that stays as it is.
fn write_refused<W: Write>(out: &mut Guarded<W>, refused: &[(String, String)]) -> Result<(), Failure> {
    for (path, reason) in refused {
        writeln!(out, "{}", folded(&format!("kept {path}: {reason}")))?;
    }
    Ok(())
}
