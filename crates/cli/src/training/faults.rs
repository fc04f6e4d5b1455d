//! Faults of workers as typed, for synthetic jobs and for changes to recorded jobs.

use std::str::FromStr;
use straggler_model::units;
use straggler_training::whatif::{Effect, Fault, Whom};

/// The help text of these options.
macro_rules! who_help {
    () => {
        "\
WHO    6 (a rank), 2/1 (data-parallel rank 2, stage 1), `any` (one worker,
       drawn at random), `all`, or 1% (each worker with this probability).
       --link 6-10:20 or 2/1-2/2:20 slows the link between two workers
TIMES  a factor: 1.5. TIME has a unit: 200ms
@STEP  from this step on"
    };
}
pub(crate) use who_help;

/// A worker as typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Worker {
    Rank(u32),
    Place { dp_rank: u32, stage: u32 },
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Who {
    One(Worker),
    Any,
    Each(f64),
}

/// A fault whose workers are not resolved to ranks yet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TypedFault {
    who: Who,
    /// The other end of a link.
    with: Option<Worker>,
    what: Effect,
    from_step: Option<i64>,
}

impl TypedFault {
    /// Resolves the workers; `rank` gives the rank of a data-parallel rank and stage.
    pub fn in_job(self, rank: impl Fn(u32, u32) -> Option<u32>) -> Result<Fault, String> {
        let rank = |worker: Worker| match worker {
            Worker::Rank(rank) => Ok(rank),
            Worker::Place { dp_rank, stage } => {
                rank(dp_rank, stage).ok_or_else(|| format!("there is no worker {dp_rank}/{stage} in the job"))
            }
        };
        let whom = match self.who {
            Who::One(worker) => Whom::Rank(rank(worker)?),
            Who::Any => Whom::Any,
            Who::Each(probability) => Whom::Each(probability),
        };
        let what = match self.what {
            Effect::Link { times, .. } => Effect::Link { times, with: self.with.map(rank).transpose()? },
            what => what,
        };
        Ok(Fault { whom, what, from_step: self.from_step })
    }
}

pub fn slow(text: &str) -> Result<TypedFault, String> {
    let (whom, times, from_step) = parted(text, "3:1.5, 2/1:1.5 or any:1.5@10")?;
    Ok(TypedFault { who: who(whom)?, with: None, what: Effect::Slow(factor(times)?), from_step })
}

pub fn link(text: &str) -> Result<TypedFault, String> {
    let (whom, times, from_step) = parted(text, "3:10, 3-7:10, 2/1-2/2:10 or any:10@5")?;
    let times = factor(times)?;
    let (whom, with) = match whom.split_once('-') {
        Some((one, other)) => (one, Some(worker(other)?)),
        None => (whom, None),
    };
    Ok(TypedFault { who: who(whom)?, with, what: Effect::Link { times, with: None }, from_step })
}

pub fn stall(text: &str) -> Result<TypedFault, String> {
    let (whom, late, from_step) = parted(text, "3:200ms, 2/1:200ms or any:1s@10")?;
    let late = units::time(late).map_err(|error| error.to_string())?;
    let late = i64::try_from(late.ps()).map_err(|_| "that is more than 100 days".to_string())?;
    Ok(TypedFault { who: who(whom)?, with: None, what: Effect::Stall(late), from_step })
}

pub fn lose(text: &str) -> Result<TypedFault, String> {
    let (whom, from_step) = since(text)?;
    Ok(TypedFault { who: who(whom)?, with: None, what: Effect::Lost, from_step })
}

pub fn fix(text: &str) -> Result<TypedFault, String> {
    let (whom, from_step) = since(text)?;
    Ok(TypedFault { who: who(whom)?, with: None, what: Effect::Repaired, from_step })
}

/// Who, how much, and since which step.
fn parted<'a>(text: &'a str, example: &str) -> Result<(&'a str, &'a str, Option<i64>), String> {
    let (text, from_step) = since(text)?;
    let (whom, how_much) = text.split_once(':').ok_or_else(|| format!("write it like {example}"))?;
    Ok((whom, how_much, from_step))
}

fn since(text: &str) -> Result<(&str, Option<i64>), String> {
    match text.split_once('@') {
        None => Ok((text, None)),
        Some((text, step)) => {
            let step = i64::from_str(step).map_err(|_| format!("`{step}` is not a step number"))?;
            Ok((text, Some(step)))
        }
    }
}

fn who(text: &str) -> Result<Who, String> {
    match (text, text.strip_suffix('%')) {
        ("any", _) => Ok(Who::Any),
        ("all", _) => Ok(Who::Each(1.0)),
        (_, Some(percent)) => match percent.parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Who::Each(percent / 100.0)),
            _ => Err(format!("`{text}` is not a probability: give 0% to 100%")),
        },
        _ => Ok(Who::One(worker(text)?)),
    }
}

fn worker(text: &str) -> Result<Worker, String> {
    let wrong = || {
        format!(
            "`{text}` is not a worker: give a rank such as 6, a data-parallel rank and stage such as 2/1, `any`, `all`, or a \
             probability such as 1%"
        )
    };
    let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
    match text.split_once('/') {
        Some((dp_rank, stage)) => Ok(Worker::Place { dp_rank: number(dp_rank)?, stage: number(stage)? }),
        None => Ok(Worker::Rank(number(text)?)),
    }
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(times) if (0.0..=1e6).contains(&times) => Ok(times),
        _ => Err(format!("`{text}` is not a factor: give a number from 0 to 1000000; 1.5 is 50 % longer")),
    }
}
