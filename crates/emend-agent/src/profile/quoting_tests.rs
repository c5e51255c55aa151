//! Quoted text reaches the model unchanged under every profile: lines of files, file names, addresses, command output and
//! user documents are never translated, also where they hold the names of tools and parameters.

use std::collections::BTreeSet;
use std::sync::Mutex;

use emend_llm::{
    BoxFuture, CancelToken, EventStream, Headers, HttpRequest, HttpResponse, LlmError, Provider, Request, Shared,
    Transport, TransportError,
};
use futures::executor::block_on;
use futures::{StreamExt, stream};
use serde_json::{Map, Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{Edits, Profile, tool_names};
use crate::environment::ExecutionEnvironment;
use crate::environment::memory::MemFs;
use crate::event::EventKind;
use crate::session::tests::{Answer, Setup, TickingClock, World, with_profile};
use crate::session::{Session, SessionConfig, SessionOptions, call_tool};
use crate::tool::{Tool, ToolError, ToolOutput, ToolRegistry};
use crate::tools::{
    ClarifyUser, EditLines, SafePatch, WebFetch, WebFetchOptions, built_in, core_tools, register_subagent_tools,
};
use crate::workspace::{Mode, Workspace};

/// Answers every request with status 404.
struct NoPages;

impl Transport for NoPages {
    fn send(&self, _request: HttpRequest, _cancel: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        let body = Box::pin(stream::empty());
        Box::pin(std::future::ready(Ok(HttpResponse { status: 404, headers: Headers::default(), body })))
    }
}

fn web_fetch() -> Shared<WebFetch> {
    Shared::new(WebFetch::new(Shared::new(NoPages), Shared::new(TickingClock::default()), WebFetchOptions::default()))
}

/// Returns every built-in tool under its canonical name.
pub(super) fn canonical_tools() -> ToolRegistry {
    let mut tools = core_tools();
    tools.register(Shared::new(SafePatch));
    tools.register(Shared::new(EditLines));
    tools.register(Shared::new(ClarifyUser));
    tools.register(web_fetch());
    register_subagent_tools(&mut tools);
    tools
}

/// Returns the canonical names of all tools and all their parameters.
fn canonical_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for definition in canonical_tools().definitions() {
        names.extend(definition.parameters["properties"].as_object().unwrap().keys().cloned());
        names.insert(definition.name);
    }
    names
}

/// Returns every static text that the model reads, as it is written: the instructions, and the descriptions of the tools
/// and their parameters.
fn templates() -> Vec<(String, String)> {
    fn descriptions(schema: &Value, texts: &mut String) {
        match schema {
            Value::Object(object) => object.iter().for_each(|(key, value)| match value {
                Value::String(text) if key == "description" => texts.push_str(&format!("{text}\n")),
                value => descriptions(value, texts),
            }),
            Value::Array(items) => items.iter().for_each(|item| descriptions(item, texts)),
            _ => {}
        }
    }
    let tools = canonical_tools();
    let mut templates: Vec<(String, String)> = tools
        .names()
        .map(|name| {
            let definition = built_in(name).unwrap_or_else(|| web_fetch() as Shared<dyn Tool>).definition();
            let mut texts = format!("{}\n", definition.description);
            descriptions(&definition.parameters, &mut texts);
            (name.to_owned(), texts)
        })
        .collect();
    for (name, text) in [
        ("base.md", crate::prompt::base_prompt()),
        ("openai.md", include_str!("openai.md")),
        ("openai-edits.md", include_str!("openai-edits.md")),
        ("anthropic.md", include_str!("anthropic.md")),
        ("anthropic-edits.md", include_str!("anthropic-edits.md")),
        ("gemini.md", include_str!("gemini.md")),
        ("gemini-edits.md", include_str!("gemini-edits.md")),
        ("safe_patch.md", include_str!("safe_patch.md")),
    ] {
        templates.push((name.to_owned(), text.to_owned()));
    }
    templates
}

/// Returns why a placeholder cannot be expanded, or `None` if it names something that exists.
fn fault(placeholder: &str) -> Option<&'static str> {
    let Some((kind, name)) = placeholder.split_once(':') else { return Some("unknown placeholder") };
    let (tool, member) = name.split_once('.').unwrap_or((name, ""));
    let tools = canonical_tools();
    let Some((definition, _)) = tools.get(tool) else { return Some("unknown tool") };
    let properties = definition.parameters["properties"].as_object().unwrap();
    let has_value = |schema: &Value| schema["enum"].as_array().is_some_and(|values| values.contains(&json!(member)));
    match kind {
        "tool" if member.is_empty() => None,
        "param" if properties.contains_key(member) => None,
        "param" if properties.values().any(|schema| !schema["items"]["properties"][member].is_null()) => None,
        "value" if properties.values().any(has_value) => None,
        "param" => Some("unknown parameter"),
        "value" => Some("unknown value"),
        _ => Some("unknown placeholder"),
    }
}

#[test]
fn static_texts_name_tools_and_parameters_by_known_placeholders_only() {
    assert_eq!(fault("tool:read_files"), Some("unknown tool"));
    assert_eq!(fault("param:read_file.limits"), Some("unknown parameter"));
    assert_eq!(fault("value:grep.names"), Some("unknown value"));
    assert_eq!(fault("tools:read_file"), Some("unknown placeholder"));
    let names = canonical_names();
    let is_name = |word: &&str| word.contains('_') && names.contains(*word);
    let mut n_placeholders = 0;
    for (source, text) in templates() {
        let mut plain = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            plain.push_str(before);
            let (inside, after) = after.split_once('}').unwrap_or((after, ""));
            match inside.contains(':') {
                true => assert_eq!(fault(inside), None, "{source}: {{{inside}}}"),
                // `{edits}`, or the braces of a glob.
                false => assert!(inside == "edits" || inside.contains(','), "{source}: {{{inside}}}"),
            }
            n_placeholders += usize::from(inside.contains(':'));
            rest = after;
        }
        plain.push_str(rest);
        let words = plain.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
        assert_eq!(words.filter(is_name).collect::<Vec<_>>(), [""; 0], "{source}");
    }
    assert!(n_placeholders > 40, "{n_placeholders}");
}

/// Returns one line for each name: the name by itself, as part of longer identifiers, and as error texts write it.
fn lines() -> Vec<String> {
    canonical_names().iter().map(|name| format!("{name}({name}_sync, my_{name}) the {name} parameter.]")).collect()
}

/// Returns a profile for every family, each with its own and with verified edits, and with all optional tools.
fn profiles() -> Vec<Profile> {
    let families = [Profile::openai, Profile::anthropic, Profile::gemini];
    let with = |profile: fn(&str) -> Profile, edits| {
        let profile = profile("m").with_edits(edits).with_questions().with_subagents();
        profile.with_tool(web_fetch()).with_tool(Shared::new(EditLines))
    };
    families.into_iter().flat_map(|profile| [Edits::Own, Edits::SafePatch].map(|edits| with(profile, edits))).collect()
}

/// Returns the name and the arguments with which a profile's model makes a call, or `None` if it has no such tool.
fn exposed(profile: &Profile, tool: &str, arguments: &Value) -> Option<(String, Value)> {
    let rows = tool_names::of(profile.id);
    let row = rows.iter().find(|row| row.names.canonical == tool && row.offer != tool_names::Offer::Instead);
    let name = row.map_or(tool, |row| row.names.exposed);
    profile.tools.get(name)?;
    let arguments = arguments.as_object().unwrap().iter().map(|(param, value)| {
        let renamed = row.and_then(|row| row.names.params.iter().find(|(canonical, _)| canonical == param));
        (renamed.map_or(param.clone(), |(_, exposed)| (*exposed).to_owned()), value.clone())
    });
    Some((name.to_owned(), Value::Object(arguments.collect::<Map<_, _>>())))
}

const FILE: &str = "src/edit_file_sync.rs";

fn workspace() -> Shared<Workspace> {
    let files = MemFs::from_fixture(&format!("//- {FILE}\n{}\n", lines().join("\n")));
    for name in ["edit_lines", "list_dir", "write_file"] {
        files.insert(&format!("src/{name}_sync.rs"), "edit_file\n").unwrap();
    }
    let environment = Shared::new(files) as Shared<dyn ExecutionEnvironment>;
    Shared::new(Workspace::new(environment, Mode::Staged, Shared::new(TickingClock::default())))
}

fn call(tools: &ToolRegistry, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
    block_on(call_tool(tools, &workspace(), name, arguments))
}

/// Returns calls whose results quote text, each with a piece of that text.
fn quoting_calls() -> Vec<(&'static str, Value, String)> {
    let lines = lines();
    let whole = lines.join("\n");
    let name = |name: &str| lines.iter().find(|line| line.starts_with(&format!("{name}("))).unwrap().clone();
    let mut calls = vec![
        ("read_file", json!({ "file_path": FILE }), name("read_file")),
        ("read_file", json!({ "file_path": "src/edit_file_sync.r" }), "edit_file_sync.rs".to_owned()),
        ("read_file", json!({ "file_path": "src/write_file_sync.rs", "offset": 900 }), "write_file_sync.rs".to_owned()),
        ("read_many_files", json!({ "include": [FILE] }), name("timeout_ms")),
        ("read_many_files", json!({ "include": ["no/write_file_sync.rs"] }), "no/write_file_sync.rs".to_owned()),
        ("grep", json!({ "pattern": "_sync", "path": FILE }), name("list_dir")),
        ("grep", json!({ "pattern": "edit_file(" }), "edit_file(".to_owned()),
        ("glob", json!({ "pattern": "src/*" }), FILE.to_owned()),
        ("list_dir", json!({ "path": "src" }), FILE.to_owned()),
        ("list_dir", json!({ "path": "edit_file_sync" }), "edit_file_sync".to_owned()),
        ("write_file", json!({ "file_path": FILE, "content": "x" }), name("apply_patch")),
        ("edit_file", json!({ "file_path": FILE, "old_string": "_sync", "new_string": "x" }), FILE.to_owned()),
        (
            "edit_lines",
            json!({ "file_path": FILE, "edits": [{ "operation": "delete", "start_line": 1 }] }),
            name("wait"),
        ),
        ("apply_patch", json!({ "patch": "edit_file_sync" }), "edit_file_sync".to_owned()),
        ("web_fetch", json!({ "url": "https://example.org/edit_file_sync" }), "example.org/edit_file_sync".to_owned()),
    ];
    let verified =
        |diff: &str, hash: &str| json!({ "file_path": FILE, "unified_diff": diff, "base_content_sha256": hash });
    let hash = emend_edit::ContentHash::of((whole.clone() + "\n").as_bytes()).hex();
    calls.push(("safe_patch", verified("@@\n-x\n+y\n", "00"), name("clarify_user")));
    for line in &lines {
        let near = line.replace("parameter", "parametre");
        let edit = json!({ "file_path": FILE, "old_string": near, "new_string": "x" });
        calls.push(("edit_file", edit, line.clone()));
        let patch = format!("*** Begin Patch\n*** Update File: {FILE}\n-{near}\n+x\n*** End Patch");
        calls.push(("apply_patch", json!({ "patch": patch }), line.clone()));
        calls.push(("safe_patch", verified(&format!("@@ -1 +1 @@\n-{near}\n+x\n"), &hash), line.clone()));
    }
    calls
}

#[test]
fn tools_quote_files_paths_and_addresses_unchanged_under_every_profile() {
    let (canonical, profiles) = (canonical_tools(), profiles());
    let mut n_checked = 0;
    for (tool, arguments, quoted) in quoting_calls() {
        let expected = call(&canonical, tool, arguments.clone());
        let text = match &expected {
            Ok(output) => output.text.clone(),
            Err(error) => error.text(),
        };
        assert!(text.contains(&quoted), "{tool} quotes {quoted:?}: {text}");
        for profile in &profiles {
            let Some((name, arguments)) = exposed(profile, tool, &arguments) else { continue };
            assert_eq!(call(&profile.tools, &name, arguments), expected, "{}: {name}", profile.id);
            n_checked += 1;
        }
    }
    assert!(n_checked > 350, "{n_checked}");
}

/// Runs one turn with this call of the shell, cancelled when the first output is shown, and returns the result's text.
fn run_command(profile: Profile, command: &str, cancels: bool) -> String {
    let (name, arguments) = exposed(&profile, "shell", &json!({ "command": command })).unwrap();
    let world = World::new("", vec![], Setup::with_shell());
    let name: &'static str = Box::leak(name.into_boxed_str());
    let other = world.options(vec![Answer::Call(vec![(name, arguments)]), Answer::Say("Done.")]);
    let config = SessionConfig::default();
    let session = Session::new(with_profile(profile, other, config));
    let cancel = CancelToken::new();
    let mut run = session.submit("do it", cancel.clone()).unwrap();
    let mut result = String::new();
    while let Some(event) = block_on(run.next()) {
        match event.kind {
            EventKind::ToolCallOutputDelta { .. } if cancels => cancel.cancel(),
            EventKind::ToolCallEnd { output, .. } => result = output,
            _ => {}
        }
    }
    result
}

#[test]
fn output_of_timed_out_and_cancelled_commands_is_quoted_unchanged() {
    let printed = lines().join("\n");
    for profile in profiles() {
        let id = profile.id;
        let late = run_command(profile.clone(), &format!("echo {printed}; late"), false);
        assert!(late.starts_with(&format!("{printed}\n")), "{id}: {late}");
        let parameter = if id == "anthropic" { "timeout" } else { "timeout_ms" };
        assert!(late.ends_with(&format!("by setting the {parameter} parameter.]")), "{id}: {late}");
        let cancelled = run_command(profile, &format!("echo {printed}; hang"), true);
        assert!(cancelled.starts_with(&format!("{printed}\n")), "{id}: {cancelled}");
        assert!(cancelled.ends_with("The user cancelled while this command ran."), "{id}: {cancelled}");
    }
}

/// Keeps the requests that are sent to `inner`.
struct Recording {
    inner: Shared<dyn Provider>,
    requests: Mutex<Vec<Request>>,
}

impl Provider for Recording {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn stream(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        self.requests.lock().unwrap().push(request.clone());
        self.inner.stream(request, cancel)
    }
}

#[test]
fn user_documents_and_messages_are_quoted_unchanged_in_prompts() {
    let text = lines().join("\n");
    let help = "{edits} {tool:edit_file} {param:shell.timeout_ms}";
    let document = format!("{help}\n{text}\n{}", include_str!("safe_patch.md").trim_end());
    for profile in profiles() {
        let id = profile.id;
        let fixture = format!("//- AGENTS.md\n{document}\n//- notes/{FILE}\n{document}\n");
        let world = World::new(&fixture, vec![], Setup::default());
        let other = world.options(vec![Answer::Say("Done.")]);
        let provider = Shared::new(Recording { inner: other.provider, requests: Mutex::default() });
        let config = SessionConfig { instructions: Some(document.clone()), ..SessionConfig::default() };
        let sent = Shared::clone(&provider);
        let session = Session::new(with_profile(profile, SessionOptions { provider, ..other }, config));
        let message = format!("{document}\nSee @notes/{FILE}.");
        let run = session.submit(&message, CancelToken::new()).unwrap();
        let _: Vec<_> = block_on(run.collect());
        let requests = sent.requests.lock().unwrap();
        let [system, user] = [0, 1].map(|index| requests[0].messages[index].text());
        assert_eq!(system.matches(&document).count(), 2, "{id}: {system}");
        assert!(user.contains(&message), "{id}: {user}");
        assert_eq!(user.matches(&document).count(), 2, "{id}: {user}");
    }
}
