//! The tools of the program, and the names that models know them by.

use emend_agent::profile::Profile;
use emend_agent::tool::{Tool, ToolRegistry};
use emend_agent::tools::{ClarifyUser, EditLines, SafePatch, WebFetch, WebFetchOptions, core_tools};
use emend_host::{Outline, ReqwestTransport, SystemClock, Timeouts};
use emend_llm::{Shared, Transport};

/// Returns every tool but those for subagents, by canonical name.
///
/// A session has some of them only if its profile or the settings ask for them.
pub(crate) fn all() -> ToolRegistry {
    let mut tools = core_tools();
    tools.register(Shared::new(SafePatch));
    tools.register(Shared::new(EditLines));
    tools.register(Shared::new(ClarifyUser));
    tools.register(web_fetch());
    tools.register(outline());
    tools
}

/// Names of tools that only this program has. Rules and limits may use them, too.
pub(crate) const OWN_NAMES: [&str; 1] = ["outline"];

/// Returns the tool that shows the definitions of source files.
pub(crate) fn outline() -> Shared<dyn Tool> {
    Shared::new(Outline)
}

/// Time limits for fetching a page.
const WEB_TIMEOUTS: Timeouts = Timeouts { connect_ms: 10_000, idle_ms: 20_000, total_ms: 30_000 };

/// Returns the tool that fetches pages of the public web.
fn web_fetch() -> Shared<dyn Tool> {
    Shared::new(WebFetch::new(web_transport(), Shared::new(SystemClock), WebFetchOptions::default()))
}

/// Returns the transport for pages: it connects to public addresses only.
pub(crate) fn web_transport() -> Shared<dyn Transport> {
    Shared::new(ReqwestTransport::new(WEB_TIMEOUTS).public_only())
}

/// Returns a profile with the tools that are off by default, except those for subagents.
pub(crate) fn with_optional_tools(profile: Profile) -> Profile {
    profile.with_questions().with_tool(web_fetch()).with_tool(outline())
}

#[cfg(test)]
mod tests {
    use emend_agent::profile::check_tool_name;
    use emend_agent::tools::register_subagent_tools;

    use super::*;

    #[test]
    fn a_rule_may_use_every_name_of_every_tool() {
        let mut own = all();
        register_subagent_tools(&mut own);
        let families = [Profile::openai(""), Profile::anthropic(""), Profile::gemini("")];
        let families = families.map(|profile| with_optional_tools(profile).with_subagents().tools);
        for name in std::iter::once(&own).chain(&families).flat_map(ToolRegistry::names) {
            let canonical = check_tool_name(name, &OWN_NAMES).unwrap();
            assert!(own.get(canonical).is_some(), "{name} is {canonical}");
        }
    }
}
