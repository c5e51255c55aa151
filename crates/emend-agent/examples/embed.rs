//! Embeds an agent: a file in memory, the offline model, one task, and the review of the proposed edit.
//!
//! Run it with `cargo run -p emend-agent --example embed`.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};

use emend_agent::{ExecutionEnvironment, MemFs, Mode, SessionBuilder, Workspace};
use emend_llm::{BoxFuture, CancelToken, Clock, Random, Shared};
use futures::StreamExt;
use futures::executor::block_on;

/// Counts: a clock and a source of ids that make each run the same. A real host uses the system's.
#[derive(Default)]
struct Counter(AtomicU64);

impl Clock for Counter {
    fn now_ms(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn sleep(&self, _ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Random for Counter {
    fn next_u64(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Runs one task, accepts the edit and checks the file.
pub fn main() -> Result<(), Box<dyn Error>> {
    let files = Shared::new(MemFs::from_fixture("//- notes.md\nThe colour of the sky.\n"));
    let environment = Shared::clone(&files) as Shared<dyn ExecutionEnvironment>;
    let workspace = Shared::new(Workspace::new(environment, Mode::Staged, Shared::new(Counter::default())));

    // A real model: `emend_llm::Client::from_env` returns its provider.
    let provider = Shared::new(emend_offline::provider(emend_offline::Options::default()));
    let session =
        SessionBuilder::new(provider, emend_offline::MODEL, Shared::clone(&workspace), Shared::new(Counter::default()))
            .offline(true)
            .build()?;

    // The run is a stream of events; polling it does the work.
    let mut run = session.submit("rename colour to color in notes.md", CancelToken::new())?;
    block_on(async {
        while let Some(event) = run.next().await {
            println!("{:?}", event.kind);
        }
    });

    // The edit waits for the user; the file changes when it is accepted.
    println!("{:#?}", workspace.review());
    block_on(workspace.accept_all(None))?;
    assert_eq!(files.get("notes.md").as_deref(), Some(&b"The color of the sky.\n"[..]));
    Ok(())
}
