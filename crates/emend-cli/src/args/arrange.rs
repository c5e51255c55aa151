//! Command lines that clap would reject although their meaning is clear, and hints for commands that do not exist.
//!
//! Options may come before the command, `--print TASK` needs no `run`, and `--resume` may come before the task.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command, CommandFactory as _};
use emend_agent::error_code::Code;
use emend_agent::suggest::closest;

use super::Cli;
use crate::failure::Failure;
use crate::saved_sessions::is_session;

/// Commands of other tools, with the answer to a user who expects them here.
const ELSEWHERE: [(&str, &str); 9] = [
    ("login", KEYS),
    ("auth", KEYS),
    ("logout", KEYS),
    ("init", "emend needs no setup in a project; instructions for the agent can be in AGENTS.md"),
    ("mcp", "emend does not support MCP servers; `emend tools list` lists the tools"),
    ("chat", "to open a conversation, run emend without a command"),
    ("resume", "to continue a conversation: emend --resume, or emend run --resume \"TASK\""),
    ("exec", "to do one task: emend run \"TASK\""),
    ("update", "emend does not update itself; install it again as described in README.md"),
];

const KEYS: &str =
    "emend has no accounts; it reads API keys from environment variables such as ANTHROPIC_API_KEY, see emend --help";

/// Returns the arguments in an order that clap accepts.
///
/// The failure explains a word in the place of a command.
pub(crate) fn arranged(mut args: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let cli = Cli::command();
    let names: Vec<&str> = cli.get_subcommands().map(Command::get_name).chain(["help"]).collect();
    let Some(run) = cli.get_subcommands().find(|command| command.get_name() == "run") else { return Ok(args) };
    let known = |name: &str| {
        let of_cli = cli.get_arguments().find(|arg| is_named(arg, name));
        of_cli.map(|arg| (arg, false)).or_else(|| Some((run.get_arguments().find(|arg| is_named(arg, name))?, true)))
    };
    let mut index = 1;
    let mut is_run = false;
    let word = loop {
        let Some(text) = text_at(&args, index) else { break None };
        if !is_option(&text) {
            break Some(text);
        }
        // Help, version, and options that do not exist are left to clap.
        let Some((arg, only_of_run)) = known(name_of(&text)) else { return Ok(args) };
        is_run |= only_of_run;
        index += length(arg, &args, index);
    };
    match word {
        Some(word) if names.contains(&word.as_str()) => args[1..=index].rotate_right(1),
        _ if is_run => args.insert(1, "run".into()),
        // Without `run` there is no task, so the word is the ID.
        Some(word) if is_resume(&args, index - 1) && !word.contains(char::is_whitespace) => {}
        Some(word) => return Err(not_a_command(&word, &names)),
        None => {}
    }
    if args.get(1).is_some_and(|command| command == "run") {
        let mut index = 2;
        // Behind the task a --resume can only be followed by an ID.
        while let Some(text) = text_at(&args, index).filter(|text| is_option(text)) {
            let Some((arg, _)) = known(name_of(&text)) else { break };
            let n_args = length(arg, &args, index);
            if text == "--resume" && n_args == 1 {
                args[index] = "--resume=".into();
            }
            index += n_args;
        }
    }
    Ok(args)
}

fn text_at(args: &[OsString], index: usize) -> Option<String> {
    args.get(index).map(|arg| arg.to_string_lossy().into_owned())
}

fn is_option(text: &str) -> bool {
    text.starts_with('-') && text != "-" && text != "--"
}

fn is_resume(args: &[OsString], index: usize) -> bool {
    args.get(index).is_some_and(|option| option == "--resume")
}

fn name_of(option: &str) -> &str {
    option.split_once('=').map_or(option, |(name, _)| name)
}

/// Returns the number of arguments that the option at `index` takes up with its value.
fn length(arg: &Arg, args: &[OsString], index: usize) -> usize {
    let has_value = args[index].to_string_lossy().contains('=');
    let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let word = |at: usize| text_at(args, at).filter(|word| !is_option(word));
    // Of two words, the second is the task.
    let is_id = |id: &String| {
        let is_run = args.get(1).is_some_and(|command| command == "run");
        is_session(id) || is_run && !id.contains(char::is_whitespace) && word(index + 2).is_some()
    };
    let is_missing = || arg.get_id() == "resume" && !word(index + 1).is_some_and(|id| is_id(&id));
    if takes_value && !has_value && !is_missing() { 2 } else { 1 }
}

fn is_named(arg: &Arg, name: &str) -> bool {
    match name.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| name[1..] == *short.encode_utf8(&mut [0; 4])),
    }
}

fn not_a_command(word: &str, names: &[&str]) -> Failure {
    let hint = match ELSEWHERE.iter().find(|(name, _)| *name == word) {
        Some((_, hint)) => (*hint).to_owned(),
        None if word.contains(char::is_whitespace) => format!("to do one task: emend run {word:?}"),
        None => match closest(word, names.iter().copied(), 1).first() {
            Some(near) => format!("did you mean emend {near}?"),
            None => format!("emend --help lists the commands; to do one task: emend run {word:?}"),
        },
    };
    Failure::new(Code::InvalidArgument, format!("{word:?} is not a command; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<String, String> {
        let args = std::iter::once("emend").chain(line.split_whitespace()).map(OsString::from).collect();
        let arranged = arranged(args).map_err(|failure| failure.message)?;
        Ok(arranged.iter().skip(1).map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn options_may_come_before_the_command() {
        for (line, expected) in [
            ("", ""),
            ("--model offline", "--model offline"),
            ("--model offline run x", "run --model offline x"),
            ("--model=offline --review run x", "run --model=offline --review x"),
            ("--root d undo", "undo --root d"),
            ("-c run x", "run -c x"),
            ("-p x", "run -p x"),
            ("--output json --model offline x", "run --output json --model offline x"),
            ("run --resume x", "run --resume= x"),
            ("run --resume zzz x", "run --resume zzz x"),
            ("--resume zzz", "--resume zzz"),
            ("--model offline --resume zzz", "--model offline --resume zzz"),
            ("run --resume sess_1 x", "run --resume sess_1 x"),
            ("run x --resume", "run x --resume"),
            ("run x --resume y", "run x --resume y"),
            ("run --model offline --resume x", "run --model offline --resume= x"),
            ("--resume run x", "run --resume= x"),
            ("--resume sess_1", "--resume sess_1"),
            ("help run", "help run"),
            ("--frobnicate run", "--frobnicate run"),
        ] {
            assert_eq!(of(line).as_deref(), Ok(expected), "{line}");
        }
    }

    #[test]
    fn words_that_are_not_commands_are_explained() {
        for (line, expected) in [
            ("rnu x", "\"rnu\" is not a command; did you mean emend run?"),
            ("sesions", "\"sesions\" is not a command; did you mean emend sessions?"),
            ("--model offline cofnig", "\"cofnig\" is not a command; did you mean emend config?"),
        ] {
            assert_eq!(of(line), Err(expected.to_owned()), "{line}");
        }
        for (name, hint) in ELSEWHERE {
            assert_eq!(of(name), Err(format!("{name:?} is not a command; {hint}")));
        }
        let sentence = arranged(["emend", "rename a to b"].map(OsString::from).to_vec()).unwrap_err().message;
        assert_eq!(sentence, "\"rename a to b\" is not a command; to do one task: emend run \"rename a to b\"");
    }
}
