//! High-level calls: a prompt or conversation in, a response out. Tools run in between and failed calls are retried.
//!
//! There is one loop, [`Generator::stream`]; [`Generator::generate`] reads it to its end. [`object`] adds structured
//! output to both.

mod calls;
pub(crate) mod default_generator;
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
