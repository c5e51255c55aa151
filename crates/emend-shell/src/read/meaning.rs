//! The builtins and programs that run text as code, or programs under other names.

use super::command_line::{OPEN, SimpleCommand};
use super::word::Word;

/// Builtins of bash that evaluate their arguments once more.
const EVALUATING: &str = ". alias bind builtin command compgen complete declare eval export let local mapfile read \
                          readarray readonly source trap typeset unset wait";

/// Builtins that give variables attributes.
const DECLARING: &str = "declare export local readonly typeset";

/// Builtins that set variables.
const SETTING: &str = "declare eval export getopts let local mapfile printf read readarray readonly typeset unset wait";

/// Programs that run the text which they are given.
const INTERPRETERS: &str = "bash dash fish ksh parallel sh su watch xargs zsh";

/// Builtins that run the text which they are given.
const INTERPRETING_BUILTINS: &str = ". eval source trap";

/// Programs that run another one, whose name may stand behind their options.
const PREFIXES: &str =
    "builtin chrt command doas env exec flock ionice nice nohup setsid stdbuf strace sudo taskset time timeout unshare";

/// Those of them that have an operand of their own before the program that they run.
const WITH_OPERAND: &str = "chrt flock strace taskset timeout";

/// Programs that run another one on another machine or in a container, and give it their input.
const ELSEWHERE: &str = "chroot docker kubectl lxc nerdctl nsenter oc podman ssh";

/// Letters of the options of ssh that have a value.
const SSH_VALUES: &str = "BbcDEeFIiJLlmOoPpQRSWw";

/// Options of find that run a program.
const FIND_EXEC: &str = "-exec -execdir -ok -okdir";

/// The text that find and xargs replace by a file name or by a line of their input.
const PLACEHOLDER: &str = "{}";

/// Builtins without an effect on anything but the line itself.
const INERT: &str = ": break continue exit false return shift true";

/// Parts of a line with which git runs commands that have other names.
const GIT_ALIASES: &str = "alias. alias] -section config-env include.path includeif git_config home=";

/// Reserved words, which begin no simple command.
const RESERVED: &str =
    "! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until while";

/// Returns whether a word without quotes is reserved.
pub(super) fn is_reserved(word: &str) -> bool {
    is_listed(RESERVED, word)
}

/// Returns whether a list of words has this one.
fn is_listed(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// Returns a text without quotes and backslashes.
fn unquoted(text: &str) -> String {
    text.replace("\\\n", "").replace(['\'', '"', '\\'], "")
}

/// Returns whether a line may give git's subcommands other names.
pub(super) fn may_name_aliases(line: &str) -> bool {
    let plain = unquoted(line).to_ascii_lowercase();
    plain.contains("git") && GIT_ALIASES.split(' ').any(|part| plain.contains(part))
}

/// Returns whether a line may remove a function.
pub(super) fn may_unset(line: &str) -> bool {
    unquoted(line).contains("unset")
}

/// The properties of a command that follow from its words.
#[derive(Debug, Default)]
pub(super) struct Meaning {
    /// Whether its words are evaluated as code.
    pub(super) evaluates: bool,
    /// Whether they would be, if a variable had a value that this line can give it.
    pub(super) may_evaluate: bool,
    pub(super) hides: bool,
    pub(super) sets_variables: bool,
    pub(super) is_inert: bool,
    /// Whether it adds words that are not in the line.
    pub(super) adds_words: bool,
    /// Texts that it hands to a shell.
    pub(super) texts: Vec<String>,
}

fn is_open(word: &Word) -> bool {
    word.text.contains(OPEN)
}

/// Returns whether a word is the value of a variable or the output of a command, and nothing else.
fn is_whole_open(word: &Word) -> bool {
    word.text.starts_with(OPEN) && word.text.chars().all(|char| char == OPEN)
}

/// Returns whether a word could be evaluated: it has an expansion, a substitution or a subscript.
fn may_have_code(word: &Word) -> bool {
    word.text.contains([OPEN, '$', '`', '['])
}

/// Returns whether an option makes values of a variable arithmetic, or names of others.
fn is_attribute(word: &Word) -> bool {
    word.text.starts_with('-') && word.text.contains(['i', 'n'])
}

/// Returns the properties of a command. `input` is the text of its here-document.
pub(super) fn meaning(words: &[&Word], input: Option<&Word>) -> Meaning {
    let Some((first, arguments)) = words.split_first() else { return Meaning::default() };
    let name = first.text.as_str();
    let has_name = arguments.iter().any(|word| word.text.starts_with("-v") || word.text == "-R");
    let takes_name = is_listed("printf test [", name);
    let may_be_option = |word: &&&Word| word.text.starts_with(OPEN) || word.may_split && is_open(word);
    let may_take_name = match name {
        "printf" => arguments.first().is_some_and(|word| may_be_option(&word)),
        "test" | "[" => {
            arguments.windows(2).any(|pair| pair.iter().all(|word| word.text.starts_with(OPEN)))
                || arguments.iter().any(|word| word.may_split && is_open(word))
        }
        _ => false,
    };
    let mut meaning = Meaning {
        evaluates: arguments.iter().any(|word| may_have_code(word))
            && (is_listed(EVALUATING, name) || takes_name && has_name)
            || name == "let"
            || is_listed(DECLARING, name) && arguments.iter().any(|word| is_attribute(word)),
        may_evaluate: may_take_name,
        sets_variables: is_listed(SETTING, name) && (name != "printf" || has_name),
        is_inert: is_listed(INERT, name) && !arguments.iter().any(|word| is_open(word)),
        ..Meaning::default()
    };
    meaning.hides = meaning.evaluates || splits_text(words);
    let rest = from_program(words);
    let n_before = words.len() - rest.len();
    let Some((first, arguments)) = rest.split_first() else { return meaning };
    let has_operand = n_before > 0 && is_operand(first)
        || words[..n_before].iter().any(|word| is_listed(WITH_OPERAND, program(word)));
    meaning.hides |= has_operand && arguments.first().is_some_and(|word| is_whole_open(word))
        || is_open(first)
        || first.text.contains(PLACEHOLDER)
        || replaces_program(program(first), arguments)
        // These give a program a new name.
        || is_listed("alias hash", program(first)) && !arguments.is_empty();
    // The program may stand anywhere behind one that runs others.
    let runs_others = n_before > 0 || is_listed("find parallel xargs", program(first));
    let n_places = if runs_others { rest.len() } else { 1 };
    for at in 0..n_places {
        let is_builtin = at == 0 && is_listed(INTERPRETING_BUILTINS, &rest[at].text);
        if is_builtin || is_listed(INTERPRETERS, program(rest[at])) {
            meaning.interpret(program(rest[at]), &rest[at + 1..], input);
        }
    }
    if hands_input_on(program(first), arguments, input.is_some()) {
        meaning.take_input(input);
    }
    meaning
}

/// Returns the words from the program on, which may stand behind options, assignments and programs that run others.
fn from_program<'a, 'b>(words: &'b [&'a Word]) -> &'b [&'a Word] {
    let is_before =
        |word: &&Word| word.text.starts_with('-') || is_listed(PREFIXES, program(word)) || is_assignment(&word.text);
    &words[words.iter().take_while(|word| is_before(word)).count()..]
}

/// Returns whether find or xargs puts the name of a file, or a line of its input, in the place of a program.
fn replaces_program(name: &str, arguments: &[&Word]) -> bool {
    let is_program = |words: &[&Word], placeholder: &str| {
        from_program(words).first().is_some_and(|word| word.text.contains(placeholder) || is_open(word))
    };
    match name {
        "find" => (1..arguments.len())
            .any(|at| is_listed(FIND_EXEC, &arguments[at - 1].text) && is_program(&arguments[at..], PLACEHOLDER)),
        "xargs" => {
            let Some((placeholder, rest)) = replacement(arguments) else { return false };
            let has_shell = rest.iter().any(|word| is_listed(INTERPRETERS, program(word)));
            is_program(rest, placeholder) || has_shell && rest.iter().any(|word| word.text.contains(placeholder))
        }
        _ => false,
    }
}

/// Returns the text that xargs replaces, if it replaces any, and the words after that option.
fn replacement<'a, 'b>(arguments: &'b [&'a Word]) -> Option<(&'a str, &'b [&'a Word])> {
    let at = arguments.iter().position(|word| {
        word.text.starts_with("-I") || word.text.starts_with("-i") || word.text.starts_with("--replace")
    })?;
    let (option, rest) = (arguments[at].text.as_str(), &arguments[at + 1..]);
    Some(match option.trim_start_matches("--replace").trim_start_matches('=') {
        "-I" => (rest.first()?.text.as_str(), &rest[1..]),
        "-i" | "" => (PLACEHOLDER, rest),
        given => (given.strip_prefix("-I").or_else(|| given.strip_prefix("-i")).unwrap_or(given), rest),
    })
}

/// Returns whether a word is a number or a time, such as `5` of `timeout 5`, and no program.
fn is_operand(word: &&Word) -> bool {
    word.text.trim_end_matches(['s', 'm', 'h', 'd']).parse::<f64>().is_ok() || word.text.starts_with('-')
}

/// Returns whether a shell reads its commands from its input.
fn reads_input(name: &str, arguments: &[&Word]) -> bool {
    let is_input = |word: &str| matches!(word, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0");
    if is_listed(". source", name) {
        return arguments.first().is_some_and(|word| is_input(&word.text));
    }
    if !is_listed("bash dash fish ksh sh zsh", name) {
        return false;
    }
    let mut words = arguments.iter().map(|word| word.text.as_str());
    while let Some(word) = words.next() {
        let letters = word.strip_prefix(['-', '+']).filter(|_| !is_input(word));
        match letters {
            Some("-rcfile" | "-init-file") => drop(words.next()),
            Some(long) if long.starts_with('-') => {}
            Some(letters) if letters.contains('c') => return false,
            Some(letters) if letters.contains('s') => return true,
            // The name of an option follows.
            Some(letters) if letters.ends_with(['o', 'O']) => drop(words.next()),
            Some(_) => {}
            None => return is_input(word),
        }
    }
    true
}

/// Returns whether a program gives its input to a shell that reads commands from it. Without a here-document, only
/// programs whose purpose it is count: `which bash` has the same words.
fn hands_input_on(name: &str, arguments: &[&Word], has_input: bool) -> bool {
    if name == "ssh" {
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.text.strip_prefix('-') {
                Some(letters) if letters.ends_with(|letter| SSH_VALUES.contains(letter)) => drop(words.next()),
                Some(_) => {}
                // The machine; without a program behind it, a shell runs there.
                None => {
                    let rest = from_program(words.as_slice());
                    let Some((first, arguments)) = rest.split_first() else { return true };
                    return reads_input(program(first), arguments);
                }
            }
        }
        return false;
    }
    let reads = |at: usize| reads_input(program(arguments[at]), &arguments[at + 1..]);
    (has_input || is_listed(ELSEWHERE, name)) && (0..arguments.len()).any(reads)
}

/// Returns the name of the program that a word names.
fn program(word: &Word) -> &str {
    word.text.rsplit('/').next().unwrap_or_default()
}

impl Meaning {
    fn interpret(&mut self, name: &str, arguments: &[&Word], input: Option<&Word>) {
        let given: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
        let is_dynamic = |text: &str| text.contains([OPEN, '$', '`', '\\']);
        if is_listed("xargs parallel", name) {
            self.hides |= given.iter().any(|text| is_dynamic(text)) || from_program(arguments).iter().all(is_operand);
            self.adds_words = true;
            return;
        }
        self.sets_variables |= is_listed("eval source .", name);
        if reads_input(name, arguments) {
            self.take_input(input);
            return;
        }
        if given.iter().any(|text| text.contains(OPEN)) {
            self.hides = true;
            return;
        }
        if name == "eval" {
            self.texts.push(given.join(" "));
        } else {
            // A semicolon ends the command of `find -exec`.
            let texts = given.iter().filter(|text| !text.starts_with('-') && **text != ";");
            self.texts.extend(texts.map(|text| (*text).to_owned()));
        }
        if self.texts.is_empty() {
            self.take_input(input);
        }
    }

    /// Takes the here-document for the text of a shell. Any other input is hidden.
    fn take_input(&mut self, input: Option<&Word>) {
        match input {
            Some(word) if !is_open(word) => self.texts.push(word.text.clone()),
            _ => self.hides = true,
        }
    }
}

/// Returns whether a command has a command line in the notation of `env -S`.
fn splits_text(words: &[&Word]) -> bool {
    let mut words = words.iter().flat_map(|word| word.text.split_whitespace());
    words.any(|word| word.ends_with("env"))
        && words.any(|word| word.starts_with("--s") || word.starts_with('-') && word.contains('S'))
}

/// Returns whether a word sets a variable.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Returns whether setting this variable has no effect on programs. Their variables have long names, or upper case.
pub(super) fn is_harmless_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && !name.contains("proxy")
}

/// Variables whose values bash expands or runs.
const EVALUATED: &str = "BASH_ENV ENV PROMPT_COMMAND PS0 PS1 PS2 PS4";

/// Returns whether bash runs code in the value of this variable.
pub(super) fn is_evaluated(name: &str) -> bool {
    is_listed(EVALUATED, name)
}

/// Returns a command that is not a call of a program: what it does is in its text.
pub(super) fn bare(text: &str, is_plain: bool, hides: bool) -> SimpleCommand {
    SimpleCommand { text: text.to_owned(), runs: Vec::new(), is_plain, hides }
}
