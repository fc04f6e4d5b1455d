//! `straggler training whatif` as typed.

use crate::args::report::ReportOption;
use clap::Args;
use std::path::PathBuf;
use std::str::FromStr;
use straggler_model::noise::NoiseSpec;
use straggler_model::units;
use straggler_training::whatif::{Fault, What, Whom};

const EXAMPLES: &str = "\
EXAMPLES
  What would a worker that computes 1.5 times as long from step 5 on cost?
  straggler training whatif fixtures/training/last-stage.csv --slow 3:1.5@5

  What if any one worker of 16 times as many did, or each with a probability of 1 %?
  straggler training whatif fixtures/training/last-stage.csv --copies 16 --slow any:1.5
  straggler training whatif fixtures/training/last-stage.csv --copies 16 --slow 1%:1.5

  What if rank 6 were mended, or lost; if the link between ranks 2 and 6 were slow; with noise?
  straggler training whatif fixtures/training/slow-worker.csv --mend 6
  straggler training whatif fixtures/training/slow-worker.csv --lose 6
  straggler training whatif fixtures/training/slow-worker.csv --link 2-6:10
  straggler training whatif fixtures/training/slow-worker.csv --draws 20 \\
      --noise periodic:rate=100Hz,duration=1ms

WHO  a rank; `any`: one worker, drawn anew each time; `1%`: each worker, with this probability.
     @STEP: from this step on.

Collectives take as long as they did, however many copies there are. To have them grow by their algorithms on a network,
simulate the job: straggler simulate JOB --copies 256 --network NAME. -o writes the changed job as a table, for that";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WhatIf {
    /// The recording of a job, as `training show` reads it
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Computing takes so many times as long
    #[arg(long, value_name = "WHO:TIMES[@STEP]", value_parser = slow)]
    pub slow: Vec<Fault>,
    /// Transfers take so many times as long: all of a worker, or those between two ranks alone
    #[arg(long, value_name = "WHO[-RANK]:TIMES[@STEP]", value_parser = link)]
    pub link: Vec<Fault>,
    /// The host is late by this time, once a step
    #[arg(long, value_name = "WHO:TIME[@STEP]", value_parser = stall)]
    pub stall: Vec<Fault>,
    /// A worker is gone: the job goes on without its data-parallel rank
    #[arg(long, value_name = "WHO[@STEP]", value_parser = lose)]
    pub lose: Vec<Fault>,
    /// A worker is as typical ones of its stage; `all` mends everybody. Comes before the other changes
    #[arg(long, value_name = "WHO[@STEP]", value_parser = mend)]
    pub mend: Vec<Fault>,
    /// Noise on everything that is no transfer: a recording of `straggler measure noise`, or a description
    #[arg(long, value_name = "FILE|SPEC", value_parser = NoiseSpec::of_typed)]
    pub noise: Vec<NoiseSpec>,
    /// The job so many times side by side, along the data-parallel dimension
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub copies: u32,
    /// How often what is left to chance is drawn; 100 where something is
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub draws: Option<u32>,
    /// Write the changed job as a table
    #[arg(short, long, value_name = "OUT.csv")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub report: ReportOption,
}

impl WhatIf {
    /// All changes, in the order in which they are made.
    pub fn faults(&self) -> Vec<Fault> {
        [&self.mend, &self.slow, &self.link, &self.stall, &self.lose].into_iter().flatten().copied().collect()
    }
}

fn slow(text: &str) -> Result<Fault, String> {
    let (whom, times, from_step) = parted(text, "3:1.5 or any:1.5@10")?;
    Ok(Fault { whom: who(whom)?, what: What::Slow(factor(times)?), from_step })
}

fn link(text: &str) -> Result<Fault, String> {
    let (whom, times, from_step) = parted(text, "3:10, 3-7:10 or any:10@5")?;
    let times = factor(times)?;
    let (whom, with) = match whom.split_once('-') {
        Some((one, other)) => (one, Some(rank(other)?)),
        None => (whom, None),
    };
    Ok(Fault { whom: who(whom)?, what: What::Link { times, with }, from_step })
}

fn stall(text: &str) -> Result<Fault, String> {
    let (whom, late, from_step) = parted(text, "3:200ms or any:1s@10")?;
    let late = units::time(late).map_err(|error| error.to_string())?;
    let late = i64::try_from(late.ps()).map_err(|_| "that is more than 100 days".to_string())?;
    Ok(Fault { whom: who(whom)?, what: What::Stall(late), from_step })
}

fn lose(text: &str) -> Result<Fault, String> {
    let (whom, from_step) = since(text)?;
    Ok(Fault { whom: who(whom)?, what: What::Lost, from_step })
}

fn mend(text: &str) -> Result<Fault, String> {
    let (whom, from_step) = since(text)?;
    let whom = if whom == "all" { Whom::Each(1.0) } else { who(whom)? };
    Ok(Fault { whom, what: What::Mended, from_step })
}

/// Who, how much, and since which step.
fn parted<'a>(text: &'a str, example: &str) -> Result<(&'a str, &'a str, Option<i64>), String> {
    let (text, from_step) = since(text)?;
    let (whom, how_much) = text.split_once(':').ok_or_else(|| format!("give it as {example}"))?;
    Ok((whom, how_much, from_step))
}

fn since(text: &str) -> Result<(&str, Option<i64>), String> {
    match text.split_once('@') {
        None => Ok((text, None)),
        Some((text, step)) => {
            let step = i64::from_str(step).map_err(|_| format!("`{step}` is not the number of a step"))?;
            Ok((text, Some(step)))
        }
    }
}

fn who(text: &str) -> Result<Whom, String> {
    match (text, text.strip_suffix('%')) {
        ("any", _) => Ok(Whom::Any),
        (_, Some(percent)) => match percent.parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Whom::Each(percent / 100.0)),
            _ => Err(format!("`{text}` is no probability: give 0% to 100%")),
        },
        _ => Ok(Whom::Rank(rank(text)?)),
    }
}

fn rank(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is no rank: give a number, or `any`, or a probability such as 1%"))
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(times) if (0.0..=1e6).contains(&times) => Ok(times),
        _ => {
            Err(format!("`{text}` is no factor: give a number from 0 to 1000000, 1.5 for half as long again"))
        }
    }
}
