//! `emend tools`: lists the tools, or calls one as a model would.

use std::io::Write;
use std::process::ExitCode;

use emend_agent::error_code::Code;
use emend_agent::profile::Profile;
use emend_agent::session::call_tool;
use emend_agent::tool::{ResultForm, ToolEffect, envelope};
use emend_agent::workspace::Mode;
use emend_llm::CancelToken;
use serde_json::Value;

use crate::failure::Failure;
use crate::place::Start;
use crate::project::Project;
use crate::settings::ProfileName;
use crate::signals::CancelOnSignal;
use crate::tool_set;
use crate::visible;

pub(crate) fn list(profile: ProfileName) -> Result<ExitCode, Failure> {
    let named = |profile: Profile| {
        let profile = tool_set::with_optional_tools(profile);
        (profile.tools, profile.result_form)
    };
    let (tools, form) = match profile {
        ProfileName::Openai => named(Profile::openai("")),
        ProfileName::Anthropic => named(Profile::anthropic("")),
        ProfileName::Gemini => named(Profile::gemini("")),
        ProfileName::Auto | ProfileName::None => (tool_set::all(), ResultForm::Text),
    };
    let mut stdout = std::io::stdout().lock();
    for definition in tools.definitions() {
        let own = tools.get(&definition.name).and_then(|(_, tool)| tool.canonical_name());
        let own = own.filter(|own| *own != definition.name).map_or_else(String::new, |own| format!(" ({own})"));
        writeln!(
            stdout,
            "{}{own}\n  {}\n  {}\n",
            definition.name,
            definition.description.replace('\n', "\n  "),
            definition.parameters
        )?;
    }
    let example = form.done("OUTPUT".to_owned());
    writeln!(stdout, "Results: {}", example.as_str().map_or_else(|| example.to_string(), str::to_owned))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn call(name: &str, arguments: &str, root: &Start) -> Result<ExitCode, Failure> {
    let arguments: Value = serde_json::from_str(arguments).map_err(|error| {
        Failure::new(
            Code::InvalidArgument,
            format!("the arguments are not JSON ({error}); e.g. '{{\"file_path\": \"a.txt\"}}'"),
        )
    })?;
    let tools = tool_set::all();
    let reads = tools.get(name).is_some_and(|(_, tool)| tool.effect() == ToolEffect::Reads);
    let project = if reads { Project::open_to_read(root).await? } else { Project::open(root, Mode::Direct).await? };
    let cancel = CancelToken::new();
    let mut signals = CancelOnSignal::begin(&cancel);
    let outcome = tokio::select! {
        outcome = call_tool(&tools, &project.agents, name, arguments) => Some(outcome),
        () = signals.interrupted() => None,
        () = cancel.cancelled() => None,
    };
    // Ends processes that the tool started.
    project.workspace.environment().cleanup().await;
    if !reads {
        project.save()?;
    }
    let Some(outcome) = outcome else { return Err(Failure::new(Code::Aborted, format!("{name} was stopped"))) };
    visible::stdout().write_json(&envelope(&outcome).to_string())?;
    Ok(if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
