//! Files of latencies, `FILE.lat`: JSON that names its format and version first.
//!
//! ```json
//! {"format": "straggler latency", "version": 1, "measurement": {"kernel": "tcp", "series": [{"labels": {…},
//!   "trials": {"bins": {"layout": "high-dynamic-range", "octave_bits": 7}, "count": 3, …,
//!              "counts": [[1015808, 2], [1056768, 1]]}, …}], …}}
//! ```
//! Times are picoseconds. A histogram lists only its nonempty bins, as pairs of a bin's start and its count,
//! so a reader need not know the layouts.

use super::bins::octave_position;
use super::{Bins, Fault, LatencyError, Measurement};
use crate::replace::replace_file;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The `format` field of every file.
pub const FORMAT: &str = "straggler latency";

/// The latest version that is read. Files without several runs are written as version 1.
pub const VERSION: u32 = 2;

#[derive(Serialize)]
struct Writing<'a> {
    format: &'static str,
    version: u32,
    measurement: &'a Measurement,
}

/// Encodes a measurement as the bytes of a file.
pub fn to_bytes(measurement: &Measurement) -> Vec<u8> {
    let version = if measurement.runs().next().is_some() { VERSION } else { 1 };
    let writing = Writing { format: FORMAT, version, measurement };
    // Serialisation cannot fail: keys are strings, and floats that are not finite become null.
    let mut bytes = serde_json::to_vec(&writing).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The first fields of a file, read before the rest is interpreted.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
}

#[derive(Deserialize)]
struct Body {
    measurement: Measurement,
}

/// The part of a file that determines how much memory its histograms take.
#[derive(Deserialize)]
struct Outline {
    measurement: OutlinedMeasurement,
}

#[derive(Deserialize)]
struct OutlinedMeasurement {
    series: Vec<OutlinedSeries>,
}

#[derive(Deserialize)]
struct OutlinedSeries {
    trials: OutlinedTrials,
    #[serde(default)]
    runs: Vec<OutlinedRun>,
    timer: Option<OutlinedTimer>,
}

#[derive(Deserialize)]
struct OutlinedRun {
    trials: OutlinedTrials,
}

#[derive(Deserialize)]
struct OutlinedTimer {
    calls: OutlinedTrials,
}

impl OutlinedSeries {
    fn bins_in_memory(&self) -> u64 {
        let timer = self.timer.as_ref().map_or(0, |timer| timer.calls.bins_in_memory());
        let runs = self.runs.iter().map(|run| &run.trials);
        let trials = runs.chain([&self.trials]).map(OutlinedTrials::bins_in_memory);
        trials.fold(timer, u64::saturating_add)
    }
}

#[derive(Deserialize)]
struct OutlinedTrials {
    bins: Bins,
    counts: Vec<(u64, IgnoredAny)>,
}

impl OutlinedTrials {
    /// Counts the bins up to the last nonempty one; a logarithmic layout has a table of all of them.
    fn bins_in_memory(&self) -> u64 {
        let last = self.counts.iter().map(|(low, _)| *low).max();
        match self.bins.checked() {
            Ok(Bins::HighDynamicRange { octave_bits }) => {
                last.map_or(0, |low| octave_position(octave_bits, low) as u64 + 1)
            }
            Ok(Bins::FixedWidth { width_ps, count }) => {
                last.map_or(0, |low| low / width_ps + 1).min(u64::from(count))
            }
            Ok(Bins::Logarithmic { count, .. }) => 2 * u64::from(count),
            // An invalid layout is refused by the full parse.
            Err(_) => 0,
        }
    }
}

/// Limit on the bins of all series of a file together: 1 GiB. A single count in a high bin takes a few bytes
/// in the file but megabytes in memory.
pub const MOST_BINS: u64 = 1 << 27;

fn refuse_too_many_bins(bytes: &[u8]) -> Result<(), Fault> {
    // The full parse that follows reports errors in the JSON.
    let Ok(outline) = serde_json::from_slice::<Outline>(bytes) else { return Ok(()) };
    let bins = outline.measurement.series.iter().map(OutlinedSeries::bins_in_memory);
    match bins.fold(0, u64::saturating_add) {
        bins if bins > MOST_BINS => Err(Fault::TooManyBins { bins }),
        _ => Ok(()),
    }
}

/// Reports a file that ends early as truncated; any other error names its position.
fn wrong_json(fault: &serde_json::Error) -> Fault {
    if fault.is_eof() { Fault::CutOff } else { Fault::Json(fault.to_string()) }
}

/// Decodes a measurement from the bytes of a file.
pub fn from_bytes(bytes: &[u8]) -> Result<Measurement, Fault> {
    let head: Head = serde_json::from_slice(bytes).map_err(|fault| match fault.is_data() {
        true => Fault::NoFormat,
        false => wrong_json(&fault),
    })?;
    match head {
        Head { format, .. } if format != FORMAT => return Err(Fault::NoFormat),
        Head { version: 0, .. } => return Err(Fault::NoVersion),
        Head { version, .. } if version > VERSION => return Err(Fault::Newer { version }),
        _ => {}
    }
    refuse_too_many_bins(bytes)?;
    let body: Body = serde_json::from_slice(bytes).map_err(|fault| wrong_json(&fault))?;
    body.measurement.check()?;
    Ok(body.measurement)
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Measurement, LatencyError> {
    let bytes = std::fs::read(path).map_err(|fault| LatencyError::Unreadable { path: path.into(), fault })?;
    from_bytes(&bytes).map_err(|fault| LatencyError::InFile { path: path.into(), fault })
}

/// Writes a file atomically.
pub fn write(path: &Path, measurement: &Measurement) -> Result<(), LatencyError> {
    let bytes = to_bytes(measurement);
    Ok(replace_file(path, |out| out.write_all(&bytes))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Time;
    use crate::latency::{Histogram, Labels, Series};

    /// A file of 60 KB would take more than a gigabyte.
    #[test]
    fn a_small_file_does_not_fill_the_memory() {
        let bins = Bins::HighDynamicRange { octave_bits: Bins::MOST_OCTAVE_BITS };
        let high = |which: fn(&mut Series) -> &mut Histogram| {
            let mut series = Series::new(Labels { size: Some(999_999), ..Labels::default() }, bins);
            let histogram = which(&mut series);
            *histogram = Histogram::new(bins);
            histogram.record(Time(1 << 62));
            series
        };
        // The calls of the timer and the runs take memory as trials do.
        refuses_many(high(|series| &mut series.trials));
        refuses_many(high(|series| &mut series.timer.calls));
    }

    fn refuses_many(series: Series) {
        let measurement = Measurement { series: vec![series], ..Measurement::default() };
        let one = String::from_utf8(to_bytes(&measurement)).unwrap();
        assert_eq!(from_bytes(one.as_bytes()), Ok(measurement));
        let (start, end) = (one.find("[{\"labels\"").unwrap() + 1, one.find("],\"notes\"").unwrap());
        let text = &one[start..end];
        let many: Vec<String> = (0..200).map(|size| text.replace("999999", &size.to_string())).collect();
        let file = format!("{}{}{}", &one[..start], many.join(","), &one[end..]);
        let fault = from_bytes(file.as_bytes()).unwrap_err();
        assert!(matches!(fault, Fault::TooManyBins { bins } if bins > MOST_BINS), "{fault}");
    }
}
