//! `straggler trace show`: where the time of a traced run goes.

use super::info::{FunctionAnswer, function_answer};
use super::regions::{self, RegionAnswer};
use super::{Opened, open_trace, page, words};
use crate::args::trace::{Picture, Show};
use crate::commands::{refuse_missing_folder, refuse_unwritable, report};
use crate::console::Console;
use crate::exit::Outcome;
use serde::Serialize;
use straggler_report::charts::save;
use straggler_trace::profile::{Pair, Profile, share};

/// A profile, for programs.
#[derive(Serialize)]
pub struct Answer {
    pub trace: String,
    pub sentence: String,
    pub synthetic: bool,
    pub mpi_share: f64,
    pub mpi_seconds: f64,
    pub application_seconds: f64,
    pub ranks: Vec<RankAnswer>,
    /// Most time first.
    pub functions: Vec<NamedFunction>,
    pub communicators: Vec<CommAnswer>,
    /// What the program marked, most time first.
    pub regions: Vec<RegionAnswer>,
    /// Messages between pairs of ranks.
    pub matrix: Vec<PairAnswer>,
    /// The same for a spreadsheet.
    pub matrix_csv: String,
    pub pattern: PatternAnswer,
    pub warnings: Vec<String>,
}

#[derive(Serialize)]
pub struct RankAnswer {
    pub rank: u32,
    pub application_seconds: f64,
    pub mpi_seconds: f64,
    pub mpi_share: f64,
    pub calls: u64,
}

#[derive(Serialize)]
pub struct NamedFunction {
    pub function: &'static str,
    #[serde(flatten)]
    pub counts: FunctionAnswer,
    pub mean_seconds: f64,
    pub share_of_application: f64,
    /// None for what is not counted as time in MPI.
    pub share_of_mpi: Option<f64>,
}

#[derive(Serialize)]
pub struct CommAnswer {
    pub communicator: u32,
    pub name: String,
    pub size: usize,
    #[serde(flatten)]
    pub counts: FunctionAnswer,
}

#[derive(Serialize)]
pub struct PairAnswer {
    pub from: u32,
    pub to: u32,
    pub messages: u64,
    pub bytes: u64,
}

/// When there were collectives and messages, over the normalised time of the run.
#[derive(Serialize)]
pub struct PatternAnswer {
    pub collectives: Vec<DotAnswer>,
    /// Messages in equal parts of the run.
    pub messages: Vec<u64>,
}

#[derive(Serialize)]
pub struct DotAnswer {
    pub at: f64,
    pub function: &'static str,
    pub communicator: u32,
    pub ranks: u32,
}

pub fn run(typed: &Show, console: &Console) -> Outcome<()> {
    typed.report.report.as_deref().map_or(Ok(()), refuse_unwritable)?;
    typed.output.as_deref().map_or(Ok(()), refuse_missing_folder)?;
    let opened = open_trace(&typed.trace)?;
    let profile = Profile::of(&opened.trace);
    let answer = answer(typed, &opened, &profile);
    report::write_asked(typed.report.report.as_ref(), console, || page::page(&answer, &opened, &profile))?;
    if let Some(output) = &typed.output {
        let chart = match typed.what {
            Picture::Pattern => page::pattern(&opened, &profile),
            Picture::Messages => page::density(&opened, &profile),
            Picture::Matrix => page::matrix(&opened, &profile),
            Picture::Timeline => page::timeline(&opened),
        };
        save(output, &chart.draw(&chart.heading()))?;
        console.note(&format!("The picture is in {}", output.display()));
    }
    if console.json {
        return console.print_json(&answer);
    }
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    console.print(&words::show(&answer))
}

fn answer(typed: &Show, opened: &Opened, profile: &Profile) -> Answer {
    let (mpi, application) = profile.totals();
    Answer {
        trace: typed.trace.display().to_string(),
        sentence: words::sentence(profile),
        synthetic: opened.is_synthetic(),
        mpi_share: share(mpi, application),
        mpi_seconds: mpi.seconds(),
        application_seconds: application.seconds(),
        ranks: ranks(profile),
        functions: functions(profile),
        communicators: communicators(opened, profile),
        regions: regions::answers(profile),
        matrix: profile.matrix.iter().map(pair).collect(),
        matrix_csv: csv(&profile.matrix),
        pattern: pattern(profile),
        warnings: opened.warnings(&typed.trace).into_iter().chain(regions::warnings(profile)).collect(),
    }
}

fn ranks(profile: &Profile) -> Vec<RankAnswer> {
    let rank = |(rank, of_rank): (u32, &straggler_trace::profile::RankProfile)| RankAnswer {
        rank,
        application_seconds: of_rank.application().seconds(),
        mpi_seconds: of_rank.mpi.seconds(),
        mpi_share: of_rank.mpi_share(),
        calls: of_rank.calls,
    };
    (0..).zip(&profile.ranks).map(rank).collect()
}

fn functions(profile: &Profile) -> Vec<NamedFunction> {
    let (mpi, application) = profile.totals();
    let functions = profile.functions.iter().map(|(function, counts)| NamedFunction {
        function: function.name(),
        counts: function_answer(counts),
        mean_seconds: counts.mean().seconds(),
        share_of_application: share(counts.time, application),
        share_of_mpi: straggler_trace::profile::is_counted(*function).then(|| share(counts.time, mpi)),
    });
    functions.collect()
}

fn communicators(opened: &Opened, profile: &Profile) -> Vec<CommAnswer> {
    let communicators = profile.communicators.iter().filter_map(|&(communicator, ref counts)| {
        let comm = opened.trace.communicators.get(communicator as usize)?;
        Some(CommAnswer {
            communicator,
            name: comm.name.clone(),
            size: comm.members.len() + comm.remote.len(),
            counts: function_answer(counts),
        })
    });
    communicators.collect()
}

fn pair(pair: &Pair) -> PairAnswer {
    PairAnswer { from: pair.from, to: pair.to, messages: pair.messages, bytes: pair.bytes }
}

fn csv(matrix: &[Pair]) -> String {
    let line = |pair: &Pair| format!("{},{},{},{}\n", pair.from, pair.to, pair.messages, pair.bytes);
    std::iter::once("from,to,messages,bytes\n".to_owned()).chain(matrix.iter().map(line)).collect()
}

fn pattern(profile: &Profile) -> PatternAnswer {
    let dot = |dot: &straggler_trace::profile::Dot| DotAnswer {
        at: dot.at,
        function: dot.function.name(),
        communicator: dot.comm,
        ranks: dot.ranks,
    };
    PatternAnswer {
        collectives: profile.pattern.dots.iter().map(dot).collect(),
        messages: profile.pattern.messages.clone(),
    }
}
