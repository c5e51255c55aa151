//! `emend tools`: the tools by hand, as a model would call them.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use emend_agent::error_code::Code;
use emend_agent::profile::Profile;
use emend_agent::session::call_tool;
use emend_agent::tool::{ResultForm, Tool, ToolRegistry, envelope};
use emend_agent::tools::{
    ClarifyUser, EditLines, SafePatch, WebFetch, WebFetchOptions, core_tools, register_subagent_tools,
};
use emend_agent::workspace::Mode;
use emend_host::{ReqwestTransport, SystemClock, Timeouts};
use emend_llm::{CancelToken, Shared, Transport};
use serde_json::Value;

use crate::failure::Failure;
use crate::project::Project;
use crate::settings::ProfileName;
use crate::signals;

/// Every tool there is, those included that a session only has if its profile or its host asks for them.
pub(crate) fn tools() -> ToolRegistry {
    let mut tools = core_tools();
    tools.register(Shared::new(SafePatch));
    tools.register(Shared::new(EditLines));
    tools.register(Shared::new(ClarifyUser));
    tools.register(web_fetch());
    tools
}

/// How long a page may be silent, and how long it may take in all.
const WEB_TIMEOUTS: Timeouts = Timeouts { connect_ms: 10_000, idle_ms: 20_000, total_ms: 30_000 };

/// Returns the tool that fetches pages of the public web.
fn web_fetch() -> Shared<dyn Tool> {
    Shared::new(WebFetch::new(web_transport(), Shared::new(SystemClock), WebFetchOptions::default()))
}

/// Returns the transport for pages: it connects to public addresses only.
pub(crate) fn web_transport() -> Shared<dyn Transport> {
    Shared::new(ReqwestTransport::new(WEB_TIMEOUTS).public_only())
}

/// Returns every name that a tool has in any family.
pub(crate) fn names() -> Vec<String> {
    let mut own = tools();
    register_subagent_tools(&mut own);
    let families = [Profile::openai(""), Profile::anthropic(""), Profile::gemini("")];
    let families = families.map(|profile| whole(profile).with_subagents().tools);
    [own].iter().chain(&families).flat_map(|tools| tools.names().map(str::to_owned)).collect()
}

/// Returns a profile with the tools that a session only has if it is asked for them.
fn whole(profile: Profile) -> Profile {
    profile.with_questions().with_tool(web_fetch())
}

pub(crate) fn list(profile: ProfileName) -> Result<ExitCode, Failure> {
    let named = |profile: Profile| {
        let profile = whole(profile);
        (profile.tools, profile.result_form)
    };
    let (tools, form) = match profile {
        ProfileName::Openai => named(Profile::openai("")),
        ProfileName::Anthropic => named(Profile::anthropic("")),
        ProfileName::Gemini => named(Profile::gemini("")),
        ProfileName::Auto | ProfileName::None => (tools(), ResultForm::Text),
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

pub(crate) async fn call(name: &str, arguments: &str, root: &Path) -> Result<ExitCode, Failure> {
    let arguments: Value = serde_json::from_str(arguments).map_err(|error| {
        Failure::new(
            Code::InvalidArgument,
            format!("the arguments are not JSON ({error}); e.g. '{{\"file_path\": \"a.txt\"}}'"),
        )
    })?;
    let project = Project::open(root, Mode::Direct)?;
    let cancel = CancelToken::new();
    let mut stopped_first = signals::CancelOnSignal::begin(&cancel);
    let tools = tools();
    let outcome = tokio::select! {
        outcome = call_tool(&tools, &project.workspace, name, arguments) => Some(outcome),
        () = stopped_first.interrupted() => None,
        () = cancel.cancelled() => None,
    };
    // What a command started ends with it.
    project.workspace.environment().cleanup().await;
    project.save()?;
    let Some(outcome) = outcome else { return Err(Failure::new(Code::Aborted, format!("{name} was stopped"))) };
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", envelope(&outcome))?;
    Ok(if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
