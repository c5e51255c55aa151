//! A question of the model: its options and fields, and the answers that lines of the user are.

use emend_agent::tools::NO_USER_ANSWER;
use serde_json::Value;

use crate::visible::visible;

/// A question that the model asked at the end of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModelQuestion {
    pub(crate) text: String,
    pub(crate) options: Vec<String>,
    pub(crate) fields: Vec<AnswerField>,
}

/// One value that the model asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnswerField {
    name: String,
    pub(crate) label: String,
    pub(crate) options: Vec<String>,
    pub(crate) required: bool,
}

fn options(value: &Value) -> Vec<String> {
    value["options"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the answer for a line: the option with this number, the line itself, or the token for no answer. A number that
/// no option has is a slip; the error asks for another answer.
fn chosen(line: &str, options: &[String]) -> Result<String, String> {
    let line = line.trim();
    let number = line.parse::<usize>().ok();
    match number.and_then(|number| options.get(number.checked_sub(1)?)) {
        Some(option) => Ok(option.clone()),
        None if line.is_empty() => Ok(NO_USER_ANSWER.to_owned()),
        None if number.is_some() && !options.is_empty() && !options.iter().any(|option| option.trim() == line) => {
            let range =
                if options.len() == 1 { "only option 1".to_owned() } else { format!("options 1 to {}", options.len()) };
            Err(format!("There is no option {line}. Enter the number of an option ({range}), or an answer in words."))
        }
        None => Ok(line.to_owned()),
    }
}

/// Returns a line for each option.
pub(crate) fn numbered(options: &[String]) -> Vec<String> {
    options.iter().enumerate().map(|(index, option)| format!("  {}. {}", index + 1, visible(option))).collect()
}

impl ModelQuestion {
    /// Reads the result of a call, or the data of the event about it; `None` if the call asked nothing.
    pub(crate) fn of(data: &Value) -> Option<Self> {
        let field = |value: &Value| {
            let name = value["name"].as_str()?.to_owned();
            let label = value["label"].as_str().unwrap_or(&name).to_owned();
            Some(AnswerField { label, options: options(value), required: value["required"] == true, name })
        };
        let fields = data["fields"].as_array().into_iter().flatten().filter_map(field).collect();
        Some(Self { text: data["question"].as_str()?.to_owned(), options: options(data), fields })
    }

    /// Returns whether the question asks for several values, each with a prompt of its own.
    pub(crate) fn has_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Returns whether the question itself is answered, before its fields.
    pub(crate) fn asks_itself(&self) -> bool {
        !self.has_fields() || !self.options.is_empty()
    }

    /// Returns the answer for a line that the user entered, or a text that asks for another one.
    pub(crate) fn answer(&self, line: &str) -> Result<String, String> {
        chosen(line, &self.options)
    }
}

impl AnswerField {
    /// Returns the part of the answer for a line that the user entered, or a text that asks for another one.
    pub(crate) fn answer(&self, line: &str) -> Result<String, String> {
        Ok(format!("{}: {}", self.name, chosen(line, &self.options)?))
    }

    /// Returns the text that asks for the value.
    pub(crate) fn prompt(&self) -> String {
        let hint = if self.required { "" } else { " (empty to skip)" };
        format!("{}{hint}: ", visible(&self.label))
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
            assert_eq!(question.answer(line).as_deref(), Ok(expected));
        }
        check(&question, "2", "right");
        check(&question, " 1 ", "left");
        for slip in ["3", "0", "9", "00"] {
            let asked_again = question.answer(slip).unwrap_err();
            assert!(asked_again.contains("options 1 to 2"), "{asked_again}");
        }
        let numbers = ModelQuestion::of(&json!({"question": "How many?", "options": ["8", "16"]})).unwrap();
        check(&numbers, "16", "16");
        check(&numbers, "1", "8");
        check(&ModelQuestion::of(&json!({"question": "How many?"})).unwrap(), "9", "9");
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
