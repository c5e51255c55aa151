//! All short histories in memory and in PostgreSQL, planted faults, races between connections, and promotion.

mod rules;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use emend_agent::canvas::{GUARD_MS_MAX, LEASE_TTL_MS, Lease, LeaseError, Ticket};
use serde_json::json;

use self::rules::{Act, Canvases, Reply, Request, check};
use super::*;
use crate::harness::TestServer;
use crate::migrate;

fn run<F: Future>(test: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

async fn place(server: &TestServer) -> Address {
    let address = Address::parse(&server.database()).unwrap();
    migrate(&address).await.unwrap();
    address
}

/// Number of actions of the longest histories.
const DEPTH: usize = 8;

/// The depth in the database: the whole one with `cargo xtask test --all`.
fn depth(usual: usize) -> usize {
    if std::env::var_os("EMEND_STORM").is_some() { DEPTH } else { usual }
}

/// The lease in memory, with a text.
struct Memory;

impl Canvases for Memory {
    type State = (Lease, u32);

    fn start(&self) -> Self::State {
        (Lease::default(), 0)
    }

    async fn step(&self, batch: Vec<(Self::State, Request)>) -> Vec<(Self::State, Reply)> {
        batch.into_iter().map(|(state, request)| in_memory(state, &request)).collect()
    }
}

fn in_memory((mut lease, mut content): (Lease, u32), request: &Request) -> ((Lease, u32), Reply) {
    let now = request.now;
    let number = |id: i64| u64::try_from(id).unwrap();
    let ticket = Ticket { lease_id: number(request.ticket.0), epoch: number(request.ticket.1) };
    let mut lease_id = 0;
    let done: Result<(), LeaseError> = match request.act {
        Act::Read(_) | Act::Wait(_) => Ok(()),
        Act::CheckOut(_) => lease.check_out(ticket.epoch, now).map(|ticket| lease_id = ticket.lease_id),
        Act::Renew(_) => lease.renew(ticket, now).map(drop),
        Act::CheckIn(_) => {
            lease.check_in(ticket);
            Ok(())
        }
        Act::BeginCall(_) => lease.begin_guard(ticket, now),
        Act::EndCall(_) => {
            let verified = lease.verify(ticket, now);
            lease.end_guard(ticket, now);
            verified
        }
        Act::Save(_) => lease.verify(ticket, now),
        Act::Type | Act::Cancel => {
            lease.preempt();
            Ok(())
        }
    };
    let mut code = done.err().map_or("ok", |error| error.code().as_str());
    if code == "ok" && matches!(request.act, Act::Save(_)) && request.base != content {
        code = "PATCH_REJECTED";
    }
    if code == "ok" && matches!(request.act, Act::Save(_) | Act::Type) {
        content = request.content;
    }
    let (epoch, is_held) = (i64::try_from(lease.epoch()).unwrap(), lease.held_until(now).is_some());
    let reply = Reply { code, epoch, content, is_held, lease_id: i64::try_from(lease_id).unwrap() };
    ((lease, content), reply)
}

/// The functions of the database. A state is a row as a text.
struct InDatabase {
    client: tokio_postgres::Client,
}

/// Puts a row into the table, calls the function of an action, and takes the row out again.
const STEP: &str = "CREATE SCHEMA emend_test;
CREATE FUNCTION emend_test.step(
    p_n bigint, p_row text, p_act text, p_lease bigint, p_epoch bigint, p_base text, p_content text, p_now bigint,
    OUT o_code text, OUT o_row text, OUT o_held boolean, OUT o_lease bigint, OUT o_epoch bigint, OUT o_draft text
) LANGUAGE plpgsql AS $$
DECLARE
    c emend.canvases := p_row::emend.canvases;
    v_answer jsonb;
    v_base text := emend.content_hash(p_base);
BEGIN
    c.id := p_n;
    INSERT INTO emend.canvases SELECT c.*;
    v_answer := CASE p_act
        WHEN 'CheckOut' THEN emend.check_out(c.id, p_epoch, p_now => p_now)
        WHEN 'Renew' THEN emend.renew(c.id, p_lease, p_epoch, p_now => p_now)
        WHEN 'CheckIn' THEN emend.check_in(c.id, p_lease, p_epoch, p_now)
        WHEN 'BeginCall' THEN emend.begin_guard(c.id, p_lease, p_epoch, p_now)
        WHEN 'EndCall' THEN emend.end_guard(c.id, p_lease, p_epoch, p_now => p_now)
        WHEN 'Save' THEN emend.rt_save_artefact_draft(c.id, p_lease, p_epoch, v_base, p_content, p_now)
        WHEN 'Type' THEN emend.save_user_draft(c.id, p_content, p_now)
        WHEN 'Cancel' THEN emend.preempt(c.id, p_now)
        ELSE emend.rt_get_canvas_v1(c.id)
    END;
    SELECT * INTO c FROM emend.canvases WHERE id = p_n::text;
    o_code := v_answer ->> 'code';
    o_held := emend.held_until(c, p_now) IS NOT NULL;
    o_lease := CASE WHEN p_act = 'CheckOut' AND o_code = 'ok' THEN c.lease_id ELSE 0 END;
    o_epoch := c.epoch;
    o_draft := c.draft;
    IF v_answer ->> 'revision_id' <> emend.content_hash(c.draft) OR c.draft_hash <> emend.content_hash(c.draft) THEN
        o_code := 'the answer names another revision';
    END IF;
    c.id := 0;
    o_row := c::text;
END
$$";

const CODES: [&str; 6] =
    ["ok", "STALE_EPOCH", "LOCK_NOT_OWNED", "LEASE_EXPIRED", "LOCK_NOT_AVAILABLE", "PATCH_REJECTED"];

impl InDatabase {
    async fn open(server: &TestServer) -> Self {
        let client = place(server).await.connect().await.unwrap();
        client.batch_execute(STEP).await.unwrap();
        Self { client }
    }

    /// Changes the text of a function.
    async fn plant(&self, function: &str, from: &str, to: &str) {
        let sql = "SELECT pg_get_functiondef($1::text::regproc::oid)";
        let text: String = self.client.query_one(sql, &[&function]).await.unwrap().get(0);
        assert_eq!(text.matches(from).count(), 1, "{function} has {from:?} once");
        self.client.batch_execute(&text.replace(from, to)).await.unwrap();
    }
}

impl Canvases for InDatabase {
    type State = String;

    fn start(&self) -> String {
        let hash = "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9";
        format!("(0,0,{hash},,0,0,,0,,0)")
    }

    async fn step(&self, batch: Vec<(String, Request)>) -> Vec<(String, Reply)> {
        let column = |of: fn(&Request) -> i64| batch.iter().map(|(_, request)| of(request)).collect::<Vec<i64>>();
        let rows: Vec<&str> = batch.iter().map(|(row, _)| row.as_str()).collect();
        let act = |request: &Request| format!("{:?}", request.act).split('(').next().unwrap().to_owned();
        let acts: Vec<String> = batch.iter().map(|(_, request)| act(request)).collect();
        let bases: Vec<String> = batch.iter().map(|(_, request)| request.base.to_string()).collect();
        let contents: Vec<String> = batch.iter().map(|(_, request)| request.content.to_string()).collect();
        self.client.batch_execute("TRUNCATE emend.canvases").await.unwrap();
        let sql = "SELECT s.* FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[],
            $7::bigint[]) WITH ORDINALITY AS a (p_row, act, lease, epoch, base, content, now, n),
            LATERAL emend_test.step(n, p_row, act, lease, epoch, base, content, now) AS s ORDER BY n";
        let (leases, epochs) = (column(|request| request.ticket.0), column(|request| request.ticket.1));
        let times = column(|request| i64::try_from(request.now).unwrap());
        let params: [&(dyn ToSql + Sync); 7] = [&rows, &acts, &leases, &epochs, &bases, &contents, &times];
        let found = self.client.query(sql, &params).await.unwrap();
        let reply = |row: &tokio_postgres::Row| {
            let code: &str = row.get(0);
            let code = CODES.into_iter().find(|known| *known == code).unwrap_or("unknown");
            let content = row.get::<_, &str>(5).parse().unwrap();
            (row.get(1), Reply { code, epoch: row.get(4), content, is_held: row.get(2), lease_id: row.get(3) })
        };
        found.iter().map(reply).collect()
    }
}

#[test]
fn every_short_history_in_memory_obeys_the_rules() {
    let begun = Instant::now();
    let n_steps = run(check(&Memory, DEPTH)).unwrap();
    println!("depth {DEPTH}: {n_steps} steps in {:.1?}", begun.elapsed());
    assert!(n_steps > 100_000, "only {n_steps} steps");
}

#[test]
fn every_short_history_in_the_database_obeys_the_same_rules() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let begun = Instant::now();
        let n_steps = check(&InDatabase::open(server).await, depth(5)).await.unwrap();
        println!("depth {}: {n_steps} steps in {:.1?}", depth(5), begun.elapsed());
    });
}

#[test]
fn planted_faults_are_found_with_a_shortest_history() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let table = [
            ("emend.preempt", "c.epoch := c.epoch + 1", "c.epoch := c.epoch", "[Type]"),
            (
                "emend.verify_lease",
                "emend.held_until(c, p_now) IS NULL",
                "false",
                "[CheckOut(0), Wait(15000), Renew(0)]",
            ),
            (
                "emend.rt_save_artefact_draft",
                "p_base_revision IS DISTINCT FROM c.draft_hash",
                "false",
                "[CheckOut(0), Save(0), Wait(15000), CheckOut(1), Save(1)]",
            ),
        ];
        for (function, from, to, expected) in table {
            let database = InDatabase::open(server).await;
            database.plant(function, from, to).await;
            let found = check(&database, 5).await.unwrap_err();
            println!("{function}: {found}");
            assert!(found.starts_with(expected), "{function}: {found}");
        }
    });
}

#[test]
fn constants_are_those_of_the_lease_in_memory() {
    let sql = include_str!("../../sql/002-canvas.sql");
    assert_eq!(sql.matches(&format!("p_ttl bigint DEFAULT {LEASE_TTL_MS}")).count(), 3);
    assert_eq!(sql.matches(&format!("c.guard_began_at + {GUARD_MS_MAX}")).count(), 1);
}

/// Returns the lines that an agent has appended under the lease, with the refused writes counted.
async fn edit_as_agent(canvases: PostgresCanvases, agent: usize, is_typing: Arc<AtomicBool>) -> (Vec<String>, usize) {
    let (mut lines, mut n_refused) = (Vec::new(), 0);
    for round in 0..ROUNDS {
        let seen = canvases.canvas("c").await.unwrap().unwrap();
        // Only the end of the typing gives the canvas back. An epoch that was read meanwhile is stale then.
        if is_typing.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        }
        let lease = canvases.check_out("c", seen.epoch).await.unwrap();
        let Some(lease_id) = lease.lease_id.filter(|_| lease.refusal().is_none()) else { continue };
        let ticket = CanvasTicket { lease_id, epoch: seen.epoch };
        canvases.begin_guard("c", ticket).await.unwrap();
        let base = canvases.canvas("c").await.unwrap().unwrap();
        let line = format!("agent {agent} {round}\n");
        let saved = canvases.save("c", ticket, &base.draft_hash, &format!("{}{line}", base.content)).await.unwrap();
        match saved.refusal() {
            None => lines.push(line),
            Some(_) => n_refused += 1,
        }
        canvases.check_in("c", ticket).await.unwrap();
    }
    (lines, n_refused)
}

const ROUNDS: usize = 80;

#[test]
fn racing_connections_lose_no_acknowledged_text() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let address = place(server).await;
        let user = PostgresCanvases::open(&address).await.unwrap();
        user.create("c", "").await.unwrap();
        let is_typing = Arc::new(AtomicBool::new(false));
        let mut agents = Vec::new();
        for agent in 0..3 {
            let canvases = PostgresCanvases::open(&address).await.unwrap();
            agents.push(tokio::spawn(edit_as_agent(canvases, agent, Arc::clone(&is_typing))));
        }
        let mut lines = Vec::new();
        for n in 0..ROUNDS / 4 {
            is_typing.store(true, Ordering::SeqCst);
            user.preempt("c").await.unwrap();
            let seen = user.canvas("c").await.unwrap().unwrap();
            lines.push(format!("user {n}\n"));
            user.save_of_user("c", &format!("{}{}", seen.content, lines[n])).await.unwrap();
            is_typing.store(false, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
        let mut n_refused = 0;
        for agent in agents {
            let (saved, refused) = agent.await.unwrap();
            lines.extend(saved);
            n_refused += refused;
        }
        let text = user.canvas("c").await.unwrap().unwrap().content;
        let mut found: Vec<&str> = text.split_inclusive('\n').collect();
        println!("{} lines, {n_refused} late writes refused", lines.len());
        found.sort_unstable();
        lines.sort_unstable();
        assert_eq!(found, lines, "each acknowledged line is there once, and no other");
        assert!(lines.len() > ROUNDS / 4, "agents have written, too");
    });
}

/// SHA-256 of an empty text.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn a_draft_is_promoted_once_and_not_under_a_lease() {
    let Some(server) = TestServer::shared() else { return };
    println!("covers: canvas.storage");
    run(async {
        let canvases = PostgresCanvases::open(&place(server).await).await.unwrap();
        let made = canvases.create("c", "").await.unwrap();
        assert_eq!((made.draft_hash.as_str(), made.artefact_hash), (EMPTY, None));
        assert_eq!(canvases.canvas("none").await, Ok(None));
        assert_eq!(canvases.hashes("none").await, Ok(None));
        let append = async |canvas| {
            let done = canvases.append_node("main", &json!({ "text": "hello" }), canvas).await.unwrap();
            (done.code, done.node, done.promoted)
        };
        let ok = |node, promoted| ("ok".to_owned(), Some(node), promoted);
        assert_eq!(append(Some("c")).await, ok(1, true));
        assert_eq!(append(Some("c")).await, ok(2, false), "an unchanged draft is not promoted again");
        assert_eq!(append(None).await, ok(3, false));
        let lease = canvases.check_out("c", 0).await.unwrap();
        let ticket = CanvasTicket { lease_id: lease.lease_id.unwrap(), epoch: 0 };
        let other = canvases.check_out("c", 0).await.unwrap();
        assert_eq!((other.refusal(), other.lease_id), (Some(Code::LockNotAvailable), None));
        let saved = canvases.save("c", ticket, EMPTY, "text").await.unwrap();
        assert_eq!(saved.refusal(), None);
        let late = canvases.save("c", ticket, EMPTY, "other").await.unwrap();
        assert_eq!((late.refusal(), &late.revision_id), (Some(Code::PatchRejected), &saved.revision_id));
        assert_eq!(append(Some("c")).await, ("LOCK_NOT_AVAILABLE".to_owned(), None, false));
        canvases.check_in("c", ticket).await.unwrap();
        assert_eq!(append(Some("c")).await, ok(4, true));
        let hashes = canvases.hashes("c").await.unwrap().unwrap();
        assert_eq!(hashes.artefact_hash.as_ref(), Some(&hashes.draft_hash));
        assert_eq!(hashes.draft_hash, saved.revision_id);
        let error = canvases.renew("none", ticket).await.unwrap_err();
        assert!(error.to_string().contains("there is no canvas none"), "{error}");
    });
}
