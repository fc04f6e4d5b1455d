//! A reproduction defined as a study: a TOML file with the study, its two sizes, and the published numbers.
//! Some also compare how the largest slowdown grows: linearly with the detour, and with the logarithm of the number of
//! processes.

use crate::kernel::prelude::*;
use crate::papers::reproduce::comparison::{Comparison, Meaning, Quantity};
use crate::papers::reproduce::{Findings, Setting, Size};
use crate::study::{answer::verdict, file::About, page, work};
use straggler_analysis::growth::{Fit, straight_line};
use straggler_analysis::inflection::THRESHOLD;
use straggler_analysis::study::{Series, Study, Summary, series};
use straggler_model::toml_file;
use straggler_noise::{NoiseSpec, Shape, SourceSpec};
use straggler_report::page::{Block, Heat, Scale};
use toml::Table;

/// A description of the reproduction.
#[derive(Clone, Debug, Deserialize)]
pub struct Description {
    pub figure: String,
    pub title: String,
    pub about: String,
    pub input: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Definition {
    pub figure: String,
    pub title: String,
    pub about: String,
    pub input: String,
    /// Whether the noise or the application is synthetic because the original is not public.
    pub synthesised: bool,
    /// The paper's definition of slowdown, if it is not T/T0 − 1.
    pub paper_means: Option<String>,
    /// Whether to compare the growth with detours and processes with laws.
    #[serde(default)]
    pub laws: bool,
    study: Table,
    quick: Table,
    full: Table,
    #[serde(default)]
    pub published: Vec<Published>,
}

/// A number of the paper, and how to find ours.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub text: String,
    pub statistic: Statistic,
    /// All series if not given.
    pub sweep: Option<String>,
    pub workload: Option<String>,
    pub cosched: Option<bool>,
    /// The largest simulated number if not given.
    pub processes: Option<u32>,
    pub value: Option<f64>,
    /// How the value relates to ours.
    #[serde(default)]
    pub meaning: Meaning,
    /// The source of the value, if it is not the paper.
    pub basis: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub enum Statistic {
    #[serde(rename = "median slowdown")]
    MedianSlowdown,
    #[serde(rename = "largest slowdown")]
    LargestSlowdown,
    /// The largest median over all numbers of processes.
    #[serde(rename = "largest median slowdown")]
    LargestMedian,
    #[serde(rename = "median ratio")]
    MedianRatio,
    #[serde(rename = "largest ratio")]
    LargestRatio,
    #[serde(rename = "inflection")]
    Inflection,
}

impl Statistic {
    fn is_largest(self) -> bool {
        matches!(self, Statistic::LargestSlowdown | Statistic::LargestRatio)
    }

    pub fn quantity(self) -> Quantity {
        match self {
            Statistic::MedianSlowdown | Statistic::LargestSlowdown | Statistic::LargestMedian => {
                Quantity::Slowdown
            }
            Statistic::MedianRatio | Statistic::LargestRatio => Quantity::Ratio,
            Statistic::Inflection => Quantity::Processes,
        }
    }
}

impl Definition {
    pub fn parse(text: &str) -> Outcome<Definition> {
        toml_file::read(text).map_err(|fault| Failure::bad_input(format!("a reproduction: {fault}")))
    }

    pub fn description(&self) -> Description {
        Description {
            figure: self.figure.clone(),
            title: self.title.clone(),
            about: self.about.clone(),
            input: self.input.clone(),
        }
    }

    /// The study at one of its sizes, with this seed.
    pub fn study(&self, size: Size, seed: u64) -> Outcome<Study> {
        let sized = match size {
            Size::Quick => &self.quick,
            Size::Full => &self.full,
        };
        let mut table = self.study.clone();
        table.insert("name".into(), format!("{}: {}", self.figure, self.title).into());
        table.insert("seed".into(), seed.to_string().into());
        table.extend(sized.clone());
        let text = toml::to_string(&table)
            .map_err(|fault| Failure::bad_input(format!("{}: {fault}", self.figure)))?;
        Study::parse(&text).map_err(|fault| Failure::bad_input(format!("{}: {fault}", self.figure)))
    }
}

pub fn run(text: &str, setting: &Setting<'_>) -> Outcome<Findings> {
    let definition = Definition::parse(text)?;
    let study = definition.study(setting.size, setting.seed)?;
    let options = work::Options {
        threads: setting.threads,
        device: setting.device,
        fresh: setting.fresh,
        ..work::Options::default()
    };
    let results = work::run_in(&setting.folder, &study, &options, setting.console)?;
    let all = series(&results, THRESHOLD);
    let mut findings = Findings {
        comparisons: definition.published.iter().flat_map(|published| compare(published, &all)).collect(),
        section: pictures(&all, &setting.command),
        synthesised: definition.synthesised,
        ..Findings::default()
    };
    if let Some(meaning) = &definition.paper_means {
        findings.remarks.push(format!(
            "The paper's slowdown here is {meaning}, not T/T0 − 1; the table uses the paper's definition."
        ));
    }
    if definition.laws {
        add(&all, &mut findings, &setting.command);
    }
    // The paper has no numbers to compare with: tell what was simulated.
    if findings.comparisons.is_empty() {
        findings.remarks.extend(verdict(&all, &About::default(), THRESHOLD));
    }
    Ok(findings)
}

/// The charts and tables of the study's page, under one title.
fn pictures(all: &[Series], command: &str) -> Section {
    let parts = page::page("", "", all, &About::default(), THRESHOLD, command).sections;
    let several = parts.len() > 1;
    let mut section = Section::default();
    for part in parts {
        for mut block in part.blocks {
            let title = match &mut block {
                Block::Chart(chart) => &mut chart.title,
                Block::Table(table) => &mut table.title,
            };
            if several {
                *title = format!("{}: {title}", part.title);
            }
            section.add(block);
        }
    }
    section
}

/// A published number next to that of every series it refers to.
fn compare(published: &Published, all: &[Series]) -> Vec<Comparison> {
    let fits = |series: &&Series| {
        series.coordinates().is_some_and(|at| {
            published.sweep.as_ref().is_none_or(|sweep| *sweep == at.sweep)
                && published.workload.as_ref().is_none_or(|workload| *workload == at.workload)
                && published.cosched.is_none_or(|cosched| cosched == at.cosched)
        })
    };
    all.iter().filter(fits).filter_map(|series| beside(published, series)).collect()
}

fn beside(published: &Published, series: &Series) -> Option<Comparison> {
    let largest = series.largest()?.point.processes;
    let wanted = published.processes.unwrap_or(largest);
    let point = series.points.iter().rfind(|point| point.point.processes <= wanted)?;
    let inflection = published.statistic == Statistic::Inflection;
    let simulated = match published.statistic {
        Statistic::Inflection => series.inflection.map(f64::from),
        Statistic::LargestMedian => series.points.iter().map(|point| point.median_slowdown).reduce(f64::max),
        _ => Some(statistic(published, point)),
    };
    // A missing inflection point may lie beyond the simulated scales.
    let smaller = if inflection { simulated.is_none() } else { point.point.processes < wanted };
    Some(Comparison {
        what: published.text.clone(),
        quantity: published.statistic.quantity(),
        published: published.value,
        meaning: published.meaning,
        basis: published.basis.clone(),
        simulated,
        only_up_to: smaller.then_some(largest),
        largest_of: published.statistic.is_largest().then_some(point.times.count as u64),
    })
}

fn statistic(published: &Published, point: &Summary) -> f64 {
    match published.statistic {
        Statistic::MedianSlowdown | Statistic::LargestMedian | Statistic::Inflection => point.median_slowdown,
        Statistic::LargestSlowdown => point.largest_slowdown,
        Statistic::MedianRatio => point.median_slowdown + 1.0,
        Statistic::LargestRatio => point.largest_slowdown + 1.0,
    }
}

/// One combination of operation, frequency, detour and processes.
struct Cell {
    workload: String,
    hertz: f64,
    detour: f64,
    processes: u32,
    largest: f64,
    /// How many seconds longer than the quiet run the longest run took.
    lost: f64,
}

fn add(all: &[Series], findings: &mut Findings, command: &str) {
    let cells: Vec<Cell> = all.iter().flat_map(|series| series.points.iter().filter_map(cell)).collect();
    let mut workloads: Vec<String> = cells.iter().map(|cell| cell.workload.clone()).collect();
    workloads.dedup();
    for workload in &workloads {
        let own: Vec<&Cell> = cells.iter().filter(|cell| cell.workload == *workload).collect();
        findings.section.add(heat(workload, &own, command));
        // At a lower frequency few runs are hit at all, and their maximum is chance.
        let often: Vec<&Cell> = own.into_iter().filter(|cell| cell.hertz >= 999.0).collect();
        findings.comparisons.extend(in_detour(workload, &often));
        findings.comparisons.extend(in_processes(workload, &often));
        findings.comparisons.extend(short_detours(workload, &often));
    }
}

fn cell(point: &Summary) -> Option<Cell> {
    let spec: NoiseSpec = point.point.noise.parse().ok()?;
    let [SourceSpec { shape: Shape::Periodic { period, duration, .. }, .. }] = &spec.sources[..] else {
        return None;
    };
    Some(Cell {
        workload: point.point.workload.clone(),
        hertz: 1.0 / seconds(*period),
        detour: seconds(*duration),
        processes: point.point.processes,
        largest: point.largest_slowdown,
        lost: point.largest_loss().ps() as f64 / 1e12,
    })
}

fn seconds(time: Time) -> f64 {
    time.ps() as f64 / 1e12
}

fn largest_scale(cells: &[&Cell]) -> u32 {
    cells.iter().map(|cell| cell.processes).max().unwrap_or(0)
}

/// The fit over detours, at the largest scale.
fn in_detour(workload: &str, cells: &[&Cell]) -> Option<Comparison> {
    let scale = largest_scale(cells);
    let at: Vec<(f64, f64)> =
        cells.iter().filter(|cell| cell.processes == scale).map(|cell| (cell.detour, cell.largest)).collect();
    let what = format!(
        "{workload}, 1,000 Hz: the slowdown grows linearly with the detour (share of its spread that a line explains)"
    );
    fit(what, &at)
}

/// The fit over the logarithm of processes, with the longest detour.
fn in_processes(workload: &str, cells: &[&Cell]) -> Option<Comparison> {
    let longest = cells.iter().map(|cell| cell.detour).fold(0.0, f64::max);
    let at: Vec<(f64, f64)> = cells
        .iter()
        .filter(|cell| cell.detour == longest)
        .map(|cell| (f64::from(cell.processes).log2(), cell.lost))
        .collect();
    let what = format!(
        "{workload}, 1,000 Hz: the time lost grows with the logarithm of processes (share of its spread that a line explains)"
    );
    fit(what, &at)
}

fn fit(what: String, at: &[(f64, f64)]) -> Option<Comparison> {
    let Fit { explained, .. } = straight_line(at)?;
    Some(Comparison::new(what, Quantity::Fit, Some(1.0), explained).by("law"))
}

/// The paper says of this grid: "A detour of 16 µs does not affect the operation significantly". Compares ours with
/// the longest detour.
fn short_detours(workload: &str, cells: &[&Cell]) -> Option<Comparison> {
    let scale = largest_scale(cells);
    let at = |microseconds: f64| {
        cells.iter().find(|cell| cell.processes == scale && (cell.detour * 1e6 - microseconds).abs() < 0.5)
    };
    let (short, long) = (at(16.0)?, at(200.0)?);
    let what = format!("{workload}, 1,000 Hz: slowdown by 16 µs as a share of that by 200 µs: small");
    Some(Comparison::new(what, Quantity::Share, None, short.largest / long.largest))
}

/// Detours and frequencies at the largest scale.
fn heat(workload: &str, cells: &[&Cell], command: &str) -> Chart {
    let scale = largest_scale(cells);
    let mut xs: Vec<f64> = cells.iter().map(|cell| cell.detour).collect();
    let mut ys: Vec<f64> = cells.iter().map(|cell| cell.hertz).collect();
    for list in [&mut xs, &mut ys] {
        list.sort_unstable_by(f64::total_cmp);
        list.dedup();
    }
    let value = |x: f64, y: f64| {
        let there = |cell: &&&Cell| cell.processes == scale && cell.detour == x && cell.hertz == y;
        cells.iter().find(there).map_or(f64::NAN, |cell| cell.largest)
    };
    let values = ys.iter().flat_map(|&y| xs.iter().map(move |&x| (x, y))).map(|(x, y)| value(x, y)).collect();
    let plot = Heat {
        x: Axis::new("detour", Unit::Seconds, Scale::Log10),
        y: Axis::new("frequency", Unit::Hertz, Scale::Log10),
        value: Axis::linear("largest slowdown", Unit::Slowdown),
        xs,
        ys,
        values,
    };
    Chart::new(format!("{workload}: largest slowdown at {scale} processes"), command, plot)
}
