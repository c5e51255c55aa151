//! What needs a host: recorded cases in files, other programs as oracles. The browser runs the rest.

#[path = "agent_conformance.rs"]
pub(crate) mod agent_conformance;
#[path = "checklist.rs"]
pub(crate) mod checklist;
#[path = "edit_cases.rs"]
pub(crate) mod edit_cases;
#[path = "http_server.rs"]
pub(crate) mod http_server;
#[path = "llm_conformance.rs"]
pub(crate) mod llm_conformance;
#[path = "llm_faults/mod.rs"]
pub(crate) mod llm_faults;
#[path = "llm_shapes.rs"]
pub(crate) mod llm_shapes;
#[path = "malformed.rs"]
pub(crate) mod malformed;
#[path = "patch_cases.rs"]
pub(crate) mod patch_cases;
#[path = "patch_oracles.rs"]
pub(crate) mod patch_oracles;
#[path = "real_edits.rs"]
pub(crate) mod real_edits;
#[path = "wire.rs"]
pub(crate) mod wire;
#[path = "wire_encode.rs"]
pub(crate) mod wire_encode;
