//! Fields of the settings: parsing a value from text, showing it, and its command-line option.

use std::fmt;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ValueEnum};
use serde_json::{Map, Value};

use super::values::{CompactionName, EditsName, Effort, InheritName, Model, ProfileName, Switch, ToolCalls};

/// The source of a value. Later variants override earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Source {
    #[default]
    Default,
    File(PathBuf),
    Environment(String),
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A value and its source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sourced<T> {
    pub(crate) value: T,
    pub(crate) source: Source,
}

/// A field of [`super::Settings`].
pub(super) trait Field {
    /// Sets the value from text. Lists take one entry per line and keep the entries they have.
    fn set(&mut self, text: &str, source: &Source) -> Result<(), String>;

    /// Sets the value as [`set`](Self::set) does if it restricts more than the present one.
    fn lower(&mut self, text: &str, source: &Source) -> Result<(), String> {
        self.set(text, source)
    }

    /// Returns the values as they are printed, with their sources.
    fn shown(&self) -> Vec<(Value, Source)>;

    /// Returns a description of the type that settings files must give the field.
    fn expected(&self) -> &'static str {
        "a string"
    }

    /// Returns whether settings files can give a number.
    fn takes_numbers(&self) -> bool {
        false
    }

    /// Returns whether settings files can give a table.
    fn takes_tables(&self) -> bool {
        false
    }

    /// Adds the values of the field to its command-line option.
    fn option(&self, option: Arg) -> Arg;
}

impl Field for Sourced<bool> {
    fn set(&mut self, text: &str, source: &Source) -> Result<(), String> {
        let value = match text.trim() {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => return Err(format!("expected true or false, not {text:?}")),
        };
        *self = Self { value, source: source.clone() };
        Ok(())
    }

    fn shown(&self) -> Vec<(Value, Source)> {
        vec![(self.value.into(), self.source.clone())]
    }

    fn expected(&self) -> &'static str {
        "true or false"
    }

    fn option(&self, option: Arg) -> Arg {
        option.action(ArgAction::SetTrue)
    }
}

impl Field for Vec<Sourced<String>> {
    fn set(&mut self, text: &str, source: &Source) -> Result<(), String> {
        let entries = text.lines().map(str::trim).filter(|line| !line.is_empty());
        self.extend(entries.map(|entry| Sourced { value: entry.to_owned(), source: source.clone() }));
        Ok(())
    }

    fn shown(&self) -> Vec<(Value, Source)> {
        self.iter().map(|entry| (entry.value.clone().into(), entry.source.clone())).collect()
    }

    fn expected(&self) -> &'static str {
        "a string or a list of strings"
    }

    fn option(&self, option: Arg) -> Arg {
        option.action(ArgAction::Append)
    }
}

impl Field for Sourced<Option<Model>> {
    fn set(&mut self, text: &str, source: &Source) -> Result<(), String> {
        *self = Self { value: Some(text.parse()?), source: source.clone() };
        Ok(())
    }

    fn shown(&self) -> Vec<(Value, Source)> {
        vec![(self.value.as_ref().map(ToString::to_string).into(), self.source.clone())]
    }

    fn option(&self, option: Arg) -> Arg {
        option.value_parser(|text: &str| text.parse::<Model>().map(|_| text.to_owned()))
    }
}

impl Field for Sourced<Option<String>> {
    fn set(&mut self, text: &str, source: &Source) -> Result<(), String> {
        *self = Self { value: Some(text.to_owned()), source: source.clone() };
        Ok(())
    }

    fn shown(&self) -> Vec<(Value, Source)> {
        vec![(self.value.clone().into(), self.source.clone())]
    }

    fn option(&self, option: Arg) -> Arg {
        option
    }
}

impl Field for Sourced<Option<Effort>> {
    fn set(&mut self, text: &str, source: &Source) -> Result<(), String> {
        *self = Self { value: Some(text.parse()?), source: source.clone() };
        Ok(())
    }

    fn lower(&mut self, text: &str, source: &Source) -> Result<(), String> {
        let given: Effort = text.parse()?;
        // The provider's default is not known.
        let is_lower = match &self.value {
            Some(before) => given.rank() < before.rank(),
            None => ["none", "minimal", "low", "medium"].contains(&given.0.as_str()),
        };
        if is_lower {
            *self = Self { value: Some(given), source: source.clone() };
        }
        Ok(())
    }

    fn shown(&self) -> Vec<(Value, Source)> {
        vec![(self.value.as_ref().map(|effort| effort.0.clone()).into(), self.source.clone())]
    }

    fn option(&self, option: Arg) -> Arg {
        option.value_parser(PossibleValuesParser::new(Effort::ALL)).ignore_case(true)
    }
}

impl Field for Sourced<Switch> {
    fn set(&mut self, text: &str, source: &Source) -> Result<(), String> {
        let value = match text.trim() {
            "true" | "1" | "on" => Switch(true),
            "false" | "0" | "off" => Switch(false),
            _ => return Err(format!("expected on or off, not {text:?}")),
        };
        *self = Self { value, source: source.clone() };
        Ok(())
    }

    fn shown(&self) -> Vec<(Value, Source)> {
        vec![(self.value.0.into(), self.source.clone())]
    }

    fn expected(&self) -> &'static str {
        "true or false"
    }

    fn option(&self, option: Arg) -> Arg {
        option.value_parser(PossibleValuesParser::new(["on", "off"]))
    }
}

/// A JSON object.
impl Field for Sourced<Map<String, Value>> {
    fn set(&mut self, text: &str, source: &Source) -> Result<(), String> {
        // The text may contain secrets, so the error does not repeat it.
        let value = serde_json::from_str(text).map_err(|_| format!("expected {OBJECT}"))?;
        *self = Self { value, source: source.clone() };
        Ok(())
    }

    fn shown(&self) -> Vec<(Value, Source)> {
        let value = if self.value.is_empty() { Value::Null } else { Value::Object(self.value.clone()) };
        vec![(value, self.source.clone())]
    }

    fn expected(&self) -> &'static str {
        "a table, or a string with a JSON object"
    }

    fn takes_tables(&self) -> bool {
        true
    }

    fn option(&self, option: Arg) -> Arg {
        let checked = |text: &str| match serde_json::from_str::<Map<String, Value>>(text) {
            Ok(_) => Ok(text.to_owned()),
            Err(_) => Err(format!("expected {OBJECT}")),
        };
        option.value_parser(checked)
    }
}

const OBJECT: &str = "a JSON object of objects by provider, e.g. {\"openai\": {\"store\": false}}";

/// Implements [`Field`] for a choice by name, which errors call `$what`.
macro_rules! choice_field {
    ($type:ty, $what:literal) => {
        impl Field for Sourced<$type> {
            fn set(&mut self, text: &str, source: &Source) -> Result<(), String> {
                *self = Self { value: choice($what, text)?, source: source.clone() };
                Ok(())
            }

            fn shown(&self) -> Vec<(Value, Source)> {
                vec![(name(self.value).into(), self.source.clone())]
            }

            fn option(&self, option: Arg) -> Arg {
                option.value_parser(PossibleValuesParser::new(choices::<$type>()))
            }
        }
    };
}

choice_field!(ProfileName, "profile");
choice_field!(ToolCalls, "form of tool calls");
choice_field!(InheritName, "set of variables");
choice_field!(CompactionName, "compaction");

impl Field for Sourced<Option<EditsName>> {
    fn set(&mut self, text: &str, source: &Source) -> Result<(), String> {
        *self = Self { value: Some(choice("editing tool", text)?), source: source.clone() };
        Ok(())
    }

    fn shown(&self) -> Vec<(Value, Source)> {
        vec![(self.value.map(name).into(), self.source.clone())]
    }

    fn option(&self, option: Arg) -> Arg {
        option.value_parser(PossibleValuesParser::new(choices::<EditsName>()))
    }
}

fn choices<T: ValueEnum>() -> Vec<PossibleValue> {
    T::value_variants().iter().filter_map(T::to_possible_value).collect()
}

fn name<T: ValueEnum>(value: T) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Parses the name of a choice, in any case.
fn choice<T: ValueEnum>(what: &str, text: &str) -> Result<T, String> {
    T::from_str(text, true).map_err(|_| {
        let names: Vec<String> = choices::<T>().iter().map(|value| value.get_name().to_owned()).collect();
        format!("unknown {what} {text:?}; expected one of {}", names.join(", "))
    })
}
