//! `outline` over small projects in memory.

use emend_agent::approval::{Action, Policy, Rule};
use emend_agent::environment::layers::Confined;
use emend_agent::environment::memory::MemFs;
use emend_agent::environment::{ExecutionEnvironment, FilePath};
use emend_agent::session::call_tool;
use emend_agent::tool::{Tool, ToolError, ToolOutput, ToolRegistry};
use emend_agent::workspace::{Mode, Workspace};
use emend_llm::Shared;
use futures::executor::block_on;
use serde_json::{Value, json};

use super::{FILES_MAX, FOUND_MAX, Outline, SOURCES};
use crate::SystemClock;

const PROJECT: &str = "\
//- src/lib.rs
mod shapes;
pub fn area_of_all() {}
struct Parser;
impl Parser {
    fn parse(&self) {}
}
//- src/shapes.go
package shapes
func (s *Square) Area() int { return 0 }
// area is only mentioned here
//- include/shapes.h
int area(void);
//- shapes.c
int area(void) { return 1; }
//- secrets/area.py
def area(): pass
//- notes.md
area
//- .gitignore
build/
//- build/area.py
def area(): pass
";

fn call_in(environment: Shared<dyn ExecutionEnvironment>, arguments: Value) -> Result<ToolOutput, ToolError> {
    let workspace = Shared::new(Workspace::new(environment, Mode::Direct, Shared::new(SystemClock)));
    let mut tools = ToolRegistry::new();
    tools.register(Shared::new(Outline));
    block_on(call_tool(&tools, &workspace, "outline", arguments))
}

fn call(fixture: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
    call_in(Shared::new(MemFs::from_fixture(fixture)), arguments)
}

#[track_caller]
fn check(fixture: &str, arguments: Value, expected: &str) {
    assert_eq!(call(fixture, arguments).unwrap().text, expected);
}

#[test]
fn a_file_shows_its_definitions_as_text_and_data() {
    let output = call("//- a.rs\nmod m {\n    fn f() {}\n}\n", json!({"file_path": "a.rs"})).unwrap();
    assert_eq!(output.text, "1-3 mod m\n  2-2 fn f");
    let symbols = json!([
        {"name": "m", "kind": "mod", "first_line": 1, "last_line": 3, "depth": 0},
        {"name": "f", "kind": "fn", "first_line": 2, "last_line": 2, "depth": 1},
    ]);
    assert_eq!(output.data, json!({"file_path": "a.rs", "symbols": symbols, "truncated": false}));
    check("//- a.rs\n// nothing\n", json!({"file_path": "a.rs"}), "a.rs has no definitions.");
    check(
        PROJECT,
        json!({"file_path": "src/lib.rs", "symbol": "parse"}),
        "3-3 struct Parser\n4-6 impl Parser\n  5-5 fn parse",
    );
    check(PROJECT, json!({"file_path": "src/lib.rs", "symbol": "x"}), "src/lib.rs has no definitions of this name.");
}

#[test]
fn a_name_is_found_where_it_is_defined() {
    let all = "secrets/area.py:1-1 fn area\nshapes.c:1-1 fn area\nsrc/shapes.go:2-2 fn Square.Area\nsrc/lib.rs:2-2 fn area_of_all";
    check(PROJECT, json!({"symbol": "area"}), all);
    check(PROJECT, json!({"symbol": "Area"}), "src/shapes.go:2-2 fn Square.Area");
    check(PROJECT, json!({"symbol": "Square.Ar"}), "src/shapes.go:2-2 fn Square.Area");
    check(PROJECT, json!({"symbol": "area_of"}), "src/lib.rs:2-2 fn area_of_all");
    check(PROJECT, json!({"symbol": "rea"}), "The project has no definition whose name begins with rea.");
    let data = call(PROJECT, json!({"symbol": "Area"})).unwrap().data;
    let symbol = json!({
        "name": "Square.Area", "kind": "fn", "first_line": 2, "last_line": 2, "depth": 0, "file_path": "src/shapes.go",
    });
    assert_eq!(data, json!({"symbols": [symbol], "truncated": false}));
}

#[test]
fn refusals_say_the_next_step() {
    #[track_caller]
    fn check(arguments: Value, code: &str, message: &str) {
        let error = call(PROJECT, arguments).unwrap_err();
        assert_eq!((error.code.as_str(), error.message.as_str()), (code, message));
    }
    check(json!({}), "invalid_argument", "Give file_path or symbol.");
    check(json!({"symbol": " "}), "invalid_argument", "Give file_path or symbol.");
    let no_name = "\"a b\" is not a name. Give one without spaces and operators.";
    check(json!({"symbol": "a b"}), "invalid_argument", no_name);
    check(
        json!({"symbol": "a::"}),
        "invalid_argument",
        "\"a::\" is not a name. Give one without spaces and operators.",
    );
    let unknown = "The ending of notes.md is not that of a known language. Search it with grep.";
    check(json!({"file_path": "notes.md"}), "unsupported", unknown);
    assert_eq!(call(PROJECT, json!({"file_path": "src/lob.rs"})).unwrap_err().code.as_str(), "not_found");
    let long = format!("//- a.rs\n{}", "// x\n".repeat(300_000));
    let error = call(&long, json!({"file_path": "a.rs"})).unwrap_err();
    let expected =
        "a.rs has no outline: the text has 1500000 bytes, and at most 1048576 are parsed. Search it with grep.";
    assert_eq!((error.code.as_str(), error.message.as_str()), ("unsupported", expected));
}

#[test]
fn caps_are_reported() {
    let many: String = (0..=FILES_MAX).map(|n| format!("//- f{n}.rs\nfn many() {{}}\n")).collect();
    let output = call(&many, json!({"symbol": "many"})).unwrap();
    let lines: Vec<&str> = output.text.lines().collect();
    let n_more = FILES_MAX - FOUND_MAX;
    let notes = [
        format!("[{n_more} more; give a longer name]"),
        "[some files were not searched; give a longer name or a file_path]".to_owned(),
    ];
    assert_eq!((lines.len(), &lines[FOUND_MAX..]), (FOUND_MAX + 2, &notes.each_ref().map(String::as_str)[..]));
    assert_eq!(output.data["truncated"], json!(true));
}

#[test]
fn hidden_files_stay_hidden() {
    let rule = Rule::parse(Action::Deny, "*:secrets/**").unwrap();
    let hidden = Policy { rules: vec![rule], otherwise: Action::Allow }.hidden("read_file");
    let confined = || -> Shared<dyn ExecutionEnvironment> {
        let files = Shared::new(MemFs::from_fixture(PROJECT));
        Shared::new(Confined::new(files, FilePath::root(), hidden.clone()))
    };
    let found = call_in(confined(), json!({"symbol": "area"})).unwrap();
    let expected = "shapes.c:1-1 fn area\nsrc/shapes.go:2-2 fn Square.Area\nsrc/lib.rs:2-2 fn area_of_all";
    assert_eq!(found.text, expected);
    let refused = call_in(confined(), json!({"file_path": "secrets/area.py"})).unwrap_err();
    assert_eq!(refused.code.as_str(), "permission_denied");
}

#[test]
fn every_ending_of_the_search_has_a_language() {
    let endings = SOURCES.trim_start_matches("*.{").trim_end_matches('}').split(',');
    let unknown: Vec<&str> =
        endings.filter(|ending| emend_outline::language_of(&format!("a.{ending}")).is_none()).collect();
    assert_eq!(unknown, Vec::<&str>::new());
}

#[test]
fn the_page_of_tools_has_the_effect_and_the_limit() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tools.md")).unwrap();
    let yes = |flag: bool| if flag { "yes" } else { "no" };
    let (effect, concurrent, interruptible) =
        (Outline.effect(), yes(Outline.concurrent()), yes(Outline.interruptible()));
    let limits = Outline.output_limits();
    let limits = format!("{:?}, {} characters", limits.mode, limits.chars_max);
    let row = format!("| outline | {effect:?} | {concurrent} | {interruptible} | {limits} |");
    assert!(page.contains(&row), "{row}");
}

/// A test of the package compares its tool with the same file.
#[test]
fn the_tool_of_the_package_has_the_same_definition() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../pkg/test/outline-tool.json");
    let of_package: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let definition = Outline.definition();
    let expected = json!({
        "name": definition.name, "description": definition.description, "parameters": definition.parameters,
    });
    assert_eq!(of_package, expected);
}
