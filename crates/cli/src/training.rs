//! `straggler training`: finds the stragglers of a training job, their causes, and what fixing each would save.

pub mod cost;
pub mod faults;
pub mod file;
pub mod page;
pub mod whatif;
pub mod words;

use crate::kernel::prelude::*;
pub use crate::training::whatif::{Faults, JobChanges};
use crate::{
    kernel::typed::count, papers::published, report::ReportOption, training::cost::Cost,
    training::faults::who_help,
};
use straggler_training::exact::{Answers, Replays, analyse};
use straggler_training::{Job, phrases::CauseAnswer};

const EXAMPLES: &str = "\
EXAMPLES
  straggler training generate --slow 2/1:1.6@5 -o job.csv
  straggler training show job.csv
  straggler whatif job.csv --fix 6";

/// Find the stragglers of a training job on many GPUs, their causes, and the gain from fixing them
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Training {
    #[command(subcommand)]
    pub command: TrainingCommand,
}

#[derive(Debug, Subcommand)]
pub enum TrainingCommand {
    /// Show how much time stragglers cost, which workers they are, and what each cause costs
    Show(Box<Show>),
    /// Write a job as a trace, for timelines, what-ifs, and simulation with noise or on more ranks
    Convert(Box<Convert>),
    /// Write a synthetic job with known faults, to try the analysis on
    Generate(Box<Generate>),
}

const SHOW_EXAMPLES: &str = "\
EXAMPLES
  straggler training show fixtures/training/slow-worker.csv
  straggler training show fixtures/training/slow-worker.csv --report job.html
  straggler training show fixtures/training/last-stage.csv --layers 32
  straggler training show fixtures/training/slow-worker.csv --nodes 4 \\
      --cost 2.50
  straggler training show fixtures/training/last-stage.csv \\
      --method published --json

INPUT FORMATS
  a table of operations  Parquet or CSV, one file or one per rank; see
                         docs/guide/training.md
  PyTorch profiler       one .json or .json.gz per rank, or their folder
  Chakra, PyTorch execution traces, NCCL Inspector";

#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub struct Show {
    /// The recording of a job: a table of operations, profiler files (one per rank), or a folder of them
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Metadata of the job: dp_size, pp_size, tp_size and so on
    #[arg(long, value_name = "META.yaml")]
    pub meta: Option<PathBuf>,
    /// Analysis method
    #[arg(long, value_enum, default_value = "exact")]
    pub method: Method,
    /// Layers of the model (32) or of each stage (8,8,8,8), to report the best split
    #[arg(long, value_name = "LAYERS", value_delimiter = ',', value_parser = count::<u32>(..))]
    pub layers: Vec<u32>,
    /// Where ranks run, to name what slow ranks share: ranks per node (8), or a CSV file with rank,node,gpu,rack or
    /// similar columns
    #[arg(long, value_name = "COUNT|FILE")]
    pub nodes: Option<PathBuf>,
    /// Price of a GPU-hour, to say what each cause costs per day
    #[arg(long, value_name = "PRICE", value_parser = price)]
    pub cost: Option<f64>,
    #[command(flatten)]
    pub report: ReportOption,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Method {
    /// One graph per worker and step, and ideal times that are robust against one slow worker
    Exact,
    /// As published by Lin et al. (OSDI 2025): one graph for all, means and medians over all operations
    Published,
}

const CONVERT_EXAMPLES: &str = "\
EXAMPLES
  straggler training convert fixtures/training/last-stage.csv -o last-stage
  straggler training convert fixtures/training/slow-worker.csv -o slow \\
      --activations 32MiB --gradients 2GiB

All commands for traces read the result: inspect it with
`straggler trace show`, change it with `straggler whatif`, simulate it with
`straggler simulate DIR --copies 256 --network NAME --noise …`.
Copies extend the data-parallel dimension: its collectives, and those of all
ranks, grow with them";

#[derive(Debug, Args)]
#[command(after_help = CONVERT_EXAMPLES)]
pub struct Convert {
    /// A table of operations, PyTorch profiler traces that name microbatches, or a folder of either
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Folder for the trace; must not exist yet
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Bytes that a microbatch sends from stage to stage [default: estimated from the transfer times at 25 GB/s]
    #[arg(long, value_name = "BYTES", value_parser = straggler_model::units::bytes)]
    pub activations: Option<u64>,
    /// Bytes of gradients per stage [default: estimated in the same way]
    #[arg(long, value_name = "BYTES", value_parser = straggler_model::units::bytes)]
    pub gradients: Option<u64>,
}

const GENERATE_EXAMPLES: &str = concat!(
    "\
EXAMPLES
  straggler training generate -o healthy.csv
  straggler training generate --dp 8 --pp 2 --slow 3/0:1.5@10 -o slow.csv
  straggler training generate --lengths 0.3 --last-stage 0.2 -o uneven.csv
  straggler training generate --link 2/1-2/2:50 -o late.parquet
  straggler training generate --vpp 2 --slow 6:1.5 -o interleaved.csv
  straggler training generate --slow 2/1:1.6@5 --to kineto -o profiled

",
    who_help!(),
    "

Rank = stage x data-parallel ranks + data-parallel rank. Random choices depend
on --seed"
);

#[derive(Debug, Args)]
#[command(after_help = GENERATE_EXAMPLES)]
pub struct Generate {
    /// Output: a .csv or .parquet table, or a folder for profiler files
    #[arg(short, long, value_name = "FILE|DIR")]
    pub output: PathBuf,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    pub to: JobFormat,
    /// Data-parallel ranks
    #[arg(long, value_name = "COUNT", default_value = "4", value_parser = count::<u32>(1..=65536))]
    pub dp: u32,
    /// Pipeline stages
    #[arg(long, value_name = "COUNT", default_value = "4", value_parser = count::<u32>(1..=1024))]
    pub pp: u32,
    /// Model chunks per stage (interleaved 1F1B); --microbatches must then be a multiple of --pp
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = count::<u32>(1..=64))]
    pub vpp: u32,
    /// Microbatches per step
    #[arg(long, value_name = "COUNT", default_value = "8", value_parser = count::<u32>(1..=4096))]
    pub microbatches: u32,
    #[arg(long, value_name = "COUNT", default_value = "20", value_parser = count::<u32>(1..=100_000), help = "Training steps")]
    pub steps: u32,
    /// Extra computing time of the last stage: 0.2 is 20 %
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    pub last_stage: f64,
    /// Standard deviation of microbatch lengths: 0.3 is 30 %
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    pub lengths: f64,
    /// Standard deviation of random variation in computing time: 0.01 is 1 %
    #[arg(long, value_name = "SHARE", default_value = "0.01", value_parser = share)]
    pub jitter: f64,
    #[command(flatten)]
    pub faults: Faults,
}

/// Formats in which a job can be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum JobFormat {
    /// One row per operation: CSV or Parquet, by file extension
    Table,
    /// PyTorch profiler files: rank-0.json and so on
    Kineto,
    /// The same, compressed: rank-0.json.gz and so on
    KinetoGz,
}

fn price(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(price) if (0.0..=1e9).contains(&price) => Ok(price),
        _ => Err("give the price of a GPU-hour without a currency: 2.50".into()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=10.0).contains(&share) => Ok(share),
        _ => Err("give a number from 0 to 10: 0.2 is 20 %".into()),
    }
}

impl Check for TrainingCommand {
    fn check(&self) -> Outcome<()> {
        match self {
            TrainingCommand::Show(typed) => check_show(typed),
            TrainingCommand::Convert(typed) => convert(typed),
            TrainingCommand::Generate(typed) => generate(typed),
        }
    }
}

fn check_show(typed: &Show) -> Outcome<()> {
    let exact = typed.report.report.is_some() || typed.nodes.is_some() || typed.cost.is_some();
    if typed.method == Method::Published && (exact || !typed.layers.is_empty()) {
        return Err(Failure::usage("--report, --layers, --nodes and --cost need --method exact"));
    }
    typed.report.report.iter().try_for_each(|path| refuse_missing_folder(path))
}

fn convert(typed: &Convert) -> Outcome<()> {
    refuse_unwritable(&typed.output)?;
    if typed.output.exists() {
        let name = typed.output.display();
        return Err(Failure::bad_input(format!("{name} already exists: use another -o")));
    }
    Ok(())
}

fn generate(typed: &Generate) -> Outcome<()> {
    refuse_unwritable(&typed.output)?;
    match typed.to {
        JobFormat::Table => TableFormat::from_path(&typed.output).map(drop),
        JobFormat::Kineto | JobFormat::KinetoGz => Ok(()),
    }
}

/// Format of a written table, by file extension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableFormat {
    Csv,
    Parquet,
}

impl TableFormat {
    pub fn from_path(path: &Path) -> Outcome<TableFormat> {
        let ends = |end: &str| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(end));
        match (ends("csv"), ends("parquet")) {
            (true, _) => Ok(TableFormat::Csv),
            (_, true) => Ok(TableFormat::Parquet),
            _ => Err(Failure::usage(format!(
                "{}: tables are written as .csv or .parquet: use one of these extensions",
                path.display()
            ))),
        }
    }
}

pub fn run(command: &Valid<TrainingCommand>, seed: u64, console: &Console) -> Outcome<()> {
    match &**command {
        TrainingCommand::Show(typed) if typed.method == Method::Published => published::run(typed, console),
        TrainingCommand::Show(typed) => show(typed, console),
        TrainingCommand::Convert(typed) => file::convert(typed, console),
        TrainingCommand::Generate(typed) => file::generate(typed, seed, console),
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
    console.print(&words::summary(&job, &answers, &cost, console.is_verbose()))
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
