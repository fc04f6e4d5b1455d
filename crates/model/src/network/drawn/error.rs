//! Errors of measured distributions.

use crate::Time;
use crate::spelling::{hint, nearest};

/// Why measured times cannot be used as distributions for a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DrawnError {
    #[error("there is no measured latency to draw from")]
    Nothing,
    #[error("link class `{class}`: there are no measured times")]
    Empty { class: String },
    #[error("link class `{class}`: {time} is longer than a day: check the unit")]
    TooLong { class: String, time: Time },
    #[error("link class `{class}`: there are {distinct} different times, but at most {most} are supported", most = super::Table::MOST)]
    TooMany { class: String, distinct: usize },
    #[error("link class `{class}`: there are more than 2^64 measurements")]
    TooOften { class: String },
    #[error("the network has no link class `{class}`; it has {known}{}", hint(.nearest.as_deref()))]
    UnknownClass { class: String, known: String, nearest: Option<String> },
    #[error("measured times are given twice for {}", in_words(.class.as_deref()))]
    Twice { class: Option<String> },
}

fn in_words(class: Option<&str>) -> String {
    class.map_or_else(|| "all link classes".into(), |class| format!("link class `{class}`"))
}

impl DrawnError {
    pub(super) fn unknown_class(class: &str, known: &[&str]) -> DrawnError {
        let nearest = nearest(class, known.iter().copied()).map(str::to_string);
        let known = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        DrawnError::UnknownClass { class: class.into(), known, nearest }
    }
}
