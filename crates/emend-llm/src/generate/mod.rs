//! The high-level calls: one prompt or conversation in, an answer out, with tools run in between and failed calls
//! repeated.
//!
//! There is one loop, [`Generator::stream`]; [`Generator::generate`] reads it to its end. Structured output builds on
//! both in [`object`].

mod calls;
mod generator;
pub mod object;
mod options;
mod result;
mod stream_result;
#[cfg(test)]
mod tests;
pub mod tool;

pub use generator::Generator;
pub use options::{Generate, StopCondition, TimeoutConfig};
pub use result::{GenerateEvent, GenerateResult, StepResult};
pub use stream_result::StreamResult;
