//! Limits on a run: rounds, tokens, cost and time. 0 stands for no limit.

use clap::Arg;
use serde_json::Value;

use super::field::{Field, Source, Sourced};

/// A limit as it is written in options and settings files.
pub(crate) trait Limit: Copy {
    /// Description of a valid text, for errors.
    const EXPECTED: &'static str;

    fn parse(text: &str) -> Option<Self>;

    /// Parses a text. The error is what it must be.
    fn of(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(|| format!("expected {}, not {text:?}", Self::EXPECTED))
    }

    /// Returns the limit as a number, 0 for none.
    fn amount(self) -> f64;

    /// Returns the value as `emend config` prints it.
    fn shown(self) -> Value;
}

/// Maximum number of rounds of tool calls for one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rounds(pub(crate) u64);

impl Default for Rounds {
    fn default() -> Self {
        Self(100)
    }
}

impl Limit for Rounds {
    const EXPECTED: &'static str = "a whole number, 0 for no limit";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    fn amount(self) -> f64 {
        self.0 as f64
    }

    fn shown(self) -> Value {
        self.0.into()
    }
}

/// Maximum number of tokens of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens(pub(crate) u64);

impl Limit for Tokens {
    const EXPECTED: &'static str = "a whole number such as 200000, 200k or 2M, 0 for no limit";

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (digits, unit) = match text.chars().next_back()? {
            'k' | 'K' => (&text[..text.len() - 1], 1_000),
            'm' | 'M' => (&text[..text.len() - 1], 1_000_000),
            _ => (text, 1),
        };
        digits.parse::<u64>().ok()?.checked_mul(unit).map(Self)
    }

    fn amount(self) -> f64 {
        self.0 as f64
    }

    fn shown(self) -> Value {
        if self.0 == 0 { Value::Null } else { self.0.into() }
    }
}

/// Maximum number of model responses of a conversation, or of tool calls of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Responses(pub(crate) u64);

impl Limit for Responses {
    const EXPECTED: &'static str = Rounds::EXPECTED;

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    fn amount(self) -> f64 {
        self.0 as f64
    }

    fn shown(self) -> Value {
        if self.0 == 0 { Value::Null } else { self.0.into() }
    }
}

/// A number that replaces the default of the agent; `None` for the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) Option<u64>);

impl Limit for Count {
    const EXPECTED: &'static str = "a whole number such as 8 or 32k";

    fn parse(text: &str) -> Option<Self> {
        Tokens::parse(text).map(|number| Self(Some(number.0)))
    }

    fn amount(self) -> f64 {
        self.0.unwrap_or_default() as f64
    }

    fn shown(self) -> Value {
        self.0.into()
    }
}

/// A time that replaces the default of the agent; `None` for the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) ms: Option<u64>,
}

impl Limit for Wait {
    const EXPECTED: &'static str = "a time such as 90s, 10m or 1h";

    fn parse(text: &str) -> Option<Self> {
        Duration::parse(text).filter(|duration| duration.ms > 0).map(|duration| Self { ms: Some(duration.ms) })
    }

    fn amount(self) -> f64 {
        self.ms.unwrap_or_default() as f64
    }

    fn shown(self) -> Value {
        self.ms.map(|ms| format!("{}s", ms / 1000)).into()
    }
}

/// Maximum cost of one run, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Dollars(pub(crate) f64);

impl Limit for Dollars {
    const EXPECTED: &'static str = "an amount of US dollars such as 2.50, 0 for no limit";

    fn parse(text: &str) -> Option<Self> {
        let amount = text.trim().trim_start_matches('$').parse::<f64>().ok()?;
        (amount.is_finite() && amount >= 0.0).then_some(Self(amount))
    }

    fn amount(self) -> f64 {
        self.0
    }

    fn shown(self) -> Value {
        if self.0 == 0.0 { Value::Null } else { self.0.into() }
    }
}

/// Maximum duration of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Duration {
    pub(crate) ms: u64,
}

impl Limit for Duration {
    const EXPECTED: &'static str = "a time such as 90s, 10m or 1h, 0 for no limit";

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let digits = text.trim_end_matches(|char: char| char.is_ascii_alphabetic());
        let unit_ms = match &text[digits.len()..] {
            "" | "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            _ => return None,
        };
        digits.parse::<u64>().ok()?.checked_mul(unit_ms).map(|ms| Self { ms })
    }

    fn amount(self) -> f64 {
        self.ms as f64
    }

    fn shown(self) -> Value {
        if self.ms == 0 { Value::Null } else { format!("{}s", self.ms / 1000).into() }
    }
}

impl<L: Limit> Field for Sourced<L> {
    fn set(&mut self, text: &str, source: &Source) -> Result<(), String> {
        let value = L::of(text)?;
        *self = Self { value, source: source.clone() };
        Ok(())
    }

    fn lower(&mut self, text: &str, source: &Source) -> Result<(), String> {
        let before = self.clone();
        self.set(text, source)?;
        let (limit, limit_before) = (self.value.amount(), before.value.amount());
        let is_lower = limit > 0.0 && (limit_before == 0.0 || limit < limit_before);
        if !is_lower {
            *self = before;
        }
        Ok(())
    }

    fn shown(&self) -> Vec<(Value, Source)> {
        vec![(self.value.shown(), self.source.clone())]
    }

    fn expected(&self) -> &'static str {
        L::EXPECTED
    }

    fn takes_numbers(&self) -> bool {
        true
    }

    fn option(&self, option: Arg) -> Arg {
        let checked = |text: &str| match L::parse(text) {
            Some(_) => Ok(text.to_owned()),
            None => Err(format!("expected {}", L::EXPECTED)),
        };
        option.value_parser(checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_numbers_with_units() {
        for (text, expected) in [("200000", Some(200_000)), ("200k", Some(200_000)), ("2M", Some(2_000_000))] {
            assert_eq!(Tokens::parse(text).map(|tokens| tokens.0), expected, "{text}");
        }
        for (text, expected) in
            [("90", Some(90_000)), ("90s", Some(90_000)), ("10m", Some(600_000)), ("1h", Some(3_600_000))]
        {
            assert_eq!(Duration::parse(text).map(|duration| duration.ms), expected, "{text}");
        }
        assert_eq!(Dollars::parse("$2.50"), Some(Dollars(2.5)));
        assert_eq!(Count::parse("32k"), Some(Count(Some(32_000))));
        assert_eq!((Wait::parse("2m"), Wait::parse("0")), (Some(Wait { ms: Some(120_000) }), None));
        for wrong in ["", "x", "-1", "1 day", "ten", "NaN", "18446744073709551615k"] {
            assert_eq!(
                (Tokens::parse(wrong), Duration::parse(wrong), Dollars::parse(wrong), Rounds::parse(wrong)),
                (None, None, None, None),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_project_can_only_lower_a_limit() {
        for (before, text, after) in [(100, "50", 50), (100, "200", 100), (100, "0", 100), (0, "50", 50), (0, "0", 0)] {
            let mut rounds = Sourced { value: Rounds(before), source: Source::Default };
            rounds.lower(text, &Source::Default).unwrap();
            assert_eq!(rounds.value, Rounds(after), "{before} {text}");
        }
    }
}
