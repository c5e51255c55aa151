//! What tools are called: clients give the same tool the name and the parameters of this or that family's own agent.
//!
//! The stand-in thinks in one set of names. Here they are translated to those that a request offers, and the calls of
//! earlier answers back again. Where edits can only be made as a patch, they are written as one.

use serde_json::{Map, Value, json};

use crate::step::PlannedCall;

/// A name and the others it goes by.
type Spellings = (&'static str, &'static [&'static str]);

const TOOLS: [Spellings; 5] = [
    ("grep", &["Grep", "grep_files", "grep_search"]),
    ("read_file", &["Read"]),
    ("edit_file", &["Edit", "replace"]),
    ("write_file", &["Write"]),
    ("shell", &["Bash", "exec_command", "run_shell_command"]),
];

const PARAMS: [Spellings; 4] = [
    ("path", &["dir_path"]),
    ("command", &["cmd"]),
    ("case_insensitive", &["-i"]),
    ("max_results", &["head_limit", "total_max_matches", "limit"]),
];

/// The tool that takes edits as patches, and what it may call the patch.
const PATCH_TOOL: &str = "apply_patch";
const PATCH_PARAMS: [&str; 2] = ["input", "patch"];

/// A tool on offer.
pub(crate) struct Tool {
    /// The stand-in's own name for it.
    pub(crate) name: String,
    wire: String,
    schema: Value,
}

impl Tool {
    /// Returns the values that the schema allows for `parameter`, none if it does not list them.
    pub(crate) fn choices(&self, parameter: &str) -> Vec<&str> {
        let values = self.schema["properties"][parameter]["enum"].as_array();
        values.map(|values| values.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
    }

    /// Returns the largest number that the schema allows for `parameter`.
    pub(crate) fn maximum(&self, parameter: &str) -> Option<u64> {
        self.schema["properties"][self.param(parameter)]["maximum"].as_u64()
    }

    fn has(&self, parameter: &str) -> bool {
        self.schema["properties"].get(parameter).is_some()
    }

    /// Returns what this tool calls a parameter.
    fn param<'a>(&self, canonical: &'a str) -> &'a str {
        let others = PARAMS.iter().find(|(known, _)| *known == canonical).map(|(_, others)| *others);
        let other = others.unwrap_or_default().iter().copied().find(|other| self.has(other));
        if self.has(canonical) { canonical } else { other.unwrap_or(canonical) }
    }
}

/// Returns the tools that a request offers under these names, with these parameters.
pub(crate) fn tools(offered: Vec<(String, Value)>) -> Vec<Tool> {
    let mut tools: Vec<Tool> =
        offered.into_iter().map(|(wire, schema)| Tool { name: canonical(&wire).to_owned(), wire, schema }).collect();
    if tools.iter().all(|tool| tool.name != "edit_file")
        && let Some(tool) = tools.iter_mut().find(|tool| tool.wire == PATCH_TOOL)
    {
        "edit_file".clone_into(&mut tool.name);
    }
    tools
}

fn canonical(wire: &str) -> &str {
    TOOLS.iter().find(|(_, others)| others.contains(&wire)).map_or(wire, |(canonical, _)| canonical)
}

/// Returns the name and the arguments with which `call` is made of one of `tools`.
pub(crate) fn spelled(tools: &[Tool], call: &PlannedCall) -> (String, Value) {
    let Some(tool) = tools.iter().find(|tool| tool.name == call.name) else {
        return (call.name.to_owned(), call.input.clone());
    };
    if tool.wire == PATCH_TOOL && tool.name == "edit_file" {
        let param = PATCH_PARAMS.into_iter().find(|param| tool.has(param)).unwrap_or(PATCH_PARAMS[1]);
        return (tool.wire.clone(), json!({ (param): patch_of(&call.input) }));
    }
    let fields = call.input.as_object().into_iter().flatten();
    let input: Map<String, Value> = fields.map(|(name, value)| (tool.param(name).to_owned(), value.clone())).collect();
    (tool.wire.clone(), Value::Object(input))
}

/// Returns the stand-in's own name and arguments of a call that was made earlier.
pub(crate) fn understood(wire: &str, input: &Value) -> (String, Value) {
    let patch = || PATCH_PARAMS.iter().find_map(|param| input[param].as_str());
    match (wire, patch()) {
        (PATCH_TOOL, Some(patch)) => ("edit_file".to_owned(), edit_of(patch)),
        // No other argument that differs is looked at again.
        _ => (canonical(wire).to_owned(), input.clone()),
    }
}

const BEGIN: &str = "*** Begin Patch\n*** Update File: ";
const END: &str = "\n*** End Patch";

/// Writes an edit of whole lines as a patch.
fn patch_of(input: &Value) -> String {
    let text = |name: &str| input[name].as_str().unwrap_or_default();
    let marked = |mark: char, text: &str| text.split('\n').map(|line| format!("\n{mark}{line}")).collect::<String>();
    let (old, new) = (marked('-', text("old_string")), marked('+', text("new_string")));
    format!("{BEGIN}{}\n@@{old}{new}{END}", text("file_path"))
}

/// Reads what [`patch_of`] wrote.
fn edit_of(patch: &str) -> Value {
    let body = patch.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END)).unwrap_or_default();
    let mut lines = body.split('\n');
    let path = lines.next().unwrap_or_default();
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for line in lines {
        match line.split_at_checked(1) {
            Some(("-", text)) => old.push(text),
            Some(("+", text)) => new.push(text),
            _ => {}
        }
    }
    json!({ "file_path": path, "old_string": old.join("\n"), "new_string": new.join("\n") })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn offered(name: &str, params: &[&str]) -> (String, Value) {
        let properties: Map<String, Value> = params.iter().map(|param| ((*param).to_owned(), json!({}))).collect();
        (name.to_owned(), json!({ "properties": properties }))
    }

    #[track_caller]
    fn check(tools_offered: &[(&str, &[&str])], call: &PlannedCall, expected: &str) {
        let tools = tools(tools_offered.iter().map(|(name, params)| offered(name, params)).collect());
        let (name, input) = spelled(&tools, call);
        assert_eq!(format!("{name} {input}"), expected);
        let (back, _) = understood(&name, &input);
        assert_eq!(back, call.name);
    }

    #[test]
    fn calls_are_spelled_as_the_request_spells_its_tools() {
        let grep =
            PlannedCall::new("grep", [("pattern", json!("a")), ("path", json!("src")), ("max_results", json!(9))]);
        let own = r#"grep {"pattern":"a","path":"src","max_results":9}"#;
        check(&[("grep", &["pattern", "path", "max_results"])], &grep, own);
        check(
            &[("Grep", &["pattern", "path", "head_limit"])],
            &grep,
            r#"Grep {"pattern":"a","path":"src","head_limit":9}"#,
        );
        check(
            &[("grep_search", &["pattern", "dir_path", "total_max_matches"])],
            &grep,
            r#"grep_search {"pattern":"a","dir_path":"src","total_max_matches":9}"#,
        );
        let read = PlannedCall::new("read_file", [("file_path", json!("a")), ("limit", json!(3))]);
        check(&[("Read", &["file_path", "limit"])], &read, r#"Read {"file_path":"a","limit":3}"#);
        let edit = PlannedCall::new("edit_file", [("old_string", json!("a"))]);
        check(&[("apply_patch", &["input"]), ("Edit", &["old_string"])], &edit, r#"Edit {"old_string":"a"}"#);
    }

    #[test]
    fn an_edit_is_a_patch_where_nothing_else_edits_and_is_read_back() {
        let input = json!({ "file_path": "a b.txt", "old_string": "one\n\n-two", "new_string": "+one\nthree" });
        let edit = PlannedCall { name: "edit_file", input: input.clone() };
        let tools = tools(vec![offered("apply_patch", &["input"])]);
        let (name, spelled) = spelled(&tools, &edit);
        assert_eq!(
            spelled["input"],
            "*** Begin Patch\n*** Update File: a b.txt\n@@\n-one\n-\n--two\n++one\n+three\n*** End Patch"
        );
        assert_eq!(understood(&name, &spelled), ("edit_file".to_owned(), input));
    }
}
