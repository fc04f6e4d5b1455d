//! Noise file formats: straggler's own and those of earlier tools.
//!
//! | format | holds | a file is |
//! |---|---|---|
//! | `straggler` | a whole [`NoiseRecording`] | a node |
//! | `selfish` | detours, t_min, threshold, period (Netgauge) | a core |
//! | `columns` | detours: start and duration in ns (LogGOPSim) | a core |
//! | `sysjitter` | detours | a core |
//! | `netgauge-fwq`, `llnl-fwq` | times of fixed work | a core |
//! | `netgauge-ftq`, `ftq` | work done in fixed time | a core |
//!
//! Each module owns the reader and writer of one format. Readers take bytes and return a recording and the
//! repairs they made; `quanta.rs` derives the detours of quanta. Writers report what their format
//! cannot hold.

mod columns;
mod detect;
mod errors;
mod ftq;
mod list;
mod llnl;
mod netgauge;
mod repairs;
mod samples;
mod selfish;
pub mod straggler;
mod sysjitter;
mod text;

pub use detect::detect;
pub use errors::{FormatError, JoinError, WriteError};
pub use repairs::{Overlaps, Repairs};

use super::recording::{Core, NoiseRecording};
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use straggler_model::Time;
use straggler_model::provenance::Origin;
use straggler_model::spelling::{hint, nearest};

/// A format of noise files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// straggler's own.
    Straggler,
    /// Netgauge, selfish pattern.
    Selfish,
    /// Netgauge, fixed work.
    NetgaugeFwq,
    /// Netgauge, fixed time.
    NetgaugeFtq,
    /// Start and duration in ns, as LogGOPSim reads them.
    Columns,
    /// The raw output of sysjitter.
    Sysjitter,
    /// LLNL's fwq: cycles of fixed work.
    LlnlFwq,
    /// The `.dat` files of ftq.
    Ftq,
}

impl Format {
    pub const ALL: [Format; 8] = [
        Format::Straggler,
        Format::Selfish,
        Format::NetgaugeFwq,
        Format::NetgaugeFtq,
        Format::Columns,
        Format::Sysjitter,
        Format::LlnlFwq,
        Format::Ftq,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Format::Straggler => "straggler",
            Format::Selfish => "selfish",
            Format::NetgaugeFwq => "netgauge-fwq",
            Format::NetgaugeFtq => "netgauge-ftq",
            Format::Columns => "columns",
            Format::Sysjitter => "sysjitter",
            Format::LlnlFwq => "llnl-fwq",
            Format::Ftq => "ftq",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown format `{word}` (known: {}){}", known(), hint(*.nearest))]
pub struct UnknownFormat {
    word: String,
    nearest: Option<&'static str>,
}

fn known() -> String {
    Format::ALL.map(Format::name).join(", ")
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Format, UnknownFormat> {
        let unknown =
            || UnknownFormat { word: text.into(), nearest: nearest(text, Format::ALL.map(Format::name)) };
        Format::ALL.into_iter().find(|format| format.name() == text).ok_or_else(unknown)
    }
}

/// Facts that a file may not state but the user knows.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct FormatOptions {
    /// The number of the core, for files that do not state it.
    pub core: u32,
    /// The measured time; overrides the file.
    pub length: Option<Time>,
    /// Cycles per nanosecond, for cycle counts without a rate; overrides the file.
    pub ghz: Option<f64>,
    /// The length of fixed-time quanta; overrides the file.
    pub interval: Option<Time>,
    /// The loss above which a quantum counts as disturbed.
    pub threshold: Option<Time>,
    pub overlaps: Overlaps,
}

/// Reads a file; `format` is detected unless given.
///
/// The recording satisfies [`NoiseRecording::check`] unless overlaps are to be kept.
pub fn read(
    bytes: &[u8],
    format: Option<Format>,
    options: &FormatOptions,
) -> Result<(NoiseRecording, Repairs), FormatError> {
    // If the format is unknown, use the simplest one for its errors with line and column.
    let format = format.or_else(|| detect(bytes)).unwrap_or(Format::Columns);
    let (mut recording, repairs) = match format {
        Format::Straggler => (straggler::read(bytes)?, Repairs::default()),
        _ if bytes.contains(&0) => return Err(FormatError::NotText),
        Format::Selfish => selfish::read(&text::decode(bytes), options)?,
        Format::Columns => columns::read(&text::decode(bytes), options)?,
        Format::Sysjitter => sysjitter::read(&text::decode(bytes), options)?,
        Format::NetgaugeFwq => netgauge::read_fixed_work(&text::decode(bytes), options)?,
        Format::NetgaugeFtq => netgauge::read_fixed_time(&text::decode(bytes), options)?,
        Format::LlnlFwq => llnl::read(&text::decode(bytes), options)?,
        Format::Ftq => ftq::read(&text::decode(bytes), options)?,
    };
    if let Some(length) = options.length {
        recording.cores.iter_mut().for_each(|core| core.length = length);
    }
    if options.overlaps == Overlaps::Merge {
        recording.check()?;
    }
    Ok((recording, repairs))
}

/// The files written for a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub files: Vec<WrittenFile>,
    /// What the format has no room for, one phrase each.
    pub dropped: Vec<String>,
}

/// One file of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// The core, if the format holds one core per file.
    pub core: Option<u32>,
    pub bytes: Vec<u8>,
}

/// Writes a recording: one file, or one per core if the format holds only one.
pub fn write(recording: &NoiseRecording, format: Format) -> Result<Written, WriteError> {
    recording.check()?;
    let Some(first) = recording.cores.first() else { return Err(WriteError::NoCores) };
    if format == Format::Straggler {
        let file = WrittenFile { core: None, bytes: straggler::write(recording)? };
        return Ok(Written { files: vec![file], dropped: Vec::new() });
    }
    let one = |core: &Core| -> Result<WrittenFile, WriteError> {
        let text = match format {
            Format::Selfish => selfish::write(recording, core),
            Format::Sysjitter => sysjitter::write(recording, core),
            Format::NetgaugeFwq => netgauge::write_fixed_work(recording, core)?,
            Format::NetgaugeFtq => netgauge::write_fixed_time(recording, core)?,
            Format::LlnlFwq => llnl::write(recording, core)?,
            Format::Ftq => ftq::write(recording, core)?,
            Format::Columns | Format::Straggler => columns::write(core),
        };
        Ok(WrittenFile { core: Some(core.core), bytes: text.into_bytes() })
    };
    let files = recording.cores.iter().map(one).collect::<Result<_, _>>()?;
    Ok(Written { files, dropped: dropped(recording, format, first) })
}

/// Lists what a foreign format cannot hold.
fn dropped(recording: &NoiseRecording, format: Format, first: &Core) -> Vec<String> {
    let mut list = Vec::new();
    let of_detours = matches!(format, Format::Selfish | Format::Columns | Format::Sysjitter);
    let named = recording.sources.len().saturating_sub(1);
    if named > 0 {
        list.push(format!("the names of sources ({named})"));
    }
    let phases: usize = recording.cores.iter().map(|core| core.phases.len()).sum();
    if phases > 0 {
        list.push(format!("the speed profile (slow phases: {phases})"));
    }
    let quanta: usize = recording.cores.iter().map(|core| core.quanta.len()).sum();
    if of_detours && quanta > 0 {
        list.push(format!("{quanta} samples of fixed work or time; their detours are kept"));
    }
    if recording.cores.iter().any(|core| core.lost.detours > 0) {
        list.push("the counts of detours lost to full buffers".into());
    }
    if matches!(format, Format::Columns) && first.t_min > Time::ZERO {
        list.push("t_min and threshold".into());
    }
    if !matches!(recording.origin, Origin::Imported) {
        list.push("the metadata of the measurement and its timer".into());
    }
    list.extend(text::rounded(recording, format));
    list.extend(text::pauses(recording, format));
    list
}

/// Joins recordings of one node's cores. Facts about the node come from the first. If two cores have the same
/// number, all are renumbered by position.
pub fn join(recordings: Vec<NoiseRecording>) -> Result<NoiseRecording, JoinError> {
    let mut list = recordings.into_iter();
    let mut joined = list.next().ok_or(JoinError::Nothing)?;
    for recording in list {
        if recording.method != joined.method {
            return Err(JoinError::Methods);
        }
        joined.take_cores_of(recording);
    }
    let mut seen = HashSet::new();
    if !joined.cores.iter().all(|core| seen.insert(core.core)) {
        (0..).zip(&mut joined.cores).for_each(|(number, core)| core.core = number);
    }
    Ok(joined)
}

impl NoiseRecording {
    /// Adds the cores of another recording, renumbering their sources.
    fn take_cores_of(&mut self, other: NoiseRecording) {
        let ids: Vec<_> =
            other.sources.iter().map(|source| self.source_id(&source.name, source.evidence)).collect();
        for mut core in other.cores {
            for detour in &mut core.detours {
                detour.source = ids.get(usize::from(detour.source)).copied().unwrap_or_default();
            }
            self.cores.push(core);
        }
    }
}
