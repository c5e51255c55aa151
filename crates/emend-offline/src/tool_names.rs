//! Translates tool names: requests give the same tool the exposed names of this or that model family.
//!
//! The model uses the canonical names. They are translated to the names that a request offers, and the calls of earlier
//! responses back to canonical names. If edits are possible only as patches, they are written as patches.

use serde_json::{Map, Value, json};

use crate::step::PlannedCall;

/// A canonical name and its exposed names.
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

/// The tool that takes edits as patches, and the possible names of its parameter.
const PATCH_TOOL: &str = "apply_patch";
const PATCH_PARAMS: [&str; 2] = ["input", "patch"];

/// An offered tool.
pub(crate) struct Tool {
    /// Canonical name.
    pub(crate) name: String,
    exposed: String,
    schema: Value,
}

impl Tool {
    /// Returns the values that the schema allows for `parameter`; empty if it lists none.
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

    /// Returns the exposed name of a parameter.
    fn param<'a>(&self, canonical: &'a str) -> &'a str {
        let others = PARAMS.iter().find(|(known, _)| *known == canonical).map(|(_, others)| *others);
        let other = others.unwrap_or_default().iter().copied().find(|other| self.has(other));
        if self.has(canonical) { canonical } else { other.unwrap_or(canonical) }
    }
}

/// Returns the tools that a request offers, given as exposed names with schemas.
pub(crate) fn tools(offered: Vec<(String, Value)>) -> Vec<Tool> {
    let mut tools: Vec<Tool> = offered
        .into_iter()
        .map(|(exposed, schema)| Tool { name: canonical(&exposed).to_owned(), exposed, schema })
        .collect();
    if tools.iter().all(|tool| tool.name != "edit_file")
        && let Some(tool) = tools.iter_mut().find(|tool| tool.exposed == PATCH_TOOL)
    {
        "edit_file".clone_into(&mut tool.name);
    }
    tools
}

fn canonical(exposed: &str) -> &str {
    TOOLS.iter().find(|(_, others)| others.contains(&exposed)).map_or(exposed, |(canonical, _)| canonical)
}

/// Returns the exposed name and the arguments of `call`, according to `tools`.
pub(crate) fn to_exposed(tools: &[Tool], call: &PlannedCall) -> (String, Value) {
    let Some(tool) = tools.iter().find(|tool| tool.name == call.name) else {
        return (call.name.to_owned(), call.input.clone());
    };
    if tool.exposed == PATCH_TOOL && tool.name == "edit_file" {
        let param = PATCH_PARAMS.into_iter().find(|param| tool.has(param)).unwrap_or(PATCH_PARAMS[1]);
        return (tool.exposed.clone(), json!({ (param): patch_of(&call.input) }));
    }
    let fields = call.input.as_object().into_iter().flatten();
    let input: Map<String, Value> = fields.map(|(name, value)| (tool.param(name).to_owned(), value.clone())).collect();
    (tool.exposed.clone(), Value::Object(input))
}

/// Returns the canonical name and arguments of an earlier call.
pub(crate) fn to_canonical(exposed: &str, input: &Value) -> (String, Value) {
    let patch = || PATCH_PARAMS.iter().find_map(|param| input[param].as_str());
    match (exposed, patch()) {
        (PATCH_TOOL, Some(patch)) => ("edit_file".to_owned(), edit_of(patch)),
        // The model reads no other renamed argument again.
        _ => (canonical(exposed).to_owned(), input.clone()),
    }
}

const BEGIN: &str = "*** Begin Patch\n*** Update File: ";
const END: &str = "\n*** End Patch";

/// Returns an edit of whole lines as a patch.
fn patch_of(input: &Value) -> String {
    let text = |name: &str| input[name].as_str().unwrap_or_default();
    let marked = |mark: char, text: &str| text.split('\n').map(|line| format!("\n{mark}{line}")).collect::<String>();
    let (old, new) = (marked('-', text("old_string")), marked('+', text("new_string")));
    format!("{BEGIN}{}\n@@{old}{new}{END}", text("file_path"))
}

/// Parses the output of [`patch_of`].
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
        let (name, input) = to_exposed(&tools, call);
        assert_eq!(format!("{name} {input}"), expected);
        let (back, _) = to_canonical(&name, &input);
        assert_eq!(back, call.name);
    }

    #[test]
    fn calls_use_the_exposed_names_of_the_request() {
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
    fn an_edit_becomes_a_patch_without_another_edit_tool_and_is_parsed_back() {
        let input = json!({ "file_path": "a b.txt", "old_string": "one\n\n-two", "new_string": "+one\nthree" });
        let edit = PlannedCall { name: "edit_file", input: input.clone() };
        let tools = tools(vec![offered("apply_patch", &["input"])]);
        let (name, spelled) = to_exposed(&tools, &edit);
        assert_eq!(
            spelled["input"],
            "*** Begin Patch\n*** Update File: a b.txt\n@@\n-one\n-\n--two\n++one\n+three\n*** End Patch"
        );
        assert_eq!(to_canonical(&name, &spelled), ("edit_file".to_owned(), input));
    }
}
