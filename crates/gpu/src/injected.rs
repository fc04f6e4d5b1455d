//! Noise in the memory of a device.

use crate::device::{Device, DeviceError, Memory};
use crate::layout::{Detour, Plan, Source};
use straggler_noise::{Injection, Phases, Waveform, Who};

/// The noise of a run, as the kernel reads it.
pub struct Injected {
    sources: Vec<Source>,
    held: Vec<Box<dyn Memory>>,
    table: Option<Box<dyn Memory>>,
    offsets: Option<Box<dyn Memory>>,
    phases: Phases,
    wallclock: bool,
    computation_only: bool,
}

impl Injected {
    pub fn new(device: &dyn Device, noise: &Injection) -> Result<Injected, DeviceError> {
        let mut held = Vec::new();
        let mut hold = |bytes: &[u8]| -> Result<u64, DeviceError> {
            let memory = device.hold(bytes)?;
            let address = memory.address();
            held.push(memory);
            Ok(address)
        };
        let mut sources = Vec::with_capacity(noise.sources.len());
        for source in &noise.sources {
            let (who, first, second) = match source.who {
                Who::Everyone => (0, 0, 0),
                Who::Ranks(first, last) => (1, first, last),
                Who::Residue { modulus, remainder } => (2, modulus, remainder),
            };
            let whose = Source { who, first, second, ..Source::default() };
            sources.push(match &source.waveform {
                Waveform::Once { at, duration } => {
                    Source { once: 1, at: at.ps(), duration: duration.ps(), ..whose }
                }
                Waveform::Trace(detours) if detours.is_empty() => Source { length: 1, ..whose },
                Waveform::Trace(detours) => {
                    let columns = detours.columns();
                    // One extra entry holds the sum of all durations.
                    let starts = columns.starts.iter().copied().chain([u64::MAX]);
                    let pairs: Vec<Detour> =
                        starts.zip(columns.before).map(|(start, &before)| Detour { start, before }).collect();
                    Source {
                        detours: hold(bytemuck::cast_slice(&pairs))?,
                        slots: hold(bytemuck::cast_slice(columns.slots))?,
                        length: detours.length().ps(),
                        count: detours.len() as u32,
                        shift: columns.slot_shift,
                        ..whose
                    }
                }
            });
        }
        let table = match sources.is_empty() {
            true => None,
            false => Some(device.hold(bytemuck::cast_slice(&sources))?),
        };
        let offsets = match &noise.phases {
            Phases::Given(offsets) if !offsets.is_empty() => {
                let ps: Vec<u64> = offsets.iter().map(|offset| offset.ps()).collect();
                Some(device.hold(bytemuck::cast_slice(&ps))?)
            }
            _ => None,
        };
        let (phases, wallclock, computation_only) =
            (noise.phases.clone(), noise.wallclock, noise.computation_only);
        Ok(Injected { sources, held, table, offsets, phases, wallclock, computation_only })
    }

    /// Sets the noise fields of a plan.
    pub fn enter(&self, plan: &mut Plan) {
        plan.sources = self.table.as_ref().map_or(0, |table| table.address());
        plan.source_count = self.sources.len() as u32;
        plan.source = self.sources.first().copied().unwrap_or_default();
        plan.wallclock = self.wallclock.into();
        plan.computation_only = self.computation_only.into();
        match &self.phases {
            Phases::Drawn { seed, .. } => (plan.phases, plan.seed) = (0, *seed),
            Phases::Together { seed, .. } => (plan.phases, plan.seed) = (1, *seed),
            Phases::Given(offsets) => {
                (plan.phases, plan.given) = (2, offsets.len() as u32);
                plan.offsets = self.offsets.as_ref().map_or(0, |offsets| offsets.address());
            }
        }
    }
}

impl std::fmt::Debug for Injected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Injected")
            .field("sources", &self.sources.len())
            .field("held", &self.held.len())
            .finish()
    }
}
