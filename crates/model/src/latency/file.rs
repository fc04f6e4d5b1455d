//! Files of latencies, `FILE.lat`: JSON that names its format and version first.
//!
//! ```json
//! {"format": "straggler latency", "version": 1, "measurement": {"kernel": "tcp", "series": [{"labels": {…},
//!   "trials": {"bins": {"layout": "high-dynamic-range", "octave_bits": 7}, "count": 3, …,
//!              "counts": [[1015808, 2], [1056768, 1]]}, …}], …}}
//! ```
//! Times are picoseconds. Of a histogram only bins that are not empty are there, as pairs of where a bin begins and how
//! many times lie in it, so that a reader needs no knowledge of layouts.

use super::{Fault, LatencyError, Measurement};
use crate::replace::replace_file;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a file says it is.
pub const FORMAT: &str = "straggler latency";

/// The version that is written, and the latest that is read.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
struct Writing<'a> {
    format: &'static str,
    version: u32,
    measurement: &'a Measurement,
}

/// The bytes of a file.
pub fn to_bytes(measurement: &Measurement) -> Vec<u8> {
    let writing = Writing { format: FORMAT, version: VERSION, measurement };
    // Nothing in it can fail to be written: keys are texts, and floats that are not finite become null.
    let mut bytes = serde_json::to_vec(&writing).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// Who a file says it is; the rest is looked at when that is known.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
}

#[derive(Deserialize)]
struct Body {
    measurement: Measurement,
}

/// The measurement in the bytes of a file.
pub fn from_bytes(bytes: &[u8]) -> Result<Measurement, Fault> {
    let head: Head = serde_json::from_slice(bytes).map_err(|fault| match fault.is_data() {
        true => Fault::NoFormat,
        false => Fault::Json(fault.to_string()),
    })?;
    match head {
        Head { format, .. } if format != FORMAT => return Err(Fault::NoFormat),
        Head { version: 0, .. } => return Err(Fault::NoVersion),
        Head { version, .. } if version > VERSION => return Err(Fault::Newer { version }),
        _ => {}
    }
    let body: Body = serde_json::from_slice(bytes).map_err(|fault| Fault::Json(fault.to_string()))?;
    body.measurement.check()?;
    Ok(body.measurement)
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Measurement, LatencyError> {
    let bytes = std::fs::read(path).map_err(|fault| LatencyError::Unreadable { path: path.into(), fault })?;
    from_bytes(&bytes).map_err(|fault| LatencyError::InFile { path: path.into(), fault })
}

/// Writes a file, whole or not at all.
pub fn write(path: &Path, measurement: &Measurement) -> Result<(), LatencyError> {
    let bytes = to_bytes(measurement);
    Ok(replace_file(path, |out| out.write_all(&bytes))?)
}

/// Times as lists of whole numbers.
pub(super) mod list_of_picoseconds {
    use crate::Time;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(times: &[Time], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(times.iter().map(|time| time.ps()))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Time>, D::Error> {
        Ok(Vec::<u64>::deserialize(deserializer)?.into_iter().map(Time).collect())
    }
}
