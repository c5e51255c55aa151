//! Whether and how colours are used: never where they were declined or nobody would see them.

use std::io::IsTerminal as _;

/// Paints texts, or leaves them as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paint {
    on: bool,
}

/// What a text is painted as: the number of an SGR sequence, and of the one that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Bold,
    Dim,
    Italic,
    Underline,
    Strike,
    Red,
    Green,
    Yellow,
    Cyan,
}

impl Style {
    /// Returns the codes that begin and end it.
    pub(crate) fn codes(self) -> (u8, u8) {
        match self {
            Self::Bold => (1, 22),
            Self::Dim => (2, 22),
            Self::Italic => (3, 23),
            Self::Underline => (4, 24),
            Self::Strike => (9, 29),
            Self::Red => (31, 39),
            Self::Green => (32, 39),
            Self::Yellow => (33, 39),
            Self::Cyan => (36, 39),
        }
    }
}

impl Paint {
    /// Leaves texts as they are.
    pub(crate) const OFF: Self = Self { on: false };

    /// Paints what goes to standard output.
    pub(crate) fn stdout() -> Self {
        Self { on: wanted(std::io::stdout().is_terminal(), |name| std::env::var(name).ok()) }
    }

    #[cfg(test)]
    pub(crate) fn new(on: bool) -> Self {
        Self { on }
    }

    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    /// Returns `text` in a style.
    pub(crate) fn text(self, style: Style, text: &str) -> String {
        if !self.on || text.is_empty() {
            return text.to_owned();
        }
        let (begin, end) = style.codes();
        format!("\x1b[{begin}m{text}\x1b[{end}m")
    }
}

/// Returns whether colours are wanted: the conventions of NO_COLOR, CLICOLOR and CLICOLOR_FORCE.
fn wanted(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if set("NO_COLOR").is_some() {
        return false;
    }
    if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return true;
    }
    is_terminal && variable("TERM").as_deref() != Some("dumb") && set("CLICOLOR").as_deref() != Some("0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_the_conventions() {
        #[track_caller]
        fn check(is_terminal: bool, variables: &[(&str, &str)], expected: bool) {
            let variable =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            assert_eq!(wanted(is_terminal, variable), expected, "{is_terminal} {variables:?}");
        }
        check(true, &[], true);
        check(false, &[], false);
        check(true, &[("NO_COLOR", "1")], false);
        check(true, &[("NO_COLOR", "")], true);
        check(true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], false);
        check(true, &[("CLICOLOR", "0")], false);
        check(true, &[("TERM", "dumb")], false);
        check(false, &[("CLICOLOR_FORCE", "1")], true);
        check(false, &[("CLICOLOR_FORCE", "0")], false);
    }

    #[test]
    fn what_is_not_painted_stays_as_it_is() {
        assert_eq!(Paint::new(false).text(Style::Red, "a"), "a");
        assert_eq!(Paint::new(true).text(Style::Red, "a"), "\x1b[31ma\x1b[39m");
    }
}
