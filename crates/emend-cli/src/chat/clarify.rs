//! Questions of the model: their lines on the terminal, and the answers that the user types.

use std::io::Write;

use emend_agent::tools::NO_USER_ANSWER;
use serde_json::Value;

use super::prompt::Prompt;
use super::screen::Screen;
use crate::failure::Failure;
use crate::style;
use crate::visible::visible;

/// A question that the model asked at the end of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelQuestion {
    text: String,
    options: Vec<String>,
    fields: Vec<AnswerField>,
}

/// One value that the model asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AnswerField {
    name: String,
    label: String,
    options: Vec<String>,
    required: bool,
}

fn options(value: &Value) -> Vec<String> {
    value["options"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the answer for a line: the option with this number, the line itself, or the token for no answer.
fn chosen(line: &str, options: &[String]) -> String {
    let line = line.trim();
    let option = line.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
    match option {
        Some(option) => option.clone(),
        None if line.is_empty() => NO_USER_ANSWER.to_owned(),
        None => line.to_owned(),
    }
}

fn numbered(options: &[String]) -> impl Iterator<Item = String> {
    options.iter().enumerate().map(|(index, option)| format!("  {}. {}", index + 1, visible(option)))
}

impl ModelQuestion {
    /// Reads the result of a call; `None` if the call asked nothing.
    pub(super) fn of(data: &Value) -> Option<Self> {
        let field = |value: &Value| {
            let name = value["name"].as_str()?.to_owned();
            let label = value["label"].as_str().unwrap_or(&name).to_owned();
            Some(AnswerField { label, options: options(value), required: value["required"] == true, name })
        };
        let fields = data["fields"].as_array().into_iter().flatten().filter_map(field).collect();
        Some(Self { text: data["question"].as_str()?.to_owned(), options: options(data), fields })
    }

    /// Prints the question and its options.
    pub(super) fn print<O: Write>(&self, screen: &mut Screen<O>) -> std::io::Result<()> {
        let mut lines = vec![screen.painter.paint(style::BOLD, &format!("? {}", visible(&self.text)))];
        lines.extend(numbered(&self.options));
        screen.print(&lines)
    }

    /// Returns whether the question asks for several values, each with a prompt of its own.
    pub(super) fn has_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Returns the answer for a line that the user entered.
    pub(super) fn answer(&self, line: &str) -> String {
        chosen(line, &self.options)
    }

    /// Asks for the answer at prompts of its own; `None` if the user leaves.
    pub(super) fn ask<O: Write>(&self, prompt: &mut Prompt, screen: &mut Screen<O>) -> Result<Option<String>, Failure> {
        let mut answers = Vec::new();
        if !self.has_fields() || !self.options.is_empty() {
            let Some(line) = prompt.answer("Answer (empty to skip): ")? else { return Ok(None) };
            answers.push(self.answer(&line));
        }
        for field in &self.fields {
            screen.print(&numbered(&field.options).collect::<Vec<_>>())?;
            let hint = if field.required { "" } else { " (empty to skip)" };
            let Some(line) = prompt.answer(&format!("{}{hint}: ", visible(&field.label)))? else { return Ok(None) };
            answers.push(format!("{}: {}", field.name, chosen(&line, &field.options)));
        }
        Ok(Some(answers.join("\n")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_is_a_number_of_an_option_own_text_or_no_answer() {
        let question = ModelQuestion::of(&json!({"question": "Which?", "options": ["left", "right"]})).unwrap();
        #[track_caller]
        fn check(question: &ModelQuestion, line: &str, expected: &str) {
            assert_eq!(question.answer(line), expected);
        }
        check(&question, "2", "right");
        check(&question, " 1 ", "left");
        check(&question, "3", "3");
        check(&question, "0", "0");
        check(&question, "straight on", "straight on");
        check(&question, "", "no_user_answer");
        check(&question, "  ", "no_user_answer");
    }

    #[test]
    fn a_question_has_options_or_fields() {
        assert_eq!(ModelQuestion::of(&json!({"results": []})), None);
        let data = json!({"question": "How?", "options": [], "fields": [
            {"name": "tone", "label": "Tone", "options": ["terse"], "required": true}, {"name": "title"}, {},
        ]});
        let question = ModelQuestion::of(&data).unwrap();
        let field = |name: &str, label: &str, options: &[&str], required| AnswerField {
            name: name.to_owned(),
            label: label.to_owned(),
            options: options.iter().map(|&option| option.to_owned()).collect(),
            required,
        };
        assert_eq!(question.fields, [field("tone", "Tone", &["terse"], true), field("title", "title", &[], false)]);
    }
}
