//! The open question of a job in `emend attach`: it can ask for several fields, one after the other.

use emend_agent::tools::NO_USER_ANSWER;
use serde_json::Value;

use super::attach::word;

/// One value that the question asks for.
#[derive(Debug)]
struct Field {
    name: String,
    label: String,
    options: Vec<String>,
}

/// A question, with the answers that the user has given so far.
#[derive(Debug)]
pub(super) struct OpenQuestion {
    pub(super) id: String,
    text: String,
    options: Vec<String>,
    fields: Vec<Field>,
    answers: Vec<String>,
}

fn options(value: &Value) -> Vec<String> {
    value["options"].as_array().into_iter().flatten().map(|option| word(option).to_owned()).collect()
}

/// Returns the answer for a line: the option with this number, or the line itself.
fn chosen(line: &str, options: &[String]) -> String {
    let line = line.trim();
    let option = line.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
    match option {
        Some(option) => option.clone(),
        None if line.is_empty() => NO_USER_ANSWER.to_owned(),
        None => line.to_owned(),
    }
}

fn numbered(options: &[String]) -> String {
    options.iter().enumerate().map(|(at, option)| format!("  {}. {option}\n", at + 1)).collect()
}

impl OpenQuestion {
    /// Reads the data of `clarification.requested`; `None` if it has no id.
    pub(super) fn of(data: &Value) -> Option<Self> {
        let field = |field: &Value| {
            let name = word(&field["name"]).to_owned();
            let label = field["label"].as_str().unwrap_or(&name).to_owned();
            Field { options: options(field), name, label }
        };
        let fields = data["fields"].as_array().into_iter().flatten().map(field).collect();
        let (id, text) = (data["question_id"].as_str()?.to_owned(), word(&data["question"]).to_owned());
        Some(Self { id, text, options: options(data), fields, answers: Vec::new() })
    }

    /// Whether the first answer is to the question itself, and not to a field.
    fn asks_itself(&self) -> bool {
        self.fields.is_empty() || !self.options.is_empty()
    }

    /// Returns the field that the next line answers; `None` for the question itself.
    fn next_field(&self) -> Option<&Field> {
        self.fields.get(self.answers.len().checked_sub(usize::from(self.asks_itself()))?)
    }

    /// Returns the lines that ask for the next answer.
    pub(super) fn prompt(&self) -> String {
        let question = if self.answers.is_empty() { format!("? {}\n", self.text) } else { String::new() };
        question
            + &match self.next_field() {
                Some(field) => format!("{}: (empty to skip)\n{}", field.label, numbered(&field.options)),
                None => numbered(&self.options),
            }
    }

    /// Takes a line of the user. Returns the whole answer once it is complete.
    pub(super) fn take(&mut self, line: &str) -> Option<String> {
        let answer = match self.next_field() {
            Some(field) => format!("{}: {}", field.name, chosen(line, &field.options)),
            None => chosen(line, &self.options),
        };
        self.answers.push(answer);
        let n_wanted = usize::from(self.asks_itself()) + self.fields.len();
        // A refused answer is asked for again.
        (self.answers.len() >= n_wanted).then(|| std::mem::take(&mut self.answers).join("\n"))
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
        assert_eq!(question.prompt(), "? How?\nTone: (empty to skip)\n  1. terse\n  2. warm\n");
        assert_eq!(question.take("2"), None);
        assert_eq!(question.prompt(), "title: (empty to skip)\n");
        assert_eq!(question.take(""), Some("tone: warm\ntitle: no_user_answer".to_owned()));
    }

    #[test]
    fn a_question_with_options_and_fields_asks_for_an_option_first() {
        let data =
            json!({ "question_id": "q", "question": "Which?", "options": ["left"], "fields": [{ "name": "why" }] });
        let mut question = OpenQuestion::of(&data).unwrap();
        assert_eq!(question.prompt(), "? Which?\n  1. left\n");
        assert_eq!(question.take("1"), None);
        assert_eq!(question.take("it is near"), Some("left\nwhy: it is near".to_owned()));
    }

    #[test]
    fn a_plain_question_takes_one_line() {
        let mut question = OpenQuestion::of(&json!({ "question_id": "q", "question": "Where?" })).unwrap();
        assert_eq!((question.prompt().as_str(), question.take(" here ")), ("? Where?\n", Some("here".to_owned())));
        assert!(OpenQuestion::of(&json!({ "question": "Where?" })).is_none());
    }
}
