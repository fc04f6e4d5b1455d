//! What one process sends to rank 0 after measuring: its description as JSON, and the recording in
//! the format of noise files.

use super::clocks::Line;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use straggler_analysis::nodes::{CoreClock, Part};
use straggler_model::Time;
use straggler_noise::format::{self, Format, FormatOptions};

/// A measured part, still on the clock of its node.
#[derive(Debug, Default)]
pub struct Measured {
    pub about: About,
    /// Its places in the job are not known yet.
    pub part: Part,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct About {
    pub host: String,
    pub node: u32,
    pub start_ticks: u64,
    pub ticks_per_second: f64,
    pub iteration_ps: Vec<f64>,
    pub left_out: u64,
    pub left_out_ps: u64,
    /// How long after the agreed moment it began.
    pub late_ps: u64,
    pub notes: Vec<String>,
}

impl Measured {
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut about = self.about.clone();
        (about.left_out, about.left_out_ps) = (self.part.left_out, self.part.left_out_time.ps());
        let about = serde_json::to_vec(&about)?;
        let mut bytes = (about.len() as u64).to_le_bytes().to_vec();
        bytes.extend(about);
        if !self.part.recording.cores.is_empty() {
            for file in format::write(&self.part.recording, Format::Straggler)?.files {
                bytes.extend(file.bytes);
            }
        }
        Ok(bytes)
    }

    pub fn of_bytes(bytes: &[u8]) -> Result<Measured> {
        let Some((length, rest)) = bytes.split_first_chunk::<8>() else { bail!("a message is truncated") };
        let length = u64::from_le_bytes(*length) as usize;
        let about = rest.get(..length).context("a message is truncated")?;
        let about: About = serde_json::from_slice(about)?;
        let recording = match rest.get(length..).unwrap_or_default() {
            [] => Default::default(),
            bytes => format::read(bytes, Some(Format::Straggler), &FormatOptions::default())?.0,
        };
        let (left_out, left_out_time) = (about.left_out, Time(about.left_out_ps));
        let part = Part { host: about.host.clone(), recording, places: Vec::new(), left_out, left_out_time };
        Ok(Measured { about, part })
    }

    /// Converts the part to the common clock.
    pub fn placed(mut self, line: &Line) -> Part {
        let (began_ps, rate) =
            (line.time(self.about.start_ticks).ps(), line.rate(self.about.ticks_per_second));
        let place = |&iteration_ps: &f64| CoreClock { began_ps, rate, iteration_ps };
        self.part.places = self.about.iteration_ps.iter().map(place).collect();
        self.part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_noise::NoiseRecording;
    use straggler_noise::recording::{Core, Detour};

    #[test]
    fn what_is_sent_arrives() {
        let detours = vec![Detour { start: Time(5000), duration: Time(7000), source: 0 }];
        let core = Core { core: 3, length: Time(1_000_000), detours, ..Core::default() };
        let recording = NoiseRecording {
            sources: NoiseRecording::unnamed(),
            cores: vec![core],
            ..NoiseRecording::default()
        };
        let part = Part { host: "a".into(), recording, left_out: 4, ..Part::default() };
        let about =
            About { host: "a".into(), start_ticks: 9, iteration_ps: vec![20_000.5], ..About::default() };
        let measured = Measured { about, part };
        let bytes = measured.to_bytes().unwrap();
        let arrived = Measured::of_bytes(&bytes).unwrap();
        assert_eq!(arrived.part, measured.part);
        assert_eq!(arrived.about.iteration_ps, measured.about.iteration_ps);
        assert!(Measured::of_bytes(&bytes[..bytes.len() - 3]).is_err());
        assert!(Measured::of_bytes(&bytes[..5]).is_err());
        let idle = Measured::default();
        assert!(Measured::of_bytes(&idle.to_bytes().unwrap()).unwrap().part.recording.cores.is_empty());
    }
}
