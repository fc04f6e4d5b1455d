//! The page of noise: every detour, their durations, their frequencies, and their sources.

use crate::kernel::{command_line, pages};
use crate::noise::words::{self, opening};
use straggler_analysis::noise::Analysis;
use straggler_analysis::noise::durations::{DurationBin, histogram as bins, sorted_durations};
use straggler_analysis::noise::spectrum::{self, Point};
use straggler_model::{Time, date::utc, provenance::Origin};
use straggler_noise::NoiseRecording;
use straggler_report::page::{
    Axis, Chart, Distribution, Facts, Histogram, HistogramSeries, Line, Lines, Mark, Page, PointSeries, Role,
    Sample, Scale, Scatter, Section, Unit,
};

/// A recording, its file or description, and the seed of the analysis.
pub struct Subject<'a> {
    pub recording: &'a NoiseRecording,
    pub name: &'a str,
    pub seed: u64,
    /// What a description says, if the recording was drawn from it; else empty.
    pub headline: Vec<String>,
    /// What to know about every detour, such as how the recording was made.
    pub note: String,
}

pub fn is_synthetic(recording: &NoiseRecording) -> bool {
    matches!(recording.origin, Origin::Synthetic { .. })
}

/// Where and when a recording was made.
pub fn add_machine(facts: &mut Facts, recording: &NoiseRecording) {
    let machine = &recording.machine;
    let started = match &recording.origin {
        Origin::Measured { started, .. } => Some(utc(*started)),
        Origin::Imported | Origin::Synthetic { .. } => None,
    };
    for (name, text) in [
        ("Host", &machine.host),
        ("Measured", &started),
        ("Processor", &machine.processor),
        ("Kernel", &machine.kernel),
        ("Hypervisor", &machine.hypervisor),
        ("Cores", &machine.allowed_cores),
    ] {
        if let Some(text) = text {
            facts.add(name, text.clone());
        }
    }
}

/// The command that made a recording; if unknown, the command that shows it.
fn command(recording: &NoiseRecording) -> String {
    match &recording.origin {
        Origin::Measured { command, .. } => command.clone(),
        Origin::Imported | Origin::Synthetic { .. } => command_line(),
    }
}

impl Subject<'_> {
    pub fn page(&self) -> Page {
        let analysis = Analysis::new(self.recording, self.seed);
        let mut section = self.section(&analysis);
        let mut summary = self.headline.clone();
        if summary.is_empty() && !section.text.is_empty() {
            summary.push(section.text.remove(0));
        }
        let whose = self.recording.machine.host.as_deref().unwrap_or(self.name);
        let mut page = pages::page(format!("Noise of {whose}"), summary, vec![section]);
        page.facts.add("Noise", self.name);
        add_machine(&mut page.facts, self.recording);
        page
    }

    pub fn section(&self, analysis: &Analysis) -> Section {
        let recording = self.recording;
        let mut section = Section::new(format!("Noise: {}", self.name));
        section.text = pages::paragraphs(&opening(recording, analysis));
        if !self.headline.is_empty() {
            section.text.insert(0, "What was drawn:".into());
        }
        if analysis.overhead.detours == 0 {
            return section;
        }
        let (command, synthetic) = (command(recording), is_synthetic(recording));
        let charts = [
            Chart::new("Every detour: time and duration", &command, scatter(recording)).with_note(&self.note),
            Chart::new("How long detours are", &command, distribution(recording)),
            Chart::new("Number of detours by duration", &command, histogram(recording)),
            Chart::new("Frequencies in the noise", &command, spectrum(&analysis.spectrum))
                .with_note(SPECTRUM_NOTE),
        ];
        charts.into_iter().for_each(|chart| section.add(chart.synthetic(synthetic)));
        section.add(words::sources(&analysis.sources).titled("Sources of the noise", &command));
        section.add(words::cores(analysis, usize::MAX).titled("Noise by core", &command));
        section
    }
}

/// Most sources with a curve of their own; the curve of all detours includes the rest.
const MOST_CURVES: usize = 7;
/// The series of all sources. It is grey, so that a source has the same colour in all charts.
const ALL: &str = "all detours";
/// Most marked lines of a spectrum.
const MOST_PEAKS: usize = 12;

/// Detours of one source, by core and time: start and duration.
struct Source<'a> {
    name: &'a str,
    detours: Vec<(Time, Time)>,
}

/// Sources that have detours, sorted by lost time, the largest first.
fn by_source(recording: &NoiseRecording) -> Vec<Source<'_>> {
    let named = recording.sources.iter().map(|source| source.name.as_str());
    let mut all: Vec<Source<'_>> = named.map(|name| Source { name, detours: Vec::new() }).collect();
    for detour in recording.cores.iter().flat_map(|core| &core.detours) {
        if let Some(source) = all.get_mut(usize::from(detour.source)) {
            source.detours.push((detour.start, detour.duration));
        }
    }
    all.retain(|source| !source.detours.is_empty());
    let lost = |source: &Source<'_>| -> u128 {
        source.detours.iter().map(|(_, duration)| u128::from(duration.ps())).sum()
    };
    all.sort_by_cached_key(|source| std::cmp::Reverse(lost(source)));
    all
}

fn durations() -> Axis {
    Axis::new("duration of the detour", Unit::Seconds, Scale::Log10)
}

/// Length of the longest recording of a core.
pub fn length(recording: &NoiseRecording) -> Time {
    recording.cores.iter().map(|core| core.length).max().unwrap_or(Time::ZERO)
}

/// One dot per detour, as in Figure 1 of Hoefler, Schneider and Lumsdaine, "Characterizing the Influence of System
/// Noise on Large-Scale Applications by Simulation" (SC 2010).
pub fn scatter(recording: &NoiseRecording) -> Scatter {
    let series = by_source(recording).into_iter().map(|source| {
        let seconds = |(start, duration): &(Time, Time)| (start.seconds(), duration.seconds());
        let (x, y) = source.detours.iter().map(seconds).unzip();
        PointSeries { name: source.name.into(), x, y }
    });
    // The axis covers the whole recording, including parts without detours.
    let x = Axis::linear("time since the start", Unit::Seconds).covering(0.0, length(recording).seconds());
    Scatter { x, y: durations(), series: series.collect() }
}

/// Durations of all detours, and of the sources that take most time.
pub fn distribution(recording: &NoiseRecording) -> Distribution {
    let all = sorted_durations(recording).into_iter().map(|ps| Time(ps).seconds()).collect();
    let sources = by_source(recording);
    let mut series = vec![Sample { name: ALL.into(), values: all, sum: sources.len() > 1 }];
    if sources.len() > 1 {
        series.extend(sources.into_iter().take(MOST_CURVES).map(|source| {
            let mut values: Vec<f64> = source.detours.iter().map(|(_, time)| time.seconds()).collect();
            values.sort_by(f64::total_cmp);
            Sample { name: source.name.into(), values, sum: false }
        }));
    }
    Distribution { x: durations(), series, marks: Vec::new() }
}

/// Number of detours by duration: all, and of the sources that take most time. Both axes are logarithmic,
/// so that a tick that comes a thousand times and a daemon that comes twice are both visible.
pub fn histogram(recording: &NoiseRecording) -> Histogram {
    let bins = bins(&sorted_durations(recording));
    let first = bins.first().map(|bin| Time(bin.from_ps).seconds());
    let edges: Vec<f64> = first.into_iter().chain(bins.iter().map(|bin| Time(bin.to_ps).seconds())).collect();
    let series = |name: &str, counts: Vec<u64>| HistogramSeries {
        name: name.into(),
        edges: edges.clone(),
        counts: counts.into_iter().map(|count| count as f64).collect(),
        sum: false,
    };
    let counts = bins.iter().map(|bin| bin.count).collect();
    let sources = by_source(recording);
    let mut all = vec![HistogramSeries { sum: sources.len() > 1, ..series(ALL, counts) }];
    if sources.len() > 1 {
        let sources = sources.iter().take(MOST_CURVES);
        all.extend(sources.map(|source| series(source.name, counted(source, &bins))));
    }
    let y = Axis::new("detours", Unit::Count, Scale::Log10);
    Histogram { x: durations(), y, series: all }
}

fn counted(source: &Source<'_>, bins: &[DurationBin]) -> Vec<u64> {
    let mut counts = vec![0; bins.len()];
    for (_, duration) in &source.detours {
        let place = bins.partition_point(|bin| bin.from_ps <= duration.ps()).checked_sub(1);
        if let Some(count) = place.and_then(|place| counts.get_mut(place)) {
            *count += 1;
        }
    }
    counts
}

/// How to read a spectrum.
pub const SPECTRUM_NOTE: &str = "Marked are rhythms of detours; multiples of a marked frequency are not marked. The \
                                 background is the mean of the neighbouring frequencies.";

/// Frequencies in the noise, their background, and a mark at those that detours are in step with.
pub fn spectrum(found: &spectrum::Spectrum) -> Lines {
    let curve = &found.curve;
    let line = |name: &str, role, y| Line {
        name: name.into(),
        role,
        x: curve.iter().map(|point| point.frequency_hz).collect(),
        y,
        low: None,
        high: None,
    };
    Lines {
        x: Axis::new("frequency", Unit::Hertz, Scale::Log10),
        y: Axis::new("share of time lost in step with a frequency", Unit::Share, Scale::Log10),
        series: vec![
            line("noise", Role::Measured, curve.iter().map(|point| point.share).collect()),
            line("background", Role::Reference, curve.iter().map(|point| point.floor).collect()),
        ],
        marks: found.lines.iter().take(MOST_PEAKS).filter_map(|line| peak(line, curve)).collect(),
    }
}

/// Marks a spectral line at the nearest point of the curve, whose points are local maxima.
fn peak(line: &spectrum::Line, curve: &[Point]) -> Option<Mark> {
    let distance = |point: &Point| (point.frequency_hz / line.frequency_hz).ln().abs();
    let nearest = curve.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let drifts = if line.steady { "" } else { " (drifts)" };
    let name = format!("{}{drifts}", Unit::Hertz.brief(line.frequency_hz));
    Some(Mark { x: Some(line.frequency_hz), y: Some(nearest.share), name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_noise::recording::{Core, Detour, Evidence};

    /// Two short detours of an unknown source and one long tick.
    fn recording() -> NoiseRecording {
        let mut recording =
            NoiseRecording { sources: NoiseRecording::unnamed(), ..NoiseRecording::default() };
        let tick = recording.source_id("timer tick", Evidence::Traced);
        let detour = |start: u64, us: u64, source| Detour {
            start: Time::from_ns(start),
            duration: Time::from_ns(us * 1000),
            source,
        };
        let detours = vec![detour(0, 1, 0), detour(10_000, 90, tick), detour(200_000, 1, 0)];
        recording.cores = vec![Core { length: Time::from_ns(1_000_000), detours, ..Core::default() }];
        recording
    }

    #[test]
    fn sources_that_take_most_time_come_first() {
        let scatter = scatter(&recording());
        assert_eq!(scatter.x.covers, Some([0.0, 1e-3]));
        assert_eq!(scatter.series[0].name, "timer tick");
        let seconds = |ns| Time::from_ns(ns).seconds();
        assert_eq!(scatter.series[1].x, [seconds(0), seconds(200_000)]);
        assert_eq!(scatter.series[1].y, [seconds(1000), seconds(1000)]);
        let names: Vec<_> = distribution(&recording()).series.into_iter().map(|one| one.name).collect();
        assert_eq!(names[..2], ["all detours", "timer tick"]);
    }

    #[test]
    fn the_scatter_says_that_batches_are_joined() {
        let (recording, note) = (recording(), "5 batches are joined.".to_owned());
        let subject = Subject { recording: &recording, name: "node", seed: 1, headline: Vec::new(), note };
        let page = subject.page();
        let chart = page.charts().find(|chart| chart.title.starts_with("Every detour")).unwrap();
        assert_eq!(chart.note, "5 batches are joined.");
    }

    #[test]
    fn every_source_is_counted_in_the_same_bins() {
        let Histogram { series, .. } = histogram(&recording());
        let [all, tick, other] = &series[..] else { panic!("{series:?}") };
        assert!(tick.edges == all.edges && all.edges.len() == all.counts.len() + 1);
        assert_eq!([all, tick, other].map(|one| one.sum), [true, false, false]);
        let sums = [all, tick, other].map(|one| one.counts.iter().sum::<f64>());
        assert_eq!(sums, [3.0, 1.0, 2.0]);
        for ((all, tick), other) in all.counts.iter().zip(&tick.counts).zip(&other.counts) {
            assert_eq!(*all, tick + other);
        }
    }
}
