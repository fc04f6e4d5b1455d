//! `straggler latency measure`: runs the kernel, prints and writes the distributions.

pub mod words;

use crate::kernel::console::Console;
use crate::kernel::exit::{Exit, Failure, Outcome};
use crate::kernel::interrupt;
use crate::kernel::interrupt::Orderly;
use crate::kernel::invocation::command_line;
use crate::kernel::meter::Meter;
use crate::kernel::outputs::refuse_missing_folder;
use crate::latency::plan::{MeasurePlan, Plan};
use crate::serve;
use serde::Serialize;
use straggler_measure::latency::{Kernel, Options, Server, Watch, measure};
use straggler_measure::noise::MeasureError;
use straggler_measure::{cores, timer};
use straggler_model::latency::{Histogram, Labels, Measurement, Outside, Process, Series, write};
use straggler_model::provenance::{Machine, Timer};
use straggler_report::numbers::counted;

pub fn run(plan: &Plan, console: &Console) -> Outcome<()> {
    match plan {
        Plan::Measure(plan) => measure_and_tell(plan, console),
        Plan::Listen { address, token, cores } => {
            if let Some(list) = cores {
                pin_to_first(list)?;
            }
            listen(address, token.clone(), console)
        }
    }
}

/// The answering side runs on the first core of the list.
fn pin_to_first(list: &[u32]) -> Outcome<()> {
    let allowed = cores::allowed().map_err(MeasureError::from)?;
    let chosen = cores::choose(Some(list), &allowed).map_err(MeasureError::from)?;
    chosen.first().map_or(Ok(()), |&core| cores::pin(core)).map_err(MeasureError::from)?;
    Ok(())
}

fn measure_and_tell(plan: &MeasurePlan, console: &Console) -> Outcome<()> {
    let _orderly = Orderly::begin();
    plan.output.iter().try_for_each(|path| refuse_missing_folder(path))?;
    let allowed = cores::allowed().map_err(MeasureError::from)?;
    let cores = cores::choose(plan.cores.as_deref(), &allowed).map_err(MeasureError::from)?;
    let timer = timer::examine().map_err(|fault| Failure::bad_input(fault.to_string()))?;
    let options = Options {
        kernel: plan.kernel.clone(),
        sizes: plan.sizes.clone(),
        cores,
        effort: plan.effort,
        bins: plan.bins,
    };
    if let Kernel::Command { .. } = &plan.kernel {
        let runs = counted(plan.effort.warm_up(), "run that does", "runs that do");
        console.note(&format!("Warm-up: {runs} not count."));
    }
    let meter = Meter::new(console, options.trials());
    let watch = Watch { stop: interrupt::flag(), progress: &|more| meter.advance(more) };
    let measurement = measure(&options, &without_token(&plan.kernel, command_line()), &timer, watch);
    drop(meter);
    finish(plan, &measurement, console)
}

/// Hides the token of a listening host.
fn without_token(kernel: &Kernel, command: String) -> String {
    match kernel {
        Kernel::Tcp { remote: Some(remote) } if !remote.token.is_empty() => {
            command.replace(&remote.token, "TOKEN")
        }
        _ => command,
    }
}

/// Writes and prints the measurement, even if it is incomplete.
fn finish(plan: &MeasurePlan, measurement: &Measurement, console: &Console) -> Outcome<()> {
    let is_empty = measurement.series.is_empty();
    if let Some(path) = plan.output.as_ref().filter(|_| !is_empty) {
        write(path, measurement)?;
    }
    if !is_empty {
        match console.json {
            true => console.print_json(&MeasureLatencyAnswer::new(measurement))?,
            false => {
                // A measurement that ended early is an error below.
                measurement
                    .doubts()
                    .iter()
                    .skip(measurement.interruptions.len())
                    .for_each(|doubt| console.warn(doubt));
                console.print(&words::summary(measurement))?;
            }
        }
    }
    let Some(reason) = measurement.interruptions.first() else {
        if let Some(path) = &plan.output {
            let series = counted(measurement.series.len() as u64, "distribution", "distributions");
            console.note(&format!("{series} written to {}", path.display()));
        }
        return Ok(());
    };
    let kept = match (&plan.output, is_empty) {
        (_, true) => "nothing was measured".to_string(),
        (Some(path), false) => format!("the measurement so far is in {}", path.display()),
        (None, false) => "the measurement so far is above; -o FILE would save it".to_string(),
    };
    let exit = if interrupt::check().is_err() { Exit::Interrupted } else { Exit::BadInput };
    Err(Failure::new(exit, anyhow::Error::msg(format!("{reason}; {kept}"))))
}

#[derive(Serialize)]
struct ListenAnswer<'a> {
    address: String,
    token: &'a str,
    command: &'a str,
}

/// Answers clients until a signal ends the program.
fn listen(address: &str, token: Option<String>, console: &Console) -> Outcome<()> {
    let token = token.map_or_else(serve::token, Ok)?;
    interrupt::expect();
    let bound = Server::bind(address, token.clone()).and_then(|server| {
        let address = server.address().map_err(|fault| straggler_measure::latency::ServerError::Address {
            address: address.into(),
            fault,
        })?;
        Ok((server, address.to_string()))
    });
    let (server, address) = bound.map_err(|fault| Failure::new(Exit::Usage, fault))?;
    let command = format!("straggler latency measure --kernel tcp --connect {address} --token {token}");
    match console.json {
        true => console.print_json(&ListenAnswer { address, token: &token, command: &command })?,
        false => {
            console.print_verbatim(&format!("{command}\n"))?;
            console.note(
                "Run this on the other host; an address that begins with 127. works on this host only. \
                 Press Ctrl-C to stop.",
            );
        }
    }
    server.serve(interrupt::flag());
    Ok(())
}

#[derive(Debug, Serialize)]
pub struct MeasureLatencyAnswer<'a> {
    pub kernel: &'a str,
    pub finished: bool,
    pub interruptions: &'a [String],
    pub notes: &'a [String],
    pub processes: &'a [Process],
    pub series: Vec<SeriesAnswer<'a>>,
    pub timers: &'a [Timer],
    pub machines: &'a [Machine],
    pub warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct SeriesAnswer<'a> {
    #[serde(flatten)]
    pub labels: &'a Labels,
    pub count: u64,
    /// Trials shorter than the subtracted timer cost, and trials beyond the last bin.
    pub underflow: u64,
    pub overflow: u64,
    pub min_ps: u64,
    pub max_ps: u64,
    pub mean_ps: f64,
    pub sd_ps: Option<f64>,
    /// Quantiles with at least ten trials beyond them.
    pub quantiles: Vec<QuantileAnswer>,
    pub cycle_minima_ps: Vec<u64>,
    /// The subtracted cost of the timer, and its cost during the run.
    pub timer_subtracted_ps: Option<u64>,
    pub timer_median_ps: Option<u64>,
    pub timer_max_ps: Option<u64>,
}

/// A quantile and its bounds.
#[derive(Debug, Serialize)]
pub struct QuantileAnswer {
    pub quantile: f64,
    pub low_ps: u64,
    pub high_ps: u64,
    /// Its bound if it lies outside the bins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
}

impl<'a> MeasureLatencyAnswer<'a> {
    pub fn new(measurement: &'a Measurement) -> MeasureLatencyAnswer<'a> {
        MeasureLatencyAnswer {
            kernel: &measurement.kernel,
            finished: measurement.is_finished(),
            interruptions: &measurement.interruptions,
            notes: &measurement.notes,
            processes: &measurement.processes,
            series: measurement.series.iter().map(SeriesAnswer::new).collect(),
            timers: &measurement.timers,
            machines: &measurement.machines,
            warnings: measurement.doubts(),
        }
    }
}

impl<'a> SeriesAnswer<'a> {
    fn new(series: &'a Series) -> SeriesAnswer<'a> {
        let trials = &series.trials;
        let calls = &series.timer.calls;
        SeriesAnswer {
            labels: &series.labels,
            count: trials.count(),
            underflow: trials.underflow(),
            overflow: trials.overflow(),
            min_ps: trials.min().unwrap_or_default().ps(),
            max_ps: trials.max().unwrap_or_default().ps(),
            mean_ps: trials.mean_ps().unwrap_or(0.0),
            sd_ps: trials.variance_ps2().map(f64::sqrt),
            quantiles: QUANTILES
                .iter()
                .filter_map(|&quantile| QuantileAnswer::new(trials, quantile))
                .collect(),
            cycle_minima_ps: series.minima.iter().map(|time| time.ps()).collect(),
            timer_subtracted_ps: series.timer.subtracted.map(|bounds| bounds.low.ps()),
            timer_median_ps: calls.quantile(0.5).map(|bounds| bounds.middle().ps()),
            timer_max_ps: calls.max().map(|time| time.ps()),
        }
    }
}

impl QuantileAnswer {
    fn new(trials: &Histogram, quantile: f64) -> Option<QuantileAnswer> {
        let bounds = trials.quantile(quantile).filter(|_| is_supported(trials.count(), quantile))?;
        let outside = trials.outside(quantile);
        Some(QuantileAnswer { quantile, low_ps: bounds.low.ps(), high_ps: bounds.high.ps(), outside })
    }
}

/// Quantiles reported if there are enough trials.
pub const QUANTILES: [f64; 8] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999];

/// A quantile with fewer trials beyond it is mostly chance.
const BEYOND: f64 = 10.0;

pub fn is_supported(count: u64, quantile: f64) -> bool {
    // Slightly less, to allow for the rounding of 1 - 0.99.
    count as f64 * (1.0 - quantile) >= BEYOND * (1.0 - 1e-6)
}
