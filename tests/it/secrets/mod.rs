//! Plants marked secrets in every setting of a host and in its files, runs whole sessions, and checks every output: none
//! may contain a secret, unless a tool that the user allowed prints it. The command line has its own test of this kind.

mod world;

use emend_agent::session::Session;
use emend_agent::store::Store;
use emend_llm::Api;
use serde_json::{Value, json};
use std::sync::Arc;

use self::world::{CONTROL, FILES, PLACES, World, echo, leaks};
use crate::checklist::covers;
use crate::http_server::response;
use crate::llm_faults::answers::{answer, error_body};
use crate::parity::wire;

const SSE: &str = "Content-Type: text/event-stream";

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Returns a response with calls in the provider's format. Its head echoes the request's secrets.
fn calls(api: Api, calls: &[(&'static str, Value)]) -> Vec<u8> {
    let calls: Vec<wire::WireCall> =
        calls.iter().enumerate().map(|(at, (name, arguments))| (format!("c{at}"), *name, arguments.clone())).collect();
    response(200, &[SSE, &format!("X-Echo: {}", echo())], wire::say(api, "", &calls).as_bytes())
}

fn text(api: Api, text: &str) -> Vec<u8> {
    response(200, &[SSE], wire::say(api, text, &[]).as_bytes())
}

/// Failures of a provider, each echoing the request's secrets. Permanent failures come last.
fn failures(api: Api) -> Vec<(&'static str, Vec<u8>)> {
    let echo = echo();
    let refused = |status: u16, names: [&str; 3]| {
        let body = error_body(api, status, names, &echo);
        response(status, &["Content-Type: application/json", &format!("X-Echo: {echo}")], body.as_bytes())
    };
    let failed = ["api_error", "server_error", "INTERNAL"];
    let coded = json!({"error": {"type": echo, "code": echo, "status": echo, "message": echo, echo.as_str(): echo}});
    let in_stream = json!({"type": "error", "error": {"type": "api_error", "message": echo}});
    let started = answer(api).start;
    vec![
        ("500", refused(500, failed)),
        ("500 with the echo as its code", response(500, &[], coded.to_string().as_bytes())),
        ("502 in plain text", response(502, &["Content-Type: text/plain"], echo.as_bytes())),
        ("429", refused(429, ["rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"])),
        ("400", refused(400, ["invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"])),
        ("an error in the stream", response(200, &[SSE], format!("{started}data: {in_stream}\n\n").as_bytes())),
        ("an event that is not JSON", response(200, &[SSE], format!("data: {{{echo}\n\n").as_bytes())),
        ("no stream", response(200, &["Content-Type: text/plain"], echo.as_bytes())),
        ("a compression", response(200, &[&format!("Content-Encoding: {echo}")], b"x")),
        ("not HTTP", format!("{echo}\r\n\r\n").into_bytes()),
        ("nothing", Vec::new()),
        ("a redirect", response(302, &[&format!("Location: http://127.0.0.1:1/{}", PLACES[0].1)], b"")),
        ("401", refused(401, ["authentication_error", "invalid_api_key", "UNAUTHENTICATED"])),
    ]
}

/// Runs a session through success, failures of tools and of the provider; resumes and forks it.
async fn session(world: &mut World, api: Api) {
    let grep = ("grep", json!({"pattern": "two"}));
    let edit = ("edit_file", json!({"file_path": "notes.md", "old_string": "two", "new_string": "2"}));
    let shell = ("shell", json!({"command": "env; ls -a; echo changed >> notes.md"}));
    let child = [("spawn_agent", json!({"task": "look around"})), ("wait", json!({"agent_id": "agent_1"}))];
    world.prepare(
        vec![
            calls(api, &[("list_dir", json!({})), ("glob", json!({"pattern": "**"})), grep]),
            calls(api, &[("read_file", json!({"file_path": "notes.md"})), edit, shell.clone()]),
            calls(api, &child),
            calls(api, &[shell]),
            text(api, "The child has looked."),
        ],
        text(api, "Done."),
    );
    let seen = world.submit("work on @notes.md and @./").await;
    assert!(seen.contains("agent_1") && seen.contains("The child has looked."), "{seen}");

    let wrong = [
        ("read_file", json!({"file_path": ".envv"})),
        ("read_file", json!({"file_path": "../.env"})),
        ("read_file", json!({"path": 1})),
        ("edit_file", json!({"file_path": "notes.md", "old_string": "absent", "new_string": "x"})),
        ("shell", json!({"command": "exit 3"})),
        ("no_such_tool", json!({})),
    ];
    world.prepare(vec![calls(api, &wrong)], text(api, "That failed."));
    world.submit("go wrong").await;

    let (mut n_failed, mut n_hidden) = (0, 0);
    for (name, bytes) in failures(api) {
        if world.session.is_closed() {
            // A permanent failure closes the session; the conversation resumes in a new one.
            let store = Arc::clone(&world.store) as Arc<dyn Store>;
            world.session = Session::resume(world.options(), store, world.session.id()).await.unwrap();
        }
        world.prepare(Vec::new(), bytes);
        let seen = world.submit(name).await;
        assert!(seen.contains("\"ERROR\""), "{name} for {}: {seen}", api.name());
        n_failed += 1;
        n_hidden += usize::from(seen.contains("[redacted]"));
    }
    // Positive control: most errors do quote the provider.
    assert!(n_failed == 13 && n_hidden >= 7, "{n_hidden} of {n_failed} said what was left out");

    let store = Arc::clone(&world.store) as Arc<dyn Store>;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (url, key) in [
        (format!("http://{free}"), PLACES[0].1.to_owned()),
        ("http://not a host".to_owned(), PLACES[0].1.to_owned()),
        (world.server.url(), format!("{}\nx", PLACES[0].1)),
    ] {
        let options = world.options_at(&url, &key);
        world.session = Session::resume(options, Arc::clone(&store), world.session.id()).await.unwrap();
        let seen = world.submit("no server is there").await;
        assert!(seen.contains("\"ERROR\""), "{url}: {seen}");
    }
    world.session = Session::fork(world.options(), store, world.session.id(), None).await.unwrap();
    world.prepare(Vec::new(), text(api, "Hello again."));
    assert!(world.submit("and now?").await.contains("Hello again."));
}

#[test]
fn no_output_contains_a_secret_unless_an_allowed_tool_prints_it() {
    covers("secrets.outlets secrets.errors");
    for api in Api::ALL {
        let mut world = World::new(api);
        run(async {
            session(&mut world, api).await;
            let requests = world.server.requests().concat();
            for (place, secret) in &PLACES[..3] {
                assert!(requests.contains(secret), "the control: the {place} was sent in {}", api.name());
            }
            assert_eq!(leaks(&world.bodies(), &[PLACES.as_slice(), &FILES].concat()), [""; 0], "shown to the model");
            let mut n_outlets = 0;
            for (outlet, text, control) in world.outlets().await {
                assert!(text.contains(&control), "{outlet} of {} lacks {control}: {text}", api.name());
                let found = leaks(&text, &[PLACES.as_slice(), &FILES].concat());
                assert!(found.is_empty(), "{outlet} of {} holds {found:?}: {text}", api.name());
                n_outlets += 1;
            }
            println!("{} places, {n_outlets} outlets, {}", PLACES.len() + FILES.len(), api.name());
            // Positive control: output of a tool that the user allowed is shown.
            world.prepare(vec![calls(api, &[("shell", json!({"command": "cat .env"}))])], text(api, CONTROL));
            world.submit("show me").await;
            for (outlet, text, _) in world.outlets().await.into_iter().take(3) {
                assert_eq!(leaks(&text, &FILES), [".env"], "{outlet} of {}", api.name());
                assert_eq!(leaks(&text, &PLACES), [""; 0], "{outlet} of {}", api.name());
            }
        });
    }
}
