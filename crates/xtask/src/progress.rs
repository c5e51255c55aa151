//! Progress lines of steps that run side by side: each line carries the name of its step.
//!
//! The label belongs to a thread; [`spawn_labelled`] passes it on to a new thread.

use std::cell::RefCell;
use std::fmt::Display;
use std::thread::{Scope, ScopedJoinHandle};

thread_local! {
    static LABEL: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Width of the column of names.
const LABEL_COLUMNS: usize = 13;

/// Runs `work` with every progress line of this thread marked by `label`.
pub(crate) fn with_label<T>(label: &str, work: impl FnOnce() -> T) -> T {
    let before = LABEL.replace(label.to_owned());
    let result = work();
    LABEL.set(before);
    result
}

/// Starts a thread whose progress lines carry the label of the calling thread.
pub(crate) fn spawn_labelled<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> ScopedJoinHandle<'scope, T> {
    let label = LABEL.with_borrow(Clone::clone);
    scope.spawn(move || with_label(&label, work))
}

/// Waits for a thread and continues its panic, if there was one.
pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Prints one progress line, marked with the label of this thread.
pub(crate) fn print_line(line: impl Display) {
    println!("{}", LABEL.with_borrow(|label| labelled(label, &line.to_string())));
}

fn labelled(label: &str, line: &str) -> String {
    if label.is_empty() { line.to_owned() } else { format!("{label:<LABEL_COLUMNS$}| {line}") }
}

/// Prints one progress line like `println!`, marked with the label of this thread.
macro_rules! say {
    ($($argument:tt)*) => { $crate::progress::print_line(format_args!($($argument)*)) };
}

pub(crate) use say;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_carries_the_label_of_its_step() {
        assert_eq!(labelled("", "built"), "built");
        assert_eq!(labelled("native", "built"), "native       | built");
    }

    #[test]
    fn a_thread_of_a_step_has_the_label_of_the_step() {
        let label = || LABEL.with_borrow(Clone::clone);
        with_label("browser", || {
            std::thread::scope(|scope| assert_eq!(join(spawn_labelled(scope, label)), "browser"));
            assert_eq!(label(), "browser");
        });
        assert_eq!(label(), "");
    }
}
