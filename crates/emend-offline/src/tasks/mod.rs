//! The next step of each kind of instruction.

mod document;
mod run;
mod substitute;

use crate::current_run::CurrentRun;
use crate::instruction::Instruction;
use crate::step::Step;

/// Limit of responses in one run. No instruction needs as many, so the run ends with an error.
const ROUNDS_MAX: usize = 1_000;

/// Returns the next step of `instruction`.
pub(crate) fn next_step(run: &CurrentRun, instruction: &Instruction) -> Step {
    if run.rounds >= ROUNDS_MAX {
        return Step::say(format!("I stopped after {ROUNDS_MAX} rounds; the work is not finished."));
    }
    match instruction {
        Instruction::Substitute(task) => substitute::next(run, task),
        Instruction::Document(task) => document::next(run, task),
        Instruction::Run(command) => run::next(run, command),
    }
}
