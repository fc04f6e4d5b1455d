//! Wait states as text.

pub const WRONG_ORDER: &str = "late_sender_wrong_order";

/// The name of a pattern as text.
pub fn plain(pattern: &str) -> String {
    match pattern {
        WRONG_ORDER => "  in wrong order".to_owned(),
        other => other.replace("nxn", "NxN").replace('_', " "),
    }
}
