//! `emend-fuzz SECONDS SEED [TARGET…]`: fuzzes each target for that time, and keeps failing inputs in `target/fuzz`.
#![expect(clippy::print_stdout, reason = "printing its results is the purpose of the program")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use emend_fuzz::mutate::Source;
use emend_fuzz::{TARGETS, Target};

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let usage = "usage: emend-fuzz SECONDS SEED [TARGET…]";
    let seconds: u64 = words.next().context(usage)?.parse().context(usage)?;
    let seed: u64 = words.next().context(usage)?.parse().context(usage)?;
    let names: Vec<String> = words.collect();
    let known = |name: &String| TARGETS.iter().any(|target| target.name == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        bail!("unknown target `{unknown}`; the targets are: {}", all.join(", "));
    }
    let mut n_failed = 0;
    for target in TARGETS.iter().filter(|target| names.is_empty() || names.iter().any(|name| name == target.name)) {
        match fuzz(target, Duration::from_secs(seconds), seed) {
            (n_inputs, None) => println!("{}: ok, {n_inputs} inputs in {seconds} s", target.name),
            (n_inputs, Some(input)) => {
                n_failed += 1;
                let folder = Path::new("target/fuzz").join(target.name);
                std::fs::create_dir_all(&folder)?;
                let file = folder.join(format!("{seed}-{n_inputs}"));
                std::fs::write(&file, input)?;
                println!("{}: FAILED at input {n_inputs}, kept in {}", target.name, file.display());
            }
        }
    }
    ensure!(n_failed == 0, "{n_failed} targets failed; fix them and move the inputs to tests/fuzz/cases");
    Ok(())
}

/// Returns the number of inputs tried, and the first one that failed.
fn fuzz(target: &Target, time: Duration, seed: u64) -> (u64, Option<Vec<u8>>) {
    let mut source = Source::new(target, seed);
    let begun = Instant::now();
    let mut n_inputs = 0;
    while begun.elapsed() < time {
        let input = source.next_input();
        n_inputs += 1;
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&input))).is_err() {
            return (n_inputs, Some(input));
        }
    }
    (n_inputs, None)
}
