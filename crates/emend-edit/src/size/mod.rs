//! Code that exists to keep the WebAssembly modules small.

pub mod compact_sort;
