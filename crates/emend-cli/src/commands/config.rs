//! `emend config`: every setting with its value and the source of the value.

use std::io::Write;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::approve;
use crate::args::SessionArgs;
use crate::failure::Failure;
use crate::settings::{PROJECT_FILE, SettingRow, Settings, user_file};

pub(crate) fn config(args: &SessionArgs, json: bool) -> Result<ExitCode, Failure> {
    let settings = Settings::load(&args.root, &args.settings)?;
    approve::policy(&settings)?;
    let rows = settings.rows();
    let mut stdout = std::io::stdout().lock();
    if json {
        for SettingRow { name, value, source } in rows {
            writeln!(stdout, "{}", json!({ "name": name, "value": value, "source": source.to_string() }))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let shown = |value: &Value| match value {
        Value::Null => "-".to_owned(),
        value => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
    };
    let width = rows.iter().map(|row| shown(&row.value).chars().count()).max().unwrap_or_default();
    for SettingRow { name, value, source } in rows {
        writeln!(stdout, "{name:13}  {:width$}  {source}", shown(&value))?;
    }
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let user = user_file(&variable).map_or_else(|| "(no home)".to_owned(), |path| path.display().to_string());
    writeln!(stdout, "\nyour file     {user}\nproject file  {}", args.root.join(PROJECT_FILE).display())?;
    Ok(ExitCode::SUCCESS)
}
