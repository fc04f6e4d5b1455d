//! A mode that appears above a number of peers, as in section III of Settlemyer et al.: an MPI library kept fast
//! resources for the first 16 peers of each process and treated all others equally, but slower.

use super::GroupFound;
use crate::latency::Mode;
use serde::Serialize;
use straggler_model::latency::Labels;

/// A mode that is present with many peers and absent with few.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AbovePeers {
    /// The series without its number of peers.
    pub name: String,
    /// The largest number of peers without the mode, and the smallest with it.
    pub without: u32,
    pub with: u32,
    pub centre_ps: f64,
    /// Every number of peers with the mode.
    pub at: Vec<AtPeers>,
}

/// The weight of the mode at one number of peers.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct AtPeers {
    pub peers: u32,
    pub weight: f64,
    /// How many peers of each process are outside the mode, if each peer is entirely in or out. If this is the same
    /// for every number of peers, that many peers get better treatment.
    pub fast_peers: f64,
}

/// Modes closer than this count as the same.
const SAME: f64 = 0.15;
/// Lighter modes are not considered.
const LEAST: f64 = 0.01;

/// The labels of a series without its number of peers.
fn key(group: &GroupFound) -> Labels {
    Labels { peers: None, ..group.labels.clone() }
}

/// The name of the peer sweep that a group belongs to.
pub fn sweep(group: &GroupFound) -> String {
    key(group).to_string()
}

pub fn find(groups: &[GroupFound]) -> Vec<AbovePeers> {
    let mut keys: Vec<Labels> = groups.iter().filter(|group| group.labels.peers.is_some()).map(key).collect();
    keys.sort();
    keys.dedup();
    keys.iter()
        .filter_map(|labels| {
            let mut sweep: Vec<(u32, &GroupFound)> = groups
                .iter()
                .filter(|group| key(group) == *labels)
                .filter_map(|group| Some((group.labels.peers?, group)))
                .collect();
            sweep.sort_by_key(|(peers, _)| *peers);
            in_sweep(&labels.to_string(), &sweep)
        })
        .collect()
}

/// The first number of peers with a slower mode that no smaller number has and all larger ones keep.
fn in_sweep(name: &str, sweep: &[(u32, &GroupFound)]) -> Option<AbovePeers> {
    for start in 1..sweep.len() {
        let (before, after) = sweep.split_at(start);
        let main = before.iter().filter_map(|(_, group)| heaviest(&group.modes)).fold(0.0, f64::max);
        for mode in sweep[start].1.modes.iter().filter(|mode| mode.weight >= LEAST) {
            let is_new = before.iter().all(|(_, group)| like(&group.modes, mode.centre_ps).is_none());
            let kept: Option<Vec<AtPeers>> = after
                .iter()
                .map(|&(peers, group)| {
                    let weight = like(&group.modes, mode.centre_ps)?.weight;
                    Some(AtPeers { peers, weight, fast_peers: f64::from(peers) * (1.0 - weight) })
                })
                .collect();
            if let Some(at) = kept.filter(|_| is_new && mode.centre_ps > main * (1.0 + SAME / 2.0)) {
                let (without, with) = (before[before.len() - 1].0, after[0].0);
                return Some(AbovePeers { name: name.into(), without, with, centre_ps: mode.centre_ps, at });
            }
        }
    }
    None
}

fn like(modes: &[Mode], centre: f64) -> Option<&Mode> {
    let near = |mode: &&Mode| (mode.centre_ps / centre).ln().abs() < SAME && mode.weight >= LEAST / 2.0;
    modes.iter().filter(near).max_by(|a, b| a.weight.total_cmp(&b.weight))
}

fn heaviest(modes: &[Mode]) -> Option<f64> {
    modes.iter().max_by(|a, b| a.weight.total_cmp(&b.weight)).map(|mode| mode.centre_ps)
}
