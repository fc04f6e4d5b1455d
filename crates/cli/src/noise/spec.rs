//! `straggler noise`, validated.

use crate::kernel::gates::refuse_unknown;
use crate::kernel::{Check, Failure, Outcome, refuse_missing_folder};
use crate::noise::args::NoiseCommand;
use crate::noise::{compare, gates as noise_gates};
use crate::simulate::plan::NoisePlan;
use std::path::Path;
use std::sync::Arc;
use straggler_model::Time;
use straggler_noise::spec::Shape;
use straggler_noise::{Injection, NoiseSpec, Phases, Repairs, Who, offsets};
use straggler_report::numbers::{counted, grouped};

impl Check for NoiseCommand {
    fn check(&self) -> Outcome<()> {
        let report = match self {
            NoiseCommand::Show(typed) => {
                refuse_unknown(&typed.checks, noise_gates::KINDS)?;
                &typed.report.report
            }
            NoiseCommand::Compare(typed) => {
                compare::refuse_unknown(typed)?;
                &typed.report.report
            }
            NoiseCommand::Fit(typed) => &typed.output,
            NoiseCommand::Convert(_) | NoiseCommand::List(_) | NoiseCommand::Measure(_) => &None,
        };
        report.iter().try_for_each(|path| refuse_missing_folder(path))
    }
}

/// Noise with the phases of replica 0.
#[derive(Debug)]
pub struct LoadedNoise {
    injection: Injection,
}

impl LoadedNoise {
    pub fn load(
        plan: &NoisePlan,
        seed: u64,
        processes: u32,
        warnings: &mut Vec<String>,
    ) -> Outcome<LoadedNoise> {
        let loaded = plan.spec.load(seed)?;
        for (path, noticed) in &loaded.files {
            warnings.extend(what_was_noticed(path, noticed));
        }
        for source in &loaded.sources {
            if let Who::Ranks(first, _) = source.who
                && first >= processes
            {
                let last = processes.saturating_sub(1);
                warnings.push(format!("noise `{}` disturbs no rank: ranks are 0 to {last}", source.name));
            }
        }
        let phases = match &plan.offsets {
            Some(path) => Phases::Given(load_offsets(path, processes, warnings)?),
            None if plan.cosched => Phases::Together { seed, replica: 0 },
            None => Phases::Drawn { seed, replica: 0 },
        };
        Ok(LoadedNoise { injection: Injection::new(loaded.sources, phases, plan.wallclock)? })
    }

    pub fn injection(&self) -> &Injection {
        &self.injection
    }

    pub fn describe(&self) -> String {
        self.injection.to_string()
    }
}

/// Reads one offset per process. Too few are an error: the other processes would silently start at 0.
fn load_offsets(path: &Path, processes: u32, warnings: &mut Vec<String>) -> Outcome<Arc<[Time]>> {
    let offsets = offsets::read(path)?;
    let (found, wanted) = (offsets.len() as u64, u64::from(processes));
    if found < wanted {
        let (found, wanted) = (counted(found, "offset", "offsets"), counted(wanted, "process", "processes"));
        return Err(Failure::bad_input(format!(
            "{}: {found} for {wanted}: write one number of nanoseconds per line, one line per rank",
            path.display()
        )));
    }
    if found > wanted {
        let extra = grouped(found - wanted);
        warnings.push(format!("{}: the last {extra} offsets belong to no process", path.display()));
    }
    Ok(offsets.into())
}

/// Warnings about repairs made while a noise trace was read.
pub fn what_was_noticed(path: &Path, repairs: &Repairs) -> Vec<String> {
    repairs.warnings().iter().map(|warning| format!("{}: {warning}", path.display())).collect()
}

/// Whether any source is drawn from parameters or a signature instead of read from a trace.
pub fn has_drawn_source(noise: &NoiseSpec) -> bool {
    let measured = |shape: &Shape| matches!(shape, Shape::Trace { .. } | Shape::Traces { .. });
    noise.sources.iter().any(|source| !measured(&source.shape))
}
