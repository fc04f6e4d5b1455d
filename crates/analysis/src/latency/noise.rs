//! How much of the tail of latencies is explained by a noise recording taken at the same time.
//!
//! Trials follow each other without a break, so every detour of a process hits one of them and lengthens it by its
//! own length. The body of the measured trials, convolved with the detours that a trial meets, gives the tail that
//! noise alone would cause.

use super::Distribution;
use super::groups::Group;
use serde::Serialize;
use straggler_model::latency::{Kind, Measurement};
use straggler_noise::NoiseRecording;

/// The measured tail compared with the one that noise predicts.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NoiseTail {
    /// Where the tail begins.
    pub from_ps: f64,
    /// The share of trials in it, measured and predicted.
    pub measured: f64,
    pub predicted: f64,
    /// Whether far more is predicted than was measured: then the trials did not meet this noise, and the recording
    /// explains nothing.
    pub overpredicts: bool,
    /// The share of the measured tail that was predicted for its place, by number of trials.
    pub explained: f64,
    /// The same by time beyond the beginning of the tail; none if trials lie beyond the bins, because their times are
    /// unknown.
    pub explained_time: Option<f64>,
    /// Detours a second on a core.
    pub rate_hz: f64,
    /// Processes whose detours make a trial longer.
    pub processes: u32,
    /// Cores of the recording that were used; all of them if the measurement does not tell its cores.
    pub cores: Vec<u32>,
    /// Shares of trials that exceed each time.
    pub points: Vec<TailPoint>,
}

/// Why it is unknown what noise explains.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoTail {
    /// Too few trials lie far above the median.
    NoTail,
    /// The tail begins outside the bins.
    OutsideBins,
    /// The recording has no length.
    EmptyRecording,
}

/// The share of trials above a time: measured, and predicted from the noise.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct TailPoint {
    pub at_ps: f64,
    pub measured: f64,
    pub predicted: f64,
}

/// With fewer trials there is no tail.
const LEAST_TRIALS: f64 = 20.0;
/// Times within this factor are compared together: a prediction need not hit the exact bin.
const BAND: f64 = 1.25;
/// A prediction above this multiple of the measured tail does not fit.
const MOST_PREDICTED: f64 = 2.0;
/// The body is represented by the times of this many equal parts.
const BODY_PARTS: usize = 50;

impl NoiseTail {
    pub fn new(
        measurement: &Measurement,
        group: &Group,
        recording: &NoiseRecording,
    ) -> Result<NoiseTail, NoTail> {
        let distribution = Distribution::from_histogram(&group.all.trials).ok_or(NoTail::NoTail)?;
        let (processes, cores) = (processes(measurement, group), cores(measurement, recording));
        let used = || recording.cores.iter().filter(|core| cores.contains(&core.core));
        let length: f64 = used().map(|core| core.length.ps() as f64).sum();
        let from_ps = beginning(&distribution).ok_or(NoTail::OutsideBins)?;
        let measured = 1.0 - distribution.share_below(from_ps);
        if measured * (distribution.count() as f64) < LEAST_TRIALS {
            return Err(NoTail::NoTail);
        }
        if length <= 0.0 {
            return Err(NoTail::EmptyRecording);
        }
        let body = body(&distribution, from_ps);
        let trial = body.iter().sum::<f64>() / body.len() as f64;
        let mut detours: Vec<f64> =
            used().flat_map(|core| &core.detours).map(|detour| detour.duration.ps() as f64).collect();
        detours.sort_by(f64::total_cmp);
        let each = f64::from(processes) * trial / length;
        let tail = Tail { body, detours, each };
        // All trials beyond the bins form one band: their number is known, their times are not.
        let end = distribution.known_up_to();
        let within =
            bands(from_ps, end.unwrap_or(distribution.max_ps)).filter(|&at| end.is_none_or(|end| at < end));
        let points: Vec<TailPoint> = within
            .chain(end)
            .map(|at_ps| TailPoint {
                at_ps,
                measured: 1.0 - distribution.share_below(at_ps),
                predicted: tail.share_above(at_ps),
            })
            .collect();
        let (explained, explained_time) = explained(&points);
        let explained_time = end.is_none().then_some(explained_time);
        let predicted = points.first().map_or(0.0, |point| point.predicted);
        let rate_hz = tail.detours.len() as f64 / length * 1e12;
        Ok(NoiseTail {
            from_ps,
            measured,
            predicted,
            overpredicts: predicted > MOST_PREDICTED * measured,
            explained,
            explained_time,
            rate_hz,
            processes,
            cores,
            points,
        })
    }
}

/// The tail begins eight times as far above the median as the upper quartile (five standard deviations of a normal
/// distribution), but above 90 % of the trials. None if that is outside the bins.
fn beginning(distribution: &Distribution) -> Option<f64> {
    let at = |q: f64| distribution.known_quantile(q);
    let (median, upper, most) = (at(0.5)?, at(0.75)?, at(0.9)?);
    let from = (median + 8.0 * (upper - median)).max(most);
    distribution.known_up_to().is_none_or(|end| from < end).then_some(from)
}

/// The number of processes whose noise affects a trial: both ends of an exchange, or every process of a collective.
fn processes(measurement: &Measurement, group: &Group) -> u32 {
    match group.labels.kind {
        Kind::Operation => 1,
        Kind::OneSided | Kind::Pairwise | Kind::RoundTrip | Kind::OneWay => 2,
        // Other processes of the job may have slept.
        Kind::PerRank | Kind::AllRanks => match group.labels.peers {
            Some(peers) => peers.saturating_add(1),
            None => u32::try_from(measurement.processes.len()).unwrap_or(u32::MAX).max(1),
        },
    }
}

/// The cores of the recording on which the measured processes ran, or all of them if unknown.
fn cores(measurement: &Measurement, recording: &NoiseRecording) -> Vec<u32> {
    let ran = |core: u32| measurement.processes.iter().any(|process| process.core == Some(core));
    let all: Vec<u32> = recording.cores.iter().map(|core| core.core).collect();
    let own: Vec<u32> = all.iter().copied().filter(|&core| ran(core)).collect();
    if own.is_empty() { all } else { own }
}

/// Times that represent the body, each standing for equally many trials.
fn body(distribution: &Distribution, end: f64) -> Vec<f64> {
    let share = distribution.share_below(end);
    let part = |index: usize| distribution.quantile(share * (index as f64 + 0.5) / BODY_PARTS as f64);
    (0..BODY_PARTS).map(part).collect()
}

fn bands(from: f64, to: f64) -> impl Iterator<Item = f64> {
    let from = from.max(1.0);
    (0..400).map(move |step| from * BAND.powi(step)).take_while(move |&at| at <= to.max(from) * BAND)
}

struct Tail {
    body: Vec<f64>,
    /// Ascending.
    detours: Vec<f64>,
    /// The probability that a trial meets a given detour.
    each: f64,
}

impl Tail {
    /// The share of trials longer than `at`, which lies beyond the body: those that meet a detour of at least the
    /// missing length.
    fn share_above(&self, at: f64) -> f64 {
        let longer =
            |needed: f64| self.detours.len() - self.detours.partition_point(|&length| length <= needed);
        let met: f64 = self.body.iter().map(|&time| longer(at - time) as f64).sum();
        (met / self.body.len() as f64 * self.each).min(1.0)
    }
}

/// The explained shares by number and by time: in each band, the smaller of measured and predicted.
fn explained(points: &[TailPoint]) -> (f64, f64) {
    let from = points.first().map_or(0.0, |point| point.at_ps);
    let (mut sums, mut both) = ([0.0; 2], [0.0; 2]);
    for (index, point) in points.iter().enumerate() {
        let next = points.get(index + 1);
        let in_band = |share: fn(&TailPoint) -> f64| share(point) - next.map_or(0.0, share);
        let (measured, predicted) = (in_band(|point| point.measured), in_band(|point| point.predicted));
        let time = (point.at_ps * next.map_or(1.0, |_| BAND.sqrt())) - from;
        for (place, weight) in [1.0, time].into_iter().enumerate() {
            sums[place] += weight * measured;
            both[place] += weight * measured.min(predicted).max(0.0);
        }
    }
    let share = |place: usize| if sums[place] > 0.0 { both[place] / sums[place] } else { 0.0 };
    (share(0), share(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::draws::Draws;
    use crate::latency::samples::{histogram, lognormal};
    use straggler_model::Time;
    use straggler_model::latency::{Bins, Histogram, Labels, Series};
    use straggler_noise::recording::{Core, Detour};

    /// Synthetic: a detour of 50 µs in every millisecond, for a second.
    fn recording(duration_us: u64) -> NoiseRecording {
        let detour = |index: u64| Detour {
            start: Time::from_ns(index * 1_000_000),
            duration: Time::from_ns(duration_us * 1000),
            source: 0,
        };
        let core = Core {
            length: Time::from_ns(1_000_000_000),
            detours: (0..1000).map(detour).collect(),
            ..Core::default()
        };
        NoiseRecording { sources: NoiseRecording::unnamed(), cores: vec![core], ..NoiseRecording::default() }
    }

    /// Trials of 5 µs; the given share of them is 50 µs longer.
    fn group(share: f64) -> Group {
        let mut draws = Draws::new(3, 3);
        let mut values = lognormal(1, 100_000, 0.0, 5e6, 0.05);
        values.iter_mut().for_each(|ps| *ps += if draws.unit() < share { 50_000_000 } else { 0 });
        let labels = Labels { kind: Kind::Pairwise, ..Labels::default() };
        let all = Series { labels: labels.clone(), trials: histogram(&values), ..Series::default() };
        Group { labels, all, pairs: Vec::new(), ranks: Vec::new(), cycles: Vec::new() }
    }

    /// Two processes, trials of 5 µs, 1000 detours a second: one trial in a hundred is hit.
    #[test]
    fn noise_that_is_there_explains_the_tail() {
        let found = NoiseTail::new(&Measurement::default(), &group(0.01), &recording(50)).unwrap();
        assert!((found.predicted - 0.01).abs() < 3e-4, "{found:?}");
        assert!((found.rate_hz - 1000.0).abs() < 1e-6);
        assert!(found.explained > 0.9 && found.explained_time.unwrap() > 0.9, "{found:?}");
        assert!(!found.overpredicts);
    }

    /// A tail of 0.1 % does not come from noise that predicts 1 %, although the prediction covers all of it.
    #[test]
    fn noise_that_predicts_more_does_not_fit() {
        let found = NoiseTail::new(&Measurement::default(), &group(0.001), &recording(50)).unwrap();
        assert!(found.overpredicts && found.explained > 0.9, "{found:?}");
    }

    /// Of 8 processes, only the 4 that took part in a collective can be hit.
    #[test]
    fn processes_that_slept_do_not_count() {
        use straggler_model::latency::Process;
        let processes = (0..8).map(|rank| Process { rank, ..Process::default() }).collect();
        let measurement = Measurement { processes, ..Measurement::default() };
        let mut group = group(0.01);
        for (kind, peers, hit) in [
            (Kind::AllRanks, Some(3), 4),
            (Kind::PerRank, Some(7), 8),
            (Kind::AllRanks, None, 8),
            (Kind::Pairwise, Some(3), 2),
        ] {
            (group.labels.kind, group.labels.peers) = (kind, peers);
            assert_eq!(NoiseTail::new(&measurement, &group, &recording(50)).unwrap().processes, hit);
        }
    }

    #[test]
    fn other_noise_explains_a_part_or_nothing() {
        let part = NoiseTail::new(&Measurement::default(), &group(0.04), &recording(50)).unwrap();
        assert!((part.explained - 0.25).abs() < 0.03, "{part:?}");
        let none = NoiseTail::new(&Measurement::default(), &group(0.01), &recording(2)).unwrap();
        assert!(none.explained < 0.1 && none.explained_time.unwrap() < 0.1, "{none:?}");
        let fault = |group: &Group, recording: &NoiseRecording| {
            NoiseTail::new(&Measurement::default(), group, recording).unwrap_err()
        };
        assert_eq!(fault(&group(0.0), &recording(50)), NoTail::NoTail);
        assert_eq!(fault(&group(0.01), &NoiseRecording::default()), NoTail::EmptyRecording);
    }

    /// The number of trials beyond the bins is known, but not their times.
    #[test]
    fn a_tail_beyond_the_bins() {
        let binned = |width_ps: u64| {
            let mut times = Histogram::new(Bins::FixedWidth { width_ps, count: 200 });
            let mut draws = Draws::new(3, 3);
            for ps in lognormal(1, 100_000, 0.0, 5e6, 0.05) {
                times.record(Time(ps + if draws.unit() < 0.01 { 50_000_000 } else { 0 }));
            }
            let mut group = group(0.0);
            group.all.trials = times;
            group
        };
        let found = NoiseTail::new(&Measurement::default(), &binned(100_000), &recording(50)).unwrap();
        assert!(found.explained > 0.9 && found.explained_time.is_none(), "{found:?}");
        assert!((found.points.last().unwrap().at_ps - 2e7).abs() < 1.0, "{found:?}");
        let unknown = NoiseTail::new(&Measurement::default(), &binned(20_000), &recording(50));
        assert_eq!(unknown.unwrap_err(), NoTail::OutsideBins);
    }
}
