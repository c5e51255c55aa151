//! The open question of a job in `emend attach`: it can ask for several fields, one after the other.

use serde_json::Value;

use crate::model_question::{AnswerField, ModelQuestion, numbered};
use crate::visible::visible;

/// A question, with the answers that the user has given so far.
#[derive(Debug)]
pub(super) struct OpenQuestion {
    pub(super) id: String,
    question: ModelQuestion,
    answers: Vec<String>,
}

impl OpenQuestion {
    /// Reads the data of `clarification.requested`; `None` if it has no id.
    pub(super) fn of(data: &Value) -> Option<Self> {
        let id = data["question_id"].as_str()?.to_owned();
        Some(Self { id, question: ModelQuestion::of(data)?, answers: Vec::new() })
    }

    /// Returns the field that the next line answers; `None` for the question itself.
    fn next_field(&self) -> Option<&AnswerField> {
        self.question.fields.get(self.answers.len().checked_sub(usize::from(self.question.asks_itself()))?)
    }

    /// Returns the lines that ask for the next answer.
    pub(super) fn prompt(&self) -> String {
        let mut lines = Vec::new();
        if self.answers.is_empty() {
            lines.push(format!("? {}", visible(&self.question.text)));
        }
        let field = self.next_field();
        lines.extend(field.map(AnswerField::prompt));
        lines.extend(numbered(field.map_or(&self.question.options, |field| &field.options)));
        lines.join("\n") + "\n"
    }

    /// Takes a line of the user. Returns the whole answer once it is complete, and else the lines that ask for more.
    pub(super) fn take(&mut self, line: &str) -> Result<String, String> {
        let answer = self.next_field().map_or_else(|| self.question.answer(line), |field| field.answer(line));
        self.answers.push(answer.map_err(|again| again + "\n")?);
        let n_wanted = usize::from(self.question.asks_itself()) + self.question.fields.len();
        if self.answers.len() < n_wanted {
            return Err(self.prompt());
        }
        // A refused answer is asked for again.
        Ok(std::mem::take(&mut self.answers).join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_field_is_asked_for_and_answered_by_a_line() {
        let data = json!({ "question_id": "q_1", "question": "How?", "options": [], "fields": [
            { "name": "tone", "label": "Tone", "options": ["terse", "warm"] }, { "name": "title" },
        ]});
        let mut question = OpenQuestion::of(&data).unwrap();
        assert_eq!(question.prompt(), "? How?\nTone (empty to skip): \n  1. terse\n  2. warm\n");
        assert!(question.take("3").is_err_and(|again| again.contains("options 1 to 2") && again.ends_with('\n')));
        assert_eq!(question.take("2"), Err("title (empty to skip): \n".to_owned()));
        assert_eq!(question.take(""), Ok("tone: warm\ntitle: no_user_answer".to_owned()));
    }

    #[test]
    fn a_question_with_options_and_fields_asks_for_an_option_first() {
        let data =
            json!({ "question_id": "q", "question": "Which?", "options": ["left"], "fields": [{ "name": "why" }] });
        let mut question = OpenQuestion::of(&data).unwrap();
        assert_eq!(question.prompt(), "? Which?\n  1. left\n");
        assert_eq!(question.take("1"), Err("why (empty to skip): \n".to_owned()));
        assert_eq!(question.take("it is near"), Ok("left\nwhy: it is near".to_owned()));
    }

    #[test]
    fn a_plain_question_takes_one_line() {
        let mut question = OpenQuestion::of(&json!({ "question_id": "q", "question": "Where?" })).unwrap();
        assert_eq!((question.prompt().as_str(), question.take(" here ")), ("? Where?\n", Ok("here".to_owned())));
        assert!(OpenQuestion::of(&json!({ "question": "Where?" })).is_none());
    }
}
