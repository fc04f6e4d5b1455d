//! Validated options: they fit together, defaults are filled in, and results can be written. No file is read yet.
//! [`valid::Valid`] marks options that are checked but need no conversion.

pub mod assess;
pub mod bench;
pub mod collective;
pub mod latencies;
pub mod latency;
pub mod measure;
pub mod network;
pub mod nodes;
pub mod noise;
pub mod predict;
pub mod redundancy;
pub mod reports;
pub mod reproduce;
pub mod resample;
pub mod schedule;
pub mod simulate;
pub mod slurm_script;
pub mod study;
pub mod trace;
pub mod traced;
pub mod training;
pub mod valid;
pub mod whatif;
pub mod workload;
