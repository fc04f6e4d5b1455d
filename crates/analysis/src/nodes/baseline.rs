//! Finds what has become worse since an earlier assessment.

use super::Summary;
use super::outliers::Compared;
use serde::Serialize;

/// The expected number of false alarms among all nodes, if nothing has changed.
pub const FALSE_ALARMS: f64 = 0.05;
/// Tests per node.
const TESTS: f64 = 3.0;
/// A node is noisier if its lost share is at least this many times as large, and larger by this
/// share of its time,
const NOISIER: f64 = 1.2;
const MORE: f64 = 1e-4;
/// and slower if an iteration takes this many times as long.
const SLOWER: f64 = 1.05;

/// Compares the nodes of two assessments, matched by name.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Compare {
    pub nodes: usize,
    pub expected_false_alarms: f64,
    pub worse: Vec<Worse>,
    /// In the earlier assessment only.
    pub gone: Vec<String>,
    /// In the later assessment only.
    pub new: Vec<String>,
}

/// A node or core that has become worse since the earlier assessment.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Worse {
    pub name: String,
    pub noisier: bool,
    pub slower: bool,
    /// Before and now.
    pub lost: [f64; 2],
    pub iteration_ps: [f64; 2],
    /// The source that grew most, and the share of time it took before and takes now.
    pub source: Option<String>,
    pub source_lost: [f64; 2],
}

impl Compare {
    pub fn new(before: &[Summary], now: &[Summary]) -> Compare {
        let find = |list: &'_ [Summary], name: &str| list.iter().position(|node| node.name == name);
        let both: Vec<(&Summary, &Summary)> =
            now.iter().filter_map(|node| Some((&before[find(before, &node.name)?], node))).collect();
        let level = FALSE_ALARMS / (TESTS * both.len().max(1) as f64);
        let only = |list: &[Summary], other: &[Summary]| -> Vec<String> {
            list.iter()
                .filter(|node| find(other, &node.name).is_none())
                .map(|node| node.name.clone())
                .collect()
        };
        Compare {
            nodes: both.len(),
            expected_false_alarms: if both.is_empty() { 0.0 } else { FALSE_ALARMS },
            worse: both.into_iter().filter_map(|(before, now)| worse(before, now, level)).collect(),
            gone: only(before, now),
            new: only(now, before),
        }
    }
}

fn worse(before: &Summary, now: &Summary, level: f64) -> Option<Worse> {
    let more = now.lost >= NOISIER * before.lost && now.lost - before.lost >= MORE;
    let compared = Compared::new(&before.lost_by_window, &now.lost_by_window);
    let noisier = more && compared.is_some_and(|compared| compared.differs(level));
    let slower = before.iteration_ps > 0.0
        && before.processor == now.processor
        && now.iteration_ps >= SLOWER * before.iteration_ps;
    let took = |node: &Summary, name: &str| {
        node.sources.iter().find(|source| source.name == name).map_or(0.0, |source| source.lost)
    };
    let grown = |name: &str| took(now, name) - took(before, name);
    let source = now.sources.iter().max_by(|one, other| grown(&one.name).total_cmp(&grown(&other.name)));
    let source = source.filter(|source| grown(&source.name) > 0.0).map(|source| source.name.clone());
    (noisier || slower).then(|| Worse {
        name: now.name.clone(),
        noisier,
        slower,
        lost: [before.lost, now.lost],
        iteration_ps: [before.iteration_ps, now.iteration_ps],
        source_lost: source.as_ref().map_or([0.0; 2], |name| [took(before, name), took(now, name)]),
        source,
    })
}
