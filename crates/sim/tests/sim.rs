//! Engines, programs and the resampling model, compared with each other and with known numbers. One test
//! binary for all, since engines are compiled for each program and the tests share most programs.

#[path = "sim/butterfly.rs"]
mod butterfly;
#[path = "sim/checkpoints.rs"]
mod checkpoints;
#[path = "sim/cluster.rs"]
mod cluster;
#[path = "sim/conformance.rs"]
mod conformance;
#[path = "sim/decisions.rs"]
mod decisions;
#[path = "sim/drawn.rs"]
mod drawn;
#[path = "sim/engines_agree.rs"]
mod engines_agree;
#[path = "sim/golden.rs"]
mod golden;
#[path = "sim/implicit.rs"]
mod implicit;
#[path = "sim/large_messages.rs"]
mod large_messages;
#[path = "sim/links.rs"]
mod links;
#[path = "sim/literal_butterfly.rs"]
mod literal_butterfly;
#[path = "sim/one_lane.rs"]
mod one_lane;
#[path = "sim/resampling.rs"]
mod resampling;
#[path = "sim/runs.rs"]
mod runs;
#[path = "sim/schedules.rs"]
mod schedules;
#[path = "sim/steps.rs"]
mod steps;
#[path = "sim/synchronisation.rs"]
mod synchronisation;
#[path = "sim/topologies.rs"]
mod topologies;
#[path = "sim/traced.rs"]
mod traced;
#[path = "sim/traced_runs.rs"]
mod traced_runs;
#[path = "sim/workloads.rs"]
mod workloads;
