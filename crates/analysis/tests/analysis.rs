//! What analyses find in runs and recordings whose truth is known.

#[path = "analysis/beckman.rs"]
mod beckman;
#[path = "analysis/critical_path.rs"]
mod critical_path;
#[path = "analysis/noise.rs"]
mod noise;
