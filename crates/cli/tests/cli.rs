//! All tests of the program: the unit tests beside its code, and the program from outside: its output, the files it
//! writes and its exit codes.

include!("../src/program.rs");

#[path = "cli/assess.rs"]
mod assess;
#[path = "cli/checks.rs"]
mod checks;
#[path = "cli/collectives.rs"]
mod collectives;
#[path = "cli/conformance.rs"]
mod conformance;
#[path = "cli/contract.rs"]
mod contract;
#[path = "cli/device.rs"]
mod device;
#[path = "cli/drawn_latency.rs"]
mod drawn_latency;
#[path = "cli/endings.rs"]
mod endings;
#[path = "cli/files.rs"]
mod files;
#[path = "cli/guide.rs"]
mod guide;
#[path = "cli/help.rs"]
mod help;
#[path = "cli/interruption.rs"]
mod interruption;
#[path = "cli/latency.rs"]
mod latency;
#[path = "cli/measure.rs"]
mod measure;
#[path = "cli/measure_latency.rs"]
mod measure_latency;
#[path = "cli/mistakes.rs"]
mod mistakes;
#[path = "cli/mpi.rs"]
mod mpi;
#[path = "cli/noise_files.rs"]
mod noise_files;
#[path = "cli/others.rs"]
mod others;
#[path = "cli/paths.rs"]
mod paths;
#[path = "cli/plot.rs"]
mod plot;
#[path = "cli/predict.rs"]
mod predict;
#[path = "cli/program.rs"]
mod program;
#[path = "cli/readers.rs"]
mod readers;
#[path = "cli/redundancy.rs"]
mod redundancy;
#[path = "cli/report.rs"]
mod report;
#[path = "cli/reproduce.rs"]
mod reproduce;
#[path = "cli/resample.rs"]
mod resample;
#[path = "cli/scripts.rs"]
mod scripts;
#[path = "cli/serve.rs"]
mod serve;
#[path = "cli/slurm_script.rs"]
mod slurm_script;
#[path = "cli/study.rs"]
mod study;
#[path = "cli/terminal.rs"]
mod terminal;
#[path = "cli/trace.rs"]
mod trace;
#[path = "cli/trace_recording.rs"]
mod trace_recording;
#[path = "cli/trace_sites.rs"]
mod trace_sites;
#[path = "cli/training.rs"]
mod training;
#[path = "cli/training_files.rs"]
mod training_files;
#[path = "cli/whatif.rs"]
mod whatif;
