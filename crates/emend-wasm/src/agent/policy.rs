//! The rules that decide which calls run, which are denied, and which need the user's approval.

use emend_agent::approval::{Action, Policy, Rule, ToolEffect};
use emend_agent::error_code::Code;
use emend_agent::profile::check_tool_name;
use serde_json::Value;

use super::json_fields::{Fields, Problem};
use crate::failure::Failure;

/// One rule, read from JSON.
pub(crate) struct RuleOptions {
    action: Action,
    tool: String,
    pattern: Option<String>,
}

impl RuleOptions {
    pub(crate) fn read(value: &Value) -> Result<Self, Problem> {
        let fields = Fields::of("policy", value)?;
        fields.only(&["action", "tool", "pattern"], "")?;
        fields.needed("action")?;
        let action = match fields.variant("action", &["allow", "ask", "deny"])? {
            Some("allow") => Action::Allow,
            Some("ask") => Action::Ask,
            _ => Action::Deny,
        };
        Ok(Self { action, tool: fields.needed_text("tool")?, pattern: fields.text("pattern")? })
    }
}

/// Effects of tools whose calls need no approval.
const UNASKED: [ToolEffect; 2] = [ToolEffect::Reads, ToolEffect::Asks];

/// Returns the policy for these rules.
///
/// Without rules, every call with another effect than [`UNASKED`] needs approval if there is an approver (`asks`), and every call is allowed
/// otherwise.
///
/// # Errors
///
/// A `configuration` failure if a rule can never match: its pattern is invalid, or its tool is neither one of the agent's
/// nor one of `own`.
pub(crate) fn policy(rules: Option<&[RuleOptions]>, asks: bool, own: &[&str]) -> Result<Policy, Failure> {
    let rule = |rule: &RuleOptions| {
        let parsed = Rule::new(rule.action, &rule.tool, rule.pattern.as_deref()).map_err(|error| error.to_string())?;
        if parsed.is_for_effect() {
            return Ok(parsed);
        }
        let canonical = check_tool_name(rule.tool.trim(), own).map_err(|unknown| unknown.to_string())?;
        Ok(parsed.for_tool(canonical))
    };
    let rules: Result<Vec<Rule>, String> = match rules {
        Some(rules) => rules.iter().map(rule).collect(),
        None if asks => Ok(UNASKED.map(|effect| Rule::for_effect(Action::Allow, effect)).into()),
        None => return Ok(Policy::default()),
    };
    let rules =
        rules.map_err(|why| Failure::new(Code::Configuration, format!("the options are wrong: `policy`: {why}")))?;
    Ok(Policy { rules, otherwise: if asks { Action::Ask } else { Action::Allow } })
}
