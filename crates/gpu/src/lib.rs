//! The GPU engine: many replicas of one collective at once, each process a thread.
//!
//! A [`Task`] is a collective on a network, as tables. [`Loaded`] is a task in the memory of a [`Device`], which runs
//! replicas in batches. The kernel (`kernel/engine.cu`) implements the rules of the execution model; its comments say
//! how it works.

#![allow(unsafe_code)]

mod batch;
pub mod cuda;
mod device;
mod gpus;
mod injected;
pub mod layout;
mod tables;
mod task;

pub use batch::{Failure, Layout, Loaded, Ran, Tuning};
pub use device::{Device, DeviceError, Kernel, Memory};
pub use gpus::Gpus;
pub use tables::{Tables, Way};
pub use task::{Task, Unfit, fits_noise};
