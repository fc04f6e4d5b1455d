//! Commands around the others: benchmarks, pictures, job scripts, generated texts.

pub mod bench;
pub mod examples;
pub mod generated;
pub mod plot;
pub mod slurm_script;
