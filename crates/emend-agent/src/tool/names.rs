//! The names by which a model knows tools and their parameters.
//!
//! Every tool has a canonical name, and so has each of its parameters. A profile may expose other names. Code that names a
//! tool or a parameter in a text asks [`ToolNames`] for the exposed name. Static texts (descriptions, schemas,
//! instructions) hold placeholders instead, which [`ToolNames::expand`] replaces when a registry or a profile is built.
//! Text that quotes a file, a path, an address or a command's output is never expanded.

use emend_llm::ToolDefinition;
use serde_json::Value;

/// A canonical name and the name that is exposed for it.
pub type Rename = (&'static str, &'static str);

/// The exposed names of one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExposedNames {
    /// The tool's canonical name.
    pub canonical: &'static str,
    /// The name under which the model calls the tool, or the tool that it has instead.
    pub exposed: &'static str,
    /// The parameters with another exposed name.
    pub params: &'static [Rename],
    /// The parameter values with another exposed name.
    pub values: &'static [Rename],
}

/// The exposed names of a registry's tools. A tool or parameter that is not listed keeps its canonical name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolNames {
    tools: Vec<ExposedNames>,
}

impl ToolNames {
    /// Returns the names of these tools, at most one entry per canonical name.
    #[must_use]
    pub fn new(tools: Vec<ExposedNames>) -> Self {
        Self { tools }
    }

    fn of(&self, tool: &str) -> Option<&ExposedNames> {
        self.tools.iter().find(|names| names.canonical == tool)
    }

    /// Returns the name under which the model knows the tool with this canonical name.
    #[must_use]
    pub fn tool<'a>(&self, canonical: &'a str) -> &'a str {
        self.of(canonical).map_or(canonical, |names| names.exposed)
    }

    /// Returns the name under which the model knows a parameter. Both arguments are canonical names.
    #[must_use]
    pub fn param<'a>(&self, tool: &str, canonical: &'a str) -> &'a str {
        self.of(tool).map_or(canonical, |names| exposed(names.params, canonical))
    }

    /// Returns the value that the model sends for a canonical value of one of the tool's parameters.
    #[must_use]
    pub fn value<'a>(&self, tool: &str, canonical: &'a str) -> &'a str {
        self.of(tool).map_or(canonical, |names| exposed(names.values, canonical))
    }

    /// Replaces the placeholders in a static text: `{tool:TOOL}`, `{param:TOOL.PARAMETER}` and `{value:TOOL.VALUE}`, each
    /// with canonical names. Other text in braces stays as it is.
    ///
    /// ```
    /// use emend_agent::tool::{ExposedNames, ToolNames};
    /// let read = ExposedNames { canonical: "read_file", exposed: "Read", params: &[], values: &[] };
    /// let names = ToolNames::new(vec![read]);
    /// assert_eq!(names.expand("Call {tool:read_file} with {param:read_file.offset}."), "Call Read with offset.");
    /// ```
    #[must_use]
    pub fn expand(&self, template: &str) -> String {
        let mut text = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            let placeholder = after.split_once('}').and_then(|(inside, after)| Some((self.resolve(inside)?, after)));
            match placeholder {
                Some((name, after)) => {
                    text.push_str(name);
                    rest = after;
                }
                None => {
                    text.push('{');
                    rest = after;
                }
            }
        }
        text + rest
    }

    /// Returns the name that a placeholder stands for, or `None` if the text is not a placeholder.
    fn resolve<'a>(&self, placeholder: &'a str) -> Option<&'a str> {
        let (kind, name) = placeholder.split_once(':')?;
        match (kind, name.split_once('.')) {
            ("tool", None) => Some(self.tool(name)),
            ("param", Some((tool, param))) => Some(self.param(tool, param)),
            ("value", Some((tool, value))) => Some(self.value(tool, value)),
            _ => None,
        }
    }

    /// Replaces the placeholders in the description of a tool and in those of its parameters.
    pub(super) fn expand_definition(&self, mut definition: ToolDefinition) -> ToolDefinition {
        definition.description = self.expand(&definition.description);
        self.expand_descriptions(&mut definition.parameters);
        definition
    }

    fn expand_descriptions(&self, schema: &mut Value) {
        match schema {
            Value::Object(object) => {
                for (key, value) in object {
                    match value {
                        Value::String(text) if key == "description" => *text = self.expand(text),
                        value => self.expand_descriptions(value),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.expand_descriptions(item)),
            _ => {}
        }
    }
}

fn exposed<'a>(renames: &[Rename], canonical: &'a str) -> &'a str {
    renames.iter().find(|(own, _)| *own == canonical).map_or(canonical, |(_, exposed)| exposed)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn placeholders_become_names_and_other_braces_stay() {
        let read = ExposedNames { canonical: "read_file", exposed: "Read", params: &[("limit", "max")], values: &[] };
        let grep = ExposedNames {
            canonical: "grep",
            exposed: "Grep",
            params: &[],
            values: &[("files", "files_with_matches")],
        };
        let names = ToolNames::new(vec![read, grep]);
        #[track_caller]
        fn check(names: &ToolNames, template: &str, expected: &str) {
            assert_eq!(names.expand(template), expected);
        }
        check(&names, "", "");
        check(&names, "{tool:read_file}", "Read");
        check(&names, "read_file, {tool:glob}, {param:read_file.limit}", "read_file, glob, max");
        check(&names, "{param:glob.limit} `{value:grep.files}` {value:grep.count}", "limit `files_with_matches` count");
        check(&names, "`{a,b}` {edits} {tool:read_file", "`{a,b}` {edits} {tool:read_file");
        check(
            &names,
            "{{tool:read_file}} {param:read_file} {other:read_file}",
            "{Read} {param:read_file} {other:read_file}",
        );
        check(&names, "{", "{");
        check(&ToolNames::default(), "{tool:read_file} {param:read_file.limit}", "read_file limit");
    }
}
