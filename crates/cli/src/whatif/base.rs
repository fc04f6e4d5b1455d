//! The network of the baseline: given, fitted to the trace, or assumed.

use crate::kernel::{Console, Outcome};
use crate::network::load_network;
use crate::trace::file::Opened;
use crate::whatif::args::TraceWhatIf;
use std::path::Path;
use std::time::{Duration, Instant};
use straggler_analysis::predict::fit;
use straggler_analysis::study::FIT;
use straggler_model::Network;
use straggler_report::numbers::{counted, seconds};

/// The network of the baseline, and the reason to doubt it.
pub struct Base {
    pub network: Network,
    pub fitted: bool,
    pub doubt: Option<String>,
}

/// Used if no network was measured here, either.
const PRESET: &str = "slingshot-11";
/// What `straggler mpi loggp` writes.
const MEASURED: &str = "measured";
/// If the fitted network is wrong by more than this share of the run, others are tried.
const FAR_OFF: f64 = 0.25;

impl Base {
    pub fn new(typed: &TraceWhatIf, opened: &Opened) -> Outcome<Base> {
        if let Some(name) = typed.base_network.as_deref().filter(|&name| name != FIT) {
            return Ok(Base { network: load_network(name, None)?, fitted: false, doubt: None });
        }
        match fit(&opened.trace) {
            Ok(fit) => Ok(Base { network: fit.network, fitted: true, doubt: None }),
            Err(fault) => {
                let mut base = Base::fallback()?;
                let fault = fault.to_string();
                base.doubt(fault.split("; give them").next().unwrap_or(&fault));
                Ok(base)
            }
        }
    }

    /// A network that was measured here, or else a preset.
    pub fn fallback() -> Outcome<Base> {
        let name = if Path::new("measured.toml").exists() { MEASURED } else { PRESET };
        Ok(Base { network: load_network(name, None)?, fitted: false, doubt: None })
    }

    /// Whether another network may be closer to the trace.
    pub fn is_doubtful(&self, error: f64) -> bool {
        self.fitted && error.abs() > FAR_OFF
    }

    pub fn doubt(&mut self, why: &str) {
        self.doubt = Some(format!(
            "{why}. So the network {} is assumed, and what depends on the network is uncertain: measure it with \
             `straggler mpi loggp`, or give it with --base-network",
            self.network.name
        ));
    }
}

/// Announces many simulations, and reports each long one.
pub struct Several<'a> {
    console: &'a Console,
    count: usize,
    done: usize,
    began: Instant,
    /// The expected time of one.
    one: Duration,
}

/// Shorter runs are not announced.
const LONG: Duration = Duration::from_secs(2);

impl<'a> Several<'a> {
    pub fn new(console: &'a Console, count: usize, one: Duration) -> Several<'a> {
        let all = one * u32::try_from(count).unwrap_or(u32::MAX);
        if all > LONG {
            let many = counted(count as u64, "hypothesis", "hypotheses");
            console.note(&format!("{many}, about {} in all", seconds(all.as_secs_f64())));
        }
        Several { console, count, done: 0, began: Instant::now(), one }
    }

    /// Starts the next one.
    pub fn next(&mut self, name: &str) {
        self.done += 1;
        // What a search finds may suggest more.
        self.count = self.count.max(self.done);
        if self.one * 3 > LONG {
            let passed = if self.done > 1 { self.began.elapsed() / (self.done as u32 - 1) } else { self.one };
            let left = passed * (self.count - self.done + 1) as u32;
            self.console.note(&format!(
                "{} of {}: {name}, about {} left",
                self.done,
                self.count,
                seconds(left.as_secs_f64())
            ));
        }
    }
}
