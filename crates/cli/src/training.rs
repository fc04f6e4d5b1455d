//! `straggler training`: finds the stragglers of a training job, their causes, and what fixing each would save.

pub mod args;
pub mod convert;
pub mod cost;
pub mod faults;
pub mod file;
pub mod generate;
pub mod page;
pub mod plan;
pub mod published;
pub mod tables;
pub mod whatif;
pub mod words;
use crate::kernel::{Console, Failure, Outcome, Valid, pages};
use crate::training::args::{Method, Show, TrainingCommand};
use crate::training::cost::Cost;
use serde::Serialize;
use std::path::PathBuf;
use straggler_report::page::Page;
use straggler_training::Job;
use straggler_training::exact::{Answers, Replays, analyse};
use straggler_training::phrases::CauseAnswer;

pub fn run(command: &Valid<TrainingCommand>, seed: u64, console: &Console) -> Outcome<()> {
    match &**command {
        TrainingCommand::Show(typed) if typed.method == Method::Published => published::run(typed, console),
        TrainingCommand::Show(typed) => show(typed, console),
        TrainingCommand::Convert(typed) => convert::run(typed, console),
        TrainingCommand::Generate(typed) => generate::run(typed, seed, console),
    }
}

#[derive(Serialize)]
struct TrainingAnswer<'a> {
    source: &'a str,
    synthetic: bool,
    method: &'static str,
    verdict: String,
    #[serde(flatten)]
    answers: &'a Answers,
    causes: Vec<CauseAnswer<'a>>,
    cost: &'a Cost,
    warnings: Vec<String>,
}

fn show(typed: &Show, console: &Console) -> Outcome<()> {
    let meta = file::meta(typed.meta.as_deref(), &typed.files)?;
    let mut job = file::job(&typed.files)?;
    if let Some(nodes) = &typed.nodes {
        let places = file::places(nodes, &job)?;
        job.places.retain(|known| places.iter().all(|typed| typed.what != known.what));
        job.places.extend(places);
    }
    let replays = Replays::new(&job).map_err(Failure::bad_input_of)?;
    let layers = layers(&typed.layers, &job)?;
    let answers = analyse(&replays, layers.as_deref());
    let cost = Cost::new(&answers, meta.as_ref(), typed.cost);
    let mut warnings = words::doubts(&answers);
    let recorded = (answers.dp_ranks as u32, answers.stages as u32);
    warnings.extend(meta.iter().flat_map(|meta| file::differs(meta, recorded.0, recorded.1)));
    pages::write_asked(typed.report.report.as_ref(), console, || {
        page::page(&job, &replays, &answers, &warnings)
    })?;
    if console.json {
        let verdict = words::verdict(&answers);
        let (source, synthetic) = (job.source.as_str(), job.synthetic);
        return console.print_json(&TrainingAnswer {
            source,
            synthetic,
            method: "exact",
            verdict,
            answers: &answers,
            causes: answers.causes.iter().map(CauseAnswer::new).collect(),
            cost: &cost,
            warnings,
        });
    }
    warnings.iter().for_each(|warning| console.warn(warning));
    answers.remarks.iter().for_each(|remark| console.note(remark));
    console.print(&words::summary(&job, &answers, &cost))
}

/// The page of a job without metadata, with the other defaults of `training show`.
pub fn page_of_files(files: &[PathBuf]) -> Outcome<Page> {
    let job = file::job(files)?;
    let replays = Replays::new(&job).map_err(Failure::bad_input_of)?;
    let answers = analyse(&replays, None);
    Ok(page::page(&job, &replays, &answers, &words::doubts(&answers)))
}

/// More layers than any model has.
const MOST_LAYERS: u64 = 10_000;

/// The layers of every stage, from their total or a list.
fn layers(typed: &[u32], job: &Job) -> Outcome<Option<Vec<u32>>> {
    let stages = job.stages();
    let all: u64 = typed.iter().map(|&layers| u64::from(layers)).sum();
    if !typed.is_empty() && !(1..=MOST_LAYERS).contains(&all) {
        return Err(Failure::usage(format!("--layers: models have 1 to {MOST_LAYERS} layers, not {all}")));
    }
    match typed {
        [] => Ok(None),
        [all] if stages > 1 && (*all as usize).is_multiple_of(stages) => {
            Ok(Some(vec![*all / stages as u32; stages]))
        }
        list if list.len() == stages && stages > 1 && !list.contains(&0) => Ok(Some(list.to_vec())),
        _ if stages < 2 => {
            Err(Failure::usage("--layers: the job has one stage, so there is nothing to split"))
        }
        _ => Err(Failure::usage(format!(
            "--layers: the job has {stages} stages: give a multiple of {stages}, or {stages} numbers of at \
             least 1"
        ))),
    }
}
