//! `straggler papers run`: simulates figures and tables of papers, and compares them with the published ones.
//!
//! ```text
//!  reproductions/*.toml ─► Definition ─► Study ─► Results ─┐
//!                                                          ├─► Findings (comparisons, a section of the page)
//!  timelines, butterfly, exchanges (made here) ────────────┘        ├─► text, table, JSON
//!                                                                   └─► report.html, Markdown
//! ```

pub mod butterfly;
pub mod catalogue;
pub mod comparison;
pub mod exchanges;
pub mod studies;
pub mod timelines;

use crate::kernel::devices::{self, DeviceOption, TypedDevice};
use crate::kernel::prelude::*;
use crate::latency::file::{self, Exchanges};
use crate::papers::reproduce::catalogue::{Entry, Kind};
use crate::{args::Common, kernel::pages::make_folder, papers::reproduce::comparison::Comparison};
use straggler_model::spelling::{hint, nearest};

/// Reproduce figures and tables of published papers and compare them with the published values
#[derive(Args, Debug)]
#[command(after_help = "EXAMPLES
  A small version of one figure, in seconds:
  straggler papers run sc10-fig4 --quick

  A figure at the size of the paper; if interrupted, the same command resumes
  it:
  straggler papers run sc10-fig5a

SIZES   --quick uses fewer processes and replicas than the paper and takes
        seconds per item. Without it the sizes are those of the paper, or the
        largest reasonable ones; some take hours
OUTPUT  one folder per item with the results of its study, and one report.html
        for all
INPUT   the traces of the papers are not public. Where noise or applications
        are synthetic, every table and chart says so. Slowdown is T/T0 - 1;
        where a paper means T/T0, the text says so")]
pub struct Reproduce {
    /// Figures and tables by their names in `straggler papers list`, or `all`
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// Use small sizes that take seconds
    #[arg(long)]
    pub quick: bool,
    /// Folder for the results
    #[arg(short, long, value_name = "DIR", default_value = "reproductions")]
    pub output: PathBuf,
    /// Discard the results of earlier runs in the folder
    #[arg(long)]
    pub fresh: bool,
    /// Use measured exchanges (a .lat file of straggler mpi latency) instead of synthetic ones, for sp2-table1 and sp2-fig5-6
    #[arg(long, value_name = "FILE")]
    pub exchanges: Option<PathBuf>,
    /// Message size to take from --exchanges [default: the smallest]
    #[arg(long, value_name = "BYTES", requires = "exchanges")]
    pub size: Option<Bytes>,
    /// Also write published and simulated values as Markdown
    #[arg(long, value_name = "OUT.md")]
    pub markdown: Option<PathBuf>,
    #[command(flatten)]
    pub device: DeviceOption,
}

impl Check for Reproduce {
    fn check(&self) -> Outcome<()> {
        devices::refuse_missing(self.device.device)?;
        refuse_unwritable(&self.output)?;
        self.markdown.as_deref().map_or(Ok(()), refuse_unwritable)
    }
}

/// How large a reproduction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    Quick,
    Full,
}

/// Amount of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    pub runs: u64,
    pub messages: u64,
}

/// Settings of a reproduction.
pub struct Setting<'a> {
    pub size: Size,
    pub seed: u64,
    pub threads: Option<usize>,
    /// Where replicas of studies run.
    pub device: TypedDevice,
    pub fresh: bool,
    /// Measured exchanges, instead of synthetic ones.
    pub exchanges: Option<Exchanges>,
    /// The folder of this reproduction only.
    pub folder: PathBuf,
    /// The command that made the data.
    pub command: String,
    pub console: &'a Console,
}

/// The results.
#[derive(Debug, Default)]
pub struct Findings {
    pub comparisons: Vec<Comparison>,
    /// Remarks for the user.
    pub remarks: Vec<String>,
    /// The section of the page.
    pub section: Section,
    /// Whether any input is synthetic because the original is not public.
    pub synthesised: bool,
}

/// A finished reproduction.
#[derive(Serialize)]
pub struct Made {
    name: &'static str,
    figure: String,
    title: String,
    about: String,
    input: String,
    synthesised: bool,
    /// Whether exchanges from a file replaced the paper's.
    exchanges_given: bool,
    size: Size,
    comparisons: Vec<Comparison>,
    remarks: Vec<String>,
    wall_seconds: f64,
    #[serde(skip)]
    section: Section,
}

#[derive(Serialize)]
pub struct ReproduceAnswer {
    version: &'static str,
    command: String,
    size: Size,
    seed: u64,
    wall_seconds: f64,
    report: String,
    reproductions: Vec<Made>,
}

pub fn run(typed: &Valid<Reproduce>, common: &Common, console: &Console) -> Outcome<()> {
    let entries = chosen(&typed.names)?;
    if typed.exchanges.is_some()
        && let Some(other) = entries.iter().find(|entry| !entry.name.starts_with("sp2-"))
    {
        return Err(Failure::usage(format!(
            "--exchanges is for sp2-table1 and sp2-fig5-6: {} has no exchanges to take from a file",
            other.name
        )));
    }
    let began = Instant::now();
    let mut made = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        interrupt::check()?;
        console.note(&format!("{} ({} of {})", entry.name, number + 1, entries.len()));
        made.push(reproduce(entry, typed, common, console)?);
    }
    let report = typed.output.join("report.html");
    write_page(&typed.output, &report, &made)?;
    let answer = ReproduceAnswer {
        version: env!("CARGO_PKG_VERSION"),
        command: command_line(),
        size: size(typed),
        seed: common.seed,
        wall_seconds: began.elapsed().as_secs_f64(),
        report: report.display().to_string(),
        reproductions: made,
    };
    if let Some(path) = &typed.markdown {
        let _orderly = Orderly::begin();
        replace_file(path, |out| out.write_all(comparison::text(&answer).as_bytes()))?;
    }
    if console.json {
        return console.print_json(&answer);
    }
    console.print(&comparison::console_text(&answer))?;
    console.note(&format!("Full results, with figures: {}", report.display()));
    Ok(())
}

fn size(typed: &Reproduce) -> Size {
    if typed.quick { Size::Quick } else { Size::Full }
}

/// The requested reproductions, in the order of the list.
fn chosen(names: &[String]) -> Outcome<Vec<&'static Entry>> {
    for name in names.iter().filter(|name| *name != "all") {
        if !catalogue::ENTRIES.iter().any(|entry| entry.name == name) {
            let known = catalogue::ENTRIES.iter().map(|entry| entry.name);
            let meant = nearest(name, known).map(String::from);
            return Err(Failure::usage(format!(
                "no reproduction is called `{name}`; `straggler papers list` shows all{}",
                hint(meant.as_deref())
            )));
        }
    }
    let all = names.iter().any(|name| name == "all");
    let asked = |entry: &&Entry| all || names.iter().any(|name| name == entry.name);
    Ok(catalogue::ENTRIES.iter().filter(asked).collect())
}

fn reproduce(entry: &'static Entry, typed: &Reproduce, common: &Common, console: &Console) -> Outcome<Made> {
    let began = Instant::now();
    let size = size(typed);
    let quick = if typed.quick { " --quick" } else { "" };
    let seed = if common.seed == 1 { String::new() } else { format!(" --seed {}", common.seed) };
    let measured =
        typed.exchanges.as_ref().map_or_else(String::new, |path| format!(" --exchanges {}", path.display()));
    let asked = typed.size.map(|Bytes(bytes)| bytes);
    let chosen = asked.map_or_else(String::new, |bytes| format!(" --size {bytes}"));
    let setting = Setting {
        size,
        seed: common.seed,
        threads: common.threads.map(Into::into),
        device: typed.device.device,
        fresh: typed.fresh,
        exchanges: typed.exchanges.as_deref().map(|path| file::exchanges(path, asked)).transpose()?,
        folder: folder(&typed.output, entry.name, size),
        command: format!("straggler papers run {}{quick}{seed}{measured}{chosen}", entry.name),
        console,
    };
    let mut description = entry.description()?;
    if let Some(Exchanges { name, bytes, warnings, synthetic, .. }) = &setting.exchanges {
        warnings.iter().for_each(|warning| console.warn(warning));
        description.title += ", here from exchanges of another machine";
        description.input = format!(
            "Exchanges of {} that {}, {name}; they include interrupts. The published numbers are from \
             another machine.{}",
            Bytes(*bytes),
            if *synthetic { "were synthesised" } else { "were measured" },
            warnings.iter().map(|warning| format!(" {warning}.")).collect::<String>()
        );
    }
    let Findings { comparisons, remarks, mut section, synthesised } = match entry.kind {
        Kind::Study(text) => studies::run(text, &setting)?,
        Kind::Own { run, .. } => {
            if setting.device == TypedDevice::Gpu {
                console.note(&format!("{} runs on the CPU: only studies run on GPUs", entry.name));
            }
            run(&setting)?
        }
    };
    section.title = format!("{}: {}", description.figure, description.title);
    let mut text = vec![description.about.clone(), format!("Input. {}", description.input)];
    text.append(&mut section.text);
    text.extend(remarks.iter().cloned());
    section.text = text;
    if !comparisons.is_empty() {
        let table = comparison::table(&comparisons).titled("Published and simulated", &setting.command);
        section.blocks.insert(0, table.into());
    }
    Ok(Made {
        name: entry.name,
        figure: description.figure,
        title: description.title,
        about: description.about,
        input: description.input,
        synthesised,
        exchanges_given: setting.exchanges.is_some(),
        size,
        comparisons,
        remarks,
        wall_seconds: began.elapsed().as_secs_f64(),
        section,
    })
}

/// Quick and full results have separate folders.
fn folder(output: &Path, name: &str, size: Size) -> PathBuf {
    match size {
        Size::Quick => output.join("quick").join(name),
        Size::Full => output.join(name),
    }
}

fn write_page(folder: &Path, report: &Path, made: &[Made]) -> Outcome<()> {
    let _orderly = Orderly::begin();
    make_folder(folder)?;
    let sections: Vec<Section> = made.iter().map(|made| made.section.clone()).collect();
    let title = match made {
        [one] => format!("{}: {}", one.figure, one.title),
        _ => "Figures and tables of papers, simulated".to_string(),
    };
    let mut page: Page = pages::page(title, comparison::summary(made), sections);
    if made.iter().any(|made| made.size == Size::Quick) {
        page.warnings.push(
            "Quick sizes: fewer processes and replicas than in the papers. Where a number belongs to a larger run, the \
             table says so."
                .into(),
        );
    }
    pages::write(report, &page)?;
    Ok(())
}
