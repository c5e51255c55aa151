//! `emend serve` as a program under attack and under load. The tests print requests by status, the answers of `/health`
//! meanwhile, and the memory of the server.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::serve::{Server, TOKEN, project};
use crate::support::{Project, answer_each};

/// Number of times that each attack is repeated.
const ROUNDS: usize = 25;
/// Number of connections that never complete the head of a request.
const N_HALF_OPEN: usize = 200;
/// Memory that the server may use, in MB.
const MEMORY_MAX: u64 = 200;
/// Time limit for all events of the jobs.
const WAITED_MAX: Duration = Duration::from_secs(5 * 60);
/// Number of jobs that write at once, and of the parts of the text of each.
const N_JOBS: usize = 4;
const N_PARTS: usize = 5_000;
/// Number of clients that read all events.
const N_READERS: usize = 3;

/// Starts a server without a limit on requests.
fn start(project: &Project, variables: &[(&str, &str)]) -> Server {
    start_with(project, &[], variables)
}

fn start_with(project: &Project, options: &[&str], variables: &[(&str, &str)]) -> Server {
    Server::start_with(project, &[&["--rate-limit", "0"], options].concat(), variables)
}

/// Sends bytes on a connection of their own; returns the status of the answer, 0 without one.
fn status_of(server: &Server, request: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    // The server may answer and close before it has read everything.
    let _ = stream.write_all(request);
    let mut head = [0; 12];
    match stream.read_exact(&mut head) {
        Ok(()) => String::from_utf8_lossy(&head[9..]).parse().unwrap(),
        Err(error) => {
            assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "the server neither answers nor closes");
            0
        }
    }
}

/// Returns a request with the token and the address of the server, unless the headers name others.
fn request(server: &Server, line: &str, headers: &[&str], body: &str) -> Vec<u8> {
    let usual = [
        format!("Host: {}", server.address),
        format!("Authorization: Bearer {TOKEN}"),
        format!("Content-Length: {}", body.len()),
        "Content-Type: application/json".to_owned(),
        "Connection: close".to_owned(),
    ];
    let name = |header: &str| header.split(':').next().unwrap().to_owned();
    let is_named = |header: &&String| !headers.iter().any(|given| name(given) == name(header));
    let usual = usual.iter().filter(is_named).map(String::as_str);
    let head: String = usual.chain(headers.iter().copied()).map(|header| format!("{header}\r\n")).collect();
    format!("{line} HTTP/1.1\r\n{head}\r\n{body}").into_bytes()
}

/// The attacks with the statuses that they may get; 0 stands for a closed connection.
fn attacks(server: &Server) -> Vec<(&'static str, Vec<u8>, &'static [u16])> {
    let ask = |line: &str, headers: &[&str], body: &str| request(server, line, headers, body);
    let (create, list) = ("POST /api/agent/sessions", "GET /api/agent/sessions");
    let path = "GET /api/agent/buffer?file_path=";
    vec![
        // The server answers before it has read the body; the reset can be faster than the answer.
        ("huge body", ask(create, &[], &format!("{{\"title\": \"{}\"}}", "x".repeat(9 << 20))), &[413, 0]),
        ("announced huge body", ask(create, &["Content-Length: 99999999999"], ""), &[413]),
        ("malformed body", ask(create, &[], "{\"title\": "), &[400]),
        ("deep body", ask(create, &[], &"[".repeat(200_000)), &[400]),
        ("wrong field", ask(create, &[], "{\"titel\": 1}"), &[400]),
        ("wrong token", ask(list, &["Authorization: Bearer wrong"], ""), &[401]),
        ("foreign Host", ask(list, &["Host: evil.example"], ""), &[403]),
        ("foreign Origin", ask(list, &["Origin: https://evil.example"], ""), &[403]),
        ("encoded path out of the root", ask(&format!("{path}..%2F..%2Fetc%2Fpasswd"), &[], ""), &[403]),
        ("absolute path", ask(&format!("{path}%2Fetc%2Fpasswd"), &[], ""), &[403]),
        ("page with dots", ask("GET /%2e%2e/%2e%2e/etc/passwd", &[], ""), &[404]),
        ("path with NUL", ask("GET /api/agent/sessions/%00", &[], ""), &[404]),
        ("bytes that are not HTTP", vec![0x16, 3, 1, 2, 0, 1, 0, 1, b'\r', b'\n', b'\r', b'\n'], &[400, 0]),
    ]
}

/// Returns a number of `/proc/PID/status` in MB: `VmRSS` is the memory now, and `VmHWM` the most so far.
fn memory(server: &Server, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() / 1024
}

/// Asks for `/health` again and again until the work is over. Returns the result of the work and a line of figures.
fn while_healthy<T>(server: &Server, work: impl FnOnce() -> T) -> (T, String) {
    let is_over = AtomicBool::new(false);
    let begun = Instant::now();
    thread::scope(|scope| {
        let owner = scope.spawn(|| {
            let mut times = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let began = Instant::now();
                assert_eq!(status_of(server, &request(server, "GET /health", &[], "")), 200);
                times.push(began.elapsed());
            }
            times.sort_unstable();
            times
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        is_over.store(true, Ordering::Relaxed);
        let times = owner.join().unwrap();
        let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let seconds = begun.elapsed().as_secs_f64();
        let p95 = times[(times.len() * 95 / 100).min(times.len() - 1)];
        let figures = format!(
            "{seconds:.2} s; {} answers of /health, {:.0}/s, p95 {p95:.1?}, slowest {:.1?}",
            times.len(),
            times.len() as f64 / seconds,
            times[times.len() - 1],
        );
        (result, figures)
    })
}

#[test]
fn attacks_get_their_status_while_the_server_answers_and_stays_small() {
    let project = project();
    let server = start(&project, &[]);
    let before = memory(&server, "VmRSS");
    let half_open: Vec<TcpStream> = (0..N_HALF_OPEN)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.write_all(b"GET /health HTTP/1.1\r\nHost: ").unwrap();
            stream
        })
        .collect();
    let attack = || {
        let mut found: BTreeMap<u16, BTreeMap<&str, usize>> = BTreeMap::new();
        for round in 0..ROUNDS {
            // Some megabytes each: a few are enough.
            let attacks = attacks(&server).into_iter().filter(|(name, _, _)| round < 4 || *name != "huge body");
            for (name, bytes, expected) in attacks {
                let status = status_of(&server, &bytes);
                assert!(expected.contains(&status), "{name}: {status}");
                *found.entry(status).or_default().entry(name).or_default() += 1;
            }
        }
        found
    };
    let (found, figures) = while_healthy(&server, attack);
    drop(half_open);
    let n_attacks: usize = found.values().flat_map(BTreeMap::values).sum();
    let by_status: BTreeMap<u16, usize> = found.iter().map(|(status, names)| (*status, names.values().sum())).collect();
    let (most, after) = (memory(&server, "VmHWM"), memory(&server, "VmRSS"));
    println!("{n_attacks} attacks and {N_HALF_OPEN} half-open connections in {figures}");
    println!(
        "by status, 0 is a closed connection: {by_status:?}; memory {before} MB, at most {most} MB, then {after} MB"
    );
    assert_eq!(n_attacks, ROUNDS * attacks(&server).len() - (ROUNDS - 4));
    assert!(most <= MEMORY_MAX, "{most} MB");
    // Nothing of the attacks is left.
    let sessions = server.ok("GET", "/api/agent/sessions", &Value::Null);
    assert_eq!(sessions["total"], 0);
}

/// Returns a response in the format of Chat Completions with many parts.
fn many_parts() -> String {
    let chunk = |delta: Value, finish: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        format!("data: {}\n\n", json!({ "id": "c", "object": "chat.completion.chunk", "choices": [choice] }))
    };
    let parts: String = (0..N_PARTS).map(|n| chunk(json!({ "content": format!("{n} ") }), None)).collect();
    let end = chunk(json!({}), Some("stop"));
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{parts}{end}data: [DONE]\n\n"
    )
}

/// Reads the numbers of all events of the stream until those of the jobs have come.
fn numbers(server: &Server) -> Vec<u64> {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(&request(server, "GET /api/agent/stream", &[], "")).unwrap();
    let (mut numbers, mut n_ended) = (Vec::new(), 0);
    let begun = Instant::now();
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        // The pings of a stream without events keep the time limit of one read from passing.
        assert!(begun.elapsed() < WAITED_MAX, "{n_ended} jobs of {N_JOBS} completed");
        assert!(!line.contains("\"type\":\"job.failed\""), "{line}");
        numbers.extend(line.strip_prefix("id: ").map(|id| id.parse::<u64>().unwrap()));
        n_ended += usize::from(line.starts_with("data: ") && line.contains("\"type\":\"job.completed\""));
        if n_ended == N_JOBS {
            break;
        }
    }
    numbers
}

#[test]
fn every_reader_gets_each_of_twenty_thousand_parts_while_the_server_answers() {
    let project = project();
    let (base, _requests) = answer_each(|_| many_parts());
    let variables = [("OPENAI_COMPATIBLE_BASE_URL", base.as_str()), ("EMEND_MAX_EVENTS_PER_JOB", "0")];
    let server = start(&project, &variables);
    let before = memory(&server, "VmRSS");
    let begun = Instant::now();
    let run = || {
        for n in 0..N_JOBS {
            let session = server.ok("POST", "/api/agent/sessions", &json!({ "model": "openai_compatible:m" }));
            let body = json!({ "session_id": session["session_id"], "instruction": format!("write part {n}") });
            server.ok("POST", "/api/agent/run", &body);
        }
        thread::scope(|scope| {
            let readers: Vec<_> = (0..N_READERS).map(|_| scope.spawn(|| numbers(&server))).collect();
            readers.into_iter().map(|reader| reader.join().unwrap()).collect::<Vec<_>>()
        })
    };
    let (read, figures) = while_healthy(&server, run);
    let seconds = begun.elapsed().as_secs_f64();
    let n_events = read[0].len();
    println!(
        "{n_events} events for each of {N_READERS} readers, {:.0} events/s written, {:.0}/s sent, in {figures}; memory \
         {before} MB, at most {} MB",
        n_events as f64 / seconds,
        (n_events * N_READERS) as f64 / seconds,
        memory(&server, "VmHWM"),
    );
    assert!(n_events > N_JOBS * N_PARTS, "{n_events}");
    for numbers in read {
        assert_eq!(numbers, (1..=n_events as u64).collect::<Vec<_>>());
    }
    assert!(memory(&server, "VmHWM") <= MEMORY_MAX);
}

#[test]
fn a_long_text_leaves_the_first_events_of_its_job_in_the_log() {
    let project = project();
    let (base, _requests) = answer_each(|_| many_parts());
    let server = start(&project, &[("OPENAI_COMPATIBLE_BASE_URL", base.as_str())]);
    let (_, state) = server.run_in(&json!({ "model": "openai_compatible:m" }), "write");
    assert_eq!(state["status"], "completed", "{state}");
    let path = format!("/api/agent/jobs/{}/events?limit=5000", state["job_id"].as_str().unwrap());
    let events = server.ok("GET", &path, &Value::Null)["events"].as_array().unwrap().clone();
    let of = |kind: &'static str| events.iter().filter(move |event| event["type"] == kind);
    assert_eq!(events[0]["type"], "job.queued", "{} events", events.len());
    let parts: String = of("message.delta").map(|event| event["data"]["delta"].as_str().unwrap()).collect();
    assert_eq!(of("message.completed").next().unwrap()["data"]["text"], parts);
    assert_eq!(parts, (0..N_PARTS).map(|n| format!("{n} ")).collect::<String>());
    println!("{N_PARTS} parts of a model in {} events", of("message.delta").count());
}

#[test]
fn the_last_part_of_an_output_is_shown_before_its_command_goes_on() {
    let project = project();
    let server = start_with(&project, &["--allow", "shell"], &[("EMEND_MAX_EVENTS_PER_JOB", "300")]);
    let session = server.ok("POST", "/api/agent/sessions", &json!({}))["session_id"].clone();
    // After so many parts, a part of one byte waits for more.
    let script = "for n in $(seq 60); do echo $n; sleep 0.01; done; sleep 1; printf !; sleep 60";
    std::fs::write(project.path("slow.sh"), script).unwrap();
    let job = server.ok("POST", "/api/agent/run", &json!({ "session_id": session, "instruction": "run sh slow.sh" }));
    let job = job["job_id"].as_str().unwrap();
    let wait_for = |what: &str, is_it: &dyn Fn(&Value) -> bool| {
        let begun = Instant::now();
        loop {
            let events = server.ok("GET", &format!("/api/agent/jobs/{job}/events"), &Value::Null);
            if let Some(found) = events["events"].as_array().unwrap().iter().find(|event| is_it(event)) {
                return found.clone();
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "no {what}: {events}");
            thread::sleep(Duration::from_millis(20));
        }
    };
    // A command may read hidden files, which no rule allows.
    let asked = wait_for("approval request", &|event| event["type"] == "approval.requested");
    let answer = json!({ "tool_call_id": asked["data"]["tool_call_id"], "decision": "allow" });
    server.ok("POST", &format!("/api/agent/jobs/{job}/approve"), &answer);
    let is_shown = |event: &Value| event["data"]["delta"].as_str().is_some_and(|delta| delta.ends_with('!'));
    // It comes before the end of the command, which takes as long as the command may take.
    wait_for("last part", &|event| is_shown(event) || event["type"] == "tool.call.completed");
    let events = server.ok("GET", &format!("/api/agent/jobs/{job}/events"), &Value::Null);
    let is_over = |event: &Value| event["type"] == "tool.call.completed";
    assert!(!events["events"].as_array().unwrap().iter().any(is_over), "{events}");
    server.ok("POST", &format!("/api/agent/jobs/{job}/cancel"), &json!({}));
}
