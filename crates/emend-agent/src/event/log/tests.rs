//! Tests of the log against a plain list of events: no gap, no duplicate, no lost lifecycle event, bounded memory.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::test_support::covers;

fn text(delta: &str) -> EventKind {
    EventKind::AssistantTextDelta { delta: delta.to_owned() }
}

fn end(output: String, kept: bool) -> EventKind {
    EventKind::ToolCallEnd {
        call_id: "c".to_owned(),
        tool_name: "shell".to_owned(),
        ok: true,
        output,
        output_ref: kept.then(|| "c".to_owned()),
        output_cut: false,
        data: serde_json::json!({ "exit_code": 0 }),
        error: None,
        error_info: None,
        duration_ms: 1,
    }
}

/// Writes events as `cursor:text`; events other than text deltas by the first letters of their kind.
fn shown(events: &[Event]) -> String {
    let one = |event: &Event| {
        let what = match &event.kind {
            EventKind::AssistantTextDelta { delta } => delta.clone(),
            EventKind::AssistantTextEnd { text, .. } => format!("end({text})"),
            EventKind::ToolCallEnd { output, output_cut, .. } => {
                format!("output({}{})", output.len(), if *output_cut { " cut" } else { "" })
            }
            kind => serde_json::to_value(kind).unwrap()["kind"].as_str().unwrap().to_owned(),
        };
        format!("{}:{what}", event.cursor)
    };
    events.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn log_of(kinds: Vec<EventKind>, weight_max: usize) -> EventLog {
    let mut log = EventLog::new("s".to_owned(), weight_max);
    for kind in kinds {
        log.push(0, kind);
    }
    log
}

fn drain(log: &mut EventLog, id: ReaderId) -> Vec<Event> {
    std::iter::from_fn(|| log.next(id)).collect()
}

#[test]
fn who_reads_at_every_event_gets_every_piece_and_who_is_late_gets_them_in_one() {
    covers("event.readers");
    let mut log = EventLog::new("s".to_owned(), usize::MAX);
    let [fast, slow] = [0; 2].map(|after| log.add_reader(after).unwrap());
    let mut read = Vec::new();
    for kind in [EventKind::AssistantTextStart {}, text("a"), text("ö"), text("c")] {
        log.push(0, kind);
        read.extend(drain(&mut log, fast));
    }
    assert_eq!(shown(&read), "1:ASSISTANT_TEXT_START 2:a 3:ö 4:c");
    assert_eq!(shown(&drain(&mut log, slow)), "1:ASSISTANT_TEXT_START 4:aöc");
    log.push(0, EventKind::AssistantTextEnd { text: "aöc".to_owned(), reasoning: None });
    assert_eq!(shown(&drain(&mut log, fast)), "5:end(aöc)");
    assert_eq!(shown(&log.read(2, 9).unwrap()), "4:öc 5:end(aöc)", "from the middle of a text");
    assert_eq!(shown(&log.read(2, 1).unwrap()), "4:öc");
    assert_eq!(shown(&log.read(5, 9).unwrap()), "");
}

#[test]
fn pieces_of_different_texts_stay_apart() {
    let output = |call: &str| EventKind::ToolCallOutputDelta { call_id: call.to_owned(), delta: "x".to_owned() };
    let reasoning = EventKind::ReasoningDelta { delta: "r".to_owned() };
    let log = log_of(vec![output("1"), output("1"), output("2"), reasoning, text("t")], usize::MAX);
    let cursors: Vec<u64> = log.read(0, 9).unwrap().iter().map(|event| event.cursor).collect();
    assert_eq!(cursors, [2, 3, 4, 5]);
}

#[test]
fn a_cursor_that_is_too_old_is_told_where_to_go_on() {
    let mut log = log_of((0..100).map(|_| EventKind::AssistantTextStart {}).collect(), 4_000);
    let gone = log.read(0, 9).unwrap_err();
    assert!(gone.floor > 50 && gone.last == 100, "{gone:?}");
    assert_eq!(gone.code().as_str(), "resync_required");
    assert_eq!(log.add_reader(gone.floor - 1), Err(gone));
    assert_eq!(log.add_reader(gone.last + 1), Err(gone), "a cursor of another session");
    assert_eq!(log.read(gone.floor, 1).unwrap()[0].cursor, gone.floor + 1);
    let late = log.add_reader_from(0);
    assert_eq!(log.next(late).unwrap().cursor, gone.floor + 1);
}

#[test]
fn a_reader_far_behind_loses_no_event_but_large_outputs_and_finished_texts_shrink() {
    covers("event.readers");
    let mut log = EventLog::new("s".to_owned(), 3_000);
    let slow = log.add_reader(0).unwrap();
    let whole = "y".repeat(500);
    let finished = EventKind::AssistantTextEnd { text: whole.clone(), reasoning: None };
    for kind in [text(&whole), finished, end("ü".repeat(5_000), true), end("x".repeat(5_000), false), text("new")] {
        log.push(0, kind);
    }
    let expected = format!("2:end({whole}) 3:output(1024 cut) 4:output(5000) 5:new");
    assert_eq!(shown(&drain(&mut log, slow)), expected, "an output that is kept nowhere else stays whole");
    log.push(0, EventKind::AssistantTextStart {});
    assert!(log.weight() <= 3_000, "{}", log.weight());
}

/// An action on a log.
#[derive(Clone, Debug)]
enum Action {
    Piece(u8),
    Other,
    Output { n_bytes: usize, kept: bool },
    Read { reader: usize, n_events: usize },
    Poll { at: usize },
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (b'a'..=b'z').prop_map(Action::Piece),
        2 => Just(Action::Other),
        1 => (0..3_000_usize, any::<bool>()).prop_map(|(n_bytes, kept)| Action::Output { n_bytes, kept }),
        2 => (0..2_usize, 1..9_usize).prop_map(|(reader, n_events)| Action::Read { reader, n_events }),
        1 => (0..99_usize).prop_map(|at| Action::Poll { at }),
    ]
}

/// All events except text deltas.
fn lifecycle(events: &[Event]) -> Vec<u64> {
    events.iter().filter(|event| event.kind.delta().is_none()).map(|event| event.cursor).collect()
}

fn texts(events: &[Event]) -> String {
    events.iter().filter_map(|event| event.kind.delta()).collect()
}

/// Number of cases that reached each special state of the log.
#[derive(Default)]
struct Coverage {
    n_trimmed: Cell<u32>,
    n_squeezed: Cell<u32>,
    n_refused: Cell<u32>,
}

fn count(cell: &Cell<u32>, counts: bool) {
    cell.set(cell.get() + u32::from(counts));
}

fn run(actions: &[Action], weight_max: usize, coverage: &Coverage) -> Result<(), TestCaseError> {
    let mut log = EventLog::new("s".to_owned(), weight_max);
    let readers = [0; 2].map(|after| log.add_reader(after).unwrap());
    let mut read = [Vec::new(), Vec::new()];
    // The plain model: every event as it was pushed.
    let mut pushed: Vec<Event> = Vec::new();
    for action in actions {
        let kind = match action {
            Action::Piece(letter) => text(&char::from(*letter).to_string()),
            Action::Other => EventKind::AssistantTextStart {},
            Action::Output { n_bytes, kept } => end("x".repeat(*n_bytes), *kept),
            Action::Read { reader, n_events } => {
                read[*reader].extend((0..*n_events).map_while(|_| log.next(readers[*reader])));
                continue;
            }
            Action::Poll { at } => {
                let after = pushed.get(*at).map_or(0, |event| event.cursor);
                let unread = pushed.iter().filter(|event| event.cursor > after).cloned().collect::<Vec<_>>();
                match log.read(after, usize::MAX) {
                    Ok(events) => prop_assert_eq!(lifecycle(&events), lifecycle(&unread)),
                    Err(gone) => {
                        prop_assert!(after < gone.floor && weight_max < usize::MAX);
                        count(&coverage.n_refused, true);
                    }
                }
                continue;
            }
        };
        let cursor = log.push(0, kind.clone());
        pushed.push(Event { cursor, ts: 0, session_id: "s".to_owned(), kind });
    }
    count(&coverage.n_trimmed, log.floor() > 0);
    count(&coverage.n_squeezed, log.squeezed > 0);
    for (events, id) in read.iter_mut().zip(readers) {
        events.extend(drain(&mut log, id));
        prop_assert_eq!(lifecycle(events), lifecycle(&pushed), "no event of the lifecycle is lost or doubled");
        prop_assert!(events.windows(2).all(|pair| pair[0].cursor < pair[1].cursor));
        if weight_max == usize::MAX {
            prop_assert_eq!(texts(events), texts(&pushed));
        }
        for event in events.iter() {
            if let EventKind::ToolCallEnd { output, output_ref, output_cut, .. } = &event.kind {
                prop_assert!(!output_cut || (output_ref.is_some() && output.len() <= CUT_OUTPUT_BYTES));
            }
        }
    }
    let newest = std::mem::size_of::<Entry>() + 4_000;
    prop_assert!(log.weight() <= weight_max.saturating_add(newest), "all is read: the log is small again");
    Ok(())
}

#[test]
fn readers_and_pollers_see_what_a_plain_list_would_show_them() {
    covers("event.readers");
    let cases = if cfg!(target_family = "wasm") { 100 } else { 1_500 };
    let config = Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..Config::default() };
    let actions = proptest::collection::vec(action(), 0..60);
    let weight_max = prop_oneof![Just(usize::MAX), Just(2_000_usize)];
    let coverage = Coverage::default();
    let mut runner = TestRunner::new(config);
    runner.run(&(actions, weight_max), |(actions, weight_max)| run(&actions, weight_max, &coverage)).unwrap();
    let counts = [&coverage.n_trimmed, &coverage.n_squeezed, &coverage.n_refused].map(Cell::get);
    assert!(counts.iter().all(|&n| n >= cases / 20), "trimmed, squeezed, refused in {counts:?} of {cases} cases");
}
