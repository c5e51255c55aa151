//! Questions of the model in a conversation: their lines on the terminal, and the prompts for the answers.

use std::io::Write;

use super::prompt::Prompt;
use super::screen::Screen;
use crate::failure::Failure;
use crate::model_question::{ModelQuestion, numbered};
use crate::style::{self, Style};
use crate::visible::visible;
use crate::wrap::{columns, wrap_text};

/// Columns that a prompt leaves for the answer.
const ANSWER_COLUMNS: usize = 20;

/// Prints a question and its options, broken between words.
pub(super) fn print<O: Write>(question: &ModelQuestion, screen: &mut Screen<O>) -> std::io::Result<()> {
    let (painter, width) = (screen.painter, screen.width());
    let mut lines = Vec::new();
    for (at, line) in question.text.lines().enumerate() {
        let first = if at == 0 { "? " } else { "  " };
        lines.extend(wrap_text(&visible(line), style::BOLD, painter, width, first, "  "));
    }
    screen.print(&lines)?;
    print_options(&question.options, screen)
}

/// Prints options with their numbers.
fn print_options<O: Write>(options: &[String], screen: &mut Screen<O>) -> std::io::Result<()> {
    let (painter, width) = (screen.painter, screen.width());
    let wrapped = numbered(options).into_iter().flat_map(|line| {
        let text_at = line.find(". ").map_or(0, |at| at + 2);
        let (mark, text) = line.split_at(text_at);
        wrap_text(text, Style::new(), painter, width, mark, &" ".repeat(mark.len()))
    });
    screen.print(&wrapped.collect::<Vec<_>>())
}

/// Asks for the answer at prompts of its own; `None` if the user leaves.
pub(super) fn ask<O: Write>(
    question: &ModelQuestion,
    prompt: &mut Prompt,
    screen: &mut Screen<O>,
) -> Result<Option<String>, Failure> {
    let mut answers = Vec::new();
    if question.asks_itself() {
        let Some(answer) = ask_one("Answer (empty to skip): ", |line| question.answer(line), prompt, screen)? else {
            return Ok(None);
        };
        answers.push(answer);
    }
    for field in &question.fields {
        print_options(&field.options, screen)?;
        let Some(answer) = ask_one(&field.prompt(), |line| field.answer(line), prompt, screen)? else {
            return Ok(None);
        };
        answers.push(answer);
    }
    Ok(Some(answers.join("\n")))
}

/// Asks until a line is an answer.
fn ask_one<O: Write>(
    text: &str,
    answer: impl Fn(&str) -> Result<String, String>,
    prompt: &mut Prompt,
    screen: &mut Screen<O>,
) -> Result<Option<String>, Failure> {
    // The line editor breaks a long prompt inside of words.
    let room = screen.width().saturating_sub(ANSWER_COLUMNS);
    let short = if columns(text) <= room { text } else { "Answer: " };
    if short != text {
        screen.say(0, text.trim_end(), Style::new())?;
    }
    loop {
        let Some(line) = prompt.answer(short)? else { return Ok(None) };
        match answer(&line) {
            Ok(answer) => return Ok(Some(answer)),
            Err(again) => screen.say(0, &again, style::YELLOW)?,
        }
    }
}
