//! Tests of the `emend` program: the built binary in real directories.

#[cfg(test)]
#[cfg(target_os = "linux")]
mod attached;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod budgets;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod chat;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod chat_commands;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod chat_keys;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod chat_served;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod chat_terminal;
#[cfg(test)]
mod checkpoints;
#[cfg(test)]
#[cfg(unix)]
mod commands;
#[cfg(test)]
mod conflicts;
#[cfg(test)]
mod debug;
#[cfg(test)]
mod diff_truncate;
#[cfg(test)]
mod edit_rules;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod elsewhere;
#[cfg(test)]
#[cfg(unix)]
mod escapes;
#[cfg(test)]
mod eval;
#[cfg(test)]
#[cfg(unix)]
mod held_back;
#[cfg(test)]
#[cfg(unix)]
mod hidden;
#[cfg(test)]
#[cfg(unix)]
mod kept_apart;
#[cfg(test)]
#[cfg(unix)]
mod kill;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod kill_undo;
#[cfg(test)]
#[cfg(unix)]
mod nothing_lost;
#[cfg(test)]
mod outline;
#[cfg(test)]
mod patch;
#[cfg(test)]
mod patch_commits;
#[cfg(test)]
mod patch_refused;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod permissions;
#[cfg(test)]
#[cfg(unix)]
mod protected;
#[cfg(test)]
#[cfg(unix)]
mod put_back;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod questions;
#[cfg(test)]
mod reference;
#[cfg(test)]
#[cfg(unix)]
mod restored;
mod retried;
#[cfg(test)]
mod review;
#[cfg(test)]
#[cfg(unix)]
mod secrets;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod serve;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod serve_canvas;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod serve_canvas_apis;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod serve_kills;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod serve_kills_decisions;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod serve_load;
#[cfg(test)]
#[cfg(target_os = "linux")]
#[cfg(feature = "postgres")]
mod serve_postgres;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod served;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod servers;
#[cfg(test)]
mod session_origins;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod settings_table;
#[cfg(test)]
mod subdirectory;
#[cfg(test)]
mod support;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tape;
#[cfg(test)]
mod tasks;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod told;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod trust;
