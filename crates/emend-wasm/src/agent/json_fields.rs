//! Reads JSON from JavaScript field by field. Derived code for the same is several times as large.

use serde_json::{Map, Value};

/// The reason why a value is invalid, in serde's wording where serde has one.
pub(crate) type Problem = String;

/// The fields of an object. A field that is `null` counts as absent.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    /// Reads an object; `what` names it in the error.
    ///
    /// # Errors
    ///
    /// `value` is not an object.
    pub(crate) fn of(what: &str, value: &'a Value) -> Result<Self, Problem> {
        value.as_object().map(Self).ok_or_else(|| wrong_kind(what, "an object"))
    }

    /// Rejects fields that are neither `known` nor `tag`.
    pub(crate) fn only(self, known: &[&str], tag: &str) -> Result<(), Problem> {
        let found = self.0.keys().find(|name| *name != tag && !known.contains(&name.as_str()));
        found.map_or(Ok(()), |name| Err(unknown("field", name, known)))
    }

    pub(crate) fn get(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn needed(self, name: &str) -> Result<&'a Value, Problem> {
        self.get(name).ok_or_else(|| format!("missing field `{name}`"))
    }

    pub(crate) fn text(self, name: &str) -> Result<Option<String>, Problem> {
        self.get(name).map(|value| text(name, value)).transpose()
    }

    pub(crate) fn needed_text(self, name: &str) -> Result<String, Problem> {
        text(name, self.needed(name)?)
    }

    /// Returns a flag; false if absent.
    pub(crate) fn flag(self, name: &str) -> Result<bool, Problem> {
        self.get(name).map_or(Ok(false), |value| value.as_bool().ok_or_else(|| wrong_kind(name, "a boolean")))
    }

    pub(crate) fn number(self, name: &str) -> Result<Option<u64>, Problem> {
        self.get(name).map(|value| value.as_u64().ok_or_else(|| wrong_kind(name, "a whole number"))).transpose()
    }

    /// Returns a number that is not negative.
    pub(crate) fn amount(self, name: &str) -> Result<Option<f64>, Problem> {
        let amount = |value: &Value| value.as_f64().filter(|amount| *amount >= 0.0);
        self.get(name).map(|value| amount(value).ok_or_else(|| wrong_kind(name, "a positive number"))).transpose()
    }

    pub(crate) fn list(self, name: &str) -> Result<Option<&'a [Value]>, Problem> {
        let list = |value: &'a Value| value.as_array().map(Vec::as_slice).ok_or_else(|| wrong_kind(name, "an array"));
        self.get(name).map(list).transpose()
    }

    /// Returns a text that must be one of `variants`.
    pub(crate) fn variant(self, name: &str, variants: &[&str]) -> Result<Option<&'a str>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.as_str() {
            Some(given) if variants.contains(&given) => Ok(Some(given)),
            Some(given) => Err(unknown("variant", given, variants)),
            None => Err(wrong_kind(name, "a string")),
        }
    }
}

fn text(name: &str, value: &Value) -> Result<String, Problem> {
    value.as_str().map(str::to_owned).ok_or_else(|| wrong_kind(name, "a string"))
}

fn wrong_kind(name: &str, kind: &str) -> Problem {
    format!("`{name}` is not {kind}")
}

fn unknown(what: &str, name: &str, known: &[&str]) -> Problem {
    let known = match known {
        [one] => format!("`{one}`"),
        [one, other] => format!("`{one}` or `{other}`"),
        _ => format!("one of `{}`", known.join("`, `")),
    };
    format!("unknown {what} `{name}`, expected {known}")
}
