//! Approval of tool calls: the rules, and questions to the user.
//!
//! Reads and edits are allowed, since edits can be undone or reviewed. Commands and web pages are asked about. Without
//! a terminal they are refused, with the option that would allow them.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use emend_agent::approval::{
    Action, Approval, ApprovalRequest, Approver, CommandLine, Policy, Rule, Target, ToolEffect, Verdict,
    is_command_tool,
};
use emend_agent::environment::FilePath;
use emend_agent::error_code::Code;
use emend_agent::profile::{Profile, check_tool_name};
use emend_agent::tools::Shell;
use emend_host::read_command;
use emend_llm::{BoxFuture, Shared};
use futures::channel::oneshot;
use serde_json::Value;

use crate::failure::Failure;
use crate::obeyed::Obeyed;
use crate::protected;
use crate::settings::{Settings, Source, Sourced};
use crate::terminal;
use crate::tool_set;
use crate::visible::visible_whole;
use crate::wrap::folded_on;

/// Returns the rules of a session. The first rule that matches a call decides: deny, allow for [protected] files that the
/// rule names, ask for the others, allow, ask, then the default.
pub(crate) fn policy(settings: &Settings) -> Result<Policy, Failure> {
    let parsed = |action: Action, texts: &[Sourced<String>]| {
        let rule = |text: &Sourced<String>| {
            let is_option = matches!(text.source, Source::Flag(_));
            let code = if is_option { Code::InvalidArgument } else { Code::Configuration };
            let wrong = |what: String| Failure::new(code, format!("{}: {what}", text.source));
            let rule = Rule::parse(action, &text.value).map_err(|error| wrong(error.to_string()))?;
            if rule.is_for_effect() {
                return Ok(rule);
            }
            let name = text.value.split(':').next().unwrap_or_default().trim();
            match check_tool_name(name, &tool_set::OWN_NAMES) {
                Ok(canonical) => Ok(rule.for_tool(canonical)),
                Err(unknown) if unknown.nearest.is_none() => {
                    Err(wrong(format!("{unknown}; `emend tools list` lists the tools")))
                }
                Err(unknown) => Err(wrong(unknown.to_string())),
            }
        };
        texts.iter().map(rule).collect::<Result<Vec<_>, _>>()
    };
    let mut rules = parsed(Action::Deny, &settings.deny)?;
    let more = &settings.obeyed;
    let names_protected = |rule: &Rule| {
        let text = rule.text();
        rule.has_pattern() && text.split_once(':').is_some_and(|(_, path)| protected::is_named_by(path, more))
    };
    let (named, others): (Vec<_>, Vec<_>) =
        parsed(Action::Allow, &settings.allow)?.into_iter().partition(names_protected);
    rules.extend(named);
    rules.push(protected::rule(more));
    rules.extend(others);
    rules.extend(parsed(Action::Ask, &settings.ask)?);
    rules.push(Rule::for_effect(Action::Ask, ToolEffect::Runs));
    let policy = Policy { rules, otherwise: Action::Allow };
    Ok(if settings.hide_secrets.value { policy.hiding_secrets() } else { policy })
}

/// Returns a warning for each rule that stops one editing tool and leaves others open.
fn warnings(settings: &Settings) -> Vec<String> {
    let mut found = Vec::new();
    for (option, rules) in [("deny", &settings.deny), ("ask", &settings.ask)] {
        for Sourced { value: text, source } in rules {
            let (name, pattern) = text.split_once(':').map_or((text.as_str(), ""), |(name, path)| (name, path.trim()));
            let name = name.trim();
            if !is_editing_tool(name) {
                continue;
            }
            let rule = if pattern.is_empty() { "edit".to_owned() } else { format!("edit:{pattern}") };
            // All editing tools are named, or all tools.
            let is_named = |whole: &str| {
                let (subject, path) = whole.split_once(':').unwrap_or((whole, ""));
                ["edit", "*"].contains(&subject.trim()) && (path.is_empty() || path.trim() == pattern)
            };
            if [&settings.deny, rules].into_iter().flatten().any(|other| is_named(&other.value)) {
                continue;
            }
            let files = if pattern.is_empty() { "files" } else { pattern };
            found.push(format!(
                "{source}: the rule `{option} {text}` is about {name} alone; other tools can change {files}. For all of \
                 them: --{option} '{rule}'"
            ));
        }
    }
    found
}

/// Returns what the user should know about the permissions before the agent begins.
pub(crate) fn notes(settings: &Settings) -> Vec<String> {
    let mut notes = warnings(settings);
    let Sourced { value: is_read_only, source } = &settings.read_only;
    if *is_read_only && !matches!(source, Source::Flag(_)) {
        notes.push(format!("{source}: read_only is set, so the agent cannot edit files or run commands"));
    }
    if let Some(place) = &settings.env.value {
        notes.push(format!(
            "the project is at {place}; of what a command changes there, only texts that are not ignored can be undone, and \
             a .emend.toml there is not read"
        ));
    }
    notes
}

/// Returns whether a tool with this name, under any profile, changes files.
fn is_editing_tool(name: &str) -> bool {
    let families = [Profile::openai(""), Profile::anthropic(""), Profile::gemini("")];
    let own = [tool_set::all()];
    let mut registries = own.iter().chain(families.iter().map(|profile| &profile.tools));
    registries.any(|tools| tools.get(name).is_some_and(|(_, tool)| tool.effect() == ToolEffect::Writes))
}

/// Returns the approver for a run with plain output: it asks on the terminal, or refuses if there is none.
///
/// `n_unasked` counts the calls that were refused because nobody could be asked.
pub(crate) fn approver(json: bool, settings: &Settings, n_unasked: &Arc<AtomicUsize>) -> Shared<dyn Approver> {
    match !json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        true => Shared::new(Terminal),
        false => Shared::new(NoTerminal(settings.clone(), Arc::clone(n_unasked))),
    }
}

/// Refuses every call that it is asked about, and says which options would allow it. Counts these calls.
struct NoTerminal(Settings, Arc<AtomicUsize>);

impl Approver for NoTerminal {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        self.1.fetch_add(1, Ordering::Relaxed);
        let advice = match advice(&self.0, request) {
            Ok(flags) => format!("To allow this call, run emend with {}.", flags.join(" ")),
            Err(reason) => reason,
        };
        let why = if is_protected(request, &self.0.obeyed) { format!(" {PROTECTED}") } else { String::new() };
        let reason = format!("The user cannot be asked without a terminal.{why} {advice}");
        Box::pin(std::future::ready(Approval::Deny { reason: Some(reason) }))
    }
}

/// Returns the options that would allow a call, quoted for a shell; or the reason why no rule can.
fn advice(settings: &Settings, request: &ApprovalRequest) -> Result<Vec<String>, String> {
    let detail = |name: &str| request.detail[name].as_str();
    if let Some(rule) = detail("reachesHidden") {
        return Err(format!("No rule can allow a command while `deny {rule}` hides files that it could read."));
    }
    let decided = |settings: &Settings, tool: &str, effect: ToolEffect, target: &Target| {
        let canonical = if is_command_tool(tool) { Shell::NAME } else { tool };
        policy(settings).map(|policy| policy.decide(&[tool, canonical], effect, target)).ok()
    };
    let is_allowed = |verdict: &Option<Verdict>| verdict.as_ref().is_some_and(|found| found.action == Action::Allow);
    let tool = request.tool_name.as_str();
    let (tool, effect, target, rules) = if let Some(command) = detail("command") {
        let hides =
            "No rule with a pattern can allow this command line, because its text does not show all that it does.";
        let reading = read_command(command).filter(|line| !line.commands.is_empty()).ok_or(hides)?;
        if reading.commands.iter().any(|command| !command.is_plain) {
            return Err(hides.to_owned());
        }
        let target = |reading: CommandLine| Target {
            command: Some(command.to_owned()),
            reading: Some(reading),
            ..Target::default()
        };
        let mut rules: Vec<String> = Vec::new();
        for command in &reading.commands {
            let alone = target(CommandLine { commands: vec![command.clone()] });
            let rule = format!("{tool}:{}", command.text);
            if !is_allowed(&decided(settings, tool, ToolEffect::Runs, &alone)) && !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        (tool, ToolEffect::Runs, target(reading), rules)
    } else if detail("fileDiff").is_some() {
        // A patch that was sent as a command is an edit.
        let tool = if is_command_tool(tool) { "apply_patch" } else { tool };
        let files = request.detail["files"].as_array().cloned().unwrap_or_else(|| vec![request.detail.clone()]);
        let named = |list: &Value| {
            list.as_array()
                .map(|paths| paths.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<String>>())
        };
        // The core tells the real paths of files that a rule names; rules know no links and detours.
        let paths = named(&request.detail["paths"]).unwrap_or_else(|| {
            let mut paths: Vec<String> =
                files.iter().filter_map(|file| file["filePath"].as_str()).map(str::to_owned).collect();
            // A move also takes a file away from its old path.
            let from = request.arguments["from"].as_str().and_then(FilePath::clean);
            paths.extend(from.filter(|_| tool == "move_file").map(|from| from.to_string()));
            paths
        });
        let rules = paths.iter().map(|path| format!("{tool}:{path}")).collect();
        (tool, ToolEffect::Writes, Target { paths, ..Target::default() }, rules)
    } else {
        (tool, ToolEffect::Runs, Target::default(), vec![tool.to_owned()])
    };
    let mut trial = settings.clone();
    // A setting has one rule per line.
    trial.allow.extend(
        rules
            .iter()
            .filter(|rule| !rule.contains('\n'))
            .map(|rule| Sourced { value: rule.clone(), source: Source::Flag("--allow") }),
    );
    let verdict = decided(&trial, tool, effect, &target);
    if is_allowed(&verdict) {
        return Ok(rules.iter().map(|rule| format!("--allow '{}'", rule.replace('\'', "'\\''"))).collect());
    }
    let rule = verdict.and_then(|verdict| verdict.rule);
    let because = rule.map(|rule| format!(": a rule for {rule} decides first")).unwrap_or_default();
    Err(format!("No --allow option for this call can allow it{because}."))
}

/// The reason why a write to a [protected] file is asked about.
const PROTECTED: &str =
    "Such a file is asked about because programs (git, editors, shells) run or obey it by themselves.";

/// Returns whether a call is about a [protected] file, as far as its name tells.
fn is_protected(request: &ApprovalRequest, more: &Obeyed) -> bool {
    let paths = request.detail["paths"].as_array();
    paths.into_iter().flatten().filter_map(Value::as_str).any(|path| protected::is_protected(path, more))
}

/// Asks on standard error and reads the answer from standard input.
struct Terminal;

impl Approver for Terminal {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        Box::pin(async move {
            let prompt = folded_on(&std::io::stderr(), &prompt(request));
            let mut text = question(request) + "\n" + &prompt;
            loop {
                match ask(text).await.as_deref().map(approval) {
                    Some(Some(approval)) => return approval,
                    // Empty or unclear: ask again.
                    Some(None) => text = prompt.clone(),
                    None => return Approval::Deny { reason: None },
                }
            }
        })
    }

    /// A person decides, who may be away.
    fn stops_the_clock(&self) -> bool {
        true
    }
}

/// The prompt for the answer to a question that was shown before.
pub(crate) const PROMPT: &str = "Allow? [y]es, [n]o, [a]lways, or type a reason to refuse: ";

/// Returns the prompt for the answer. It names the calls that "always" would allow.
pub(crate) fn prompt(request: &ApprovalRequest) -> String {
    PROMPT.replace("[a]lways", &format!("[a]lways {}", scope_of_always(request)))
}

/// Returns the calls that "always" would allow for the rest of the session.
pub(crate) fn scope_of_always(request: &ApprovalRequest) -> &'static str {
    if request.detail["command"].is_string() {
        "this command here"
    } else if request.detail["paths"].is_array() {
        "this file"
    } else {
        "this tool"
    }
}

/// Prints `text` and returns the next line of standard input, `None` at its end.
///
/// A thread reads, so that the run can be cancelled meanwhile. The program exits without waiting for the thread.
async fn ask(text: String) -> Option<String> {
    let (sender, receiver) = oneshot::channel();
    terminal::discard_typed();
    thread::spawn(move || {
        let mut stderr = std::io::stderr().lock();
        // If the terminal was closed the read below returns the end of the input.
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
        drop(stderr);
        let mut line = String::new();
        let n_bytes = std::io::stdin().read_line(&mut line).unwrap_or_default();
        // After a cancelled run the receiver is gone.
        let _ = sender.send((n_bytes > 0).then_some(line));
    });
    receiver.await.ok().flatten()
}

/// Parses an answer. A text that is not one of the answers refuses the call and is the reason.
///
/// `/allow`, `/always` and `/deny REASON` are answers, too. Returns `None`, so that the user is asked again, for any other
/// command, for other single letters and for texts that start like a consent.
pub(crate) fn approval(line: &str) -> Option<Approval> {
    let line = line.trim();
    let answer = line.to_lowercase();
    Some(match answer.as_str() {
        "y" | "yes" => Approval::Allow,
        "a" | "always" => Approval::AllowAlways,
        "n" | "no" => Approval::Deny { reason: None },
        "/allow" => Approval::Allow,
        "/always" => Approval::AllowAlways,
        "/deny" => Approval::Deny { reason: None },
        answer if answer.starts_with("/deny ") => Approval::Deny { reason: Some(line[6..].trim().to_owned()) },
        // The user wanted something else, and did not mean the model.
        answer if terminal::is_command(answer) => return None,
        "ok" | "diff" => return None,
        answer if answer.chars().count() < 2 => return None,
        answer if answer.starts_with("yes") && !answer[3..].starts_with(char::is_alphabetic) => return None,
        _ => Approval::Deny { reason: Some(line.to_owned()) },
    })
}

/// A question with more lines tells their number, because the first ones may have left the screen.
const LONG_LINES: usize = 20;
/// The same for characters: a terminal of 80 columns breaks a long line.
const LONG_CHARS: usize = 80 * LONG_LINES;

/// Returns the text that describes a call.
pub(crate) fn question(request: &ApprovalRequest) -> String {
    let detail = |name: &str| request.detail[name].as_str().filter(|text| !text.is_empty());
    let mut lines = Vec::new();
    match (detail("command"), detail("fileDiff")) {
        (Some(command), _) => {
            let place = detail("workingDir").filter(|place| *place != ".").map(|place| format!(" in {place}"));
            lines.push(format!("? {} wants to run{}:", request.tool_name, place.unwrap_or_default()));
            lines.extend(command.lines().map(|line| format!("    {line}")));
            lines.extend(detail("description").map(|text| format!("  ({text})")));
            let hidden = detail("reachesHidden");
            lines.extend(hidden.map(|rule| format!("  (It could read files that the rule `deny {rule}` hides.)")));
            let unkept: Vec<&str> =
                request.detail["notUndoable"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let unkept = (!unkept.is_empty()).then(|| unkept.join(", "));
            lines.extend(unkept.map(|unkept| format!("  (Its changes in {unkept} could not be undone.)")));
        }
        (None, Some(diff)) => {
            lines.push(format!("? {} wants to make this change:", request.tool_name));
            lines.extend(diff.lines().map(|line| format!("    {line}")));
            lines.extend(is_protected(request, &Obeyed::default()).then(|| format!("  ({PROTECTED})")));
        }
        (None, None) => {
            lines.push(format!("? {} wants to run with:", request.tool_name));
            let arguments = request.arguments.as_object().into_iter().flatten();
            lines.extend(arguments.map(|(name, value)| format!("    {name}: {}", shown(value))));
        }
    }
    let n_chars: usize = lines.iter().map(|line| line.chars().count()).sum();
    if lines.len() > LONG_LINES {
        lines.push(format!("  ({} lines; scroll up to read all)", lines.len() - 1));
    } else if n_chars > LONG_CHARS {
        lines.push(format!("  ({n_chars} characters; scroll up to read all)"));
    }
    // Text of the model must not move the cursor or hide part of the question.
    let lines: Vec<String> = lines.iter().map(|line| visible_whole(line)).collect();
    lines.join("\n")
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(detail: Value) -> ApprovalRequest {
        let arguments = json!({"command": "x", "n": 3});
        ApprovalRequest { call_id: "c".to_owned(), tool_name: "shell".to_owned(), arguments, detail }
    }

    #[test]
    fn commands_are_asked_about_unless_a_flag_says_otherwise() {
        let settings = |allow: &str, ask: &str, deny: &str| Settings::of_rules(allow, ask, deny);
        let policy = policy(&settings("shell:git *", "write_file", "edit_file:*.lock")).unwrap();
        let on = |command: &str| Target {
            command: Some(command.to_owned()),
            reading: read_command(command),
            ..Target::default()
        };
        let path = |path: &str| Target { paths: vec![path.to_owned()], ..Target::default() };
        for (tool, effect, target, expected) in [
            ("shell", ToolEffect::Runs, on("git log"), Action::Allow),
            ("shell", ToolEffect::Runs, on("make"), Action::Ask),
            ("edit_file", ToolEffect::Writes, path("a.rs"), Action::Allow),
            ("edit_file", ToolEffect::Writes, path("Cargo.lock"), Action::Deny),
            ("read_file", ToolEffect::Reads, path("Cargo.lock"), Action::Allow),
            ("write_file", ToolEffect::Writes, path("a.rs"), Action::Ask),
            ("web_fetch", ToolEffect::Runs, Target::default(), Action::Ask),
        ] {
            assert_eq!(policy.decide(&[tool], effect, &target).action, expected, "{tool} {target:?}");
        }
        let refused = |allow: &str, ask: &str, deny: &str| super::policy(&settings(allow, ask, deny)).unwrap_err();
        assert_eq!(refused(":", "", "").code.as_str(), "configuration");
        assert_eq!(refused("", "", "shel:rm *").message, "default: unknown tool \"shel\"; did you mean shell?");
        assert!(refused("", "make", "").message.ends_with("; `emend tools list` lists the tools"));
        // Names in the profiles count too.
        super::policy(&settings("*:*.md", "spawn_agent\nBash\nrun_shell_command", "clarify_user\nweb_fetch")).unwrap();
    }

    #[test]
    fn files_that_run_code_later_are_asked_about() {
        let write = |settings: &Settings, path: &str| {
            let target = Target { paths: vec![path.to_owned()], ..Target::default() };
            policy(settings).unwrap().decide(&["write_file"], ToolEffect::Writes, &target).action
        };
        // Only a rule that names a protected file allows it.
        for allow in ["", "write_file", "*", "edit:*", "edit:**", "edit:src/**\nedit:*.json\nwrite_file:.git*"] {
            let settings = Settings::of_rules(allow, "", "");
            for path in [
                ".git/hooks/post-commit",
                ".git/config",
                ".git",
                "vendor/lib/.git/config",
                ".GIT/config",
                ".emend.toml",
                "sub/.Emend.toml",
                ".envrc",
                "sub/.envrc",
                ".husky/pre-commit",
                ".idea/workspace.xml",
                ".vscode/tasks.json",
                ".vscode/mcp.json",
                "x.code-workspace",
                ".Zed/tasks.json",
                ".devcontainer/devcontainer.json",
                ".mise.toml",
                ".exrc",
                ".hg/hgrc",
                "lefthook.yml",
                ".claude/settings.json",
                ".mcp.json",
                "t/HEAD",
                ".gitmodules",
            ] {
                assert_eq!(write(&settings, path), Action::Ask, "{path}");
            }
            for path in [
                ".gitignore",
                ".github/workflows/ci.yml",
                "src/git/a.rs",
                ".env",
                "emend.toml",
                "a.git",
                ".editorconfig",
            ] {
                assert_eq!(write(&settings, path), Action::Allow, "{path}");
            }
        }
        let settings = Settings::of_rules("write_file:.git/info/exclude", "", "write_file:.husky/**");
        assert_eq!(write(&settings, ".git/info/exclude"), Action::Allow);
        assert_eq!(write(&settings, ".git/config"), Action::Ask);
        let (_project, obeyed) = Obeyed::with_hooks("tools/hooks");
        let own = Settings { obeyed, ..Settings::default() };
        for path in ["data/config", "tools/hooks/pre-commit", "tools/hooks"] {
            assert_eq!(write(&own, path), Action::Ask, "{path}");
        }
        assert_eq!(write(&own, "tools/a"), Action::Allow);
        assert_eq!(write(&settings, ".husky/pre-commit"), Action::Deny);
        let target = Target { paths: vec![".git/config".to_owned()], ..Target::default() };
        let read = policy(&settings).unwrap().decide(&["read_file"], ToolEffect::Reads, &target);
        assert_eq!(read.action, Action::Allow, "reading is free");
        let refused = |rule: &str| policy(&Settings::of_rules("", "", rule)).unwrap_err().message;
        assert!(refused("edit_file:[[").contains("can never match: the glob has an unclosed ["), "{}", refused("*:[["));
        policy(&Settings::of_rules("shell:test [[", "", "")).unwrap();
    }

    #[test]
    fn the_advised_options_allow_a_call_or_none_is_advised() {
        let check = |settings: &Settings, command: &str, expected: Result<&[&str], &str>| {
            let reading = read_command(command);
            let target = Target { command: Some(command.to_owned()), reading, ..Target::default() };
            let shown = match advice(settings, &request(json!({ "command": command }))) {
                Ok(flags) => {
                    let rule = |flag: &String| flag["--allow '".len()..flag.len() - 1].replace("'\\''", "'");
                    let rules = flags.iter().map(rule).collect::<Vec<_>>();
                    let mut trial = settings.clone();
                    let allow = |value: &String| Sourced { value: value.clone(), source: Source::Flag("--allow") };
                    trial.allow.extend(rules.iter().map(allow));
                    let verdict = policy(&trial).unwrap().decide(&["shell"], ToolEffect::Runs, &target);
                    assert_eq!(verdict.action, Action::Allow, "{command}");
                    Ok(rules)
                }
                Err(reason) => Err(reason),
            };
            match (shown, expected) {
                (Ok(rules), Ok(expected)) => assert_eq!(rules, expected, "{command}"),
                (Err(reason), Err(expected)) => assert!(reason.contains(expected), "{command}: {reason}"),
                (shown, _) => panic!("{command}: {shown:?}"),
            }
        };
        let plain = Settings::default();
        check(&plain, "echo 'a'", Ok(&["shell:echo 'a'"]));
        check(
            &plain,
            "echo hi; echo there | wc -l; echo hi",
            Ok(&["shell:echo hi", "shell:echo there", "shell:wc -l"]),
        );
        check(&plain, "curl http://x && ls *.rs 2>&1", Ok(&["shell:curl http://x", "shell:ls *.rs 2>&1"]));
        let some = Settings::of_rules("shell:echo *", "", "");
        check(&some, "echo hi && make", Ok(&["shell:make"]));
        check(&plain, "(make; echo $(date))", Ok(&["shell:make", "shell:date", "shell:echo $(date)"]));
        check(&some, "for f in a b; do echo $f; wc -l $f; done", Ok(&["shell:wc -l $f"]));
        for hidden in ["make > log", "echo `x`", "", "let 'a[$(x)]=1'", "if make"] {
            check(&plain, hidden, Err("does not show all that it does"));
        }
        check(&plain, "echo 'a\nb'", Err("No --allow option for this call can allow it"));
        let denies = Settings::of_rules("", "", "shell:git push *");
        check(&denies, "git status \"$x\"", Err("a rule for shell:git push * decides first"));
        let reaches = advice(&plain, &request(json!({ "command": "ls", "reachesHidden": "*:a" })));
        assert!(reaches.unwrap_err().contains("`deny *:a` hides files"));
        let edit = |tool: &str, path: &str, settings: &Settings| {
            let detail = json!({ "fileDiff": "+a\n", "filePath": path });
            advice(settings, &ApprovalRequest { tool_name: tool.to_owned(), ..request(detail) })
        };
        assert_eq!(edit("write_file", ".envrc", &plain), Ok(vec!["--allow 'write_file:.envrc'".to_owned()]));
        let resolved = json!({ "fileDiff": "+a\n", "filePath": "a/../link/x", "paths": [".git/x"] });
        let resolved = ApprovalRequest { tool_name: "write_file".to_owned(), ..request(resolved) };
        assert_eq!(advice(&plain, &resolved), Ok(vec!["--allow 'write_file:.git/x'".to_owned()]));
        assert_eq!(edit("Bash", ".envrc", &plain), Ok(vec!["--allow 'apply_patch:.envrc'".to_owned()]));
        let moved = json!({ "from": ".git/config", "to": "cfg" });
        let detail = json!({ "fileDiff": "+a\n", "filePath": "cfg" });
        let moved = ApprovalRequest { tool_name: "move_file".to_owned(), arguments: moved, ..request(detail) };
        let flags = ["--allow 'move_file:cfg'", "--allow 'move_file:.git/config'"].map(str::to_owned);
        assert_eq!(advice(&plain, &moved), Ok(flags.to_vec()));
        let fetch = ApprovalRequest { tool_name: "web_fetch".to_owned(), ..request(Value::Null) };
        assert_eq!(advice(&plain, &fetch), Ok(vec!["--allow 'web_fetch'".to_owned()]));
    }

    fn prompted(request: &ApprovalRequest) -> String {
        question(request) + "\n" + &prompt(request)
    }

    #[test]
    fn the_question_shows_what_would_happen_and_nothing_is_hidden() {
        let detail = json!({"command": "make\n\u{1b}[2Jrm -rf /", "workingDir": "src", "description": "Build"});
        let ending = |scope: &str| format!("Allow? [y]es, [n]o, [a]lways {scope}, or type a reason to refuse: ");
        let expected = "? shell wants to run in src:\n    make\n    \\u{1b}[2Jrm -rf /\n  (Build)\n".to_owned();
        let expected = expected + &ending("this command here");
        assert_eq!(prompted(&request(detail)), expected);
        let unkept = question(&request(json!({"command": "rm -r deps", "notUndoable": ["deps", "a\u{1b}[2Jb"]})));
        assert!(unkept.ends_with("\n  (Its changes in deps, a\\u{1b}[2Jb could not be undone.)"), "{unkept}");
        let hidden = question(&request(json!({"command": "r\u{200b}m\u{200d} x\u{e0041}"})));
        assert!(hidden.ends_with("    r\\u{200b}m\\u{200d} x\\u{e0041}"), "{hidden}");
        let long = question(&request(json!({"command": "echo\n".repeat(400)})));
        assert!(long.ends_with("    echo\n  (400 lines; scroll up to read all)"), "{long}");
        let hidden = format!("echo a{0}; rm -r x;{0}echo b", " ".repeat(6_000));
        let long = question(&request(json!({ "command": hidden })));
        assert!(long.ends_with("echo b\n  (12047 characters; scroll up to read all)"), "{long}");
        let expected = format!("? shell wants to make this change:\n    -a\n    +b\n{}", ending("this tool"));
        assert_eq!(prompted(&request(json!({"fileDiff": "-a\n+b\n"}))), expected);
        let protected = prompted(&request(json!({"fileDiff": "+b\n", "paths": [".git/hooks/a"]})));
        assert!(protected.contains("    +b\n  (Such a file is asked about because programs"), "{protected}");
        assert!(protected.ends_with(&ending("this file")), "{protected}");
        assert_eq!(
            prompted(&request(Value::Null)),
            format!("? shell wants to run with:\n    command: x\n    n: 3\n{}", ending("this tool"))
        );
    }

    #[test]
    fn answers_are_a_letter_or_a_reason() {
        let deny = |reason: Option<&str>| Some(Approval::Deny { reason: reason.map(str::to_owned) });
        for (line, expected) in [
            ("y\n", Some(Approval::Allow)),
            ("a", Some(Approval::AllowAlways)),
            ("no\r\n", deny(None)),
            (" \n", None),
            ("YES\n", Some(Approval::Allow)),
            ("Always\n", Some(Approval::AllowAlways)),
            ("NO\n", deny(None)),
            ("q\n", None),
            ("yes please\n", None),
            ("ok\n", None),
            ("diff\n", None),
            ("yesterday it failed\n", deny(Some("yesterday it failed"))),
            ("Not in C:\\\n", deny(Some("Not in C:\\"))),
            ("use make\n", deny(Some("use make"))),
            ("/diff\n", None),
            (" /undo 3", None),
            ("/quit", None),
            ("/src/lib.rs is not yours", deny(Some("/src/lib.rs is not yours"))),
            ("/allow", Some(Approval::Allow)),
            ("/always", Some(Approval::AllowAlways)),
            ("/deny", deny(None)),
            ("/Deny  Not now\n", deny(Some("Not now"))),
        ] {
            assert_eq!(approval(line), expected, "{line:?}");
        }
    }
}
