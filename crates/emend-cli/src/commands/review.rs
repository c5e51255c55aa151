//! `emend review`, and the review after `emend run --review`: asks about each hunk and saves each decision.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use emend_agent::workspace::{Mode, ReviewFile, ReviewHunk};
use emend_edit::diff::LineKind;
use emend_edit::line_log::DependentsPolicy;

use crate::failure::Failure;
use crate::project::Project;
use crate::style::{self, Painter};
use crate::text_diff::painted;
use crate::visible::visible;

const HELP: &str = "y accept · n reject · s skip (decide later) · a accept this hunk and all that follow · d reject \
                    this hunk and all that follow · q quit (decide on the rest later)";

/// Asks one question and returns the answer, `None` at the end of the input.
pub(crate) type Ask<'a> = &'a mut dyn FnMut(&str) -> Result<Option<String>, Failure>;

pub(crate) async fn review(root: &Path) -> Result<ExitCode, Failure> {
    let project = Project::open(root, Mode::Staged)?;
    decide(&project, &mut ask_on_stdin()).await?;
    Ok(ExitCode::SUCCESS)
}

/// Asks on standard output and reads answers from standard input.
pub(crate) fn ask_on_stdin() -> impl FnMut(&str) -> Result<Option<String>, Failure> {
    let mut answers = std::io::stdin().lines();
    move |question| {
        let mut stdout = std::io::stdout().lock();
        write!(stdout, "{question}")?;
        stdout.flush()?;
        let answer = answers.next().transpose()?;
        if answer.is_none() {
            writeln!(stdout)?;
        }
        Ok(answer)
    }
}

/// Asks about each pending hunk. The end of the input leaves the rest pending.
pub(crate) async fn decide(project: &Project, ask: Ask<'_>) -> Result<(), Failure> {
    let painter = Painter::stdout();
    let first = project.workspace.review();
    let n_hunks: usize = first.files.iter().map(|file| file.hunks.len()).sum();
    let mut stdout = std::io::stdout();
    if n_hunks == 0 {
        writeln!(stdout, "There is nothing to review.")?;
        return Ok(());
    }
    let mut for_all = None;
    let (mut n_seen, mut n_decided) = (0, 0);
    for file in &first.files {
        for hunk in &file.hunks {
            n_seen += 1;
            show(&mut stdout, painter, file, hunk, n_seen, n_hunks)?;
            let accepts = match for_all {
                Some(accepts) => accepts,
                None => match decision(&mut stdout, ask)? {
                    Decision::Accept => true,
                    Decision::Reject => false,
                    Decision::Skip => continue,
                    Decision::All(accepts) => *for_all.insert(accepts),
                    Decision::Later => return later(project, n_hunks - n_decided),
                },
            };
            let ids = [hunk.id.clone()];
            let outcome = if accepts {
                project.workspace.accept(&ids).await
            } else {
                project.workspace.reject(&ids, DependentsPolicy::OnlyThese).await
            };
            outcome?;
            n_decided += 1;
            project.save()?;
        }
    }
    if n_decided < n_hunks { later(project, n_hunks - n_decided) } else { Ok(()) }
}

fn later(project: &Project, n_left: usize) -> Result<(), Failure> {
    project.save()?;
    let noun = if n_left == 1 { "hunk" } else { "hunks" };
    writeln!(std::io::stdout(), "{n_left} {noun} left to review, not yet written; to continue: emend review")?;
    Ok(())
}

enum Decision {
    Accept,
    Reject,
    Skip,
    All(bool),
    Later,
}

fn decision(out: &mut impl Write, ask: Ask<'_>) -> Result<Decision, Failure> {
    loop {
        let Some(line) = ask("Accept this hunk [y,n,s,a,d,q,?]? ")? else { return Ok(Decision::Later) };
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(Decision::Accept),
            "n" | "no" => return Ok(Decision::Reject),
            "s" => return Ok(Decision::Skip),
            "a" => return Ok(Decision::All(true)),
            "d" => return Ok(Decision::All(false)),
            "q" => return Ok(Decision::Later),
            _ => writeln!(out, "{HELP}")?,
        }
    }
}

fn show(
    out: &mut impl Write,
    painter: Painter,
    file: &ReviewFile,
    hunk: &ReviewHunk,
    number: usize,
    n_hunks: usize,
) -> std::io::Result<()> {
    let head = format!("{} ({}) · hunk {number} of {n_hunks}", file.path, file.operation);
    writeln!(out, "\n{}", painter.paint(style::BOLD, &visible(&head)))?;
    let place = format!("@@ -{},{} +{},{} @@", hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines);
    writeln!(out, "{}", painted(painter, &place, false))?;
    for line in &hunk.lines {
        let mark = match line.kind {
            LineKind::Context => ' ',
            LineKind::Added => '+',
            LineKind::Removed => '-',
        };
        let line = format!("{mark}{}", line.text.trim_end_matches(['\r', '\n']));
        writeln!(out, "{}", painted(painter, &line, false))?;
    }
    Ok(())
}
