//! A diagnosis of latencies: the JSON answer, and its texts.

mod cycles;
pub mod hints;
pub mod tables;
pub mod words;

use crate::inputs::latency_file::LatencyFile;
use hints::Told;
use serde::Serialize;
use straggler_analysis::latency::Diagnosis;
use straggler_analysis::latency::diagnose::GroupFound;

#[derive(Serialize)]
pub struct DiagnosisAnswer {
    pub file: String,
    pub kernel: String,
    pub synthetic: bool,
    pub verdict: String,
    /// The hints as text, with their evidence.
    pub hints: Vec<Told>,
    pub groups: Vec<GroupFound>,
    pub warnings: Vec<String>,
}

impl DiagnosisAnswer {
    pub fn of(file: &LatencyFile, diagnosis: Diagnosis, with_noise: bool) -> DiagnosisAnswer {
        let hints: Vec<Told> =
            diagnosis.hints.iter().map(|hint| hints::tell(hint, &diagnosis.groups, with_noise)).collect();
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
