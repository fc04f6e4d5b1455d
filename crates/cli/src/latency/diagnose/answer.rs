//! A diagnosis of latencies: the JSON answer, and its texts.

use crate::latency::diagnose::hints::HintAnswer;
use crate::latency::diagnose::{hints, words};
use crate::latency::file::LatencyFile;
use serde::Serialize;
use straggler_analysis::latency::Diagnosis;
use straggler_analysis::latency::diagnose::GroupFound;
use straggler_analysis::latency::stationarity::Apart;
use straggler_report::numbers::percent;

#[derive(Serialize)]
pub struct DiagnosisAnswer {
    pub file: String,
    pub kernel: String,
    pub synthetic: bool,
    pub verdict: String,
    /// The hints as text, with their evidence.
    pub hints: Vec<HintAnswer>,
    pub groups: Vec<GroupFound>,
    pub warnings: Vec<String>,
}

impl DiagnosisAnswer {
    pub fn new(file: &LatencyFile, diagnosis: Diagnosis, with_noise: bool) -> DiagnosisAnswer {
        let mut hints: Vec<HintAnswer> =
            diagnosis.hints.iter().map(|hint| hints::phrase(hint, &diagnosis.groups, with_noise)).collect();
        // With a recording of noise, what it explains was the question.
        hints.sort_by_key(|hint| hint.hint != "noise");
        let mut warnings = file.warnings.clone();
        warnings.extend(diagnosis.empty.iter().map(|name| format!("{name}: there are no trials")));
        for group in &diagnosis.groups {
            warnings.extend(words::doubts(group));
        }
        DiagnosisAnswer {
            file: file.name.clone(),
            kernel: file.measurement.kernel.clone(),
            synthetic: file.measurement.is_synthetic(),
            verdict: words::verdict(&hints, &diagnosis.groups),
            hints,
            groups: diagnosis.groups,
            warnings,
        }
    }
}

pub fn apart(these: Apart, first: &str) -> String {
    let Apart { cycles, change } = these;
    let (which, take) = match (cycles, first) {
        (1, "") => ("one cycle".into(), "takes"),
        (1, first) => (format!("the {first}cycle"), "takes"),
        (_, "") => (format!("{cycles} cycles"), "take"),
        (_, first) => (format!("the {first}{cycles} cycles"), "take"),
    };
    let side = if change < 0.0 { "shorter" } else { "longer" };
    format!("{which} {take} {} {side} than the others", percent(change.abs()))
}
