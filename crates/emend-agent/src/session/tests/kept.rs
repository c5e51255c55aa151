//! The records that a session keeps of each response, and the numbers and settings that it gives to others.

use futures::FutureExt;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::history::HistoryEntryKind;
use crate::store::{MemStore, Store, read_document};

const NOTES: &str = "//- notes.md\none\n";

#[test]
fn an_entry_has_the_usage_and_the_id_of_its_response() {
    let world = World::new(NOTES, vec![Answer::Say("Done.")], Setup::default());
    world.turn("go");
    let entries = world.session.entries();
    let kept: Vec<(bool, bool)> =
        entries.iter().map(|entry| (entry.usage.is_some(), entry.response_id.is_some())).collect();
    assert_eq!(kept, [(false, false), (true, true)]);
}

#[test]
fn a_response_that_only_reasons_is_no_entry() {
    let n_responses = |answer: Answer| {
        let world = World::new(NOTES, vec![answer], Setup::default());
        world.turn("go");
        world.session.entries().iter().filter(|entry| entry.kind == HistoryEntryKind::Assistant).count()
    };
    assert_eq!(n_responses(Answer::Reason("hm", "")), 0);
    assert_eq!(n_responses(Answer::Reason("hm", "Done.")), 1);
}

#[test]
fn dropping_a_run_cancels_its_work_unless_it_has_ended() {
    let world = World::new(NOTES, vec![Answer::Say("Done."), Answer::Say("Done.")], Setup::default());
    let cancel = CancelToken::new();
    let mut run = world.session.submit("go", cancel.clone()).unwrap();
    assert!(run.next().now_or_never().flatten().is_some());
    drop(run);
    assert!(cancel.is_cancelled());
    let cancel = CancelToken::new();
    let run = world.session.submit("go", cancel.clone()).unwrap();
    let _: Vec<Event> = block_on(run.collect());
    assert!(!cancel.is_cancelled());
}

#[test]
fn the_id_of_a_session_is_a_random_uuid() {
    struct Fixed;
    impl Random for Fixed {
        fn next_u64(&self) -> u64 {
            0xfedc_ba98_7654_3210
        }
    }
    let world = World::new(NOTES, Vec::new(), Setup::default());
    let session = Session::new(SessionOptions { random: Shared::new(Fixed), ..world.options(Vec::new()) });
    assert_eq!(session.id(), "fedcba98-7654-4210-bedc-ba9876543210");
}

#[test]
fn a_profile_limits_parallel_calls_and_streaming_but_does_not_switch_them_on() {
    for (supported, wanted) in [(true, true), (true, false), (false, true), (false, false)] {
        let world = World::new(NOTES, Vec::new(), Setup::default());
        let mut profile = Profile::openai("m");
        (profile.supports_parallel_tool_calls, profile.supports_streaming) = (supported, supported);
        let config = SessionConfig { parallel_tool_calls: wanted, streaming: wanted, ..SessionConfig::default() };
        let config = with_profile(profile, world.options(Vec::new()), config).config;
        assert_eq!((config.parallel_tool_calls, config.streaming), (supported && wanted, supported && wanted));
    }
}

#[test]
fn a_resumed_session_saves_new_entries_alone() {
    let world = World::new(NOTES, vec![Answer::Say("Done.")], Setup::default());
    let store = Shared::new(MemStore::new());
    let _ = world.session.clone().with_store(Shared::clone(&store) as Shared<dyn Store>);
    world.turn("go");
    let id = world.session.id().to_owned();
    let load = || store.load(&id).now_or_never().unwrap().unwrap().unwrap();
    let before = load();
    let options = world.options(vec![Answer::Say("Again.")]);
    let session = block_on(Session::resume(options, Shared::clone(&store) as Shared<dyn Store>, &id)).unwrap();
    let _: Vec<Event> = block_on(session.submit("more", CancelToken::new()).unwrap().collect());
    let after = load();
    assert!(after.starts_with(&before), "{after}");
    assert_eq!(after.lines().count(), before.lines().count() + 2, "{after}");
    assert_eq!(read_document(&after).unwrap().entries, session.entries());
}
