//! Reads git's files of settings without git: a start of a process is too slow before each write of a file.

use std::iter::Peekable;
use std::str::Chars;

/// A setting. The subsection is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// In lower case.
    pub(crate) section: String,
    /// In lower case.
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Returns the settings in the order of the file. Malformed parts are skipped.
pub(crate) fn parse(text: &str) -> Vec<Setting> {
    let mut found = Vec::new();
    let mut section = String::new();
    let mut rest = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(&next) = rest.peek() {
        match next {
            '[' => section = header(&mut rest),
            _ if next.is_ascii_alphanumeric() => {
                let mut name = String::new();
                while let Some(letter) = rest.next_if(|letter| letter.is_ascii_alphanumeric() || *letter == '-') {
                    name.push(letter.to_ascii_lowercase());
                }
                while rest.next_if(|letter| matches!(letter, ' ' | '\t')).is_some() {}
                let value = if rest.next_if_eq(&'=').is_some() { value(&mut rest) } else { String::new() };
                found.push(Setting { section: section.clone(), name, value });
            }
            _ if next.is_whitespace() => drop(rest.next()),
            // A comment, or a line because of which git refuses the file.
            _ => skip_line(&mut rest),
        }
    }
    found
}

fn skip_line(rest: &mut Peekable<Chars<'_>>) {
    while rest.next().is_some_and(|letter| letter != '\n') {}
}

/// Returns the section of `[section]`, `[section "subsection"]` or `[section.subsection]`.
fn header(rest: &mut Peekable<Chars<'_>>) -> String {
    let (mut name, mut is_quoted, mut is_name) = (String::new(), false, true);
    rest.next();
    while let Some(letter) = rest.next() {
        match letter {
            '\n' => break,
            ']' if !is_quoted => break,
            '\\' if is_quoted => drop(rest.next()),
            '"' => (is_quoted, is_name) = (!is_quoted, false),
            _ => is_name = is_name && (letter.is_ascii_alphanumeric() || letter == '-'),
        }
        if is_name {
            name.push(letter.to_ascii_lowercase());
        }
    }
    name
}

/// Returns the value until the end of its line, without quotes, comments and spaces around it.
fn value(rest: &mut Peekable<Chars<'_>>) -> String {
    let (mut value, mut n_kept, mut is_quoted) = (String::new(), 0, false);
    while let Some(letter) = rest.next() {
        match letter {
            '\n' => break,
            '\r' if rest.peek() == Some(&'\n') => continue,
            '#' | ';' if !is_quoted => {
                skip_line(rest);
                break;
            }
            '"' => is_quoted = !is_quoted,
            '\\' => match rest.next() {
                Some('\n') => continue,
                Some('\r') => {
                    rest.next_if_eq(&'\n');
                    continue;
                }
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(other) => value.push(other),
                None => break,
            },
            _ if letter.is_whitespace() && !is_quoted => {
                if !value.is_empty() {
                    value.push(letter);
                }
                continue;
            }
            _ => value.push(letter),
        }
        n_kept = value.len();
    }
    value.truncate(n_kept);
    value
}

/// Programs that run the file that their first argument names.
const INTERPRETERS: [&str; 16] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "env", "exec", "node", "perl", "python", "python3", "ruby", "nohup",
    ".", "source",
];

/// Returns the paths that a shell may run for this value: the words of its commands that have a directory, and the first
/// argument of an interpreter. After `cd`, the words are also those of that directory.
pub(crate) fn programs(value: &str) -> Vec<String> {
    let mut found = Vec::new();
    let value = value.trim();
    // A path with spaces in quotes, or one that is passed to no shell.
    if let Some(quote) = value.chars().next().filter(|letter| matches!(letter, '\'' | '"')) {
        found.extend(value[1..].split(quote).next().map(str::to_owned));
    }
    if value.contains('/') {
        found.push(value.to_owned());
    }
    let mut directory = None;
    for command in value.split([';', '&', '|', '(', ')', '`', '{', '}', '<', '>', '\n']) {
        let (mut is_argument, mut is_cd) = (false, false);
        for word in command.split([' ', '\t', '\'', '"', '=']).filter(|word| !word.is_empty()) {
            let name = word.rsplit('/').next().unwrap_or(word);
            if is_cd {
                (directory, is_cd) = (Some(word.to_owned()), false);
                continue;
            }
            is_cd = matches!(word, "cd" | "pushd");
            // A program without a directory is found by PATH.
            if word.contains('/') || is_argument && !word.starts_with('-') {
                let path = without_glob(word);
                found.extend(directory.iter().map(|directory| format!("{directory}/{path}")));
                // The start of `$(…)/a` or `${…}/a` is not known.
                found.extend(path.strip_prefix('/').map(str::to_owned));
                found.push(path.to_owned());
                is_argument = false;
            }
            is_argument |= INTERPRETERS.contains(&name);
        }
    }
    found
}

/// Returns the path, or of a glob the directory of its files.
fn without_glob(path: &str) -> &str {
    let Some(at) = path.find(['*', '?', '[']) else { return path };
    path[..at].rsplit_once('/').map_or(path, |(directory, _)| directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let text = "\u{feff}; a\n[Core]\r\n\tFsMonitor = \"./a b\" # x\r\n bare\n[core \"x]\\\"\"] hooks-Path = a\\\nb ; y\n\
                    [includeIf.x]path=\\\"c\\\\\n[broken\n = z\n[alias]\nx = \"!a;b\"  \n";
        let found: Vec<_> = parse(text).into_iter().map(|found| [found.section, found.name, found.value]).collect();
        let expected = [
            ["core", "fsmonitor", "./a b"],
            ["core", "bare", ""],
            ["core", "hooks-path", "ab"],
            ["includeif", "path", "\"c\\"],
            ["alias", "x", "!a;b"],
        ];
        assert_eq!(found, expected.map(|row| row.map(str::to_owned)));
    }

    #[test]
    fn the_programs_of_a_value_are_found() {
        for (value, expected) in [
            ("vim -f", &[][..]),
            ("t/fs", &["t/fs", "t/fs"]),
            ("'./a b' c", &["./a b", "'./a b' c", "./a"]),
            ("X=1 sh -c 'a.sh 1' && ./b c/d", &["X=1 sh -c 'a.sh 1' && ./b c/d", "a.sh", "./b", "c/d"]),
            ("\"$(git rev-parse)/k/al\"", &["$(git rev-parse)/k/al", "\"$(git rev-parse)/k/al\"", "k/al", "/k/al"]),
            ("${PREFIX:-.}/k/am", &["${PREFIX:-.}/k/am", "k/am", "/k/am"]),
            ("cd k && ./af", &["cd k && ./af", "k/./af", "./af"]),
            ("cat k/ah|sh", &["cat k/ah|sh", "k/ah"]),
            (". k/ag", &[". k/ag", "k/ag"]),
            ("bash -lc \"source k/ao\"", &["bash -lc \"source k/ao\"", "source", "k/ao"]),
            ("k/az*.sh", &["k/az*.sh", "k"]),
            ("ssh -F k/ab", &["ssh -F k/ab", "k/ab"]),
            ("-c core.pager=k/ap log", &["-c core.pager=k/ap log", "k/ap"]),
            ("python3 run.py x", &["run.py"]),
        ] {
            assert_eq!(programs(value), expected, "{value}");
        }
    }
}
