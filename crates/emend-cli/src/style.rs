//! Text styles of the output, and whether they are used.
//!
//! The environment variables NO_COLOR, CLICOLOR, CLICOLOR_FORCE and TERM decide, as for most terminal programs.

use std::io::IsTerminal as _;

use anstream::{AutoStream, ColorChoice};
use anstyle::AnsiColor;
pub(crate) use anstyle::Style;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const ITALIC: Style = Style::new().italic();
pub(crate) const UNDERLINE: Style = Style::new().underline();
pub(crate) const STRIKETHROUGH: Style = Style::new().strikethrough();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// Adds styles to texts if the output is to be styled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Painter {
    is_on: bool,
}

impl Painter {
    /// Leaves texts unstyled.
    pub(crate) const OFF: Self = Self { is_on: false };

    /// Returns the painter for standard output.
    pub(crate) fn stdout() -> Self {
        let stdout = std::io::stdout();
        // anstream takes CLICOLOR_FORCE=0 as a request for colors. By the older convention it is none.
        let may_force = std::env::var_os("CLICOLOR_FORCE").is_none_or(|value| value != "0");
        // anstream colors every terminal of a CI job. A dumb terminal shows the sequences as text there too.
        let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb")
            && ["CLICOLOR", "CLICOLOR_FORCE"].iter().all(|name| std::env::var_os(name).is_none());
        let is_on =
            AutoStream::choice(&stdout) != ColorChoice::Never && (may_force || stdout.is_terminal()) && !is_dumb;
        Self { is_on }
    }

    #[cfg(test)]
    pub(crate) fn new(is_on: bool) -> Self {
        Self { is_on }
    }

    pub(crate) fn is_on(self) -> bool {
        self.is_on
    }

    /// Returns `text` in a style.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if !self.is_on || text.is_empty() {
            return text.to_owned();
        }
        format!("{style}{text}{style:#}")
    }
}

/// Returns the style that has the effects of both. The color of `inner` wins.
pub(crate) fn combined(outer: Style, inner: Style) -> Style {
    inner
        .effects(outer.get_effects() | inner.get_effects())
        .fg_color(inner.get_fg_color().or_else(|| outer.get_fg_color()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_painter_that_is_off_returns_the_text() {
        assert_eq!(Painter::OFF.paint(RED, "a"), "a");
        assert_eq!(Painter::new(true).paint(RED, "a"), "\x1b[31ma\x1b[0m");
    }

    #[test]
    fn combined_styles_keep_all_effects_and_the_inner_color() {
        assert_eq!(Painter::new(true).paint(combined(BOLD, CYAN), "a"), "\x1b[1m\x1b[36ma\x1b[0m");
        assert_eq!(combined(combined(RED, BOLD), UNDERLINE), RED.bold().underline());
    }
}
