//! Code that is written to make the WebAssembly modules smaller.

pub mod compact_sort;
