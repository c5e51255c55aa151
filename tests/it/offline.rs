//! The offline model with the real adapter, loop, tools and workspace, over files in memory: the path of the demo, on
//! every host.

use emend_agent::environment::ExecutionEnvironment;
use emend_agent::environment::memory::MemFs;
use emend_agent::event::{Event, EventKind};
use emend_agent::session::{Session, SessionConfig, SessionOptions};
use emend_agent::tools::core_tools;
use emend_agent::workspace::{Mode, Workspace};
use emend_llm::{CancelToken, Clock, Shared};
use emend_offline::{self as offline, Options};
use emend_tests::chance::Ticks;
use futures::StreamExt;
use futures::executor::block_on;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

struct World {
    files: Shared<MemFs>,
    workspace: Shared<Workspace>,
    session: Session,
}

impl World {
    fn new(fixture: &str, mode: Mode) -> Self {
        let files = Shared::new(MemFs::from_fixture(fixture));
        let clock: Shared<dyn Clock> = Shared::new(Ticks::default());
        let environment = Shared::clone(&files) as Shared<dyn ExecutionEnvironment>;
        let workspace = Shared::new(Workspace::new(environment, mode, Shared::clone(&clock)));
        let session = Session::new(SessionOptions {
            provider: Shared::new(offline::provider(Options::default())),
            model: offline::MODEL.to_owned(),
            offline: true,
            tools: core_tools(),
            workspace: Shared::clone(&workspace),
            clock,
            random: Shared::new(Ticks::default()),
            config: SessionConfig::default(),
        });
        Self { files, workspace, session }
    }

    fn turn(&self, task: &str) -> Vec<Event> {
        block_on(self.session.submit(task, CancelToken::new()).unwrap().collect())
    }

    fn disk(&self, path: &str) -> String {
        String::from_utf8(self.files.get(path).unwrap()).unwrap()
    }
}

fn said(events: &[Event]) -> String {
    events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::AssistantTextEnd { text, .. } => Some(text.as_str()),
            EventKind::Error(error) => Some(error.message.as_str()),
            _ => None,
        })
        .collect::<Vec<_>>()
        .join("\n")
}

fn tools(events: &[Event]) -> Vec<&str> {
    let mut names: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolCallStart { tool_name, .. } => Some(tool_name.as_str()),
            _ => None,
        })
        .collect();
    names.dedup();
    names
}

const TREE: &str = "\
//- src/lib.rs
pub fn alpha() {}
pub fn alpha_beta() { alpha() }
//- notes/a.md
# alpha

About `alpha`, not alphabet.
//- ignored/gen.rs
alpha
//- .gitignore
ignored/
";

#[test]
fn a_rename_goes_through_grep_read_and_edit() {
    let world = World::new(TREE, Mode::Direct);
    world.files.insert("win.txt", "alpha one\r\ntwo\r\nalpha three").unwrap();
    world.files.insert("logo.bin", b"alpha\0alpha".to_vec()).unwrap();
    let events = world.turn("rename alpha to omega");
    assert_eq!(world.disk("src/lib.rs"), "pub fn omega() {}\npub fn alpha_beta() { omega() }\n", "{}", said(&events));
    assert_eq!(world.disk("notes/a.md"), "# omega\n\nAbout `omega`, not alphabet.\n");
    assert_eq!(world.disk("win.txt"), "omega one\r\ntwo\r\nomega three");
    assert_eq!(world.disk("ignored/gen.rs"), "alpha\n");
    assert_eq!(world.files.get("logo.bin").unwrap(), b"alpha\0alpha");
    assert_eq!(tools(&events)[..3], ["grep", "read_file", "edit_file"]);
    assert!(said(&events).contains("no AI"), "{}", said(&events));
}

#[test]
fn a_staged_rename_waits_for_the_user() {
    let world = World::new(TREE, Mode::Staged);
    world.turn("rename alpha to omega");
    assert_eq!(world.disk("notes/a.md"), "# alpha\n\nAbout `alpha`, not alphabet.\n");
    let review = world.workspace.review();
    let paths: Vec<&str> = review.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["notes/a.md", "src/lib.rs"]);
    block_on(world.workspace.accept_all(None)).unwrap();
    assert_eq!(world.disk("src/lib.rs"), "pub fn omega() {}\npub fn alpha_beta() { omega() }\n");
}

#[test]
fn a_large_file_is_read_in_pieces_and_renamed_throughout() {
    let line = |index: usize| {
        if index.is_multiple_of(97) {
            format!("let alpha_{index} = alpha + {index};\n")
        } else {
            format!("line {index}\n")
        }
    };
    let text: String = (0..6_000).map(line).collect();
    let world = World::new("", Mode::Direct);
    world.files.insert("big.txt", text.clone()).unwrap();
    let events = world.turn("rename alpha to omega");
    assert_eq!(world.disk("big.txt"), text.replace("= alpha +", "= omega +"), "{}", said(&events));
}

#[test]
fn many_files_are_all_found() {
    let world = World::new("", Mode::Direct);
    for index in 0..150 {
        world.files.insert(&format!("f{index:03}.txt"), "alpha and alpha\n").unwrap();
    }
    let events = world.turn("rename alpha to omega");
    for index in 0..150 {
        assert_eq!(world.disk(&format!("f{index:03}.txt")), "omega and omega\n", "{}", said(&events));
    }
}

#[test]
fn documents_are_edited_by_the_other_instructions() {
    let world = World::new("//- doc.md\n# Title\n\n## Beta\n\n- b\n- a\n\n## Gamma\n\ntext\n", Mode::Direct);
    world.turn("add a table of contents to doc.md");
    let with_contents = world.disk("doc.md");
    assert!(with_contents.contains("[Beta](#beta)") && with_contents.contains("[Gamma](#gamma)"), "{with_contents}");
    world.turn("refresh the table of contents in doc.md");
    assert_eq!(world.disk("doc.md"), with_contents, "a current table is left as it is");
    world.turn("sort the list under \"Beta\" in doc.md");
    assert!(world.disk("doc.md").contains("- a\n- b\n"), "{}", world.disk("doc.md"));
    world.turn("add a heading \"Delta\" with \"more text\" to doc.md");
    assert!(world.disk("doc.md").contains("## Delta\n\nmore text"), "{}", world.disk("doc.md"));
    world.turn("replace \"more text\" with \"less\" in doc.md");
    assert!(world.disk("doc.md").contains("## Delta\n\nless"), "{}", world.disk("doc.md"));
}

#[test]
fn an_unknown_instruction_gets_a_list_of_examples() {
    let world = World::new(TREE, Mode::Direct);
    let events = world.turn("make it faster");
    assert!(tools(&events).is_empty());
    assert!(said(&events).contains("rename"), "{}", said(&events));
}
