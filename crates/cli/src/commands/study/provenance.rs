//! When, where and how long: what is true of one run of a study and not of its results.

use super::about::FittedAnswer;
use super::driver::Session;
use crate::commands::command_line;
use crate::commands::gpu::GpuAnswer;
use crate::console::to_json;
use crate::exit::Outcome;
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
    /// What GPUs ran in the last session.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    gpus: &'a [GpuAnswer],
    /// Of the last session.
    wall_seconds: f64,
    /// How often the study was begun or gone on with.
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
    /// Of computing, over all sessions; points that are the same share theirs.
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
