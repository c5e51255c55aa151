//! The parity matrix: the same task with every model family's own tools, edit format and wire format.
//!
//! Each row is a test and runs for OpenAI, Anthropic and Gemini. A cell checks the requests, the bytes on the disk and
//! the order of events. `docs/parity.md` is generated from the same table. A row that needs a shell uses the machine's,
//! or the emulated shell in a page; without a shell the row is skipped and counted.

pub(crate) mod wire;
mod world;

use emend_agent::event::EventKind;
use serde_json::json;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

pub(crate) use world::{Answer, Connection, FAMILIES, Family};
use world::{During, Outcome, Place, Step, Task, run};

use Answer::{Do, Say};
use Step::{Call, Edit};

/// One row of the matrix.
pub(crate) struct Row {
    /// The name of the case in `docs/parity.md`.
    pub(crate) name: &'static str,
    place: Place,
    fixture: fn() -> String,
    pub(crate) script: fn() -> Vec<Answer>,
    /// The subagent's responses, if the script's first response starts a subagent and waits for it.
    pub(crate) subagent: fn() -> Vec<Answer>,
    during: During,
    /// The files on the disk afterwards.
    disk: &'static [(&'static str, &'static str)],
    /// The events in order.
    events: &'static str,
    /// Further checks.
    check: fn(&Family, &Outcome),
}

/// The outcome of one cell.
pub(crate) enum Cell {
    /// The cell ran and passed; with the bodies of its requests.
    Passed(
        #[cfg_attr(target_family = "wasm", expect(dead_code, reason = "validated natively"))] Vec<serde_json::Value>,
    ),
    /// The cell needs a shell, and this host has no shell.
    Skipped,
}

impl Row {
    /// Returns whether this host cannot run the row.
    pub(crate) fn is_skipped(&self) -> bool {
        self.place == Place::Machine && !cfg!(any(unix, target_family = "wasm"))
    }

    /// Returns the user's message of one cell. It is unique among the cells.
    pub(crate) fn prompt(&self, family: &Family) -> String {
        format!("{} ({})", self.name, family.name)
    }

    /// Returns the subagent's task in one cell.
    pub(crate) fn task(family: &Family) -> String {
        TASK.replace("{family}", family.name)
    }

    /// Runs one cell with a model that follows the script. Panics if a check fails.
    pub(crate) async fn run(&self, family: &Family) -> Cell {
        let (mut bodies, subagent) = (family.bodies(&(self.script)()), family.bodies(&(self.subagent)()));
        // The parent's first round waits for all responses of the subagent.
        bodies.splice(1..1, subagent);
        self.run_with(family, Connection::scripted(bodies)).await
    }

    /// Runs one cell with the given model, which must follow the script.
    pub(crate) async fn run_with(&self, family: &Family, connection: Connection) -> Cell {
        if self.is_skipped() {
            return Cell::Skipped;
        }
        let task = Task {
            prompt: self.prompt(family),
            place: self.place,
            fixture: (self.fixture)(),
            n_requests: (self.script)().len() + (self.subagent)().len(),
            during: self.during,
        };
        let outcome = run(family, task, connection).await;
        let place = format!("{} for {}", self.name, family.name);
        let expected: Vec<&str> = self.events.split(", ").collect();
        assert_eq!(outcome.log(family), expected, "{place}");
        for (path, text) in self.disk {
            assert_eq!(outcome.disk(path), *text, "{place}: {path}");
        }
        (self.check)(family, &outcome);
        Cell::Passed(outcome.bodies)
    }
}

const PLAIN: Row = Row {
    name: "",
    place: Place::Memory,
    fixture: String::new,
    script: Vec::new,
    subagent: Vec::new,
    during: |_, _| {},
    disk: &[],
    events: "",
    check: |_, _| {},
};

/// The subagent's task. Each cell adds its own words, by which a mock distinguishes conversations.
const TASK: &str = "Make made.md for {family}.";

fn read(path: &str) -> Step {
    Call("read_file", json!({"file_path": path}))
}

const NOTES: &str = "one\ntwo\nthree\n";
const NOTES_AFTER: &str = "one\n2\nthree\n";

fn notes() -> String {
    format!("//- notes.md\n{NOTES}")
}

/// The matrix, in the order of `docs/parity.md`.
pub(crate) const ROWS: [Row; 15] = [
    Row {
        name: "Simple file creation task",
        script: || {
            let content = "print(\"Hello World\")\n";
            vec![
                Do(vec![Call("write_file", json!({"file_path": "src/hello.py", "content": content}))]),
                Say("Made it."),
            ]
        },
        disk: &[("src/hello.py", "print(\"Hello World\")\n")],
        events: "user, start write_file, end write_file, changed src/hello.py, text, done",
        check: |family, outcome| {
            assert!(outcome.results(family, 1)[0].contains("Created src/hello.py"), "{}", family.name)
        },
        ..PLAIN
    },
    Row {
        name: "Read file, then edit it",
        fixture: notes,
        script: || vec![Do(vec![read("notes.md")]), Do(vec![Edit("notes.md", NOTES, NOTES_AFTER)]), Say("Done.")],
        disk: &[("notes.md", NOTES_AFTER)],
        events: "user, start read_file, end read_file, start edit, end edit, changed notes.md, text, done",
        check: |family, outcome| assert!(outcome.results(family, 1)[0].contains("2 | two"), "{}", family.name),
        ..PLAIN
    },
    Row {
        name: "Multi-file edit in one session",
        fixture: || format!("//- a.md\n{NOTES}//- b/c.md\n{NOTES}//- d.md\n{NOTES}"),
        script: || {
            let edit = |path| Edit(path, NOTES, NOTES_AFTER);
            vec![Do(vec![edit("a.md"), edit("b/c.md")]), Say("Both.")]
        },
        disk: &[("a.md", NOTES_AFTER), ("b/c.md", NOTES_AFTER), ("d.md", NOTES)],
        events: "user, start edit, end edit, changed a.md, start edit, end edit, changed b/c.md, text, done",
        check: |family, outcome| assert_eq!(outcome.results(family, 1).len(), 2, "{}", family.name),
        ..PLAIN
    },
    Row {
        name: "Shell command execution",
        place: Place::Machine,
        script: || {
            let command = "printf Hello; echo World >&2; echo made > made.txt; exit 3";
            // Long enough for slow machines.
            vec![Do(vec![Call("shell", json!({"command": command, "timeout_ms": 600_000}))]), Say("It ended with 3.")]
        },
        disk: &[("made.txt", "made\n")],
        // A nonzero exit status is not a tool error.
        events: "user, start shell, end shell, changed made.txt, text, done",
        check: |family, outcome| {
            let shown = &outcome.results(family, 1)[0];
            let status =
                if family.name == "OpenAI" { "Process exited with code 3\nOutput:\n" } else { "[exit code 3 after " };
            for part in ["Hello", "World", status] {
                assert!(shown.contains(part), "{}: {part} is not in {shown}", family.name);
            }
        },
        ..PLAIN
    },
    Row {
        name: "Shell command timeout handling",
        place: Place::Machine,
        script: || {
            let run = |command: &str, timeout_ms: u64| {
                Do(vec![Call("shell", json!({"command": command, "timeout_ms": timeout_ms}))])
            };
            vec![run("sleep 600", 100), run("echo quick", 600_000), Say("The second one ended.")]
        },
        events: "user, start shell, fail shell, start shell, end shell, text, done",
        check: |family, outcome| {
            let shown = &outcome.results(family, 1)[0];
            let told = "[ERROR: Command timed out after 100ms. Partial output is shown above.";
            assert!(shown.contains(told), "{}: {shown}", family.name);
            assert!(outcome.results(family, 2)[0].contains("quick"), "{}", family.name);
        },
        ..PLAIN
    },
    Row {
        name: "Grep + glob to find files",
        fixture: || "//- src/a.rs\nfn parse() {}\n//- src/b.rs\nfn other() {}\n//- notes.md\nparse\n".to_owned(),
        script: || {
            vec![
                Do(vec![Call("grep", json!({"pattern": "parse", "glob_filter": "*.rs"}))]),
                Do(vec![Call("glob", json!({"pattern": "*.rs", "path": "src"}))]),
                Say("In a.rs."),
            ]
        },
        events: "user, start grep, end grep, start glob, end glob, text, done",
        check: |family, outcome| {
            let found = &outcome.results(family, 1)[0];
            assert!(
                found.contains("src/a.rs:1:fn parse() {}") && !found.contains("notes.md"),
                "{}: {found}",
                family.name
            );
            let found = &outcome.results(family, 2)[0];
            assert!(found.contains("src/a.rs") && found.contains("src/b.rs"), "{}: {found}", family.name);
        },
        ..PLAIN
    },
    Row {
        name: "Multi-step task (read -> analyze -> edit)",
        fixture: || format!("//- notes.md\n{NOTES}//- uses.md\ntwo\n"),
        script: || {
            vec![
                Do(vec![read("notes.md")]),
                Do(vec![Call("grep", json!({"pattern": "^two$"}))]),
                Do(vec![Edit("notes.md", NOTES, NOTES_AFTER)]),
                Do(vec![Edit("uses.md", "two\n", "2\n")]),
                Do(vec![read("uses.md")]),
                Say("Renamed in both."),
            ]
        },
        disk: &[("notes.md", NOTES_AFTER), ("uses.md", "2\n")],
        events: "user, start read_file, end read_file, start grep, end grep, start edit, end edit, changed notes.md, \
                 start edit, end edit, changed uses.md, start read_file, end read_file, text, done",
        check: |family, outcome| assert!(outcome.results(family, 5)[0].contains("1 | 2"), "{}", family.name),
        ..PLAIN
    },
    Row {
        name: "Tool output truncation (large file)",
        fixture: || format!("//- big.txt\n{}\n", "x".repeat(100_000)),
        script: || vec![Do(vec![read("big.txt")]), Say("It is full of x.")],
        events: "user, start read_file, end read_file, text, done",
        check: |family, outcome| {
            let full = outcome.events.iter().find_map(|event| match &event.kind {
                EventKind::ToolCallEnd { output, .. } => Some(output.matches('x').count()),
                _ => None,
            });
            // The header line's path contains one x as well.
            assert_eq!(full, Some(100_001), "{}: the event has all of it", family.name);
            let shown = &outcome.results(family, 1)[0];
            assert!(shown.contains("[WARNING: Tool output was truncated."), "{}", family.name);
            assert!(shown.len() < 51_000, "{}: {}", family.name, shown.len());
        },
        ..PLAIN
    },
    Row {
        name: "Parallel tool calls (if supported)",
        fixture: || format!("//- a.md\n{NOTES}//- b.md\n{NOTES}"),
        script: || {
            let calls = vec![
                Call("grep", json!({"pattern": "two"})),
                Call("glob", json!({"pattern": "*.md"})),
                Call("list_dir", json!({})),
            ];
            vec![Do(calls), Say("Three at once.")]
        },
        events: "user, start grep, start glob, start list_dir, end grep, end glob, end list_dir, text, done",
        check: |family, outcome| {
            let results = outcome.results(family, 1);
            let [grep, glob, list] = &*results else { panic!("{}: {} results", family.name, results.len()) };
            assert!(grep.contains("a.md:2:two"), "{}: {grep}", family.name);
            assert!(glob.contains("b.md\na.md"), "{}: {glob}", family.name);
            assert!(list.contains("a.md (14 bytes)"), "{}: {list}", family.name);
        },
        ..PLAIN
    },
    Row {
        name: "Steering mid-task",
        fixture: notes,
        script: || vec![Do(vec![read("notes.md")]), Do(vec![Edit("notes.md", NOTES, NOTES_AFTER)]), Say("As you say.")],
        during: |session, event| {
            if matches!(event, EventKind::ToolCallStart { .. }) && session.entries().len() < 3 {
                session.steer("Write a digit instead.").unwrap();
            }
        },
        disk: &[("notes.md", NOTES_AFTER)],
        events: "user, start read_file, end read_file, steered, start edit, end edit, changed notes.md, text, done",
        check: |family, outcome| {
            let [first, second] = [0, 1].map(|at| outcome.bodies[at].to_string());
            assert!(!first.contains("a digit instead"), "{}", family.name);
            let (result, steering) = (second.rfind("2 | two"), second.rfind("a digit instead"));
            assert!(result.is_some() && result < steering, "{}: it comes after the result", family.name);
        },
        ..PLAIN
    },
    Row {
        name: "Reasoning effort change",
        fixture: notes,
        script: || vec![Do(vec![read("notes.md")]), Say("Thought it over.")],
        during: |session, event| {
            if matches!(event, EventKind::ToolCallEnd { .. }) {
                session.configure(|config| config.reasoning_effort = Some("high".to_owned()));
            }
        },
        events: "user, start read_file, end read_file, text, done",
        check: |family, outcome| {
            let effort = |at: usize| {
                let body = &outcome.bodies[at];
                let places =
                    ["/reasoning/effort", "/output_config/effort", "/generationConfig/thinkingConfig/thinkingLevel"];
                places.iter().find_map(|place| body.pointer(place)).cloned()
            };
            let is_high =
                effort(1).is_some_and(|effort| effort.as_str().is_some_and(|text| text.eq_ignore_ascii_case("high")));
            assert_ne!(effort(0), effort(1), "{}", family.name);
            assert!(is_high, "{}: {:?} in {}", family.name, effort(1), outcome.bodies[1]);
        },
        ..PLAIN
    },
    Row {
        name: "Subagent spawn and wait",
        script: || {
            let spawn = Call("spawn_agent", json!({ "task": TASK }));
            vec![Do(vec![spawn, Call("wait", json!({"agent_id": "agent_1"}))]), Say("It made the file.")]
        },
        subagent: || {
            let write = Call("write_file", json!({"file_path": "made.md", "content": "made\n"}));
            vec![Do(vec![write]), Say("Made it.")]
        },
        disk: &[("made.md", "made\n")],
        events: "user, start spawn_agent, spawned, end spawn_agent, start wait, changed made.md, end wait, text, done",
        check: |family, outcome| {
            let results = outcome.results(family, 3);
            assert!(results[1].contains("completed after 2 turns") && results[1].contains("Made it."), "{results:?}");
            let offers = |at: usize| outcome.bodies[at].to_string().contains(family.exposed_name("spawn_agent"));
            assert!(outcome.bodies[1].to_string().contains(&Row::task(family)), "{}: the task", family.name);
            assert!(offers(0) && !offers(1) && !offers(2), "{}: a subagent starts none itself", family.name);
        },
        ..PLAIN
    },
    Row {
        name: "Loop detection triggers warning",
        fixture: notes,
        script: || {
            let again = |_| Do(vec![Call("grep", json!({"pattern": "four"}))]);
            (0..10).map(again).chain([Say("I stop.")]).collect()
        },
        events: "user, start grep, end grep, start grep, end grep, start grep, end grep, start grep, end grep, \
                 start grep, end grep, start grep, end grep, start grep, end grep, start grep, end grep, start grep, \
                 end grep, start grep, end grep, loop, text, done",
        check: |family, outcome| {
            let told = outcome.events.iter().find_map(|event| match &event.kind {
                EventKind::LoopDetection { message } => Some(message.clone()),
                _ => None,
            });
            let last = outcome.bodies.last().map(ToString::to_string).unwrap_or_default();
            assert!(told.is_some_and(|told| last.contains(&told)), "{}: the model is told", family.name);
        },
        ..PLAIN
    },
    Row {
        name: "Error recovery (tool fails, model retries)",
        fixture: notes,
        script: || {
            vec![
                Do(vec![Edit("notes.md", "one\nzwei\nthree\n", "one\n2\nthree\n")]),
                Do(vec![read("notes.md")]),
                Do(vec![Edit("notes.md", NOTES, NOTES_AFTER)]),
                Say("Now it fits."),
            ]
        },
        disk: &[("notes.md", NOTES_AFTER)],
        events: "user, start edit, fail edit, start read_file, end read_file, start edit, end edit, changed notes.md, \
                 text, done",
        check: |family, outcome| {
            let results = outcome.results(family, 1);
            let says = if family.name == "Gemini" { "State Mismatch" } else { "Tool error" };
            assert!(results[0].contains(says), "{}: {results:?}", family.name);
        },
        ..PLAIN
    },
    Row {
        name: "Provider-specific editing format works",
        fixture: || "//- a.md\ntwo\nkept \ntwo\n".to_owned(),
        // OpenAI: a patch. Anthropic: a replacement of all occurrences. Gemini: a diff with a hash.
        script: || vec![Do(vec![Edit("a.md", "two\nkept \ntwo\n", "2\nkept \n2\n")]), Say("In my own way.")],
        disk: &[("a.md", "2\nkept \n2\n")],
        events: "user, start edit, end edit, changed a.md, text, done",
        check: |family, outcome| {
            let call = outcome.events.iter().find_map(|event| match &event.kind {
                EventKind::ToolCallStart { tool_name, arguments, .. } => Some((tool_name.as_str(), arguments)),
                _ => None,
            });
            let (name, arguments) = call.unwrap();
            let (expected, field, text) = match family.name {
                "OpenAI" => ("apply_patch", "input", "*** Update File: a.md"),
                "Anthropic" => ("Edit", "old_string", "two"),
                _ => ("safe_patch", "unified_diff", "@@ -1,3 +1,3 @@"),
            };
            assert!(name == expected && arguments[field].as_str().unwrap().contains(text), "{name} {arguments}");
        },
        ..PLAIN
    },
];

/// Runs the row named `name` for all three families.
async fn check(name: &str) {
    let row = ROWS.iter().find(|row| row.name == name).expect("a row of that name");
    let mut skipped = 0;
    for family in &FAMILIES {
        skipped += usize::from(matches!(row.run(family).await, Cell::Skipped));
    }
    if skipped > 0 {
        println!("skipped: {skipped} cells ({name}: this host has no shell)");
    }
}

macro_rules! rows {
    ($($test:ident = $name:literal;)*) => {
        $(#[test]
        #[cfg(not(target_family = "wasm"))]
        fn $test() {
            futures::executor::block_on(check($name));
        }

        // A waiting command uses the page's timers, so the test must be async.
        #[test]
        #[cfg(target_family = "wasm")]
        async fn $test() {
            check($name).await;
        })*

        #[test]
        fn every_row_is_a_test() {
            let names = [$($name),*];
            assert!(ROWS.iter().map(|row| row.name).eq(names));
        }
    };
}

rows! {
    simple_file_creation = "Simple file creation task";
    read_then_edit = "Read file, then edit it";
    multi_file_edit = "Multi-file edit in one session";
    shell_command = "Shell command execution";
    shell_timeout = "Shell command timeout handling";
    grep_and_glob = "Grep + glob to find files";
    multi_step_task = "Multi-step task (read -> analyze -> edit)";
    output_truncation = "Tool output truncation (large file)";
    parallel_calls = "Parallel tool calls (if supported)";
    steering = "Steering mid-task";
    effort_change = "Reasoning effort change";
    subagent = "Subagent spawn and wait";
    loop_detection = "Loop detection triggers warning";
    error_recovery = "Error recovery (tool fails, model retries)";
    own_edit_format = "Provider-specific editing format works";
}
