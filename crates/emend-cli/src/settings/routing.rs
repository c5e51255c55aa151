//! The choice between `--model` and `--fallback-model`: the table `[routing]` of settings files, and a variable for each of
//! its names. The router calls the first model local and the second one remote, wherever they run.

use emend_agent::error_code::Code;
use emend_agent::suggest::closest;
use emend_llm::router::{AgentMode, RouterPolicy};
use toml::Value;

use crate::failure::Failure;

/// Name of the table.
pub(super) const TABLE: &str = "routing";

/// The names of the table.
const NAMES: [&str; 5] = [
    "agent_mode",
    "hybrid_max_local_attempts",
    "hybrid_remote_on_schema_fail",
    "hybrid_remote_on_context_overflow",
    "hybrid_remote_on_timeout_ms",
];

/// The given values; the others are those of the settings `fallback_*` and of the router.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Routing {
    agent_mode: Option<AgentMode>,
    max_local_attempts: Option<u32>,
    remote_on_schema_fail: Option<bool>,
    remote_on_context_overflow: Option<bool>,
    remote_on_timeout_ms: Option<u64>,
}

impl Routing {
    /// Returns a policy with the given values in place of its own.
    pub(crate) fn over(&self, policy: RouterPolicy) -> RouterPolicy {
        RouterPolicy {
            agent_mode: self.agent_mode.unwrap_or(policy.agent_mode),
            hybrid_max_local_attempts: self.max_local_attempts.unwrap_or(policy.hybrid_max_local_attempts),
            hybrid_remote_on_schema_fail: self.remote_on_schema_fail.unwrap_or(policy.hybrid_remote_on_schema_fail),
            hybrid_remote_on_context_overflow: self
                .remote_on_context_overflow
                .unwrap_or(policy.hybrid_remote_on_context_overflow),
            hybrid_remote_on_timeout_ms: self.remote_on_timeout_ms.or(policy.hybrid_remote_on_timeout_ms),
            ..policy
        }
    }

    /// Fixes the choice between the models, whatever the settings say.
    pub(crate) fn with_mode(&self, agent_mode: AgentMode) -> Self {
        Self { agent_mode: Some(agent_mode), ..self.clone() }
    }

    fn get(&self, name: &str) -> Option<serde_json::Value> {
        match name {
            "agent_mode" => self.agent_mode.map(|mode| {
                let name = match mode {
                    AgentMode::Local => "local",
                    AgentMode::Remote => "remote",
                    AgentMode::HybridAuto => "hybrid_auto",
                };
                name.into()
            }),
            "hybrid_max_local_attempts" => self.max_local_attempts.map(Into::into),
            "hybrid_remote_on_schema_fail" => self.remote_on_schema_fail.map(Into::into),
            "hybrid_remote_on_context_overflow" => self.remote_on_context_overflow.map(Into::into),
            _ => self.remote_on_timeout_ms.map(Into::into),
        }
    }

    /// Sets a value. The error is what it must be.
    fn set(&mut self, name: &str, text: &str) -> Result<(), &'static str> {
        let switch = || match text {
            "true" | "on" | "1" => Ok(true),
            "false" | "off" | "0" => Ok(false),
            _ => Err("true or false"),
        };
        match name {
            "agent_mode" => {
                self.agent_mode = Some(match text {
                    "local" => AgentMode::Local,
                    "remote" => AgentMode::Remote,
                    "hybrid_auto" => AgentMode::HybridAuto,
                    _ => return Err("local, remote or hybrid_auto"),
                });
            }
            "hybrid_max_local_attempts" => {
                let number = text.parse().ok().filter(|number| *number > 0);
                self.max_local_attempts = Some(number.ok_or("a whole number, at least 1")?);
            }
            "hybrid_remote_on_schema_fail" => self.remote_on_schema_fail = Some(switch()?),
            "hybrid_remote_on_context_overflow" => self.remote_on_context_overflow = Some(switch()?),
            _ => {
                let number = text.parse().ok().filter(|number| *number > 0);
                self.remote_on_timeout_ms = Some(number.ok_or("a number of milliseconds, at least 1")?);
            }
        }
        Ok(())
    }
}

/// Reads the table of a file, and returns its names. A project's file has none: a remote model can cost money, and gets the
/// project's texts.
pub(super) fn read(routing: &mut Routing, table: &Value, is_project: bool) -> Result<Vec<String>, String> {
    if is_project {
        return Err(format!("a project file cannot set {TABLE:?}; use your own config.toml"));
    }
    let Value::Table(table) = table else {
        return Err(format!("{TABLE} must be a table, not of type {}", table.type_str()));
    };
    for (name, value) in table {
        if !NAMES.contains(&name.as_str()) {
            let near = closest(name, NAMES, 1);
            let near = near.first().map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
            return Err(format!("{TABLE}: unknown name {name:?}{near}"));
        }
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Boolean(is_on) => is_on.to_string(),
            other => other.type_str().to_owned(),
        };
        routing.set(name, &text).map_err(|expected| format!("{TABLE}.{name} must be {expected}, not {text}"))?;
    }
    Ok(table.keys().cloned().collect())
}

/// Returns each name with its value, if one is given.
pub(super) fn values(routing: &Routing) -> impl Iterator<Item = (&'static str, Option<serde_json::Value>)> {
    NAMES.into_iter().map(|name| (name, routing.get(name)))
}

/// Returns the environment variables.
pub(super) fn variables() -> impl Iterator<Item = String> {
    NAMES.into_iter().map(variable_of)
}

fn variable_of(name: &str) -> String {
    format!("EMEND_{}", name.to_uppercase())
}

/// Reads the environment variables. Returns the names that were set, each with its variable.
pub(super) fn read_variables(
    routing: &mut Routing,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, Failure> {
    let mut set = Vec::new();
    for name in NAMES {
        let Some(text) = variable(&variable_of(name)) else { continue };
        routing.set(name, text.trim()).map_err(|expected| {
            let message = format!("{}: expected {expected}, not {text:?}", variable_of(name));
            Failure::new(Code::Configuration, message)
        })?;
        set.push((name.to_owned(), variable_of(name)));
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<RouterPolicy, &str>) {
        let mut routing = Routing::default();
        let outcome = read(&mut routing, &Value::Table(text.parse().unwrap()), false);
        let outcome = outcome.map(|_| routing.over(RouterPolicy::default()));
        assert_eq!(outcome, expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn each_name_sets_its_part_of_the_policy() {
        let usual = RouterPolicy::default;
        check("", Ok(usual()));
        for (text, mode) in
            [("local", AgentMode::Local), ("remote", AgentMode::Remote), ("hybrid_auto", AgentMode::HybridAuto)]
        {
            check(&format!("agent_mode = {text:?}"), Ok(RouterPolicy { agent_mode: mode, ..usual() }));
        }
        check("hybrid_max_local_attempts = 4", Ok(RouterPolicy { hybrid_max_local_attempts: 4, ..usual() }));
        check(
            "hybrid_remote_on_schema_fail = false",
            Ok(RouterPolicy { hybrid_remote_on_schema_fail: false, ..usual() }),
        );
        let without = RouterPolicy { hybrid_remote_on_context_overflow: false, ..usual() };
        check("hybrid_remote_on_context_overflow = false", Ok(without));
        check("hybrid_remote_on_timeout_ms = 9", Ok(RouterPolicy { hybrid_remote_on_timeout_ms: Some(9), ..usual() }));
        check("agent_mode = \"auto\"", Err("routing.agent_mode must be local, remote or hybrid_auto, not auto"));
        check("agent_mod = \"local\"", Err("routing: unknown name \"agent_mod\"; did you mean \"agent_mode\"?"));
        let refused = "routing.hybrid_max_local_attempts must be a whole number, at least 1, not 0";
        check("hybrid_max_local_attempts = 0", Err(refused));
    }

    #[test]
    fn variables_set_the_same_and_a_project_sets_nothing() {
        let mut routing = Routing::default();
        read_variables(&mut routing, |name| (name == "EMEND_AGENT_MODE").then(|| "remote".to_owned())).unwrap();
        assert_eq!(routing.over(RouterPolicy::default()).agent_mode, AgentMode::Remote);
        let failure = read_variables(&mut routing, |_| Some("x".to_owned())).unwrap_err();
        assert_eq!(failure.message, "EMEND_AGENT_MODE: expected local, remote or hybrid_auto, not \"x\"");
        let table = Value::Table("agent_mode = \"local\"".parse().unwrap());
        assert!(read(&mut routing, &table, true).is_err());
    }
}
