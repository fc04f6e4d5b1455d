//! Analyses of runs and recordings whose true properties are known.

#[path = "analysis/beckman.rs"]
mod beckman;
#[path = "analysis/critical_path.rs"]
mod critical_path;
#[path = "analysis/noise.rs"]
mod noise;
