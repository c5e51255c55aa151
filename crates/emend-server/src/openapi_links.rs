//! The links of the OpenAPI document: the ids in a reply, and the operations that take them.
//!
//! A link follows from two tables: the ids that a reply has, given here, and the parameters and bodies of the operations.

use std::collections::BTreeMap;

use emend_agent::service::{OPERATIONS, Operation, OperationInfo};
use serde_json::{Map, Value, json};

/// Ids by name, each with the expression that finds it in a reply or its request.
type Ids = &'static [(&'static str, &'static str)];

const SESSION: (&str, &str) = ("session_id", "$request.path.session_id");
const JOB: (&str, &str) = ("job_id", "$request.path.job_id");

/// Returns the ids that the reply of an operation has, and those of its request that go with them.
fn ids(operation: Operation) -> Ids {
    match operation {
        Operation::CreateSession => &[("session_id", "$response.body#/session_id")],
        Operation::ListSessions => &[("session_id", "$response.body#/sessions/0/session_id")],
        Operation::GetSession => &[SESSION, ("job_id", "$response.body#/last_job_id")],
        Operation::Run => &[("session_id", "$request.body#/session_id"), ("job_id", "$response.body#/job_id")],
        Operation::SendComments => &[SESSION, ("job_id", "$response.body#/job_id")],
        Operation::JobEvents => &[JOB, ("output_ref", "$response.body#/events/0/data/output_ref")],
        Operation::ListJobs => &[SESSION, ("job_id", "$response.body#/jobs/0/job_id")],
        Operation::GetJob => &[
            JOB,
            ("session_id", "$response.body#/session_id"),
            ("checkpoint_id", "$response.body#/checkpoint_id"),
            ("question_id", "$response.body#/question/question_id"),
            ("tool_call_id", "$response.body#/approvals/0/tool_call_id"),
        ],
        Operation::GetReview => &[("hunk_id", "$response.body#/files/0/hunks/0/hunk_id")],
        Operation::ListFollowUps => &[SESSION, ("follow_up_id", "$response.body#/follow_ups/0/follow_up_id")],
        Operation::ListPermissions => &[SESSION, ("permission_id", "$response.body#/permissions/0/permission_id")],
        Operation::AddComment | Operation::ListComments => {
            &[SESSION, ("comment_id", "$response.body#/comments/0/comment_id")]
        }
        Operation::ListCheckpoints => &[("checkpoint_id", "$response.body#/checkpoints/0/checkpoint_id")],
        Operation::CanvasCheckOut => &[SESSION, ("lease_id", "$response.body#/lease_id")],
        Operation::CanvasReadAll => {
            &[SESSION, ("lease_id", "$request.body#/lease_id"), ("base_revision_id", "$response.body#/revision_id")]
        }
        _ => &[],
    }
}

/// Returns the links of an operation's reply: to each operation that takes one of its ids and whose path needs no other.
pub(crate) fn links(source: Operation, schemas: &BTreeMap<String, Value>) -> Map<String, Value> {
    let given = ids(source);
    let linked = OPERATIONS.iter().filter(|target| target.operation != source).filter_map(|target| {
        let link = link(target, given, schemas)?;
        Some((target.operation.name().to_owned(), link))
    });
    linked.collect()
}

fn link(target: &OperationInfo, given: Ids, schemas: &BTreeMap<String, Value>) -> Option<Value> {
    let in_path = |name: &str| target.path.contains(&format!("{{{name}}}"));
    let fields = target.request.and_then(|name| schemas.get(name)?["properties"].as_object());
    let in_body = |name: &str| fields.is_some_and(|fields| fields.contains_key(name));
    let in_query = |name: &str| target.query.iter().any(|(known, _, _)| *known == name);
    let n_path = given.iter().filter(|(name, _)| in_path(name)).count();
    if n_path < target.path.matches('{').count() {
        return None;
    }
    // A body that needs another id would only be refused.
    let required = target.request.and_then(|name| schemas.get(name)?["required"].as_array());
    let mut needed = required.into_iter().flatten().filter_map(Value::as_str).filter(|name| name.ends_with("_id"));
    if needed.any(|name| !given.iter().any(|(known, _)| *known == name)) {
        return None;
    }
    let is_taken = |name: &str| in_path(name) || in_body(name) || in_query(name);
    // An id of the request alone is nothing new.
    if !given.iter().any(|(name, from)| is_taken(name) && from.starts_with("$response")) {
        return None;
    }
    let mut link = json!({ "operationId": target.operation.name() });
    let of_query: Vec<_> = given.iter().filter(|(name, _)| in_query(name)).take(1).collect();
    let parameters = given.iter().filter(|(name, _)| in_path(name)).chain(of_query);
    let parameters: Map<String, Value> = parameters.map(|(name, from)| ((*name).to_owned(), json!(from))).collect();
    let body = given.iter().filter(|(name, _)| in_body(name) && !in_path(name));
    let body: Map<String, Value> = body.map(|(name, from)| ((*name).to_owned(), json!(from))).collect();
    for (name, values) in [("parameters", parameters), ("requestBody", body)] {
        if !values.is_empty() {
            link[name] = values.into();
        }
    }
    Some(link)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Value {
        serde_json::from_str(&crate::openapi::document()).unwrap()
    }

    /// Returns the links of an operation in a document.
    fn links_of(document: &Value, source: &str) -> Value {
        let info = OPERATIONS.iter().find(|info| info.operation.name() == source).unwrap();
        let operation = &document["paths"][info.path][info.method.name().to_lowercase()];
        operation["responses"][info.reply.0.to_string()]["links"].clone()
    }

    #[test]
    fn a_reply_links_to_the_operations_that_take_its_ids() {
        let document = document();
        let of = |source| links_of(&document, source);
        let of_session = of("CreateSession");
        let id = "$response.body#/session_id";
        assert_eq!(
            of_session["GetSession"],
            json!({ "operationId": "GetSession", "parameters": { "session_id": id } })
        );
        assert_eq!(of_session["Run"], json!({ "operationId": "Run", "requestBody": { "session_id": id } }));
        assert_eq!(of_session["GetReview"]["parameters"], json!({ "session_id": id }));
        assert_eq!(of_session["EditFollowUp"], Value::Null, "its path needs another id");
        assert_eq!(of_session["Rewind"], Value::Null, "its body needs another id");
        let of_job = of("GetJob");
        let clarify = json!({
            "operationId": "Clarify",
            "parameters": { "job_id": "$request.path.job_id" },
            "requestBody": { "question_id": "$response.body#/question/question_id" },
        });
        assert_eq!(of_job["Clarify"], clarify);
        assert_eq!(of_job["Cancel"], Value::Null, "the id comes from the request");
        assert_eq!(of("Run")["Cancel"]["parameters"], json!({ "job_id": "$response.body#/job_id" }));
        assert_eq!(of("GetSettings"), Value::Null);
    }

    #[test]
    fn every_id_of_a_path_comes_from_a_link() {
        let document = document();
        for info in OPERATIONS.iter().filter(|info| info.path.contains('{')) {
            let target = info.operation.name();
            let mut sources = OPERATIONS.iter().map(|source| links_of(&document, source.operation.name()));
            let is_linked = sources.any(|links| links.get(target).is_some());
            assert!(is_linked, "no reply leads to {target}; add its id to the table");
        }
    }
}
