//! What was validated: options that fit together, defaults filled in. Nothing is read or looked up
//! yet, so a plan is a pure function of what was typed.

pub mod assess;
pub mod bench;
pub mod collective;
pub mod latency;
pub mod measure;
pub mod nodes;
pub mod redundancy;
pub mod resample;
pub mod simulate;
pub mod slurm_script;
pub mod traced;
pub mod whatif;
pub mod workload;
