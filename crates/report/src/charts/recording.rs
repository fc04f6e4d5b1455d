//! Charts of a recording of noise.

use super::{Heading, Histogram, LengthSeries, PointSeries, Scatter};
use straggler_model::Time;
use straggler_model::noise::recording::{Core, Origin, Recording};

impl Scatter {
    /// The detours of all cores, by source.
    pub fn of_recording(recording: &Recording) -> Scatter {
        let mut series = named(recording, |name| PointSeries { name, points: Vec::new() });
        for detour in recording.cores.iter().flat_map(|core| &core.detours) {
            if let Some(series) = series.get_mut(usize::from(detour.source)) {
                series.points.push((detour.start.seconds(), detour.duration.seconds()));
            }
        }
        series.retain(|series| !series.points.is_empty());
        Scatter { series, length: longest(&recording.cores).seconds() }
    }
}

impl Histogram {
    /// The durations of the detours of all cores, by source.
    pub fn of_recording(recording: &Recording) -> Histogram {
        let mut series = named(recording, |name| LengthSeries { name, durations: Vec::new() });
        for detour in recording.cores.iter().flat_map(|core| &core.detours) {
            if let Some(series) = series.get_mut(usize::from(detour.source)) {
                series.durations.push(detour.duration.seconds());
            }
        }
        series.retain(|series| !series.durations.is_empty());
        Histogram { series }
    }
}

impl Heading {
    /// What is known of where a recording was made; `file` is where it was read.
    pub fn of_recording(title: &str, recording: &Recording, file: &str) -> Heading {
        let machine = &recording.machine;
        let cores = match &recording.cores[..] {
            [core] => format!("core {}", core.core),
            cores => format!("{} cores", cores.len()),
        };
        let known = [machine.host.clone(), machine.processor.clone(), Some(cores)];
        let length = format!("{} long", longest(&recording.cores));
        let subtitle: Vec<String> = known.into_iter().flatten().chain([length]).collect();
        let origin = match &recording.origin {
            Origin::Measured { version, command, .. } => format!("{file} · straggler {version} · {command}"),
            Origin::Imported => format!("{file} · imported"),
            Origin::Synthetic { description } => format!("{file} · synthetic: {description}"),
        };
        let synthetic = matches!(recording.origin, Origin::Synthetic { .. });
        Heading { title: title.into(), subtitle: subtitle.join(" · "), footer: origin, synthetic }
    }
}

fn named<T>(recording: &Recording, make: impl Fn(String) -> T) -> Vec<T> {
    recording.sources.iter().map(|source| make(source.name.clone())).collect()
}

fn longest(cores: &[Core]) -> Time {
    cores.iter().map(|core| core.length).max().unwrap_or(Time::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::noise::recording::{Detour, Evidence};

    fn recording() -> Recording {
        let mut recording = Recording { sources: Recording::unnamed(), ..Recording::default() };
        let tick = recording.source_id("timer tick", Evidence::Traced);
        let detour = |start, source| Detour { start: Time(start), duration: Time(5_000_000), source };
        let detours = vec![detour(0, 0), detour(10_000_000, tick), detour(20_000_000, tick)];
        recording.cores = vec![Core { length: Time::from_ns(1_000_000), detours, ..Core::default() }];
        recording.origin = Origin::Synthetic { description: "a tick".into() };
        recording
    }

    #[test]
    fn detours_go_to_their_sources() {
        let scatter = Scatter::of_recording(&recording());
        let at = |ns| Time::from_ns(ns).seconds();
        assert_eq!(scatter.length, Time::from_ns(1_000_000).seconds());
        assert_eq!(scatter.series[1].name, "timer tick");
        assert_eq!(scatter.series[1].points, [(at(10_000), at(5_000)), (at(20_000), at(5_000))]);
        let histogram = Histogram::of_recording(&recording());
        assert_eq!(histogram.series.iter().map(|series| series.durations.len()).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn headings_say_where_data_come_from() {
        let heading = Heading::of_recording("Noise", &recording(), "x.noise");
        assert!(heading.synthetic);
        assert_eq!(heading.subtitle, "core 0 · 1 ms long");
        assert_eq!(heading.footer, "x.noise · synthetic: a tick");
    }
}
