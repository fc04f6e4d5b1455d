//! The noise of all cores as one trace: a section for each core, one after another. The position at which a process
//! reads the trace determines the core it runs on, so replacing a node means reading elsewhere, and a look-up costs
//! no more for thousands of cores than for one.
//!
//! A core's trace repeats, so its section contains the trace followed by its repetition for the longest expected run
//! (`horizon`).

use super::{Cluster, NodeId};
use crate::assess::CauseId;
use std::sync::Arc;
use straggler_model::Time;
use straggler_model::philox::Stream;
use straggler_noise::{Detours, DetoursError, Injection, Phases, Source, Waveform, Who};

/// All cores in one trace.
#[derive(Clone, Debug)]
pub struct Layout {
    detours: Arc<Detours>,
    /// The start of each core's section, and the length of its trace.
    sections: Vec<(u64, u64)>,
    /// The first core of each node, followed by the number of cores.
    first_cores: Vec<usize>,
}

/// A cause that is removed from one node.
pub type Without = Option<(NodeId, CauseId)>;

impl Layout {
    pub fn new(cluster: &Cluster, without: Without, horizon: Time) -> Result<Layout, DetoursError> {
        let (mut list, mut sections, mut first_cores) = (Vec::new(), Vec::new(), vec![0]);
        let mut begin = 0u64;
        for (node, one) in cluster.nodes.iter().enumerate() {
            let removed = without.filter(|&(other, _)| other == node).map(|(_, cause)| cause);
            for core in &one.cores {
                let length = core.length.ps().max(1);
                let end = length.checked_add(horizon.ps()).and_then(|all| begin.checked_add(all));
                let end = end.ok_or(DetoursError::TooLong)?;
                let kept = || core.detours.iter().filter(|detour| Some(detour.source) != removed);
                let turns = (0..).map(|turn| begin + turn * length).take_while(|&turn| turn < end);
                for turn in turns {
                    list.extend(kept().map_while(|detour| {
                        let start = turn + detour.start.ps();
                        // No detour may extend into the section of another core.
                        let left = end.checked_sub(start).filter(|&left| left > 0)?;
                        Some((Time(start), detour.duration.min(Time(left))))
                    }));
                }
                sections.push((begin, length));
                begin = end;
            }
            first_cores.push(sections.len());
        }
        let detours = Arc::new(Detours::new(&list, Some(Time(begin)))?);
        Ok(Layout { detours, sections, first_cores })
    }

    /// Noise for this many processes, assigned to the cores in turn, each starting at a random position drawn for
    /// this replica. The cores of `replaced` nodes get the noise of `stand_in`.
    pub fn injection(
        &self,
        processes: u32,
        replaced: &[NodeId],
        stand_in: NodeId,
        (seed, replica): (u64, u32),
    ) -> Injection {
        let cores = self.read_by(replaced, stand_in);
        let place = |rank: u32| {
            let core = cores.get(rank as usize % cores.len().max(1)).copied().unwrap_or(0);
            let (begin, length) = self.sections.get(core).copied().unwrap_or((0, 1));
            Time(begin + Stream::new(seed, replica, rank, 0).below(length))
        };
        let phases = Phases::Given((0..processes).map(place).collect());
        let waveform = Waveform::Trace(self.detours.clone());
        let source = Source { name: "nodes".into(), waveform, who: Who::Everyone };
        Injection { sources: vec![source], phases, wallclock: false, computation_only: false }
    }

    /// For each core, the core whose noise it gets.
    fn read_by(&self, replaced: &[NodeId], stand_in: NodeId) -> Vec<usize> {
        let mut cores: Vec<usize> = (0..self.sections.len()).collect();
        let of = |node: NodeId| match (self.first_cores.get(node), self.first_cores.get(node + 1)) {
            (Some(&first), Some(&end)) => first..end,
            _ => 0..0,
        };
        let other = of(stand_in);
        for &node in replaced.iter().filter(|_| !other.is_empty()) {
            for (local, core) in of(node).enumerate() {
                cores[core] = other.start + local % other.len();
            }
        }
        cores
    }
}
