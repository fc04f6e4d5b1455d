//! Inputs of commands: reads the named files into the types of the libraries.

pub mod application;
pub mod collective;
pub mod drawn_latency;
pub mod latency_file;
pub mod network;
pub mod noise;
pub mod noise_file;
pub mod study;
pub mod trace;
pub mod traced;
pub mod training;
