//! Threads that own connections, so that no async task waits for the disk.

use std::io;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use futures::channel::oneshot;
use rusqlite::Connection;

type Task = Box<dyn FnOnce(&mut Connection) + Send>;

/// Threads with a connection each. A task runs on the first free one; tasks of a single thread run in order.
#[derive(Debug)]
pub(super) struct Threads {
    /// `None` while the threads end.
    tasks: Option<mpsc::Sender<Task>>,
    threads: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Starts a thread for each connection.
    pub(super) fn start(name: &str, connections: Vec<Connection>) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel::<Task>();
        let receiver = Arc::new(Mutex::new(receiver));
        let mut threads = Self { tasks: Some(sender), threads: Vec::new() };
        for mut connection in connections {
            let receiver = Arc::clone(&receiver);
            let run = move || {
                loop {
                    // The lock is held while a thread waits, not while it works.
                    let task = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(task) = task else { return };
                    task(&mut connection);
                }
            };
            threads.threads.push(thread::Builder::new().name(name.to_owned()).spawn(run)?);
        }
        Ok(threads)
    }

    /// Runs a task to its end, also if the returned future is dropped. The result is
    /// an error if the thread has died.
    pub(super) fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Connection) -> T + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (sender, receiver) = oneshot::channel();
        let task: Task = Box::new(move |connection| {
            // The reader of the result may be gone.
            let _ = sender.send(task(connection));
        });
        // A task that cannot be sent is dropped with its sender, which the receiver reports.
        let _ = self.tasks.as_ref().map(|tasks| tasks.send(task));
        receiver
    }
}

impl Drop for Threads {
    /// Waits for the tasks so far, so that the file is closed afterwards.
    fn drop(&mut self) {
        self.tasks = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
