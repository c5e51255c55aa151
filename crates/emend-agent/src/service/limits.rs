//! The limits of a service: their names, defaults and environment variables.

use emend_edit::line_log::HunkLimits;
use serde::{Deserialize, Serialize};

use crate::tools::ProjectToolLimits;

macro_rules! limits {
    ($($(#[doc = $doc:literal])* $name:ident = $default:literal, $variable:literal;)*) => {
        /// Limits of a service. 0 means unlimited.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(default, deny_unknown_fields)]
        pub struct ServiceLimits {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        impl Default for ServiceLimits {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        /// Every limit.
        pub const LIMITS: &[LimitInfo] = &[$(LimitInfo {
            name: stringify!($name),
            variable: $variable,
            default: $default,
            meaning: concat!($($doc),*),
        },)*];

        impl ServiceLimits {
            /// Sets the limit with this name. Returns whether there is one.
            pub fn set(&mut self, name: &str, value: u64) -> bool {
                match name {
                    $(stringify!($name) => self.$name = value,)*
                    _ => return false,
                }
                true
            }
        }
    };
}

/// One limit, for documents and for hosts that read settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitInfo {
    /// Name in the settings.
    pub name: &'static str,
    /// Environment variable.
    pub variable: &'static str,
    /// Value unless the host sets another.
    pub default: u64,
    /// Meaning, as a sentence.
    pub meaning: &'static str,
}

limits! {
    /// Maximum number of tool calls of a job.
    max_tool_calls_per_job = 12, "EMEND_MAX_TOOL_CALLS_PER_JOB";
    /// Number of search results if a call names none.
    max_search_results_default = 20, "EMEND_MAX_SEARCH_RESULTS_DEFAULT";
    /// Maximum number of search results.
    max_search_results_cap = 50, "EMEND_MAX_SEARCH_RESULTS_CAP";
    /// Maximum number of lines of a search result.
    max_search_snippet_lines = 20, "EMEND_MAX_SEARCH_SNIPPET_LINES";
    /// Number of bytes that a read returns if the call names none.
    max_read_bytes_default = 65_536, "EMEND_MAX_READ_BYTES_DEFAULT";
    /// Number of lines that a read returns if the call names none.
    max_read_lines_default = 800, "EMEND_MAX_READ_LINES_DEFAULT";
    /// Time between two polls of a client in milliseconds.
    poll_interval_ms = 2_000, "EMEND_POLL_INTERVAL_MS";
    /// Number of times that the model may try again after tool calls that do not match their schema.
    max_schema_retries = 5, "EMEND_MAX_SCHEMA_RETRIES";
    /// Maximum number of lines of a hunk before it is split.
    max_hunk_lines = 80, "EMEND_MAX_HUNK_LINES";
    /// Maximum number of bytes of a hunk before it is split.
    max_hunk_bytes = 8_192, "EMEND_MAX_HUNK_BYTES";
    /// Maximum number of active sessions.
    max_sessions = 25, "EMEND_MAX_SESSIONS";
    /// Maximum number of jobs that are kept for each session.
    max_jobs_per_session = 40, "EMEND_MAX_JOBS_PER_SESSION";
    /// Maximum number of events that are kept for each job.
    max_events_per_job = 3_000, "EMEND_MAX_EVENTS_PER_JOB";
    /// Time in hours for which a job is kept after its end.
    completed_ttl_hours = 72, "EMEND_COMPLETED_TTL_HOURS";
    /// Maximum number of re-runs of a job after conflicts.
    max_reruns = 2, "EMEND_MAX_RERUNS";
    /// Maximum number of follow-ups that wait in a session.
    max_follow_ups = 20, "EMEND_MAX_FOLLOW_UPS";
    /// Maximum number of jobs that run at the same time in all sessions.
    max_running_jobs = 16, "EMEND_MAX_RUNNING_JOBS";
    /// Maximum length of an instruction or another text of a request in bytes.
    max_text_bytes = 1_048_576, "EMEND_MAX_TEXT_BYTES";
}

/// Returns a limit as a size; 0 means unlimited.
fn size(limit: u64) -> usize {
    if limit == 0 { usize::MAX } else { usize::try_from(limit).unwrap_or(usize::MAX) }
}

impl ServiceLimits {
    /// Returns the size above which changes are cut into several hunks.
    pub(super) fn of_hunks(&self) -> HunkLimits {
        HunkLimits { lines: size(self.max_hunk_lines), bytes: size(self.max_hunk_bytes) }
    }

    /// Returns the limits of the project tools.
    pub(super) fn of_project_tools(&self) -> ProjectToolLimits {
        ProjectToolLimits {
            max_search_results_default: size(self.max_search_results_default),
            max_search_results_cap: size(self.max_search_results_cap),
            max_search_snippet_lines: size(self.max_search_snippet_lines),
            max_read_bytes_default: size(self.max_read_bytes_default),
            max_read_lines_default: size(self.max_read_lines_default),
            ..ProjectToolLimits::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn every_limit_can_be_set_by_its_name_and_has_a_variable() {
        for (at, limit) in LIMITS.iter().enumerate() {
            let mut limits = ServiceLimits::default();
            assert!(limits.set(limit.name, 987_000 + at as u64), "{}", limit.name);
            assert_ne!(limits, ServiceLimits::default(), "{}", limit.name);
            let json = serde_json::to_value(&limits).unwrap();
            assert_eq!(json[limit.name], 987_000 + at as u64);
            assert_eq!(limit.variable, format!("EMEND_{}", limit.name.to_uppercase()));
        }
        assert!(!ServiceLimits::default().set("other", 1));
    }
}
