//! `RUSTFLAGS="--cfg loom" cargo test`: checks that two threads never access one state at the same time.
#![cfg(all(loom, test))]

#[path = "../../src/turns.rs"]
mod turns;
