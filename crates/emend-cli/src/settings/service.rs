//! The limits of `emend serve`: the table `[service]` of settings files, and a variable for each limit.

use emend_agent::error_code::Code;
use emend_agent::service::{LIMITS, ServiceLimits};
use emend_agent::suggest::closest;
use toml::Value;

use crate::failure::Failure;

/// Name of the table.
pub(super) const TABLE: &str = "service";

/// Reads the table of a file. A project's file only lowers limits. Returns the names of the limits that were set.
pub(super) fn read(limits: &mut ServiceLimits, table: &Value, is_project: bool) -> Result<Vec<String>, String> {
    let Value::Table(table) = table else {
        return Err(format!("{TABLE} must be a table, not of type {}", table.type_str()));
    };
    let mut set = Vec::new();
    for (name, value) in table {
        let Some(before) = get(limits, name) else {
            let near = closest(name, LIMITS.iter().map(|limit| limit.name), 1);
            let near = near.first().map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
            return Err(format!("{TABLE}: unknown limit {name:?}{near}"));
        };
        let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
        let number = number.ok_or_else(|| format!("{TABLE}.{name} must be a whole number, 0 for no limit"))?;
        let is_lower = number > 0 && (before == 0 || number < before);
        if is_lower || !is_project {
            limits.set(name, number);
            set.push(name.clone());
        }
    }
    Ok(set)
}

/// Reads the environment variables. Returns the names of the limits that were set, each with its variable.
pub(super) fn read_variables(
    limits: &mut ServiceLimits,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, Failure> {
    let mut set = Vec::new();
    for limit in LIMITS {
        let Some(text) = variable(limit.variable) else { continue };
        let wrong = || {
            let message = format!("{}: expected a whole number, 0 for no limit, not {text:?}", limit.variable);
            Failure::new(Code::Configuration, message)
        };
        limits.set(limit.name, text.trim().parse().map_err(|_| wrong())?);
        set.push((limit.name.to_owned(), limit.variable.to_owned()));
    }
    Ok(set)
}

/// Returns each limit with its value.
pub(super) fn values(limits: &ServiceLimits) -> impl Iterator<Item = (&'static str, Option<serde_json::Value>)> {
    LIMITS.iter().map(|limit| (limit.name, get(limits, limit.name).map(Into::into)))
}

fn get(limits: &ServiceLimits, name: &str) -> Option<u64> {
    serde_json::to_value(limits).ok()?.get(name)?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, is_project: bool, expected: Result<u64, &str>) {
        let table = Value::Table(text.parse().unwrap());
        let mut limits = ServiceLimits::default();
        let outcome = read(&mut limits, &table, is_project).map(|_| limits.max_sessions);
        assert_eq!(outcome, expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn files_set_limits_and_those_of_a_project_only_lower_them() {
        check("max_sessions = 3", false, Ok(3));
        check("max_sessions = 3", true, Ok(3));
        check("max_sessions = 300", false, Ok(300));
        check("max_sessions = 300", true, Ok(25));
        check("max_sessions = 0", false, Ok(0));
        check("max_sessions = 0", true, Ok(25));
        check("max_session = 1", false, Err("service: unknown limit \"max_session\"; did you mean \"max_sessions\"?"));
        check("max_sessions = -1", false, Err("service.max_sessions must be a whole number, 0 for no limit"));
    }

    #[test]
    fn variables_set_limits() {
        let mut limits = ServiceLimits::default();
        let set = |name: &str| (name == "EMEND_MAX_SESSIONS").then(|| "7".to_owned());
        read_variables(&mut limits, set).unwrap();
        assert_eq!(limits.max_sessions, 7);
        let failure = read_variables(&mut limits, |_| Some("many".to_owned())).unwrap_err();
        assert!(failure.message.ends_with("expected a whole number, 0 for no limit, not \"many\""), "{failure:?}");
    }
}
