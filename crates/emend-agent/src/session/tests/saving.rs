//! Sessions that are saved, resumed after a crash at any byte, and forked.

use std::sync::atomic::{AtomicBool, Ordering};

use expect_test::expect;
use futures::FutureExt;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::error_code::Code;
use crate::history::HistoryEntryKind;
use crate::store::{MemStore, Store, StoreError, list_sessions, read_document, remove_session};
use crate::test_support::covers;

fn store_of(world: &World) -> Shared<MemStore> {
    let store = Shared::new(MemStore::new());
    let _ = world.session.clone().with_store(Shared::clone(&store) as Shared<dyn Store>);
    store
}

fn saved(store: &MemStore, id: &str) -> String {
    // Without waiting, because a test reads the store during a run.
    store.load(id).now_or_never().unwrap().unwrap().unwrap_or_default()
}

fn texts(entries: &[HistoryEntry]) -> Vec<String> {
    entries.iter().map(|entry| format!("{:?} {}", entry.kind, entry.message.text())).collect()
}

/// A saved session of two runs, one of them with a round of tools.
fn world() -> (World, Shared<MemStore>) {
    let answers =
        vec![Answer::Call(vec![read(), edit("two", "2")]), Answer::Say("Done."), Answer::Say("You're welcome.")];
    let world = World::new(NOTES, answers, Setup::default());
    let store = store_of(&world);
    world.turn("do it");
    world.turn("thanks");
    (world, store)
}

#[test]
fn each_step_is_saved_before_the_next() {
    covers("session.saved");
    let world = World::new(NOTES, vec![Answer::Call(vec![read()]), Answer::Say("Done.")], Setup::default());
    let store = store_of(&world);
    let heard: Shared<Mutex<Vec<usize>>> = Shared::default();
    for at in [1, 2] {
        let (store, heard) = (Shared::clone(&store), Shared::clone(&heard));
        world.when(at, move |session| heard.lock().unwrap().push(saved(&store, session.id()).lines().count()));
    }
    world.turn("do it");
    assert_eq!(*heard.lock().unwrap(), [2, 4], "header and message; then call and result");
    let document = read_document(&saved(&store, world.session.id())).unwrap();
    assert_eq!(document.entries, world.session.entries());
    assert_eq!((&*document.header.id, &*document.header.model), (world.session.id(), "m"));
}

#[test]
fn a_session_that_was_cut_off_at_any_byte_goes_on() {
    covers("session.saved");
    let (world, store) = world();
    let (id, whole) = (world.session.id().to_owned(), world.session.entries());
    let document = saved(&store, &id);
    let header_end = document.find('\n').unwrap();
    assert_eq!(whole.len(), 6);
    for end in (0..=document.len()).filter(|&end| document.is_char_boundary(end)) {
        let store = Shared::new(MemStore::new());
        store.insert(&id, document[..end].to_owned());
        let options = world.options(vec![Answer::Say("Here I am.")]);
        let resumed = block_on(Session::resume(options, Shared::clone(&store) as Shared<dyn Store>, &id));
        if end < header_end {
            assert_eq!(resumed.err().unwrap().code(), Code::InvalidArgument, "no header, no session: {end}");
            continue;
        }
        let resumed = resumed.unwrap();
        let entries = resumed.entries();
        assert!(is_valid(&entries), "{end}");
        let n_whole = entries.iter().zip(&whole).take_while(|(a, b)| a == b).count();
        let mended = &entries[n_whole..];
        assert!(mended.is_empty() || (mended.len() == 1 && mended[0].kind == HistoryEntryKind::ToolResults), "{end}");
        // The resumed session continues, and its document holds the whole conversation.
        let run = resumed.submit("are you there?", CancelToken::new()).unwrap();
        let events: Vec<Event> = block_on(run.collect());
        assert!(
            events
                .iter()
                .any(|event| matches!(&event.kind, EventKind::AssistantTextEnd { text, .. } if text == "Here I am."))
        );
        assert_eq!(read_document(&saved(&store, &id)).unwrap().entries, resumed.entries(), "{end}");
    }
}

#[test]
fn a_call_whose_result_was_lost_is_answered_by_saying_so() {
    let (world, store) = world();
    let id = world.session.id().to_owned();
    let lines: Vec<String> = saved(&store, &id).lines().map(str::to_owned).collect();
    store.insert(&id, lines[..3].join("\n"));
    let options = world.options(vec![Answer::Say("I will look.")]);
    world.script.requests.lock().unwrap().clear();
    let resumed = block_on(Session::resume(options, store, &id)).unwrap();
    assert_eq!(resumed.id(), id);
    let _: Vec<Event> = block_on(resumed.submit("go on", CancelToken::new()).unwrap().collect());
    let requests = world.script.requests.lock().unwrap();
    let results = format!("{:?}", requests[0].messages[3].content);
    assert_eq!(results.matches("was lost when the session was interrupted").count(), 2, "{results}");
}

#[test]
fn a_conversation_that_was_repaired_in_the_middle_is_saved_as_repaired() {
    covers("session.saved");
    let (world, store) = world();
    let id = world.session.id().to_owned();
    // Header, message, calls, results, answer, message, answer.
    let document = saved(&store, &id);
    let lines: Vec<&str> = document.lines().collect();
    assert_eq!((lines.len(), lines[3].contains("tool_results")), (7, true));
    store.insert(&id, document.replace(&format!("{}\n", lines[3]), "damaged\n"));
    let resume = || {
        let options = world.options(vec![Answer::Say("Here I am.")]);
        block_on(Session::resume(options, Shared::clone(&store) as Shared<dyn Store>, &id)).unwrap()
    };
    let resumed = resume();
    assert_eq!(resumed.entries().len(), 6, "the lost results were replaced");
    let _: Vec<Event> = block_on(resumed.submit("are you there?", CancelToken::new()).unwrap().collect());
    assert_eq!(resumed.entries().len(), 8);
    assert_eq!(read_document(&saved(&store, &id)).unwrap().entries, resumed.entries());
    assert_eq!(resume().entries(), resumed.entries());
}

#[test]
fn a_fork_begins_where_it_is_told_and_leaves_the_first_alone() {
    covers("session.saved");
    let (world, store) = world();
    let id = world.session.id().to_owned();
    let before = saved(&store, &id);
    let fork = |n_turns| {
        let store = Shared::clone(&store) as Shared<dyn Store>;
        block_on(Session::fork(world.options(vec![Answer::Say("Another way.")]), store, &id, n_turns)).unwrap()
    };
    for (n_turns, expected) in [(Some(0), 0), (Some(1), 1), (Some(2), 1), (Some(3), 3), (None, 6), (Some(99), 6)] {
        assert_eq!(texts(&fork(n_turns).entries()), texts(&world.session.entries()[..expected]), "{n_turns:?}");
    }
    let forked = fork(Some(4));
    let _: Vec<Event> = block_on(forked.submit("again", CancelToken::new()).unwrap().collect());
    let document = read_document(&saved(&store, forked.id())).unwrap();
    assert_eq!(document.entries, forked.entries());
    assert_eq!(document.header.forked_from.map(|from| (from.id, from.n_turns)), Some((id.clone(), 4)));
    assert_eq!(saved(&store, &id), before);
    assert!(forked.id() != id && block_on(list_sessions(&*store)).unwrap().contains(&forked.id().to_owned()));
}

#[test]
fn a_compacted_conversation_is_saved_as_it_is_then() {
    let fixture = format!("//- notes.md\n{}\n", "x".repeat(4_000));
    let mut answers = vec![Answer::Call(vec![read()]); 3];
    answers.extend([Answer::Say("Done."), Answer::Say("More.")]);
    let world = World::new(&fixture, answers, Setup::default());
    let store = store_of(&world);
    world.turn("do it");
    block_on(world.session.compact()).unwrap();
    world.turn("go on");
    let document = read_document(&saved(&store, world.session.id())).unwrap();
    assert_eq!(document.entries, world.session.entries());
    assert!(saved(&store, world.session.id()).contains("was removed to save room"));
}

#[test]
fn large_outputs_are_kept_beside_the_conversation_and_removed_with_it() {
    covers("session.saved");
    let long = |word: &str| format!("{word} line\n").repeat(10_000);
    let fixture = format!("//- a.md\n{}//- b.md\n{}", long("one"), long("other"));
    let call = |path: &str| ("read_file", json!({"file_path": path, "limit": 20_000}));
    let calls = Answer::Call(vec![call("a.md"), call("b.md")]);
    let world = World::new(&fixture, vec![calls, Answer::Say("Done.")], Setup::default());
    let store = store_of(&world);
    let events: Vec<Event> = block_on(world.session.submit("do it", CancelToken::new()).unwrap().collect());
    let kept: Vec<(String, String)> = events
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::ToolCallEnd { output, output_ref, .. } => Some((output_ref.unwrap(), output)),
            _ => None,
        })
        .collect();
    assert!(kept.len() == 2 && kept[0].0 != kept[1].0 && kept[1].1.contains("other line"));
    for (name, output) in kept {
        assert_eq!(block_on(world.session.output(&name)), Ok(Some(output)));
    }
    assert_eq!(block_on(list_sessions(&*store)).unwrap(), [world.session.id()]);
    assert!(block_on(remove_session(&*store, world.session.id())).unwrap());
    assert_eq!(block_on(store.names()).unwrap(), [""; 0]);
}

#[test]
fn what_cannot_be_resumed_is_refused() {
    let (world, store) = world();
    let resume = |id: &str| {
        let store = Shared::clone(&store) as Shared<dyn Store>;
        block_on(Session::resume(world.options(vec![]), store, id)).err().unwrap()
    };
    assert_eq!(resume("sess_none"), ResumeError::NotFound { id: "sess_none".to_owned() });
    assert_eq!(resume("../x").code(), Code::InvalidArgument);
    store.insert("newer", "{\"type\":\"session\",\"version\":9}\n".to_owned());
    assert_eq!(resume("newer").code(), Code::Unsupported);
}

/// A store whose disk is sometimes full, and whose documents sometimes have another writer.
#[derive(Default)]
struct Full {
    inner: MemStore,
    full: AtomicBool,
    taken: AtomicBool,
}

impl Store for Full {
    fn append<'a>(&'a self, name: &'a str, lines: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        if self.full.load(Ordering::SeqCst) {
            let error = StoreError::Io { name: name.to_owned(), reason: "no space left".to_owned() };
            return Box::pin(std::future::ready(Err(error)));
        }
        if self.taken.load(Ordering::SeqCst) {
            return Box::pin(std::future::ready(Err(StoreError::Conflict { name: name.to_owned() })));
        }
        self.inner.append(name, lines)
    }

    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        self.inner.load(name)
    }

    fn names(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        self.inner.names()
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.inner.remove(name)
    }
}

#[test]
fn a_store_that_fails_is_a_warning_and_what_it_missed_is_saved_later() {
    covers("session.saved");
    let answers = vec![Answer::Call(vec![read()]), Answer::Say("Done."), Answer::Say("Again."), Answer::Say("Over.")];
    let world = World::new(NOTES, answers, Setup::default());
    let store = Shared::new(Full::default());
    let _ = world.session.clone().with_store(Shared::clone(&store) as Shared<dyn Store>);
    store.full.store(true, Ordering::SeqCst);
    expect![[r#"
        SESSION_START {"model":"m","provider":"script","offline":false}
        USER_INPUT {"content":"do it"}
        WARNING {"code":"not_saved","message":"The conversation could not be saved (00000000-0000-4001-8000-000000000002: no space left); it goes on unsaved."}
        TOOL_CALL_START read_file
        TOOL_CALL_END read_file ok
        ASSISTANT_TEXT_START {}
        ASSISTANT_TEXT_DELTA {"delta":"Do"}
        ASSISTANT_TEXT_DELTA {"delta":"ne."}
        ASSISTANT_TEXT_END {"text":"Done."}
        PROCESSING_END {"reason":"natural","usage":{"input_tokens":20,"output_tokens":2,"total_tokens":22}}
    "#]].assert_eq(&world.turn("do it"));
    store.full.store(false, Ordering::SeqCst);
    world.turn("go on");
    let text = block_on(store.load(world.session.id())).unwrap().unwrap();
    assert_eq!(read_document(&text).unwrap().entries, world.session.entries());
    store.full.store(true, Ordering::SeqCst);
    assert!(world.turn("go on").contains("not_saved"), "a failure after a success is reported again");
}

#[test]
fn a_run_ends_with_an_error_when_another_writer_has_continued_the_session() {
    covers("session.saved");
    let answers = vec![Answer::Say("Done."), Answer::Call(vec![read()]), Answer::Say("Never said.")];
    let world = World::new(NOTES, answers, Setup::default());
    let store = Shared::new(Full::default());
    let _ = world.session.clone().with_store(Shared::clone(&store) as Shared<dyn Store>);
    world.turn("do it");
    let taken = Shared::clone(&store);
    world.when(2, move |_| taken.taken.store(true, Ordering::SeqCst));
    let message = "Another agent has continued this saved session, so the last messages here were not saved. Resume the \
                   session to continue from its present end, or fork it.";
    let ends = |events: &str, tokens: &str| {
        let error = format!("ERROR {{\"code\":\"conflict\",\"message\":\"{message}\",\"suggestions\":[]}}\n");
        let end = format!("PROCESSING_END {{\"reason\":\"error\",\"usage\":{tokens}}}\n");
        assert!(events.ends_with(&(error + &end)), "{events}");
    };
    // The response to the second message cannot be saved: its call does not run.
    let events = world.turn("go on");
    ends(&events, "{\"input_tokens\":10,\"output_tokens\":1,\"total_tokens\":11}");
    assert!(!events.contains("TOOL_CALL_START"), "{events}");
    assert!(is_valid(&world.session.entries()));
    // The third message cannot be saved, even if the store takes lines again: the model is not called.
    store.taken.store(false, Ordering::SeqCst);
    ends(&world.turn("go on"), "{\"input_tokens\":0,\"output_tokens\":0,\"total_tokens\":0}");
    assert_eq!(world.script.requests.lock().unwrap().len(), 2);
}
