//! Commands that repeat published studies.

pub mod redundancy;
pub mod reproduce;
pub mod resample;
