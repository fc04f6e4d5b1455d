//! How sure sources are, in words.

use straggler_analysis::noise::Explained;
use straggler_model::noise::recording::Evidence;
use straggler_report::numbers::percent;

/// "Its sources: 61 % traced, 39 % below the kernel."
pub fn explained(explained: &Explained) -> String {
    let kinds = [
        (explained.traced, "traced"),
        (explained.correlated, "by correlation"),
        (explained.stated, "stated"),
        (explained.remainder, "below the kernel"),
        (explained.unnamed, "unnamed"),
    ];
    if explained.named() == 0.0 {
        return String::new();
    }
    let parts: Vec<String> = kinds
        .into_iter()
        .filter(|(share, _)| *share > 0.0)
        .map(|(share, kind)| format!("{} {kind}", percent(share)))
        .collect();
    format!("Its sources: {}.\n", parts.join(", "))
}

pub fn evidence(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::None => "none",
        Evidence::Traced => "traced",
        Evidence::Remainder => "remainder",
        Evidence::Correlated => "correlated",
        Evidence::Stated => "stated",
    }
}
