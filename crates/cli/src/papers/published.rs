//! The published analysis of a training job.

use crate::kernel::prelude::*;
use crate::training::{Show, file, page::excess, words};
use std::{collections::BTreeMap, fmt::Display};
use straggler_report::numbers::longer_than;
use straggler_training::Meta;
use straggler_training::published::{Answers, Dense, Rem, Slowdowns, Worker, analyse};

#[derive(Serialize)]
struct PublishedAnswer<'a> {
    method: &'static str,
    s: f64,
    replay_error: f64,
    m_w: Option<f64>,
    m_s: Option<f64>,
    by_stage: Option<&'a Slowdowns>,
    by_dp_rank: Option<&'a Slowdowns>,
    by_type: Option<&'a Slowdowns>,
    by_step: &'a BTreeMap<i64, f64>,
    workers: &'a [Worker],
    mended_workers: Option<&'a Rem>,
    mended_last_stage: &'a Rem,
    launch_slowdown: f64,
    launch_by_stage: Option<&'a Slowdowns>,
    launch_by_dp_rank: Option<&'a Slowdowns>,
    launch_by_type: Option<&'a Slowdowns>,
    step_seconds: f64,
    replayed_seconds: f64,
    ideal_seconds: f64,
    steps: usize,
    operations: usize,
    workers_recorded: u32,
    warnings: Vec<String>,
}

pub fn run(typed: &Show, console: &Console) -> Outcome<()> {
    let Some(tables) = file::tables(&typed.files)? else {
        return Err(Failure::bad_input("--method published reads tables of operations only: remove it"));
    };
    let described = file::meta(typed.meta.as_deref(), &typed.files)?;
    let table = file::whole(&tables)?;
    let refused = |fault: &dyn Display| Failure::bad_input(format!("{}: {fault}", named(&tables)));
    let job = Dense::new(&table.rows).map_err(|fault| refused(&fault))?;
    let mut warnings = table.doubts();
    warnings.extend(described.iter().filter_map(|meta| file::differs(meta, job.dp, job.pp)));
    let meta = match described {
        Some(meta) => meta,
        None => Meta::parse("").map_err(Failure::bad_input_of)?,
    };
    let answers = analyse(&job, &meta).map_err(|fault| refused(&fault))?;
    warnings.extend(words::far_off(answers.replay_error));
    if console.json {
        return console.print_json(&answer(&answers, warnings));
    }
    warnings.iter().for_each(|warning| console.warn(warning));
    console.print(&summary(&answers))
}

/// The tables in messages.
fn named(tables: &[PathBuf]) -> String {
    match tables {
        [first, rest @ ..] if !rest.is_empty() => format!("{} and {} more", first.display(), rest.len()),
        _ => tables.iter().map(|path| path.display().to_string()).collect(),
    }
}

fn answer(of: &Answers, warnings: Vec<String>) -> PublishedAnswer<'_> {
    PublishedAnswer {
        method: "published",
        s: of.s,
        replay_error: of.replay_error,
        m_w: of.m_w.as_ref().and_then(|rem| rem.rem),
        m_s: of.m_s.rem,
        by_stage: of.by_stage.as_ref(),
        by_dp_rank: of.by_dp_rank.as_ref(),
        by_type: of.by_type.as_ref(),
        by_step: &of.by_step,
        workers: &of.workers,
        mended_workers: of.m_w.as_ref(),
        mended_last_stage: &of.m_s,
        launch_slowdown: of.launch_slowdown,
        launch_by_stage: of.launch_by_stage.as_ref(),
        launch_by_dp_rank: of.launch_by_dp_rank.as_ref(),
        launch_by_type: of.launch_by_type.as_ref(),
        step_seconds: of.step_seconds,
        replayed_seconds: of.replayed_seconds,
        ideal_seconds: of.ideal_seconds,
        steps: of.steps,
        operations: of.operations,
        workers_recorded: of.workers_recorded,
        warnings,
    }
}

fn summary(of: &Answers) -> String {
    let mut text = format!(
        "S = {:.4}: by the published analysis, steps take {} with mean durations. The replay leaves {} of the \
         recorded time unexplained.\n{}, {}, {}.\n",
        of.s,
        longer_than(excess(of.s)),
        percent(of.replay_error.abs()),
        counted(u64::from(of.workers_recorded), "worker", "workers"),
        counted(of.steps as u64, "step", "steps"),
        counted(of.operations as u64, "operation", "operations"),
    );
    if let Some(m_w) = &of.m_w {
        let ranks: Vec<String> = m_w.ranks.iter().map(u32::to_string).collect();
        let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
        if let Some(rem) = m_w.rem {
            text.push_str(&format!("M_W = {rem:.4}, with {noun} {} fixed. ", ranks.join(", ")));
        }
    }
    text.push_str(&match of.m_s.rem {
        Some(rem) => format!("M_S = {rem:.4}, with the last stage fixed.\n"),
        None => "No time is lost, so M_S is undefined.\n".into(),
    });
    for (name, list) in
        [("stage", &of.by_stage), ("data-parallel rank", &of.by_dp_rank), ("operation", &of.by_type)]
    {
        let Some(list) = list else { continue };
        let mut table = Table::with_header([name, "slowdown"]);
        let mut sorted: Vec<(&String, &f64)> = list.iter().collect();
        sorted.sort_by(|a, b| b.1.total_cmp(a.1));
        sorted.iter().take(12).for_each(|(name, value)| table.row([(*name).clone(), format!("{value:.4}")]));
        text.push_str(&format!("\n{table}"));
    }
    if of.by_stage.is_none() {
        text.push_str("S is below 1.03: the published analysis decomposes nothing.\n");
    }
    text
}
