//! Causes as sentences: what slows the job, what supports that, and what to do. All of the analysis is data; only this module
//! phrases it, for the console, for pages and for JSON.

mod evidence;
mod fix;
mod parts;
mod summary;
#[cfg(test)]
mod tests;

pub use fix::fix;
pub use summary::summary;

use crate::exact::{Cause, Evidence};
use serde::Serialize;

/// A cause, its data and its sentences.
#[derive(Debug, Serialize)]
pub struct CauseAnswer<'a> {
    pub summary: String,
    #[serde(flatten)]
    pub cause: &'a Cause,
    pub evidence: Vec<String>,
    pub fix: String,
}

impl<'a> CauseAnswer<'a> {
    pub fn new(cause: &'a Cause) -> CauseAnswer<'a> {
        CauseAnswer { summary: summary(cause), cause, evidence: evidence(cause), fix: fix(cause) }
    }
}

/// A sentence for each fact that supports a cause.
pub fn evidence(cause: &Cause) -> Vec<String> {
    cause.evidence.iter().map(Evidence::to_string).collect()
}
