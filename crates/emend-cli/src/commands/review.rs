//! `emend review`, and the review after `emend run --review`: asks about each hunk and saves each decision.

use std::collections::{BTreeSet, VecDeque};
use std::io::Write;
use std::process::ExitCode;

use emend_agent::error_code::Code;
use emend_agent::workspace::{Mode, Review, ReviewError, ReviewFile, ReviewHunk, ReviewLine};
use emend_edit::diff::LineKind;
use emend_edit::line_log::DependentsPolicy;

use crate::failure::Failure;
use crate::place::Start;
use crate::project::Project;
use crate::signals;
use crate::style::{self, Painter};
use crate::text_diff::{NO_FINAL_LINE_FEED, painted, place};
use crate::visible::visible;
use crate::wrap::folded;

const INDIVISIBLE: &str = "Both parts need a changed line; the hunk was not split.";
const CONTESTED_HELP: &str = "y write the agent's lines in place of yours · n keep your lines and reject the hunk · s skip \
                              (decide later) · p split this hunk · d reject this hunk and all that follow · q quit (decide \
                              on the rest later)";

const HELP: &str = "y accept · n reject · s skip (decide later) · p split this hunk · a accept this hunk and all that \
                    follow · d reject this hunk and all that follow · q quit (decide on the rest later)";

/// Asks one question and returns the answer, `None` at the end of the input.
pub(crate) type Ask<'a> = &'a mut dyn FnMut(&str) -> Result<Option<String>, Failure>;

pub(crate) async fn review(root: &Start) -> Result<ExitCode, Failure> {
    let project = match Project::open(root, Mode::Staged).await {
        Err(failure) if failure.code == Code::Busy => return show_all(root, &failure).await,
        opened => opened?,
    };
    decide(&project, "emend review", &mut ask_on_stdin()).await?;
    Ok(ExitCode::SUCCESS)
}

/// Shows the pending hunks while another process holds the project.
async fn show_all(root: &Start, busy: &Failure) -> Result<ExitCode, Failure> {
    let project = Project::open_to_read(root).await?;
    let (mut stdout, painter) = (std::io::stdout(), Painter::stdout());
    let queue = queued(project.workspace.review());
    let n_hunks = queue.len();
    if n_hunks == 0 {
        writeln!(stdout, "There is nothing to review.")?;
    }
    for (index, Queued { place, hunk }) in queue.into_iter().enumerate() {
        show(&mut stdout, painter, &place, &hunk, index + 1, n_hunks)?;
        show_notes(&mut stdout, painter, &hunk)?;
    }
    let note = format!("Read-only: {}. Decide there, or run emend review after it ends.", busy.message);
    writeln!(stdout, "\n{}", painter.paint(style::YELLOW, &visible(&note)))?;
    Ok(ExitCode::SUCCESS)
}

/// Asks on standard output and reads answers from standard input.
pub(crate) fn ask_on_stdin() -> impl FnMut(&str) -> Result<Option<String>, Failure> {
    let mut answers = std::io::stdin().lines();
    move |question| {
        // Not locked while the user thinks: a signal may end the program with a message.
        let mut stdout = std::io::stdout();
        write!(stdout, "{question}")?;
        stdout.flush()?;
        let answer = answers.next().transpose()?;
        if answer.is_none() {
            writeln!(stdout)?;
        }
        Ok(answer)
    }
}

/// Asks about each pending hunk. The end of the input leaves the rest pending; `again` is the command that asks again.
pub(crate) async fn decide(project: &Project, again: &str, ask: Ask<'_>) -> Result<(), Failure> {
    let painter = Painter::stdout();
    for file in project.workspace.review().files {
        // Finds what the user has changed since. A file that is no longer text is shown as it was last known.
        let _ = project.workspace.text(file.path.as_str()).await;
    }
    let mut queue = queued(project.workspace.review());
    let mut n_hunks = queue.len();
    let mut stdout = std::io::stdout();
    if n_hunks == 0 {
        writeln!(stdout, "There is nothing to review.")?;
        return Ok(());
    }
    let mut for_all = None;
    let (mut n_seen, mut n_written, mut n_rejected) = (0, 0, 0);
    let mut failed: Option<Failure> = None;
    while let Some(Queued { place, hunk }) = queue.pop_front() {
        n_seen += 1;
        show(&mut stdout, painter, &place, &hunk, n_seen, n_hunks)?;
        show_notes(&mut stdout, painter, &hunk)?;
        let accepts = match for_all {
            // Only an answer about these lines may replace the user's.
            Some(true) if hunk.contested => continue,
            Some(accepts) => accepts,
            None => match asked(&summary(n_written, n_rejected, n_hunks - n_written - n_rejected, again), || {
                decision(&mut stdout, hunk.contested, ask)
            })? {
                Decision::Accept => true,
                Decision::Reject => false,
                Decision::Skip => continue,
                Decision::Split => {
                    let parts = split(project, &mut stdout, &hunk, &queue, ask).await?;
                    n_seen -= 1;
                    n_hunks += parts.len().saturating_sub(1);
                    let parts = if parts.is_empty() { vec![Queued { place, hunk }] } else { parts };
                    parts.into_iter().rev().for_each(|part| queue.push_front(part));
                    continue;
                }
                Decision::All(accepts) => *for_all.insert(accepts),
                Decision::Later => break,
            },
        };
        let ids = [hunk.id];
        let decided = match (accepts, hunk.contested) {
            (true, true) => project.workspace.accept_over(&ids).await,
            (true, false) => project.workspace.accept(&ids).await,
            (false, _) => project.workspace.reject(&ids, DependentsPolicy::OnlyThese).await,
        };
        if let Err(error) = decided {
            // The other files can be decided all the same.
            let failure = Failure::from(error);
            writeln!(stdout, "{}", folded(&format!("This hunk still waits: {}", visible(&failure.message))))?;
            failed = Some(failure);
            continue;
        }
        *if accepts { &mut n_written } else { &mut n_rejected } += 1;
        project.save()?;
    }
    writeln!(stdout, "{}", folded(&summary(n_written, n_rejected, n_hunks - n_written - n_rejected, again)))?;
    project.save()?;
    failed.map_or(Ok(()), Err)
}

/// Returns what was decided in a review, and how to go on.
fn summary(n_written: usize, n_rejected: usize, n_left: usize, again: &str) -> String {
    let hunks = |n: usize| if n == 1 { "1 hunk".to_owned() } else { format!("{n} hunks") };
    let left = match n_left {
        0 => String::new(),
        n => format!("{} left to review, not yet written; to continue: {again}", hunks(n)),
    };
    match (n_written + n_rejected, n_left) {
        (0, _) => left,
        (_, 0) => format!("{} written, {n_rejected} rejected", hunks(n_written)),
        _ => format!("{} written, {n_rejected} rejected\n{left}", hunks(n_written)),
    }
}

/// A hunk that waits for an answer.
struct Queued {
    /// The file and what happens to it.
    place: String,
    hunk: ReviewHunk,
}

fn queued(review: Review) -> VecDeque<Queued> {
    let of_file = |file: ReviewFile| {
        let place = format!("{} ({})", file.path, file.operation);
        file.hunks.into_iter().map(move |hunk| Queued { place: place.clone(), hunk })
    };
    review.files.into_iter().flat_map(of_file).collect()
}

/// Asks for a line and splits a hunk there. Returns its parts; none if it was not split.
async fn split(
    project: &Project,
    out: &mut impl Write,
    hunk: &ReviewHunk,
    queue: &VecDeque<Queued>,
    ask: Ask<'_>,
) -> Result<Vec<Queued>, Failure> {
    let known = |review: Review| review.files.into_iter().flat_map(|file| file.hunks).map(|hunk| hunk.id);
    let before: BTreeSet<String> = known(project.workspace.review()).collect();
    for (index, line) in hunk.lines.iter().enumerate() {
        let text = format!("{:>4} {}{}", index + 1, mark(line), line.text.trim_end_matches(['\r', '\n']));
        writeln!(out, "{}", visible(&text))?;
    }
    if hunk.lines.len() < 2 {
        writeln!(out, "{INDIVISIBLE}")?;
        return Ok(Vec::new());
    }
    let Some(answer) = ask(&format!("Start the second part with which line [2-{}]? ", hunk.lines.len()))? else {
        return Ok(Vec::new());
    };
    let Ok(line) = answer.trim().parse::<usize>() else {
        writeln!(out, "That is not the number of a line; the hunk was not split.")?;
        return Ok(Vec::new());
    };
    match project.workspace.split(&hunk.id, line.saturating_sub(1)).await {
        Ok(review) => {
            project.save()?;
            let is_part = |queued: &Queued| {
                let waits = queue.iter().any(|other| other.hunk.id == queued.hunk.id);
                !waits && !before.contains(&queued.hunk.id)
            };
            Ok(queued(review).into_iter().filter(is_part).collect())
        }
        Err(ReviewError::Indivisible { .. }) => {
            writeln!(out, "{INDIVISIBLE}")?;
            Ok(Vec::new())
        }
        Err(error) => Err(error.into()),
    }
}

fn mark(line: &ReviewLine) -> char {
    match line.kind {
        LineKind::Context => ' ',
        LineKind::Added => '+',
        LineKind::Removed => '-',
    }
}

enum Decision {
    Accept,
    Reject,
    Skip,
    Split,
    All(bool),
    Later,
}

/// Calls `ask`; a signal meanwhile ends the program with `farewell`.
fn asked<T>(farewell: &str, ask: impl FnOnce() -> T) -> T {
    signals::set_farewell(Some(folded(farewell)));
    let answer = ask();
    signals::set_farewell(None);
    answer
}

fn decision(out: &mut impl Write, contested: bool, ask: Ask<'_>) -> Result<Decision, Failure> {
    let (question, help) = match contested {
        true => ("Replace your lines by the agent's [y,n,s,p,d,q,?]? ", CONTESTED_HELP),
        false => ("Accept this hunk [y,n,s,p,a,d,q,?]? ", HELP),
    };
    loop {
        let Some(line) = ask(question)? else { return Ok(Decision::Later) };
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(Decision::Accept),
            "n" | "no" => return Ok(Decision::Reject),
            "s" => return Ok(Decision::Skip),
            "p" => return Ok(Decision::Split),
            "a" if !contested => return Ok(Decision::All(true)),
            "d" => return Ok(Decision::All(false)),
            "q" => return Ok(Decision::Later),
            _ => writeln!(out, "{}", folded(help))?,
        }
    }
}

/// Returns the indexes of the lines that a contested hunk shows as unchanged and that its acceptance removes: the user's
/// lines in the places of the agent's. They are in the same order, each as near to a changed line as possible. Empty if the
/// hunk does not show all of them.
fn replaced(hunk: &ReviewHunk) -> BTreeSet<usize> {
    let is_changed = |at: &usize| hunk.lines.get(*at).is_some_and(|line| line.kind != LineKind::Context);
    let changed: Vec<usize> = (0..hunk.lines.len()).filter(is_changed).collect();
    let distance = |at: usize| changed.iter().map(|changed| changed.abs_diff(at)).min().unwrap_or_default();
    // For each number of the user's lines, the nearest places of so many first ones, with the sum of their distances.
    let mut nearest: Vec<Option<(usize, Vec<usize>)>> = vec![None; hunk.yours.len() + 1];
    nearest[0] = Some((0, Vec::new()));
    for (at, line) in hunk.lines.iter().enumerate().filter(|(_, line)| line.kind == LineKind::Context) {
        for (n_found, text) in hunk.yours.iter().enumerate().rev() {
            let Some((sum, places)) = nearest[n_found].as_ref().filter(|_| line.text == *text) else { continue };
            let sum = sum + distance(at);
            if nearest[n_found + 1].as_ref().is_none_or(|(known, _)| sum < *known) {
                nearest[n_found + 1] = Some((sum, places.iter().copied().chain([at]).collect()));
            }
        }
    }
    let places = nearest.pop().flatten().filter(|_| hunk.contested);
    places.map(|(_, places)| places.into_iter().collect()).unwrap_or_default()
}

/// Prints what a reader of the hunk alone cannot see.
fn show_notes(out: &mut impl Write, painter: Painter, hunk: &ReviewHunk) -> std::io::Result<()> {
    let mut note = |text: &str| writeln!(out, "{}", painter.paint(style::YELLOW, &visible(text)));
    if hunk.removes_user_lines {
        note("This hunk removes lines that you wrote.")?;
    }
    if hunk.oversized {
        note(
            "This hunk is larger than usual and cannot be cut: the agent wrote it as one piece. Answer p to split it.",
        )?;
    }
    if !hunk.contested {
        return Ok(());
    }
    if hunk.yours.is_empty() {
        return note("Conflict: the lines that this hunk replaces were deleted since.");
    }
    note("Conflict: the lines that this hunk replaces were changed since. They read now:")?;
    for line in &hunk.yours {
        note(&format!("  {}", line.trim_end_matches(['\r', '\n'])))?;
    }
    Ok(())
}

fn show(
    out: &mut impl Write,
    painter: Painter,
    file: &str,
    hunk: &ReviewHunk,
    number: usize,
    n_hunks: usize,
) -> std::io::Result<()> {
    let head = format!("{file} · hunk {number} of {n_hunks}");
    writeln!(out, "\n{}", painter.paint(style::BOLD, &visible(&head)))?;
    let yours = replaced(hunk);
    let n_left = hunk.new_lines.saturating_sub(yours.len());
    let place = place((hunk.old_start, hunk.old_lines), (hunk.new_start, n_left));
    writeln!(out, "{}", painted(painter, &place, false))?;
    for (index, line) in hunk.lines.iter().enumerate() {
        let mark = if yours.contains(&index) { '-' } else { mark(line) };
        let shown = format!("{mark}{}", line.text.trim_end_matches(['\r', '\n']));
        writeln!(out, "{}", painted(painter, &shown, false))?;
        if !line.text.ends_with('\n') {
            writeln!(out, "{NO_FINAL_LINE_FEED}")?;
        }
    }
    Ok(())
}
