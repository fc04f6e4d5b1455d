//! straggler's own format: everything a recording holds, in few bytes.
//!
//! ```text
//! offset  bytes
//!      0     16  "straggler noise\n"
//!     16      4  version, little-endian as all numbers
//!     20      8  length of the header
//!     28      8  length of the columns
//!     36         header: the recording as JSON, without detours and quanta
//!                columns, core after core: detours, then quanta (see `packing`)
//!    end      4  CRC-32 of all that is before it
//! ```
//! For each core: the number of detours, the gaps between the end of one and the start of the next, the
//! durations, the sources; then the number of quanta, the difference of each value from the one before, and
//! the difference of each start from where the method expects it.

mod packing;

use super::super::recording::{Core, Detour, Method, NoiseRecording, Quantum, RecordingError};
use super::WriteError;
use packing::{Reader, Writer};
use straggler_model::Time;

/// The first bytes of every file.
pub const MAGIC: &[u8; 16] = b"straggler noise\n";

/// The version that is written, and the latest that is read.
pub const VERSION: u32 = 1;

const HEADER_AT: usize = 36;
const CHECKSUM: usize = 4;

/// Why a file with straggler's magic bytes cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StragglerError {
    #[error("this is not a noise file of straggler")]
    NoMagic,
    #[error(
        "the file has version {version}, but this straggler reads up to {VERSION}: use a newer straggler"
    )]
    Newer { version: u32 },
    #[error("the file has version 0, which does not exist: it is damaged")]
    NoVersion,
    #[error("the file has {found} of {expected} bytes: copy it again")]
    Truncated { expected: u64, found: u64 },
    #[error("{extra} bytes follow the end of the recording at {expected}: the file is damaged")]
    Trailing { expected: u64, extra: u64 },
    #[error("the checksum is {found:08x} and should be {expected:08x}: the file is damaged, copy it again")]
    Checksum { expected: u32, found: u32 },
    #[error("the header (from offset {HEADER_AT}) cannot be parsed: {fault}")]
    Header { fault: String },
    #[error("offset {offset}: {field} {what}")]
    Column { offset: usize, field: &'static str, what: &'static str },
    #[error("the recording is inconsistent: {0}")]
    NoiseRecording(#[from] RecordingError),
}

/// Encodes a recording as the bytes of a file.
pub fn write(recording: &NoiseRecording) -> Result<Vec<u8>, WriteError> {
    recording.check()?;
    finite(recording)?;
    let header =
        serde_json::to_vec(recording).map_err(|fault| WriteError::Header { fault: fault.to_string() })?;
    let mut columns = Writer::default();
    recording.cores.iter().for_each(|core| write_core(core, &recording.method, &mut columns));
    let columns = columns.into_bytes();
    let mut bytes = Vec::with_capacity(HEADER_AT + header.len() + columns.len() + CHECKSUM);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((header.len() as u64).to_le_bytes());
    bytes.extend((columns.len() as u64).to_le_bytes());
    bytes.extend(header);
    bytes.extend(columns);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    Ok(bytes)
}

/// Refuses values that are not finite, which JSON cannot represent.
fn finite(recording: &NoiseRecording) -> Result<(), WriteError> {
    let slowdowns = recording.cores.iter().flat_map(|core| &core.phases).map(|phase| phase.slowdown);
    let fields = [
        ("the rate of the timer", recording.timer.ticks_per_second),
        ("the error of the timer's rate", recording.timer.rate_error_ppm),
        ("the cgroup's quota", recording.machine.cgroup_quota_cores.unwrap_or(0.0)),
        ("the load", recording.machine.load.unwrap_or(0.0)),
    ];
    let slowdowns = slowdowns.map(|slowdown| ("the slowdown of a phase", slowdown));
    match fields.into_iter().chain(slowdowns).find(|(_, value)| !value.is_finite()) {
        Some((field, _)) => Err(WriteError::NotFinite { field }),
        None => Ok(()),
    }
}

fn write_core(core: &Core, method: &Method, columns: &mut Writer) {
    let detours = &core.detours;
    let mut busy_until = Time::ZERO;
    let gaps = detours.iter().map(|detour| {
        let gap = detour.start.since(busy_until);
        busy_until = detour.end();
        gap.ps()
    });
    columns.count(detours.len());
    columns.full(&gaps.collect::<Vec<_>>());
    columns.sparse(&detours.iter().map(|detour| detour.duration.ps()).collect::<Vec<_>>());
    columns.sparse(&detours.iter().map(|detour| u64::from(detour.source)).collect::<Vec<_>>());
    let mut expected = Time::ZERO;
    let starts = core.quanta.iter().map(|quantum| {
        let deviation = difference(quantum.start.ps(), expected.ps());
        expected = next_start(method, quantum);
        deviation
    });
    let mut before = 0;
    let values = core.quanta.iter().map(|quantum| {
        let step = difference(quantum.value, before);
        before = quantum.value;
        step
    });
    columns.count(core.quanta.len());
    columns.full_signed(&values.collect::<Vec<_>>());
    columns.sparse_signed(&starts.collect::<Vec<_>>());
}

fn difference(value: u64, other: u64) -> i64 {
    value.wrapping_sub(other) as i64
}

/// Where the quantum after this one is expected to start.
fn next_start(method: &Method, quantum: &Quantum) -> Time {
    match *method {
        Method::Detour => quantum.start,
        Method::FixedWork => quantum.start + Time(quantum.value),
        Method::FixedTime { quantum_ps } => quantum.start + Time(quantum_ps),
    }
}

/// Decodes a recording from the bytes of a file.
pub fn read(bytes: &[u8]) -> Result<NoiseRecording, StragglerError> {
    let header_end = check_frame(bytes)?;
    let body = bytes.len() - CHECKSUM;
    let (header, columns) = (&bytes[HEADER_AT..header_end], &bytes[..body]);
    let mut recording: NoiseRecording = serde_json::from_slice(header)
        .map_err(|fault| StragglerError::Header { fault: fault.to_string() })?;
    let mut reader = Reader::new(columns, header_end);
    for core in &mut recording.cores {
        core.detours = read_detours(&mut reader)?;
        core.quanta = read_quanta(&mut reader, &recording.method)?;
    }
    reader.must_be_at_end()?;
    recording.check()?;
    Ok(recording)
}

/// Checks everything but the content, and returns where the header ends. That position and the checksum then
/// lie inside the file.
fn check_frame(bytes: &[u8]) -> Result<usize, StragglerError> {
    let short = |expected: u64| StragglerError::Truncated { expected, found: bytes.len() as u64 };
    let least = HEADER_AT + CHECKSUM;
    if !bytes.starts_with(MAGIC) {
        return Err(StragglerError::NoMagic);
    }
    match number::<4>(bytes, 16).map(u32::from_le_bytes) {
        Some(VERSION) => {}
        Some(0) => return Err(StragglerError::NoVersion),
        Some(version) => return Err(StragglerError::Newer { version }),
        None => return Err(short(least as u64)),
    }
    let lengths = (number::<8>(bytes, 20), number::<8>(bytes, 28));
    let (Some(header), Some(columns)) = lengths else { return Err(short(least as u64)) };
    let (header, columns) = (u64::from_le_bytes(header), u64::from_le_bytes(columns));
    let expected = (least as u64).saturating_add(header).saturating_add(columns);
    let found = bytes.len() as u64;
    if found < expected {
        return Err(short(expected));
    }
    if found > expected {
        return Err(StragglerError::Trailing { expected, extra: found - expected });
    }
    let body = bytes.len() - CHECKSUM;
    let stated = number::<4>(bytes, body).map_or(0, u32::from_le_bytes);
    match crc32fast::hash(&bytes[..body]) {
        // The lengths add up to the length of the file, so they fit in usize.
        computed if computed == stated => Ok(HEADER_AT + header as usize),
        computed => Err(StragglerError::Checksum { expected: stated, found: computed }),
    }
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

fn read_detours(reader: &mut Reader<'_>) -> Result<Vec<Detour>, StragglerError> {
    let count = reader.count("the number of detours")?;
    let gaps = reader.full(count, "a gap between detours")?;
    let durations = reader.sparse(count, "the duration of a detour")?;
    let sources = reader.sparse(count, "the source of a detour")?;
    let mut detours = Vec::with_capacity(count);
    let mut busy_until = Time::ZERO;
    for ((gap, duration), source) in gaps.into_iter().zip(durations).zip(sources) {
        let start = busy_until.checked_add(Time(gap)).ok_or_else(|| reader.fault("a gap", TOO_LARGE))?;
        let source = source.try_into().map_err(|_| reader.fault("the source of a detour", TOO_LARGE))?;
        let detour = Detour { start, duration: Time(duration), source };
        busy_until = detour.end();
        detours.push(detour);
    }
    Ok(detours)
}

const TOO_LARGE: &str = "is too large";

fn read_quanta(reader: &mut Reader<'_>, method: &Method) -> Result<Vec<Quantum>, StragglerError> {
    let count = reader.count("the number of quanta")?;
    let values = reader.full_signed(count, "the value of a quantum")?;
    let starts = reader.sparse_signed(count, "the start of a quantum")?;
    let (mut expected, mut before) = (Time::ZERO, 0u64);
    let quanta = values.into_iter().zip(starts).map(|(step, deviation)| {
        let start = Time(expected.ps().wrapping_add(deviation as u64));
        let quantum = Quantum { start, value: before.wrapping_add(step as u64) };
        (expected, before) = (next_start(method, &quantum), quantum.value);
        quantum
    });
    Ok(quanta.collect())
}
