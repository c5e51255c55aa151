//! Questions of the model in a conversation: their lines on the terminal, and the prompts for the answers.

use std::io::Write;

use super::prompt::Prompt;
use super::screen::Screen;
use crate::failure::Failure;
use crate::model_question::{ModelQuestion, numbered};
use crate::style;
use crate::visible::visible;

/// Prints a question and its options.
pub(super) fn print<O: Write>(question: &ModelQuestion, screen: &mut Screen<O>) -> std::io::Result<()> {
    let mut lines = vec![screen.painter.paint(style::BOLD, &format!("? {}", visible(&question.text)))];
    lines.extend(numbered(&question.options));
    screen.print(&lines)
}

/// Asks for the answer at prompts of its own; `None` if the user leaves.
pub(super) fn ask<O: Write>(
    question: &ModelQuestion,
    prompt: &mut Prompt,
    screen: &mut Screen<O>,
) -> Result<Option<String>, Failure> {
    let mut answers = Vec::new();
    if question.asks_itself() {
        let Some(line) = prompt.answer("Answer (empty to skip): ")? else { return Ok(None) };
        answers.push(question.answer(&line));
    }
    for field in &question.fields {
        screen.print(&numbered(&field.options))?;
        let Some(line) = prompt.answer(&field.prompt())? else { return Ok(None) };
        answers.push(field.answer(&line));
    }
    Ok(Some(answers.join("\n")))
}
