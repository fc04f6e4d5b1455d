//! The observation of the kernel, of this machine and of a recorded one.

#[path = "measure/observation.rs"]
mod observation;
#[path = "measure/recorded_sample.rs"]
mod recorded_sample;
