//! A simulated trace compared with the recorded run.

use crate::kernel::metrics::{MAKESPAN, Metric, MetricKind, MetricUnit, SLOWDOWN};
use crate::kernel::prelude::*;
use crate::trace::traced::{Replayed, no_stream_of};
use std::sync::Arc;
use straggler_analysis::predict::{Fit, Prediction, RankPrediction, Sharing, relative, sharing};
use straggler_report::numbers::{is_factor, longer, slowdown};
use straggler_schedule::traced::Playback;
use straggler_trace::disturbance::Disturbance;

/// Most rows of the table of ranks; the rest are only counted.
const MOST_RANKS: usize = 16;

/// What is kept of a trace while it is simulated.
#[derive(Debug)]
pub struct Recorded {
    path: PathBuf,
    program: String,
    playback: Arc<Playback>,
    is_synthetic: bool,
    fit: Option<Fit>,
    shared_hosts: Vec<Sharing>,
    disturbed: Option<Disturbance>,
    ranks_without_a_stream: Vec<u32>,
}

impl Recorded {
    pub fn new(path: PathBuf, replayed: &Replayed, fit: Option<Fit>) -> Recorded {
        Recorded {
            path,
            program: replayed.trace.meta.program.clone(),
            playback: replayed.playback.clone(),
            is_synthetic: replayed.is_synthetic,
            fit,
            shared_hosts: sharing(&replayed.trace),
            disturbed: Disturbance::new(&replayed.trace),
            ranks_without_a_stream: replayed.ranks_without_a_stream.clone(),
        }
    }
}

/// Part of the JSON object of `simulate`.
#[derive(Debug, Serialize)]
pub struct RecordedAnswer {
    trace: String,
    program: String,
    synthetic: bool,
    copies: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    fit: Option<Fit>,
    predicted_seconds: f64,
    /// Run time of the traced processes; copies have no measurement to compare with.
    traced_seconds: f64,
    /// (predicted − traced) / traced; none with copies, noise or replicas.
    error: Option<f64>,
    largest_error_of_a_rank: Option<RankError>,
    /// Hosts on which ranks shared cores, where the error means little.
    shared_hosts: Vec<Sharing>,
    /// Ranks that lost their cores to other work; if there are any, the error means little.
    #[serde(skip_serializing_if = "Option::is_none")]
    disturbed: Option<Disturbance>,
    /// Ranks whose calls are unknown. Calls that involve them are dropped, so the error is not reliable.
    ranks_without_a_stream: Vec<u32>,
    /// Ranks that call MPI from several threads. Waits between their threads count as computation.
    threaded_ranks: u32,
    notes: Vec<String>,
    ranks: Vec<RankAnswer>,
}

#[derive(Debug, Serialize)]
pub struct RankError {
    rank: u32,
    error: f64,
}

#[derive(Debug, Serialize)]
pub struct RankAnswer {
    traced_seconds: f64,
    predicted_seconds: f64,
    error: Option<f64>,
}

impl RecordedAnswer {
    /// `finish` has the finish times of all ranks if the run repeats the recorded one.
    pub fn new(recorded: &Recorded, makespan: Time, finish: Option<&[Time]>) -> RecordedAnswer {
        let recording = recorded.playback.recording();
        let comparable = finish.filter(|_| recorded.playback.copies() == 1);
        let prediction = Prediction::new(recording, comparable.unwrap_or_default());
        let threaded = (0..recording.processes()).filter(|&rank| recording.rank(rank).threads() > 1);
        let ranks: &[RankPrediction] = if comparable.is_some() { &prediction.ranks } else { &[] };
        let worst = prediction.worst().filter(|_| comparable.is_some());
        RecordedAnswer {
            trace: recorded.path.display().to_string(),
            program: recorded.program.clone(),
            synthetic: recorded.is_synthetic,
            copies: recorded.playback.copies(),
            fit: recorded.fit.clone(),
            predicted_seconds: makespan.seconds(),
            traced_seconds: prediction.traced.seconds(),
            error: prediction.error().filter(|_| comparable.is_some()),
            largest_error_of_a_rank: worst.map(|(rank, error)| RankError { rank, error }),
            shared_hosts: recorded.shared_hosts.clone(),
            disturbed: recorded.disturbed,
            ranks_without_a_stream: recorded.ranks_without_a_stream.clone(),
            threaded_ranks: threaded.count() as u32,
            notes: recording.notes().to_vec(),
            ranks: ranks.iter().map(RankAnswer::new).collect(),
        }
    }

    pub fn metrics(&self) -> Vec<Metric> {
        let error = self.error.map(|error| Metric::new(&ERROR, error.abs()));
        let predicted = Metric::new(&PREDICTED, self.predicted_seconds);
        let times = [predicted, Metric::new(&TRACED, self.traced_seconds)];
        error.into_iter().chain(times).map(|metric| metric.label("trace", &self.trace)).collect()
    }

    /// How far the simulation is off, or how long the recorded run took.
    pub fn sentence(&self) -> String {
        let synthetic = if self.synthetic { " (synthetic)" } else { "" };
        let traced = seconds(self.traced_seconds);
        let predicted = seconds(self.predicted_seconds);
        let Some(error) = self.error else {
            return format!("The traced run{synthetic} took {traced}.");
        };
        let off = match error {
            // Another network is a question, not a prediction of this run.
            error if self.fit.is_none() => {
                let side = if error > 0.0 { "longer" } else { "shorter" };
                format!("On this network it is {} {side}.", percent(error.abs()))
            }
            error if error.abs() < 5e-5 => "The prediction is less than 0.01 % off.".into(),
            error if is_factor(error) => format!("The prediction is {}.", longer(error)),
            error => {
                let side = if error > 0.0 { "long" } else { "short" };
                format!("The prediction is {} too {side}.", percent(error.abs()))
            }
        };
        let worst = self.largest_error_of_a_rank.as_ref().filter(|_| self.fit.is_some());
        let worst = worst.map_or_else(String::new, |worst| {
            format!(" The largest error of one rank is {} (rank {}).", slowdown(worst.error), worst.rank)
        });
        format!("The model predicts {predicted}; the run took {traced}{synthetic}. {off}{worst}")
    }

    /// Whether the sentence says how long the simulated run takes.
    pub fn is_compared(&self) -> bool {
        self.error.is_some()
    }

    /// Why the comparison may mean little, one line each.
    pub fn doubts(&self) -> Vec<String> {
        let missing = no_stream_of(&self.ranks_without_a_stream).map(|missing| {
            format!("In the trace {missing}: calls of other ranks that involve it are dropped")
        });
        let shared = self.shared_hosts.iter().map(|host| {
            format!(
                "{} of {} shared {}: they waited for each other's computation",
                counted(host.ranks.into(), "rank", "ranks"),
                if host.host.is_empty() { "a host" } else { &host.host },
                counted(host.cores.into(), "core", "cores"),
            )
        });
        let disturbed = self.disturbed.as_ref().map(|disturbed| disturbed.loss());
        let threaded = (self.threaded_ranks > 0).then(|| {
            format!(
                "{} from several threads: waits between threads count as computation",
                counted(self.threaded_ranks.into(), "rank calls", "ranks call"),
            )
        });
        let all = missing.into_iter().chain(shared).chain(disturbed).chain(threaded);
        all.map(|why| format!("{why}, so the comparison with the recorded run is not reliable.")).collect()
    }

    pub fn facts(&self, table: &mut Table) {
        let Some(fit) = &self.fit else { return };
        let counts = [
            (fit.sends, ["send", "sends"]),
            (fit.receives, ["receive", "receives"]),
            (fit.flights, ["transfer", "transfers"]),
            (fit.collectives, ["collective", "collectives"]),
            (fit.replays, ["replay", "replays"]),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let from: Vec<String> =
            counts.map(|(count, [one, many])| counted(*count as u64, one, many)).collect();
        table.row(["fitted to", &from.join(", ")]);
        if let Some(uncertainty) = fit.uncertainty {
            table.row(["uncertain by", &format!("±{}", percent(uncertainty.max(1e-4)))]);
        }
        fit.assumed.iter().for_each(|assumed| table.row(["assumed", assumed]));
    }

    /// Recorded and simulated times by rank; empty if they cannot be compared.
    pub fn by_rank(&self) -> String {
        if self.ranks.is_empty() {
            return String::new();
        }
        let table = Columns::over(self.ranks.iter().enumerate().take(MOST_RANKS))
            .number("rank", |(rank, _)| Cell::id(rank))
            .number("traced", |(_, row)| seconds(row.traced_seconds))
            .number("predicted", |(_, row)| seconds(row.predicted_seconds))
            .number("error", |(_, row)| row.error.map(Cell::slowdown))
            .build();
        let rest = self.ranks.len().saturating_sub(MOST_RANKS);
        let more = if rest > 0 {
            format!("… and {} (--json has all)\n", counted(rest as u64, "more rank", "more ranks"))
        } else {
            String::new()
        };
        format!("\n{table}{more}")
    }
}

impl RankAnswer {
    fn new(rank: &RankPrediction) -> RankAnswer {
        RankAnswer {
            traced_seconds: rank.traced.seconds(),
            predicted_seconds: rank.predicted.seconds(),
            error: relative(rank.predicted, rank.traced),
        }
    }
}

/// A run time, to four digits.
fn seconds(value: f64) -> String {
    Time((value * 1e12).round() as u64).to_string()
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

/// The metrics of a simulated trace.
pub const KINDS: &[&MetricKind] = &[&MAKESPAN, &SLOWDOWN, &ERROR, &PREDICTED, &TRACED];
