//! Where ranks run: their node, the index of their GPU, a switch, a rack. If ranks share one, that explains them better than a
//! list of ranks.

use crate::{Job, words};
use std::collections::{BTreeMap, BTreeSet};

/// Ranks share a place if at least this share of the ranks there are among them.
const MOSTLY: f64 = 0.75;

/// A kind of place, such as `node`, and the places of ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    pub what: String,
    pub of_rank: BTreeMap<u32, String>,
}

/// Why a table of places cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlacesError {
    #[error(
        "line 1: expected a header with `rank` and at least one kind of place, such as `rank,node,gpu,rack`"
    )]
    Header,
    #[error("line {line}: `{text}` is not a rank: expected a whole number")]
    Rank { line: usize, text: String },
    #[error("line {line}: {found} values, but the header has {wanted}")]
    Values { line: usize, found: usize, wanted: usize },
    #[error("line {line}: rank {rank} has a line already")]
    Twice { line: usize, rank: u32 },
}

/// Nodes of `count` consecutive ranks each, with a GPU for each rank.
pub fn consecutive(job: &Job, count: u32) -> Vec<Places> {
    let ranks = || job.workers.iter().filter(|worker| worker.recorded).map(|worker| worker.rank);
    let places = |what: &str, of: &dyn Fn(u32) -> u32| Places {
        what: what.into(),
        of_rank: ranks().map(|rank| (rank, of(rank).to_string())).collect(),
    };
    let count = count.max(1);
    vec![places("node", &|rank| rank / count), places("GPU", &|rank| rank % count)]
}

/// Reads places from CSV: a column `rank`, and a column for each kind of place.
pub fn parse(text: &str) -> Result<Vec<Places>, PlacesError> {
    let mut lines = (1..).zip(text.trim_start_matches('\u{feff}').lines());
    let split =
        |line: &str| -> Vec<String> { line.split(',').map(|value| value.trim().to_string()).collect() };
    let header = lines.next().map(|(_, line)| split(line)).unwrap_or_default();
    let rank_at = header.iter().position(|name| name == "rank").filter(|_| header.len() > 1);
    let rank_at = rank_at.ok_or(PlacesError::Header)?;
    let mut places: Vec<Places> = header
        .iter()
        .map(|name| if name == "gpu" { "GPU".into() } else { name.clone() })
        .map(|what| Places { what, of_rank: BTreeMap::new() })
        .collect();
    let mut seen = BTreeSet::new();
    for (line, text) in lines.filter(|(_, text)| !text.trim().is_empty()) {
        let values = split(text);
        if values.len() != header.len() {
            return Err(PlacesError::Values { line, found: values.len(), wanted: header.len() });
        }
        let rank: u32 =
            values[rank_at].parse().map_err(|_| PlacesError::Rank { line, text: values[rank_at].clone() })?;
        if !seen.insert(rank) {
            return Err(PlacesError::Twice { line, rank });
        }
        for (places, value) in places.iter_mut().zip(values).filter(|(_, value)| !value.is_empty()) {
            places.of_rank.insert(rank, value);
        }
    }
    places.remove(rank_at);
    Ok(places)
}

impl Job {
    /// The kinds of places of its ranks. Nodes are also known from recordings.
    fn all_places(&self) -> Vec<Places> {
        let mut all = self.places.clone();
        if !all.iter().any(|places| places.what == "node") {
            let of_rank = self.workers.iter().filter_map(|worker| Some((worker.rank, worker.host.clone()?)));
            all.push(Places { what: "node".into(), of_rank: of_rank.collect() });
        }
        all
    }

    /// The places that these ranks have to themselves, in words: `node n17`, `nodes n17 and n18`, `GPU 3`. `None` if no places
    /// explain them.
    pub fn shared_place(&self, ranks: &[u32]) -> Option<String> {
        let recorded: Vec<u32> =
            self.workers.iter().filter(|worker| worker.recorded).map(|worker| worker.rank).collect();
        let of_kind = |places: &Places| {
            let own: BTreeSet<&String> =
                ranks.iter().map(|rank| places.of_rank.get(rank)).collect::<Option<_>>()?;
            let is_there = |rank: &&u32| places.of_rank.get(rank).is_some_and(|place| own.contains(place));
            let there = recorded.iter().filter(is_there).count();
            let explains = !ranks.is_empty()
                && 2 * own.len() <= ranks.len()
                && there < recorded.len()
                && ranks.len() as f64 >= MOSTLY * there as f64;
            let names: Vec<&String> = own.iter().copied().collect();
            explains.then(|| (own.len(), there, words::named(&places.what, &names)))
        };
        let all = self.all_places();
        all.iter().filter_map(of_kind).min().map(|(_, _, words)| words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Worker;

    fn job(ranks: u32) -> Job {
        let worker = |rank| Worker { rank, dp_rank: rank, stage: 0, host: None, recorded: true };
        Job { workers: (0..ranks).map(worker).collect(), ..Job::default() }
    }

    #[test]
    fn ranks_of_a_node_or_a_gpu_are_explained() {
        let mut job = job(16);
        assert_eq!(job.shared_place(&[8, 9]), None);
        job.places = consecutive(&job, 4);
        let shared = |ranks: &[u32]| job.shared_place(ranks);
        assert_eq!(shared(&[8, 9, 10, 11]).as_deref(), Some("node 2"));
        assert_eq!(shared(&[11, 8, 9]).as_deref(), Some("node 2"));
        assert_eq!(shared(&[8, 9]), None);
        assert_eq!(shared(&[4, 5, 6, 7, 8, 9, 10, 11]).as_deref(), Some("nodes 1 and 2"));
        assert_eq!(shared(&[3, 7, 11, 15]).as_deref(), Some("GPU 3"));
        assert_eq!(shared(&[3]), None);
        assert_eq!(shared(&(0..16).collect::<Vec<u32>>()), None);
    }

    #[test]
    fn hosts_of_recordings_are_nodes() {
        let mut job = job(8);
        for worker in &mut job.workers {
            worker.host = Some(format!("n{:02}", worker.rank / 4));
        }
        assert_eq!(job.shared_place(&[4, 5, 6, 7]).as_deref(), Some("node n01"));
    }

    #[test]
    fn files_of_places() {
        let read = parse("rank, node,gpu,rack\n0,a,0,r1\n1,a,1,\n\n").unwrap();
        assert_eq!(read.iter().map(|places| &places.what[..]).collect::<Vec<_>>(), ["node", "GPU", "rack"]);
        assert_eq!(read[2].of_rank, BTreeMap::from([(0, "r1".to_string())]));
        assert_eq!(parse(""), Err(PlacesError::Header));
        assert_eq!(parse("rank\n1\n"), Err(PlacesError::Header));
        assert_eq!(parse("rank,node\nx,a\n"), Err(PlacesError::Rank { line: 2, text: "x".into() }));
        assert_eq!(parse("rank,node\n1\n"), Err(PlacesError::Values { line: 2, found: 1, wanted: 2 }));
        assert_eq!(parse("rank,node\n1,a\n1,b\n"), Err(PlacesError::Twice { line: 3, rank: 1 }));
    }
}
