//! `emend review`, and the questions after `emend run --review`: one hunk after another, saved when accepted.

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;

use emend_agent::workspace::{Mode, ReviewFile, ReviewHunk};
use emend_edit::hunk::LineKind;
use emend_edit::log::DependentsPolicy;

use crate::failure::Failure;
use crate::project::Project;

const HELP: &str = "y accept · n reject · a accept this and all that follow · d reject this and all that follow · \
                    q leave the rest for later";

pub(crate) async fn review(root: &Path) -> Result<ExitCode, Failure> {
    let project = Project::open(root, Mode::Staged)?;
    decide(&project, ExitCode::SUCCESS).await
}

/// Asks about each pending hunk and returns `status`. Standard input that ends leaves the rest for later.
pub(crate) async fn decide(project: &Project, status: ExitCode) -> Result<ExitCode, Failure> {
    let first = project.workspace.review();
    let n_hunks: usize = first.files.iter().map(|file| file.hunks.len()).sum();
    let mut stdout = std::io::stdout();
    if n_hunks == 0 {
        writeln!(stdout, "There is nothing to review.")?;
        return Ok(status);
    }
    let mut answers = std::io::stdin().lock().lines();
    let mut for_all = None;
    let (mut n_seen, mut n_decided) = (0, 0);
    for file in &first.files {
        for hunk in &file.hunks {
            n_seen += 1;
            show(&mut stdout, file, hunk, n_seen, n_hunks)?;
            let accepts = match for_all {
                Some(accepts) => accepts,
                None => match ask(&mut stdout, &mut answers)? {
                    Answer::Accept => true,
                    Answer::Reject => false,
                    Answer::All(accepts) => *for_all.insert(accepts),
                    Answer::Later => {
                        return later(project, n_hunks - n_decided, status);
                    }
                },
            };
            let ids = [hunk.id.clone()];
            let outcome = if accepts {
                project.workspace.accept(&ids).await
            } else {
                project.workspace.reject(&ids, DependentsPolicy::OnlyThese).await
            };
            outcome.map_err(|error| Failure::new(error.code(), error.to_string()))?;
            n_decided += 1;
            project.save()?;
        }
    }
    Ok(status)
}

fn later(project: &Project, n_left: usize, status: ExitCode) -> Result<ExitCode, Failure> {
    project.save()?;
    let noun = if n_left == 1 { "hunk waits" } else { "hunks wait" };
    writeln!(std::io::stdout(), "{n_left} {noun} for you and nothing of it is on disk; go on with: emend review")?;
    Ok(status)
}

enum Answer {
    Accept,
    Reject,
    All(bool),
    Later,
}

fn ask(out: &mut impl Write, answers: &mut impl Iterator<Item = std::io::Result<String>>) -> Result<Answer, Failure> {
    loop {
        write!(out, "Accept this hunk [y,n,a,d,q,?]? ")?;
        out.flush()?;
        let Some(line) = answers.next() else {
            writeln!(out)?;
            return Ok(Answer::Later);
        };
        match line?.trim() {
            "y" => return Ok(Answer::Accept),
            "n" => return Ok(Answer::Reject),
            "a" => return Ok(Answer::All(true)),
            "d" => return Ok(Answer::All(false)),
            "q" => return Ok(Answer::Later),
            _ => writeln!(out, "{HELP}")?,
        }
    }
}

fn show(
    out: &mut impl Write,
    file: &ReviewFile,
    hunk: &ReviewHunk,
    number: usize,
    n_hunks: usize,
) -> std::io::Result<()> {
    writeln!(out, "\n{} ({}) · hunk {number} of {n_hunks}", file.path, file.operation)?;
    writeln!(out, "@@ -{},{} +{},{} @@", hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines)?;
    for line in &hunk.lines {
        let mark = match line.kind {
            LineKind::Context => ' ',
            LineKind::Added => '+',
            LineKind::Removed => '-',
        };
        writeln!(out, "{mark}{}", line.text.trim_end_matches(['\r', '\n']))?;
    }
    Ok(())
}
