//! Lets the tests of the command stop a commit at a step they choose. Release builds never stop.
//!
//! With `EMEND_STEPS=all` each step is printed before it is made; with `EMEND_STEPS=N` the process prints the Nth,
//! counted from 1, and then waits: whoever reads that line can kill it and knows exactly what was done and what not.

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
            // Ends only if the other side hangs up, or kills this process.
            io::stdin().read_to_end(&mut Vec::new())?;
        }
        Ok(())
    }
}

#[cfg(not(debug_assertions))]
pub(super) fn observer() -> impl FnMut(Step<'_>) -> io::Result<()> {
    |_: Step<'_>| Ok(())
}
