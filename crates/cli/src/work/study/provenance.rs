//! When, where and how long a study ran: properties of a run, not of its results.

use super::Session;
use crate::console::to_json;
use crate::devices::GpuAnswer;
use crate::exit::Outcome;
use crate::inputs::study::FittedAnswer;
use crate::invocation::command_line;
use serde::Serialize;
use straggler_analysis::study::{Coordinates, MODEL_VERSION};
use straggler_measure::machine;
use straggler_model::date::utc_now;
use straggler_model::noise::recording::Machine;

#[derive(Serialize)]
struct Provenance<'a> {
    command: String,
    version: &'static str,
    model_version: u32,
    date: String,
    machine: Machine,
    threads: usize,
    /// Replicas that ran on GPUs in the last session.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    gpus: &'a [GpuAnswer],
    /// Length of the last session.
    wall_seconds: f64,
    /// How often the study was started or resumed.
    sessions: u32,
    /// Networks that were fitted from traces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fitted: Vec<FittedAnswer>,
    points: Vec<PointTiming<'a>>,
}

#[derive(Serialize)]
struct PointTiming<'a> {
    #[serde(flatten)]
    point: &'a Coordinates,
    /// Computing time over all sessions; identical points share theirs.
    seconds: f64,
}

pub fn text(session: &Session<'_>) -> Outcome<String> {
    let points = session
        .plan
        .points
        .iter()
        .map(|point| PointTiming { point: &point.coordinates, seconds: session.tracks.seconds(point.task) });
    to_json(&Provenance {
        command: command_line(),
        version: env!("CARGO_PKG_VERSION"),
        model_version: MODEL_VERSION,
        date: utc_now(),
        machine: machine::this(),
        threads: session.threads,
        gpus: &session.gpus,
        wall_seconds: session.wall_seconds,
        sessions: session.sessions,
        fitted: session.plan.fitted.iter().map(FittedAnswer::of).collect(),
        points: points.collect(),
    })
}
