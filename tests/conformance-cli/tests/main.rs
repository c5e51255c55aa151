//! Tests of the built program.

#[cfg(test)]
mod conformance;
