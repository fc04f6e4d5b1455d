//! Noise as a section: every detour, how long they are, at which frequencies they come back, and who makes
//! them.

use crate::commands::noise::{evidence, opening};
use crate::commands::{command_line, report};
use straggler_analysis::noise::Analysis;
use straggler_analysis::noise::durations::sorted_durations;
use straggler_model::Time;
use straggler_model::noise::Recording;
use straggler_model::noise::recording::Origin;
use straggler_report::numbers::{grouped, percent, significant};
use straggler_report::page::{
    Axis, Cell, Chart, Distribution, Histogram, HistogramSeries, Line, Lines, Mark, Page, PointSeries, Role,
    Sample, Scale, Scatter, Section, Table, Unit,
};

/// Sources with a curve of their own; the rest is in the curve of all.
const MOST_CURVES: usize = 7;
/// Lines of a spectrum that are named.
const MOST_PEAKS: usize = 6;

/// A recording, where it was read or what it is, and the seed of the analysis.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub recording: &'a Recording,
    pub name: &'a str,
    pub seed: u64,
}

pub fn is_synthetic(recording: &Recording) -> bool {
    matches!(recording.origin, Origin::Synthetic { .. })
}

/// What made a recording; where nobody knows, what shows it.
fn command(recording: &Recording) -> String {
    match &recording.origin {
        Origin::Measured { command, .. } => command.clone(),
        Origin::Imported | Origin::Synthetic { .. } => command_line(),
    }
}

impl Subject<'_> {
    pub fn page(&self) -> Page {
        let analysis = Analysis::of(self.recording, self.seed);
        let summary = report::paragraphs(&opening(self.recording, &analysis)).into_iter().take(1).collect();
        let whose = self.recording.machine.host.as_deref().unwrap_or(self.name);
        let mut page = report::page(format!("Noise of {whose}"), summary, vec![self.section(&analysis)]);
        page.facts.add("Noise", self.name);
        let machine = &self.recording.machine;
        for (name, text) in [
            ("Processor", &machine.processor),
            ("Kernel", &machine.kernel),
            ("Hypervisor", &machine.hypervisor),
            ("Cores", &machine.allowed_cores),
        ] {
            if let Some(text) = text {
                page.facts.add(name, text.clone());
            }
        }
        page
    }

    pub fn section(&self, analysis: &Analysis) -> Section {
        let recording = self.recording;
        let mut section = Section::new(format!("Noise: {}", self.name));
        section.text = report::paragraphs(&opening(recording, analysis));
        if analysis.overhead.detours == 0 {
            return section;
        }
        let (command, synthetic) = (command(recording), is_synthetic(recording));
        let charts = [
            Chart::new("Every detour: when it came and how long it was", &command, scatter(recording)),
            Chart::new("How long detours are", &command, distribution(recording)),
            Chart::new("How many detours there are of which length", &command, histogram(analysis)),
            Chart::new("Frequencies in the noise", &command, spectrum(analysis))
                .with_note("share of time that is lost in step with a frequency"),
        ];
        charts.into_iter().for_each(|chart| section.add(chart.synthetic(synthetic)));
        section.add(sources(analysis, &command));
        section.add(cores(analysis, &command));
        section
    }
}

fn scatter(recording: &Recording) -> Scatter {
    let series = |name: &String| PointSeries { name: name.clone(), ..PointSeries::default() };
    let mut series: Vec<PointSeries> = recording.sources.iter().map(|source| series(&source.name)).collect();
    for detour in recording.cores.iter().flat_map(|core| &core.detours) {
        if let Some(series) = series.get_mut(usize::from(detour.source)) {
            series.x.push(detour.start.seconds());
            series.y.push(detour.duration.seconds());
        }
    }
    series.retain(|series| !series.x.is_empty());
    Scatter {
        x: Axis::linear("time since the start", Unit::Seconds),
        y: Axis::new("duration of the detour", Unit::Seconds, Scale::Log10),
        series,
    }
}

/// Durations of all detours, and of those sources that take most time.
fn distribution(recording: &Recording) -> Distribution {
    let mut by_source: Vec<(f64, Sample)> = Vec::new();
    for (id, source) in recording.sources.iter().enumerate() {
        let detours = recording.cores.iter().flat_map(|core| &core.detours);
        let of_source = detours.filter(|detour| usize::from(detour.source) == id);
        let mut values: Vec<f64> = of_source.map(|detour| detour.duration.seconds()).collect();
        values.sort_by(f64::total_cmp);
        if !values.is_empty() {
            by_source.push((values.iter().sum(), Sample { name: source.name.clone(), values }));
        }
    }
    by_source.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let all = sorted_durations(recording).into_iter().map(|ps| Time(ps).seconds()).collect();
    let mut series = vec![Sample { name: "all detours".into(), values: all }];
    if by_source.len() > 1 {
        series.extend(by_source.into_iter().take(MOST_CURVES).map(|(_, sample)| sample));
    }
    Distribution { x: Axis::new("duration of the detour", Unit::Seconds, Scale::Log10), series }
}

/// Bins lie side by side.
fn histogram(analysis: &Analysis) -> Histogram {
    let bins = &analysis.histogram;
    let first = bins.first().map(|bin| Time(bin.from_ps).seconds());
    let edges = first.into_iter().chain(bins.iter().map(|bin| Time(bin.to_ps).seconds())).collect();
    let counts = bins.iter().map(|bin| bin.count as f64).collect();
    Histogram {
        x: Axis::new("duration of the detour", Unit::Seconds, Scale::Log10),
        y: Axis::new("detours", Unit::Count, Scale::Log10),
        series: vec![HistogramSeries { name: "all detours".into(), edges, counts }],
    }
}

fn spectrum(analysis: &Analysis) -> Lines {
    let curve = &analysis.spectrum.curve;
    let line = |name: &str, role, y| Line {
        name: name.into(),
        role,
        x: curve.iter().map(|point| point.frequency_hz).collect(),
        y,
        low: None,
        high: None,
    };
    let mark = |line: &straggler_analysis::noise::spectrum::Line| Mark {
        x: Some(line.frequency_hz),
        y: None,
        name: format!("{} Hz", significant(line.frequency_hz)),
    };
    Lines {
        x: Axis::new("frequency", Unit::Hertz, Scale::Log10),
        y: Axis::new("share of time lost in step with it", Unit::Share, Scale::Log10),
        series: vec![
            line("noise", Role::Measured, curve.iter().map(|point| point.share).collect()),
            line("by chance", Role::Reference, curve.iter().map(|point| point.floor).collect()),
        ],
        marks: analysis.spectrum.lines.iter().take(MOST_PEAKS).map(mark).collect(),
    }
}

fn sources(analysis: &Analysis, command: &str) -> Table {
    let columns = [
        "source",
        "#detours",
        "#of the noise",
        "#of the time",
        "#a second",
        "#median",
        "#99 %",
        "#longest",
        "evidence",
    ];
    let mut table = Table::new("Who makes the noise", &columns);
    table.command = command.into();
    for source in &analysis.sources {
        let time = |ps: u64| Cell::number(Time(ps).to_string(), Time(ps).seconds());
        table.row([
            Cell::text(&source.name),
            Cell::number(grouped(source.events), source.events as f64),
            Cell::number(percent(source.share), source.share),
            Cell::number(percent(source.overhead), source.overhead),
            Cell::number(significant(source.rate_hz), source.rate_hz),
            time(source.median_ps),
            time(source.p99_ps),
            time(source.max_ps),
            Cell::text(evidence(source.evidence)),
        ]);
    }
    table
}

fn cores(analysis: &Analysis, command: &str) -> Table {
    let mut table =
        Table::new("What each core loses", &["#core", "#detours", "#noise", "#overhead", "#from", "#to"]);
    table.command = command.into();
    for core in &analysis.cores {
        let overhead = &core.overhead;
        let ends = overhead.interval.map(|interval| [interval.low, interval.high]);
        let [low, high] = ends.map_or_else(
            || [Cell::text(""), Cell::text("")],
            |ends| ends.map(|end| Cell::number(percent(end), end)),
        );
        table.row([
            Cell::number(core.core.to_string(), core.core.into()),
            Cell::number(grouped(overhead.detours), overhead.detours as f64),
            Cell::number(Time(overhead.noise_ps).to_string(), Time(overhead.noise_ps).seconds()),
            Cell::number(percent(overhead.share), overhead.share),
            low,
            high,
        ]);
    }
    table
}
