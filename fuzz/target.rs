//! The fuzz target of one reader: that with the name of the binary.

#![no_main]

mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::fuzz(env!("CARGO_BIN_NAME"), bytes));
