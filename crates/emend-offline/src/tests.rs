//! Whole runs of the offline model over files in memory, through the wire format and back.

use std::collections::BTreeMap;

use futures::StreamExt;
use futures::executor::block_on;
use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{LABEL, MODEL, OfflineTransport, Options, provider};
use emend_llm::{
    CancelToken, ContentPart, FinishKind, Headers, HttpRequest, HttpResponse, Message, Provider, Request, Response,
    StreamEvent, ToolDefinition, ToolResult, Transport,
};

/// Files, and the tools that work on them. The search knows the patterns that the offline model writes, not regular
/// expressions.
#[derive(Default)]
struct Project {
    files: BTreeMap<String, Vec<u8>>,
    read_only: Vec<String>,
    /// Whether `read_file` reports the length of the file in its header.
    header: bool,
    read_chars_max: usize,
    grep_lines_max: usize,
    edits: usize,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        Self {
            files: files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect(),
            header: true,
            read_chars_max: 50_000,
            grep_lines_max: 200,
            ..Self::default()
        }
    }

    fn text(&self, path: &str) -> &str {
        std::str::from_utf8(&self.files[path]).unwrap()
    }

    fn run(&mut self, name: &str, input: &Value) -> Result<String, String> {
        let path = input["file_path"].as_str().unwrap_or_default();
        match name {
            "grep" => self.grep(input),
            "read_file" => self.read(path, input),
            "write_file" => {
                self.files.insert(path.to_owned(), input["content"].as_str().unwrap().as_bytes().to_vec());
                Ok(format!("Wrote {path}"))
            }
            "edit_file" => self.edit(path, input),
            _ => Err(format!("unknown tool {name}")),
        }
    }

    fn grep(&self, input: &Value) -> Result<String, String> {
        let pattern = input["pattern"].as_str().unwrap();
        let under = input["path"].as_str().unwrap_or_default();
        if under.starts_with("..") {
            return Err(format!("{under} is outside the project root"));
        }
        if input["output_mode"] == "content" {
            // Tasks for one file search it first; they use only the existence of the file.
            return self.files.get(under).map(|_| format!("{under}:1:…")).ok_or(format!("{under} does not exist"));
        }
        let mut needle = String::new();
        let mut chars = pattern.trim_start_matches("\\b").trim_end_matches("\\b").chars();
        while let Some(c) = chars.next() {
            needle.push(if c == '\\' { chars.next().unwrap() } else { c });
        }
        let whole = needle.len() < pattern.replace('\\', "").len();
        let is_word = |c: Option<&u8>| c.is_some_and(|c| c.is_ascii_alphanumeric() || *c == b'_');
        let found = |content: &[u8]| {
            (0..content.len()).any(|at| {
                content[at..].starts_with(needle.as_bytes())
                    && (!whole || !is_word(at.checked_sub(1).and_then(|at| content.get(at))))
                    && (!whole || !is_word(content.get(at + needle.len())))
            })
        };
        let paths: Vec<&str> = self
            .files
            .iter()
            .filter(|(path, text)| path.starts_with(under) && found(text))
            .map(|(path, _)| path.as_str())
            .collect();
        if paths.is_empty() {
            return Ok("No matches.".to_owned());
        }
        Ok(cut_lines(&paths.join("\n"), self.grep_lines_max))
    }

    fn read(&self, path: &str, input: &Value) -> Result<String, String> {
        let content = self.files.get(path).ok_or(format!("{path} does not exist"))?;
        let text = std::str::from_utf8(content).map_err(|_| format!("{path} is not valid UTF-8"))?;
        let lines: Vec<&str> = text.lines().collect();
        let offset = input["offset"].as_u64().unwrap_or(1) as usize;
        let limit = input["limit"].as_u64().unwrap_or(2_000) as usize;
        if offset > 1 && offset > lines.len() {
            return Err(format!("offset {offset} is behind the end"));
        }
        let mut output = Vec::new();
        if self.header {
            let crlf = if text.contains("\r\n") { " | CRLF line endings" } else { "" };
            let last = lines.len().min(offset + limit - 1);
            output.push(format!(
                "[{path} | version 3 | sha256:0123abcd | lines {offset}-{last} of {}{crlf}]",
                lines.len()
            ));
        }
        let shown = lines.iter().enumerate().skip(offset - 1).take(limit);
        output.extend(shown.map(|(index, line)| format!("{:>6} | {line}", index + 1)));
        if self.header && offset + limit <= lines.len() {
            output.push(format!(
                "[{} lines more; read on with offset {}]",
                lines.len() + 1 - offset - limit,
                offset + limit
            ));
        }
        Ok(cut_chars(&output.join("\n"), self.read_chars_max))
    }

    fn edit(&mut self, path: &str, input: &Value) -> Result<String, String> {
        if self.read_only.iter().any(|locked| locked == path) {
            return Err(format!("Error: {path} is read-only.\nAsk the owner."));
        }
        let text = self.text(path).to_owned();
        let crlf = text.contains("\r\n");
        let text = text.replace("\r\n", "\n");
        let (old, new) = (input["old_string"].as_str().unwrap(), input["new_string"].as_str().unwrap());
        match text.matches(old).count() {
            1 => {}
            0 => return Err("old_string not found".to_owned()),
            count => return Err(format!("old_string occurs {count} times")),
        }
        let text = text.replacen(old, new, 1);
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        self.files.insert(path.to_owned(), text.into_bytes());
        self.edits += 1;
        Ok(format!("{path}: 1 replacement"))
    }
}

fn cut_chars(text: &str, max: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= max {
        return text.to_owned();
    }
    let (head, tail) = (&chars[..max / 2], &chars[chars.len() - max / 2..]);
    format!(
        "{}\n\n[WARNING: Tool output was truncated. {} characters were removed from the middle.]\n\n{}",
        head.iter().collect::<String>(),
        chars.len() - max,
        tail.iter().collect::<String>()
    )
}

fn cut_lines(text: &str, max: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= max {
        return text.to_owned();
    }
    let (head, tail) = (&lines[..max / 2], &lines[lines.len() - (max - max / 2)..]);
    format!("{}\n[... {} lines omitted ...]\n{}", head.join("\n"), lines.len() - max, tail.join("\n"))
}

/// The outcome of a run: one line for each response with tool calls (`3 read_file`, …) and all texts.
struct Outcome {
    steps: Vec<String>,
    texts: Vec<String>,
}

impl Outcome {
    fn last(&self) -> &str {
        let last = self.texts.last().unwrap();
        last.strip_prefix(LABEL).unwrap_or(last).trim_start()
    }
}

fn request(messages: Vec<Message>) -> Request {
    let tool = |name: &str| ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    };
    Request {
        model: MODEL.to_owned(),
        messages,
        tools: ["grep", "read_file", "edit_file", "write_file"].map(tool).to_vec(),
        ..Request::default()
    }
}

/// Asks through the Anthropic adapter and checks that the response is streamed.
fn ask(messages: &[Message]) -> Response {
    let stream = block_on(provider(Options::default()).stream(request(messages.to_vec()), CancelToken::new()));
    let mut events: Vec<StreamEvent> = block_on(stream.unwrap().map(Result::unwrap).collect());
    let Some(StreamEvent::Finish { response }) = events.pop() else { panic!("the answer does not end") };
    let deltas = events.iter().filter_map(|event| match event {
        StreamEvent::TextDelta { delta, .. } => Some(delta.as_str()),
        _ => None,
    });
    assert_eq!(deltas.collect::<String>(), response.message.text());
    assert!(response.usage.input_tokens > 0 && response.usage.output_tokens > 0);
    let calls = !response.message.tool_calls().is_empty();
    assert_eq!(response.finish_reason.reason, if calls { FinishKind::ToolCalls } else { FinishKind::Stop });
    response
}

/// Runs one user message to the end of its run.
fn run(project: &mut Project, text: &str) -> Outcome {
    run_in(project, vec![Message::user(text)])
}

fn run_in(project: &mut Project, mut messages: Vec<Message>) -> Outcome {
    let mut outcome = Outcome { steps: Vec::new(), texts: Vec::new() };
    for _ in 0..2_000 {
        let response = ask(&messages);
        outcome.texts.push(response.message.text());
        let calls = response.message.tool_calls();
        if calls.is_empty() {
            assert_eq!(outcome.texts.iter().filter(|text| text.starts_with(LABEL)).count(), 1);
            return outcome;
        }
        assert!(calls.len() <= 60);
        outcome.steps.push(format!("{} {}", calls.len(), calls[0].name));
        let results = calls.iter().map(|call| {
            let result = project.run(&call.name, &call.arguments);
            ToolResult {
                tool_call_id: call.id.clone(),
                name: call.name.clone(),
                is_error: result.is_err(),
                content: Value::String(result.unwrap_or_else(|error| error)),
                image: None,
            }
        });
        let results = Message::tool_results(results.collect());
        messages.extend([response.message.clone(), results]);
    }
    panic!("the turn does not end: {:?}", outcome.steps);
}

fn post(body: &Value) -> HttpResponse {
    let request = HttpRequest {
        method: "POST",
        url: "http://offline/v1/messages".to_owned(),
        headers: Headers::default(),
        body: body.to_string().into_bytes(),
    };
    block_on(OfflineTransport::new(Options::default()).send(request, CancelToken::new())).unwrap()
}

#[test]
fn a_rename_greps_reads_edits_and_checks() {
    let mut project = Project::new(&[
        ("a.rs", "struct Alpha;\nstruct AlphaBeta;\nfn f(x: Alpha) -> Alpha {}\n"),
        ("b/c.md", "No match here: Alphabet\n"),
        ("crlf.txt", "one\r\nAlpha\r\ntwo\r\nAlpha\r\n"),
        ("z.md", "`Alpha`, not Alpha-like"),
    ]);
    let outcome = run(&mut project, "Please rename `Alpha` to `Gamma`.");
    assert_eq!(outcome.steps, ["1 grep", "3 read_file", "5 edit_file", "1 grep"]);
    assert_eq!(project.text("a.rs"), "struct Gamma;\nstruct AlphaBeta;\nfn f(x: Gamma) -> Gamma {}\n");
    assert_eq!(project.text("b/c.md"), "No match here: Alphabet\n");
    assert_eq!(project.text("crlf.txt"), "one\r\nGamma\r\ntwo\r\nGamma\r\n");
    assert_eq!(project.text("z.md"), "`Gamma`, not Alpha-like");
    assert_eq!(
        outcome.last(),
        "Renamed Alpha to Gamma: 6 places in 3 files.\nLeft alone as part of longer hyphenated names, \
         such as `Alpha-like` in z.md: 1 place."
    );
}

#[test]
fn a_long_file_is_read_page_by_page_with_and_without_a_known_length() {
    let text: String =
        (1..=5_000).map(|n| if n % 50 == 0 { format!("use Alpha; // {n}\n") } else { format!("line {n}\n") }).collect();
    for (header, chars_max) in [(true, 50_000), (false, 50_000), (true, 3_000), (false, 3_000)] {
        let mut project = Project::new(&[("long.rs", &text)]);
        (project.header, project.read_chars_max) = (header, chars_max);
        let outcome = run(&mut project, "rename Alpha to Beta");
        assert_eq!(project.text("long.rs"), text.replace("Alpha", "Beta"), "header {header}, {chars_max} characters");
        assert_eq!(outcome.last(), "Renamed Alpha to Beta: 100 places in 1 file.");
        assert_eq!(outcome.steps.iter().filter(|step| step.ends_with("edit_file")).count(), 3);
    }
}

#[test]
fn many_files_are_changed_in_batches_even_if_grep_shows_only_some() {
    for grep_lines_max in [200, 30] {
        let names: Vec<String> = (0..120).map(|n| format!("src/{n:03}.rs")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "Alpha\nmid Alpha\n")).collect();
        let mut project = Project::new(&files);
        project.grep_lines_max = grep_lines_max;
        let outcome = run(&mut project, "rename Alpha to Beta in src");
        assert!(project.files.values().all(|text| text == b"Beta\nmid Beta\n"));
        assert_eq!(outcome.last(), "Renamed Alpha to Beta: 240 places in 120 files.");
    }
}

#[test]
fn the_number_of_rounds_grows_slower_than_the_number_of_files() {
    let rounds = |n_files: usize| {
        let names: Vec<String> = (0..n_files).map(|n| format!("src/{n:04}.rs")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "Alpha\n")).collect();
        let mut project = Project::new(&files);
        project.grep_lines_max = n_files;
        let outcome = run(&mut project, "rename Alpha to Beta");
        assert!(project.files.values().all(|text| text == b"Beta\n"));
        outcome.steps.len()
    };
    // With 12 files each time: 6, 42 and 202.
    assert_eq!([rounds(24), rounds(240), rounds(1_200)], [6, 18, 50]);
}

#[test]
fn files_that_cannot_be_changed_are_reported_and_the_rest_is_done() {
    let mut project = Project::new(&[("a.txt", "Alpha"), ("locked.txt", "x Alpha\ny Alpha"), ("long.txt", "")]);
    project.files.insert("latin1.txt".to_owned(), b"Alpha \xe4".to_vec());
    project.files.insert("long.txt".to_owned(), format!("Alpha {}", "x".repeat(60_000)).into_bytes());
    project.read_only.push("locked.txt".to_owned());
    let outcome = run(&mut project, "rename Alpha to Beta");
    assert_eq!(project.text("a.txt"), "Beta");
    assert_eq!(
        outcome.last(),
        "Renamed Alpha to Beta: 1 place in 1 file.\nNot finished (3 files):\n\
         - latin1.txt: latin1.txt is not valid UTF-8\n\
         - locked.txt: locked.txt is read-only\n\
         - long.txt: line 1 is too long to be read in one piece"
    );
}

#[test]
fn a_new_name_that_contains_the_old_one_is_inserted_once() {
    let mut project = Project::new(&[("a.rs", "Alpha\nAlpha\n")]);
    let outcome = run(&mut project, "rename Alpha to 'crate::Alpha'");
    assert_eq!(project.text("a.rs"), "crate::Alpha\ncrate::Alpha\n");
    assert_eq!(outcome.last(), "Renamed Alpha to crate::Alpha: 2 places in 1 file.");
}

#[test]
fn exact_texts_are_replaced_across_lines_too() {
    let mut project = Project::new(&[("a.md", "one (x)\r\ntwo\r\none (x)\r\n"), ("b.md", "one (x) two\n")]);
    let outcome = run(&mut project, "replace \"(x)\ntwo\" with \"[y]\"");
    assert_eq!(project.text("a.md"), "one [y]\r\none (x)\r\n");
    assert_eq!(outcome.last(), "Replaced \"(x)\\ntwo\" with \"[y]\": 1 place in 1 file.");
    run(&mut project, "replace 'one ' with '' in b.md");
    assert_eq!(project.text("b.md"), "(x) two\n");
}

#[test]
fn runs_without_matches_or_instruction_end_at_once() {
    let mut project = Project::new(&[("a.rs", "beta\n")]);
    let outcome = run(&mut project, "rename Alpha to Beta");
    assert_eq!(outcome.steps, ["1 grep"]);
    assert!(outcome.last().starts_with("Found no `Alpha` as a whole name in any text file"), "{}", outcome.last());
    let outcome = run(&mut project, "write me a poem");
    assert!(outcome.steps.is_empty());
    assert!(outcome.last().contains("rename Alpha to Beta"));
    let outcome = run(&mut project, "rename Alpha to Beta in ../x");
    assert_eq!(outcome.last(), "Nothing was changed.\nThe search failed: ../x is outside the project root.");
    assert_eq!(project.edits, 0);
}

#[test]
fn the_last_message_decides_and_only_continue_goes_on() {
    let mut messages = vec![Message::user("rename Alpha to Beta")];
    messages.push(ask(&messages).message);
    let id = messages[1].tool_calls()[0].id.clone();
    let content = json!("a.rs");
    let result = ToolResult { tool_call_id: id, name: "grep".to_owned(), content, is_error: false, image: None };
    messages.push(Message::tool_results(vec![result]));
    let with = |text: &str| ask(&[messages.clone(), vec![Message::user(text)]].concat()).message;
    let loop_warning = "Loop detected: the last 10 tool calls follow a repeating pattern. Try a different approach.";
    for text in ["continue", "Go on, please.", "ok, proceed", loop_warning] {
        assert_eq!(with(text).tool_calls()[0].arguments, json!({"file_path": "a.rs"}), "{text}");
    }
    for text in ["hello", "thanks", "hurry up", "continue tomorrow"] {
        let answer = with(text);
        assert!(answer.tool_calls().is_empty(), "{text}");
        assert!(answer.text().starts_with(LABEL) && answer.text().contains("rename Alpha to Beta"), "{text}");
    }
    let answer = with("rename Gamma to Delta");
    assert_eq!(answer.tool_calls()[0].arguments["pattern"], "\\bGamma\\b");
    assert!(answer.text().starts_with(LABEL));
}

#[test]
fn continue_goes_on_after_a_text_that_was_cut_off() {
    let mut messages = vec![Message::user("rename Alpha to Beta")];
    let goes_on = |messages: &[Message]| ask(&[messages, &[Message::user("continue")]].concat()).message;
    // The run was stopped before the first word, and in the middle of the first text.
    assert_eq!(goes_on(&messages).tool_calls()[0].arguments["pattern"], "\\bAlpha\\b");
    let cut = Message::assistant("Offline stand-in model (no AI): looking");
    let first = [messages.clone(), vec![cut.clone()]].concat();
    assert_eq!(goes_on(&first).tool_calls()[0].arguments["pattern"], "\\bAlpha\\b");
    // It was stopped in a text after a call.
    messages.push(ask(&messages).message);
    let id = messages[1].tool_calls()[0].id.clone();
    let result =
        ToolResult { tool_call_id: id, name: "grep".to_owned(), content: json!("a.rs"), is_error: false, image: None };
    messages.push(Message::tool_results(vec![result]));
    messages.push(cut);
    assert_eq!(goes_on(&messages).tool_calls()[0].arguments, json!({"file_path": "a.rs"}));
    // Without an instruction there is nothing to go on with.
    let answer = ask(&[Message::user("hello"), Message::user("continue")]).message;
    assert!(answer.tool_calls().is_empty() && answer.text().contains("rename Alpha to Beta"));
}

#[test]
fn continue_after_a_finished_instruction_changes_nothing_again() {
    let mut project = Project::new(&[("a.rs", "alpha\n")]);
    let mut messages = vec![Message::user("rename Missing to Beta")];
    messages.push(ask(&messages).message);
    let call = messages[1].tool_calls()[0].clone();
    let content = Value::String(project.run(&call.name, &call.arguments).unwrap());
    let result = ToolResult { tool_call_id: call.id.clone(), name: call.name, content, is_error: false, image: None };
    messages.push(Message::tool_results(vec![result]));
    messages.push(ask(&messages).message);
    messages.push(Message::user("continue"));
    let answer = ask(&messages).message;
    assert!(answer.tool_calls().is_empty());
    assert!(answer.text().contains("Found no `Missing`"), "{}", answer.text());
}

#[test]
fn a_message_after_one_without_an_answer_replaces_it() {
    // The adapter sends both as blocks of one message.
    let answer = ask(&[Message::user("rename Alpha to Beta"), Message::user("hello")]).message;
    assert!(answer.tool_calls().is_empty());
    let answer = ask(&[Message::user("hello"), Message::user("rename Alpha to Beta")]).message;
    assert_eq!(answer.tool_calls()[0].arguments["pattern"], "\\bAlpha\\b");
}

#[test]
fn commands_are_listed_only_where_there_is_a_shell() {
    let listed = |tools: &[&str]| {
        let tool = |name: &&str| ToolDefinition {
            name: (*name).to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
        };
        let request = Request { tools: tools.iter().map(tool).collect(), ..request(vec![Message::user("hello")]) };
        let stream = block_on(provider(Options::default()).stream(request, CancelToken::new())).unwrap();
        let events: Vec<_> = block_on(stream.collect());
        let Some(Ok(StreamEvent::Finish { response })) = events.last() else { panic!("the answer does not end") };
        response.message.text().contains("run cargo test")
    };
    assert!(listed(&["grep", "shell"]));
    assert!(!listed(&["grep"]));
}

#[test]
fn a_table_of_contents_is_added_then_updated_then_unchanged() {
    let text = "# T\r\n\r\nIntro.\r\n\r\n## One\r\n\r\n### Two\r\n";
    let mut project = Project::new(&[("README.md", text)]);
    let outcome = run(&mut project, "add a table of contents to README.md");
    assert_eq!(outcome.steps, ["1 grep", "1 read_file", "1 edit_file"]);
    assert_eq!(outcome.last(), "Added a table of contents to README.md: 2 entries.");
    let toc = "<!-- toc -->\r\n\r\n- [One](#one)\r\n  - [Two](#two)\r\n\r\n<!-- tocstop -->\r\n\r\n## One";
    assert_eq!(project.text("README.md"), text.replace("## One", toc));
    let outcome = run(&mut project, "refresh the table of contents of README.md");
    assert_eq!(outcome.steps, ["1 grep", "1 read_file"]);
    assert_eq!(outcome.last(), "The table of contents of README.md is up to date; nothing was changed.");
    assert_eq!(project.edits, 1);
}

#[test]
fn the_open_file_is_the_default() {
    let mut project = Project::new(&[("docs/a.md", "# A\n\n- b\n- A\n")]);
    let system = Message::system("You edit files.\nOpen file: docs/a.md\n");
    let outcome = run_in(&mut project, vec![system, Message::user("sort the list under A")]);
    assert_eq!(project.text("docs/a.md"), "# A\n\n- A\n- b\n");
    assert_eq!(outcome.last(), "Sorted the list under \"A\" in docs/a.md: 2 items.");
    run(&mut project, "Open file: `docs/a.md`\n\nAdd a heading \"Usage\" with \"Run it.\"");
    assert_eq!(project.text("docs/a.md"), "# A\n\n- A\n- b\n\n## Usage\n\nRun it.\n");
    let outcome = run(&mut project, "add a toc");
    assert!(outcome.steps.is_empty());
    assert!(outcome.last().starts_with("No file is open"), "{}", outcome.last());
}

#[test]
fn tasks_for_one_file_report_why_nothing_changed() {
    let mut project = Project::new(&[("a.md", "# A\n\n- b\n- a\n"), ("empty.md", "")]);
    project.read_only.push("a.md".to_owned());
    let mut check = |text: &str, expected: &str| assert_eq!(run(&mut project, text).last(), expected);
    check("sort the list under A in b.md", "b.md was not changed: b.md does not exist.");
    check("sort the list under A in a.md", "a.md was not changed: a.md is read-only.");
    check("sort the list under B in a.md", "a.md has no heading \"B\"; it has \"A\".");
    check("add a toc to a.md", "a.md has no headings of level 2 or 3 to list.");
    check("add a heading \"X\" with y to empty.md", "Added the heading \"X\" to empty.md.");
    assert_eq!(project.text("empty.md"), "## X\n\ny\n");
}

#[test]
fn malformed_requests_get_the_error_of_a_provider() {
    let response = post(&json!({"messages": []}));
    assert_eq!(response.status, 400);
    let chunks: Vec<_> = block_on(response.body.collect());
    let error: Value = serde_json::from_slice(chunks[0].as_ref().unwrap()).unwrap();
    assert_eq!(error["error"]["type"], "invalid_request_error");
}

#[test]
fn missing_tools_are_reported() {
    let request = Request { tools: Vec::new(), ..request(vec![Message::user("rename Alpha to Beta")]) };
    let stream = block_on(provider(Options::default()).stream(request, CancelToken::new())).unwrap();
    let events: Vec<_> = block_on(stream.collect());
    let Some(Ok(StreamEvent::Finish { response })) = events.last() else { panic!("the answer does not end") };
    assert!(response.message.text().contains("I cannot do that without grep, read_file, edit_file, which"));
    assert!(!response.message.content.iter().any(|part| matches!(part, ContentPart::ToolCall(_))));
}

/// A clock whose sleeps resolve at once and are counted.
#[derive(Default)]
struct CountingClock(std::sync::atomic::AtomicU64);

impl emend_llm::Clock for CountingClock {
    fn now_ms(&self) -> u64 {
        0
    }

    fn sleep(&self, ms: u64) -> emend_llm::BoxFuture<'static, ()> {
        self.0.fetch_add(ms, std::sync::atomic::Ordering::SeqCst);
        Box::pin(async {})
    }
}

#[test]
fn chunks_are_delayed_by_the_clock_and_end_on_cancel() {
    let clock = emend_llm::Shared::new(CountingClock::default());
    let transport = OfflineTransport::new(Options { pace_ms: 15, clock: Some(clock.clone()) });
    let body = json!({"stream": true, "messages": [{"role": "user", "content": "hello"}]}).to_string().into_bytes();
    let url = "http://offline/v1/messages".to_owned();
    let request = HttpRequest { method: "POST", url, headers: Headers::default(), body };
    let cancel = CancelToken::new();
    let mut body = block_on(transport.send(request, cancel.clone())).unwrap().body;
    for _ in 0..5 {
        assert!(block_on(body.next()).unwrap().is_ok());
    }
    assert_eq!(clock.0.load(std::sync::atomic::Ordering::SeqCst), 5 * 15);
    cancel.cancel();
    assert!(block_on(body.next()).unwrap().is_err());
    assert!(block_on(body.next()).is_none());
}
