//! Findings for the reader, in sentences.

use serde::Serialize;

/// One finding.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Finding {
    pub kind: FindingKind,
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingKind {
    /// Answers the question.
    Verdict,
    /// Says how far to trust the answer.
    Note,
    /// Says how it was found, and what else is known. The console prints it with -v.
    Detail,
}

impl FindingKind {
    /// The texts of this kind, in order.
    pub fn select(self, findings: &[Finding]) -> Vec<String> {
        findings.iter().filter(|finding| finding.kind == self).map(|finding| finding.text.clone()).collect()
    }
}
