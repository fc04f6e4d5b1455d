//! `straggler predict`: replays a trace on a network, and compares the result with the trace.

pub mod plan;
pub mod words;

use crate::args::Common;
use crate::kernel::console::Console;
use crate::kernel::devices::threads;
use crate::kernel::exit::{Failure, Outcome};
use crate::kernel::gates::{Checked, LimitAnswer, Metric, MetricKind, MetricUnit};
use crate::kernel::interrupt;
use crate::kernel::interrupt::Orderly;
use crate::kernel::memory::{available_bytes, refuse_too_much};
use crate::kernel::meter::Meter;
use crate::kernel::valid::Valid;
use crate::latency::drawn;
use crate::latency::drawn::LatencyAnswer;
use crate::network::file::{NetworkAnswer, load_network};
use crate::predict::plan::Predict;
use crate::simulate::stuck::refuse_stuck;
use crate::trace::traced;
use crate::trace::traced::TraceRequest;
use serde::Serialize;
use std::time::Instant;
use straggler_analysis::predict::{Fit, Prediction, fit, relative, sharing};
use straggler_analysis::study::FIT;
use straggler_model::{Network, Time};
use straggler_report::replace_file;
use straggler_sim::{Control, Simulation, Workload};
use straggler_trace::disturbance::Disturbance;
use traced::Replayed;

/// The JSON object.
#[derive(Debug, Serialize)]
pub struct PredictAnswer {
    trace: String,
    program: String,
    synthetic: bool,
    processes: u32,
    copies: u32,
    messages: u64,
    network: NetworkAnswer,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<LatencyAnswer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fit: Option<FitAnswer>,
    predicted_seconds: f64,
    /// Run time of the traced processes; copies have no measurement to compare with.
    traced_seconds: f64,
    /// (predicted − traced) / traced; none with copies.
    error: Option<f64>,
    largest_error_of_a_rank: Option<RankError>,
    /// Hosts on which ranks shared cores, where the error means little.
    shared_hosts: Vec<SharedHost>,
    /// Ranks that lost their cores to other work; if there are any, the error means little.
    #[serde(skip_serializing_if = "Option::is_none")]
    disturbed: Option<DisturbedAnswer>,
    /// Ranks whose calls are unknown. Calls that involve them are dropped, so the error is not reliable.
    ranks_without_a_stream: Vec<u32>,
    /// Ranks that call MPI from several threads. Waits between their threads count as computation.
    threaded_ranks: u32,
    notes: Vec<String>,
    ranks: Vec<RankAnswer>,
    wall_seconds: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    limits: Vec<LimitAnswer>,
}

#[derive(Debug, Serialize)]
pub struct FitAnswer {
    sends: usize,
    receives: usize,
    flights: usize,
    collectives: usize,
    /// Replays that adjusted the parameters.
    replays: usize,
    /// How far predictions for this program may be off, as a share of the time.
    uncertainty: Option<f64>,
    assumed: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct RankError {
    rank: u32,
    error: f64,
}

#[derive(Debug, Serialize)]
pub struct SharedHost {
    host: String,
    ranks: u32,
    cores: u32,
}

#[derive(Debug, Serialize)]
pub struct DisturbedAnswer {
    #[serde(skip)]
    found: Disturbance,
    ranks: u32,
    worst_rank: u32,
    /// The share of its time that the worst rank lost.
    lost: f64,
    preemptions: u64,
}

#[derive(Debug, Serialize)]
pub struct RankAnswer {
    traced_seconds: f64,
    predicted_seconds: f64,
    error: Option<f64>,
}

pub fn run(typed: &Valid<Predict>, common: &Common, console: &Console) -> Outcome<()> {
    let request = TraceRequest::of_predict(typed);
    let replayed = traced::load(&request, console)?;
    replayed.tell(console);
    let (network, fitted) = network(typed, &replayed)?;
    let began = Instant::now();
    let latency = drawn::load(&typed.latency, &network, common.seed, false)?;
    latency.iter().flat_map(|latency| &latency.warnings).for_each(|warning| console.warn(warning));
    let mut simulation = Simulation::new(&network);
    simulation.latency = latency.as_ref().map(|latency| &latency.drawn);
    let finish = simulate(&replayed, &simulation, common, console)?;
    let wall_seconds = began.elapsed().as_secs_f64();
    if let Some(path) = &typed.save_network {
        let text = network.to_toml()?;
        replace_file(path, |out| out.write_all(text.as_bytes()))?;
    }
    let latency = latency.map(|latency| latency.answer);
    let mut answer =
        PredictAnswer { latency, ..answer(typed, &replayed, &network, fitted, &finish, wall_seconds) };
    let checked = Checked::of(&typed.checks, answer.metrics())?;
    answer.limits.clone_from(&checked.limits);
    if console.json {
        console.print_json(&answer)?;
    } else {
        console.print(&words::say(&answer))?;
    }
    checked.finish(console)
}

impl PredictAnswer {
    fn metrics(&self) -> Vec<Metric> {
        let error = self.error.map(|error| Metric::new(&ERROR, error.abs()));
        let predicted = Metric::new(&PREDICTED, self.predicted_seconds);
        let times = [predicted, Metric::new(&TRACED, self.traced_seconds)];
        error.into_iter().chain(times).map(|metric| metric.label("trace", &self.trace)).collect()
    }
}

fn network(typed: &Predict, replayed: &Replayed) -> Outcome<(Network, Option<Fit>)> {
    match typed.network.as_deref().filter(|&name| name != FIT) {
        Some(network) => Ok((load_network(network, None)?, None)),
        None => {
            let fitted = fit(&replayed.trace).map_err(Failure::bad_input_of)?;
            Ok((fitted.network.clone(), Some(fitted)))
        }
    }
}

fn simulate(
    replayed: &Replayed,
    simulation: &Simulation<'_>,
    common: &Common,
    console: &Console,
) -> Outcome<Vec<Time>> {
    let _orderly = Orderly::begin();
    let workload = Workload::Traced(replayed.playback.clone());
    refuse_too_much(workload.processes().into(), simulation.memory_bytes(&workload), available_bytes())?;
    let meter = Meter::new(console, replayed.playback.messages());
    let mut progress = meter.run();
    let mut control = Control::new(threads(common.threads.map(Into::into)), interrupt::flag(), &mut progress);
    let run = simulation.run(&workload, &mut control)?;
    interrupt::check()?;
    refuse_stuck(run.outcome.stuck.as_ref())?;
    Ok(run.outcome.finish)
}

fn answer(
    typed: &Predict,
    replayed: &Replayed,
    network: &Network,
    fitted: Option<Fit>,
    finish: &[Time],
    wall_seconds: f64,
) -> PredictAnswer {
    let (trace, playback) = (&replayed.trace, &replayed.playback);
    let recording = playback.recording();
    let prediction = Prediction::new(recording, finish);
    let alone = playback.copies() == 1;
    let last = finish.iter().copied().max().unwrap_or_default();
    let shared = sharing(trace).into_iter();
    PredictAnswer {
        trace: typed.trace.display().to_string(),
        program: trace.meta.program.clone(),
        synthetic: replayed.is_synthetic,
        processes: playback.processes(),
        copies: playback.copies(),
        messages: playback.messages(),
        network: NetworkAnswer::of(network),
        latency: None,
        fit: fitted.map(|fit| FitAnswer {
            sends: fit.sends,
            receives: fit.receives,
            flights: fit.flights,
            collectives: fit.collectives,
            replays: fit.replays,
            uncertainty: fit.uncertainty,
            assumed: fit.assumed,
        }),
        predicted_seconds: last.seconds(),
        traced_seconds: prediction.traced.seconds(),
        error: prediction.error().filter(|_| alone),
        largest_error_of_a_rank: prediction
            .worst()
            .filter(|_| alone)
            .map(|(rank, error)| RankError { rank, error }),
        shared_hosts: shared
            .map(|one| SharedHost { host: one.host, ranks: one.ranks, cores: one.cores })
            .collect(),
        disturbed: Disturbance::of(trace).map(|found| DisturbedAnswer {
            found,
            ranks: found.ranks,
            worst_rank: found.worst,
            lost: found.lost,
            preemptions: found.preemptions,
        }),
        ranks_without_a_stream: replayed.ranks_without_a_stream.clone(),
        threaded_ranks: (0..recording.processes()).filter(|&rank| recording.rank(rank).threads() > 1).count()
            as u32,
        notes: recording.notes().to_vec(),
        ranks: prediction.ranks.iter().filter(|_| alone).map(RankAnswer::of).collect(),
        wall_seconds,
        limits: Vec::new(),
    }
}

impl RankAnswer {
    fn of(rank: &straggler_analysis::predict::RankPrediction) -> RankAnswer {
        RankAnswer {
            traced_seconds: rank.traced.seconds(),
            predicted_seconds: rank.predicted.seconds(),
            error: relative(rank.predicted, rank.traced),
        }
    }
}

pub static ERROR: MetricKind = MetricKind {
    name: "error",
    unit: MetricUnit::Ratio,
    help: "Absolute error of the prediction relative to the trace",
};
pub static PREDICTED: MetricKind =
    MetricKind { name: "predicted", unit: MetricUnit::Seconds, help: "Predicted run time of the program" };
pub static TRACED: MetricKind =
    MetricKind { name: "traced", unit: MetricUnit::Seconds, help: "Traced run time of the program" };

pub const KINDS: &[&MetricKind] = &[&ERROR, &PREDICTED, &TRACED];
