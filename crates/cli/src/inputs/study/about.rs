//! Facts in the folder of a study beside its results: the file it was run from, and fitted networks.

use super::{PROVENANCE, STUDY, read_study};
use crate::inputs::network::NetworkAnswer;
use serde::{Deserialize, Serialize};
use std::path::Path;
use straggler_analysis::study::{Fitted, Series, Study};

#[derive(Debug, Default)]
pub struct About {
    study: Option<Study>,
    pub fitted: Vec<FittedAnswer>,
}

/// A network that was fitted from a trace.
#[derive(Debug, Serialize, Deserialize)]
pub struct FittedAnswer {
    /// As the study names it.
    pub trace: String,
    pub network: NetworkAnswer,
}

impl FittedAnswer {
    pub fn of(fitted: &Fitted) -> FittedAnswer {
        FittedAnswer { trace: fitted.trace.clone(), network: NetworkAnswer::of(&fitted.network) }
    }

    /// "Network fitted to the trace run: L=1.20us,…".
    pub fn sentence(&self) -> String {
        format!("Network fitted to the trace {}: {}", self.trace, self.network.parameters())
    }
}

/// The part of the provenance that is read again.
#[derive(Default, Deserialize)]
struct Kept {
    #[serde(default)]
    fitted: Vec<FittedAnswer>,
}

impl About {
    /// Empty if the file is missing: results can be read without it.
    pub fn read(folder: &Path) -> About {
        let kept = std::fs::read(folder.join(PROVENANCE)).ok();
        let kept: Kept = kept.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        About { study: read_study(&folder.join(STUDY)).ok(), fitted: kept.fitted }
    }

    pub fn name(&self) -> Option<&str> {
        self.study.as_ref().map(|study| study.name.as_str())
    }

    /// Numbers of copies of a trace, one per point of the series; empty for other workloads.
    pub fn copies(&self, series: &Series) -> &[u32] {
        let sweeps = self.study.iter().flat_map(|study| &study.sweeps);
        let found = series.coordinates().and_then(|at| {
            let mut mine = sweeps.filter(|sweep| sweep.name == at.sweep);
            mine.find(|sweep| sweep.traces.contains(&at.workload))
        });
        // Points and copies are both in ascending order.
        let copies = found.map_or(&[][..], |sweep| &sweep.copies);
        if copies.len() == series.points.len() { copies } else { &[] }
    }
}
