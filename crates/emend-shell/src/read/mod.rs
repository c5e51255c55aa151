//! Reads a command line as bash does, for rules about commands.
//!
//! The parser of the emulated shell has the grammar. It is made to run scripts, so it forgives some that bash reads
//! differently, and a rule must not be about another command than the one that runs. A line therefore has a reading only
//! if a second, strict reader of words ([`tokens`]) finds the same words in it, in the same order, with nothing else
//! between them. Kinds of syntax that are not listed in [`walk`] have no reading.

mod command_line;
mod lexer;
mod meaning;
mod simple;
mod tokens;
mod walk;
mod word;

pub use command_line::{CommandLine, OPEN, SimpleCommand};

/// Length of a line that is read, in bytes. A longer one has no reading.
const BYTES_MAX: usize = 1 << 16;

/// Returns the commands of a line, or `None` if not everything that it runs can be seen.
#[must_use]
pub fn read_command_line(line: &str) -> Option<CommandLine> {
    let is_odd = |char: char| match char {
        '\n' | '\t' | ' ' => false,
        // Shells disagree on which of these are blanks.
        char => {
            char.is_control()
                || char.is_whitespace()
                || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
        }
    };
    if line.len() > BYTES_MAX || line.contains(is_odd) {
        return None;
    }
    let mut found = walk::Found::default();
    found.may_unset = meaning::may_unset(line);
    walk::read(line, 0, &mut found)?;
    let mut commands = found.commands()?;
    if meaning::may_name_aliases(line) {
        commands.iter_mut().for_each(|command| command.hides = true);
    }
    Some(CommandLine { commands })
}

/// Returns whether `cmd.exe` may find other commands in a line than bash: for `cmd.exe`, single quotes and backslashes
/// quote nothing, `^` quotes, `%NAME%` is replaced first, and a second line does not run.
#[must_use]
pub fn differs_in_cmd(line: &str) -> bool {
    let is_plain = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-' | '.' | '*');
    line.contains(['\'', '^', '%', '\n', '\r', '$', '#', ';', '`', '{', '}'])
        || line.match_indices('\\').any(|(at, _)| !line[at + 1..].starts_with(is_plain))
}

/// Returns whether another shell than bash may find other commands in a line: it has syntax that POSIX does not name.
#[must_use]
pub fn differs_in_sh(line: &str) -> bool {
    ["((", "[[", "&>", "<(", ">(", "<<<", ">|", "{", "function", "coproc", "time", "alias", ";&", "+="]
        .into_iter()
        .any(|syntax| line.contains(syntax))
}

#[cfg(test)]
#[cfg(unix)]
mod bash_tests;
#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod tests;
