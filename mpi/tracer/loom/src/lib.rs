//! `RUSTFLAGS="--cfg loom" cargo test`: whether two threads can be at one state at the same time.
#![cfg(all(loom, test))]

#[path = "../../src/turns.rs"]
mod turns;
