//! `emend tools`: the tools by hand, as a model would call them.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use emend_agent::code::Code;
use emend_agent::session::call_tool;
use emend_agent::tool::{ToolRegistry, envelope};
use emend_agent::tools::{EditLines, SafePatch, core_tools};
use emend_agent::workspace::Mode;
use emend_llm::Shared;
use serde_json::Value;

use crate::failure::Failure;
use crate::project::Project;

/// Every tool there is, those included that a session only has if its profile or its host asks for them.
fn tools() -> ToolRegistry {
    let mut tools = core_tools();
    tools.register(Shared::new(SafePatch));
    tools.register(Shared::new(EditLines));
    tools
}

pub(crate) fn list() -> Result<ExitCode, Failure> {
    let mut stdout = std::io::stdout().lock();
    for definition in tools().definitions() {
        writeln!(
            stdout,
            "{}\n  {}\n  {}\n",
            definition.name,
            definition.description.replace('\n', "\n  "),
            definition.parameters
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn call(name: &str, arguments: &str, root: &Path) -> Result<ExitCode, Failure> {
    let arguments: Value = serde_json::from_str(arguments).map_err(|error| {
        Failure::new(
            Code::InvalidArgument,
            format!("the arguments are not JSON ({error}); e.g. '{{\"file_path\": \"a.txt\"}}'"),
        )
    })?;
    let project = Project::open(root, Mode::Direct)?;
    let outcome = call_tool(&tools(), &project.workspace, name, arguments).await;
    project.save()?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", envelope(&outcome))?;
    Ok(if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
