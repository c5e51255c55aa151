//! `emend config`: every setting with its value and the source of the value.

use std::io::Write;
use std::process::ExitCode;

use emend_llm::PROVIDERS;
use serde_json::json;

use super::config_defaults::{filled, shown};
use crate::approve;
use crate::args::SessionArgs;
use crate::failure::Failure;
use crate::session_config;
use crate::settings::{PROJECT_FILE, SettingRow, Settings, user_file};
use crate::visible;

pub(crate) fn config(args: &SessionArgs, json: bool) -> Result<ExitCode, Failure> {
    let place = Settings::place(&args.root, &args.settings)?;
    let settings = Settings::load(&place, &args.settings)?;
    approve::policy(&settings)?;
    session_config::check(&settings)?;
    let rows = filled(settings.rows(), &settings);
    let mut stdout = visible::listing();
    if json {
        for SettingRow { name, value, source } in rows {
            stdout.write_json(&json!({ "name": name, "value": value, "source": source.to_string() }).to_string())?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (of_tables, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(SettingRow::is_of_table);
    write_rows(&mut stdout, &rows)?;
    writeln!(stdout)?;
    write_rows(&mut stdout, &of_tables)?;
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let user = user_file(&variable).map_or_else(|| "(no home)".to_owned(), |path| path.display().to_string());
    writeln!(stdout, "\nyour file     {user}")?;
    for (directory, _) in place.directories() {
        writeln!(stdout, "project file  {}", directory.join(PROJECT_FILE).display())?;
    }
    writeln!(stdout)?;
    for info in &PROVIDERS {
        let key = info.key_variables.iter().find(|name| variable(name).is_some());
        let key = match key {
            Some(name) => format!("key: {name}"),
            None if info.needs_base_url => "key: none".to_owned(),
            None => format!("key: none; set {}", info.required_variable()),
        };
        let address = match variable(info.base_url_variable) {
            Some(url) => format!(", address: {} ({})", without_secrets(&url), info.base_url_variable),
            None if info.needs_base_url => format!(", address: none; set {}", info.base_url_variable),
            None => String::new(),
        };
        writeln!(stdout, "{:18}  {key}{address}", info.name)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints settings in columns.
fn write_rows(out: &mut impl Write, rows: &[SettingRow]) -> std::io::Result<()> {
    let name_width = rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
    let width = rows.iter().map(|row| shown(&row.name, &row.value).chars().count()).max().unwrap_or_default();
    for SettingRow { name, value, source } in rows {
        writeln!(out, "{name:name_width$}  {:width$}  {source}", shown(name, value))?;
    }
    Ok(())
}

/// Returns an address without user, password, query and fragment, which may be secrets.
fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (host, path) = rest.split_once('/').map_or((rest, String::new()), |(host, path)| (host, format!("/{path}")));
    let host = host.rsplit('@').next().unwrap_or_default();
    if scheme.is_empty() { format!("{host}{path}") } else { format!("{scheme}://{host}{path}") }
}
