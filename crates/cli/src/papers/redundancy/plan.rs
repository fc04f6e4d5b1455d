//! `straggler papers redundancy`, validated.

use crate::args::Common;
use crate::kernel::exit::{Failure, Outcome};
use crate::kernel::typed::Rounds;
use crate::papers::redundancy::args::Redundancy as Typed;
use crate::simulate::plan::NoisePlan;
use std::path::PathBuf;
use straggler_analysis::recovery::Experiment;
use straggler_noise::NoiseSpec;
use straggler_model::units::Bytes;
use straggler_sim::programs::{Butterfly, Redundancy};

#[derive(Debug)]
pub struct Plan {
    pub experiment: Experiment,
    pub processes: u32,
    pub cycles: u32,
    pub network: String,
    pub noise: NoisePlan,
    pub seed: u64,
    pub replicas: u32,
    pub undisturbed: bool,
    pub threads: Option<usize>,
    pub output: Option<PathBuf>,
    pub report: Option<PathBuf>,
}

impl Plan {
    pub fn new(typed: Typed, common: &Common) -> Outcome<Plan> {
        let Bytes(bytes) = typed.size;
        let conventional = Butterfly::new(typed.processes, typed.cycles, typed.compute)?;
        let conventional = conventional.with_messages(bytes, typed.growth);
        let rounds = typed.processes.trailing_zeros();
        let levels = match &typed.rounds {
            None => !1,
            Some(ranges) => levels(ranges, rounds)?,
        };
        let redundancy = match typed.patience {
            None => Redundancy::Levels(levels),
            Some(patience) => Redundancy::WhenLate { levels, patience },
        };
        let spec = NoiseSpec { sources: typed.noise.into_iter().flat_map(|spec| spec.sources).collect() };
        if spec.is_none() {
            return Err(Failure::usage("there is nothing to recover without noise: give --noise a source"));
        }
        Ok(Plan {
            experiment: Experiment { conventional, redundancy },
            processes: typed.processes,
            cycles: typed.cycles,
            network: typed.network,
            noise: NoisePlan { spec, offsets: None, cosched: false, wallclock: false },
            seed: common.seed,
            replicas: typed.replicas,
            undisturbed: !typed.skip_undisturbed,
            threads: common.threads.map(Into::into),
            output: typed.output,
            report: typed.report.report,
        })
    }
}

/// Bits of the levels that are handed over after the given rounds. After its first round a process has only
/// the data that it just exchanged with its neighbour, so there is nothing to hand over.
fn levels(ranges: &Rounds, rounds: u32) -> Outcome<u32> {
    if rounds < 2 {
        return Err(Failure::usage(
            "--rounds: redundant exchanges need at least two rounds, that is 4 processes",
        ));
    }
    let mut levels = 0;
    for &(first, last) in &ranges.0 {
        if first < 2 || last > rounds {
            return Err(Failure::usage(format!(
                "--rounds {first}-{last} is out of range: redundant exchanges are possible after rounds 2 to {rounds} of {rounds}"
            )));
        }
        levels |= (first..=last).fold(0, |bits, round| bits | 1 << (round - 1));
    }
    Ok(levels)
}
