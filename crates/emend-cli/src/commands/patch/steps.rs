//! Stops a commit at a chosen step, for tests. Release builds never stop.
//!
//! With `EMEND_STEPS=all` each step is printed before it is made. With `EMEND_STEPS=N` the program prints the Nth step,
//! counted from 1, and waits. A test that reads this line can kill the program at a known point.

use std::io;

use emend_host::Step;

#[cfg(debug_assertions)]
pub(super) fn observer() -> impl FnMut(Step<'_>) -> io::Result<()> {
    use std::io::{Read as _, Write as _};

    let chosen = std::env::var("EMEND_STEPS").ok();
    let stop: Option<usize> = chosen.as_deref().and_then(|chosen| chosen.parse().ok());
    let shows_all = chosen.as_deref() == Some("all");
    let mut number = 0;
    move |step| {
        number += 1;
        if shows_all || stop == Some(number) {
            writeln!(io::stderr(), "step {number}: {:?} {}", step.kind, step.path)?;
        }
        if stop == Some(number) {
            // Waits until the test closes standard input or kills the program.
            io::stdin().read_to_end(&mut Vec::new())?;
        }
        Ok(())
    }
}

#[cfg(not(debug_assertions))]
pub(super) fn observer() -> impl FnMut(Step<'_>) -> io::Result<()> {
    |_: Step<'_>| Ok(())
}
