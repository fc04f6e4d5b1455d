//! Parts of sentences about causes.

use crate::exact::{Cause, Change, OperationName, Period};
use crate::words;
use straggler_model::Time;

pub fn time(seconds: f64) -> String {
    Time((1e12 * seconds).max(0.0).round() as u64).to_string()
}

pub fn percent(share: f64) -> String {
    if share < 0.1 { format!("{:.1} %", 100.0 * share) } else { format!("{:.0} %", 100.0 * share) }
}

/// `in step 5`, `from step 5 on`, or `from step 5 to step 11`.
pub fn span(since: i64, until: Option<i64>) -> String {
    match until {
        Some(until) if until == since => format!("in step {since}"),
        Some(until) => format!("from step {since} to step {until}"),
        None => format!("from step {since} on"),
    }
}

/// The steps of a cause, after a space. Empty for a cause of all steps.
pub fn in_its_steps(cause: &Cause) -> String {
    cause.since_step.map_or_else(String::new, |since| format!(" {}", span(since, cause.until_step)))
}

pub fn when(period: &Period) -> String {
    let still = slower_still(&period.slower_from);
    match (period.since_step, period.until_step) {
        _ if let Some([steps, of]) = period.scattered => format!("in {steps} of {of} steps"),
        (None, None) => "in all steps".into(),
        (None, Some(until)) => format!("up to the end of its recording at step {until}"),
        (Some(since), Some(until)) if period.recording_ends => {
            format!("{}{still}, up to the end of its recording at step {until}", span(since, None))
        }
        (Some(since), until) => format!("{}{still}", span(since, until)),
    }
}

/// The steps at which something becomes even slower. Empty if there are none.
pub fn slower_still(steps: &[i64]) -> String {
    match steps.is_empty() {
        true => String::new(),
        false => format!(", and slower still from {} on", words::named("step", steps)),
    }
}

impl Change {
    pub fn when(&self) -> String {
        span(self.since_step, self.until_step)
    }

    /// The other steps.
    pub fn otherwise(&self) -> &'static str {
        otherwise(self.until_step)
    }
}

/// The steps outside of a span that ends or does not.
pub fn otherwise(until: Option<i64>) -> &'static str {
    if until.is_some() { "otherwise" } else { "before" }
}

/// The workers that a worker is compared with.
pub fn others(stage: Option<u32>) -> &'static str {
    if stage.is_some() { "others of its stage" } else { "the others" }
}

/// `ranks 8 to 15 (node n17)`.
pub fn ranks_at(ranks: &[u32], place: Option<&String>) -> String {
    let Some(place) = place else { return words::named("rank", ranks) };
    match words::range(ranks) {
        Some(range) => format!("ranks {range} ({place})"),
        None => format!("{} ({place})", words::named("rank", ranks)),
    }
}

/// `between ranks 3 and 5`, `among ranks 3, 4 and 5`.
pub fn between(ranks: &[u32]) -> String {
    format!("{} {}", if ranks.len() == 2 { "between" } else { "among" }, words::named("rank", ranks))
}

/// `forward-compute 3`, or the name of a kernel.
pub fn operation(name: &OperationName) -> String {
    name.number.map_or_else(|| name.operation.clone(), |number| format!("{} {number}", name.operation))
}

pub fn capitalized(text: &str) -> String {
    text[..1].to_uppercase() + &text[1..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_read_well() {
        let some = Period { since_step: Some(5), ..Period::default() };
        let ends = Period { until_step: Some(9), ..some.clone() };
        assert_eq!(when(&Period::default()), "in all steps");
        assert_eq!(when(&some), "from step 5 on");
        assert_eq!(when(&ends), "from step 5 to step 9");
        assert_eq!(when(&Period { until_step: Some(5), ..some.clone() }), "in step 5");
        let again = Period { slower_from: vec![7, 8], ..some };
        assert_eq!(when(&again), "from step 5 on, and slower still from steps 7 and 8 on");
        let recorded = Period { until_step: Some(9), recording_ends: true, ..again };
        let text = "from step 5 on, and slower still from steps 7 and 8 on, up to the end of its recording at step 9";
        assert_eq!(when(&recorded), text);
        let begins = Period { since_step: None, ..recorded };
        assert_eq!(when(&begins), "up to the end of its recording at step 9");
        assert_eq!(when(&Period { scattered: Some([3, 40]), ..ends }), "in 3 of 40 steps");
    }

    #[test]
    fn ranks_are_explained_by_their_place() {
        assert_eq!(ranks_at(&[8, 9, 10, 11], Some(&"node 2".into())), "ranks 8 to 11 (node 2)");
        assert_eq!(ranks_at(&[8, 10], None), "ranks 8 and 10");
        assert_eq!(
            (between(&[3, 5]), between(&[3])),
            ("between ranks 3 and 5".into(), "among rank 3".into())
        );
    }
}
