//! `emend-fuzz SECONDS SEED [TARGET…]`: attacks each target for so long, and keeps what broke it in `target/fuzz`.
#![expect(clippy::print_stdout, reason = "what was tried and found is what the program is for")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use emend_fuzz::mutate::Source;
use emend_fuzz::{TARGETS, Target};

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let usage = "say emend-fuzz SECONDS SEED [TARGET…]";
    let seconds: u64 = words.next().context(usage)?.parse().context(usage)?;
    let seed: u64 = words.next().context(usage)?.parse().context(usage)?;
    let names: Vec<String> = words.collect();
    let known = |name: &String| TARGETS.iter().any(|target| target.name == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        bail!("no target `{unknown}`; there are: {}", all.join(", "));
    }
    let mut n_broken = 0;
    for target in TARGETS.iter().filter(|target| names.is_empty() || names.iter().any(|name| name == target.name)) {
        match storm(target, Duration::from_secs(seconds), seed) {
            (n_inputs, None) => println!("{}: ok, {n_inputs} inputs in {seconds} s", target.name),
            (n_inputs, Some(input)) => {
                n_broken += 1;
                let folder = Path::new("target/fuzz").join(target.name);
                std::fs::create_dir_all(&folder)?;
                let file = folder.join(format!("{seed}-{n_inputs}"));
                std::fs::write(&file, input)?;
                println!("{}: FAILED at input {n_inputs}, kept in {}", target.name, file.display());
            }
        }
    }
    ensure!(n_broken == 0, "{n_broken} targets were broken; move the inputs to tests/fuzz/cases once they are mended");
    Ok(())
}

/// Returns how many inputs were tried, and the one that broke the target.
fn storm(target: &Target, time: Duration, seed: u64) -> (u64, Option<Vec<u8>>) {
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
