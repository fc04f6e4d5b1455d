//! Timelines as columns, for up to a million activities.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use straggler_trace as trace;
use straggler_trace::Lane;

/// The peer of an activity that has none among the rows.
pub const NOBODY: u32 = u32::MAX;
/// The bytes of an activity that moves none.
const NO_BYTES: f64 = -1.0;

/// Activities and messages. Times are picoseconds, exact up to 2^53 (two and a half hours).
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Timeline<F = Vec<f64>, U = Vec<u32>, B = Vec<u8>> {
    /// Names of the rows.
    pub rows: Vec<String>,
    pub kinds: Vec<Kind>,
    /// One entry per activity, sorted by row, then by start.
    pub row: U,
    pub start: F,
    pub end: F,
    /// An index into `kinds`.
    pub kind: B,
    /// The row of the other process, or [`NOBODY`] if there is none or it is not shown.
    pub peer: U,
    /// Negative if the activity transfers none.
    pub bytes: F,
    pub tag: U,
    /// One entry per message; the rows of sender and receiver.
    pub arrow_from: U,
    pub arrow_to: U,
    pub arrow_sent: F,
    pub arrow_received: F,
    pub arrow_bytes: F,
}

/// A kind of activity, and its role.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Kind {
    pub name: String,
    pub role: ActivityRole,
}

/// The role of a kind of activity, which determines its colour: the same on all pages. Kinds of one role have shades of
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActivityRole {
    Computation,
    /// Communication that is neither a send nor a receive, or either, and no wait.
    Communication,
    Send,
    Receive,
    Wait,
    Noise,
    #[default]
    Other,
}

const KINDS: [(&str, ActivityRole); 6] = [
    ("computation", ActivityRole::Computation),
    ("send", ActivityRole::Send),
    ("receive", ActivityRole::Receive),
    ("noise", ActivityRole::Noise),
    ("wait", ActivityRole::Wait),
    ("collective or other call", ActivityRole::Communication),
];
/// Number of kinds in simulated runs; those after them occur only in traced runs.
const SIMULATED: usize = 4;
const NOISE: u8 = 3;

/// One activity of a timeline.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Activity {
    pub row: u32,
    pub start_ps: f64,
    pub end_ps: f64,
    pub kind: u8,
    pub peer: u32,
    pub bytes: f64,
    pub tag: u32,
}

/// One message of a timeline.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Arrow {
    pub from: u32,
    pub to: u32,
    pub sent_ps: f64,
    pub received_ps: f64,
    pub bytes: f64,
}

impl Timeline {
    /// Appends an activity: rows in order, and the activities of a row by start.
    pub fn push(&mut self, activity: Activity) {
        self.row.push(activity.row);
        self.start.push(activity.start_ps);
        self.end.push(activity.end_ps);
        self.kind.push(activity.kind);
        self.peer.push(activity.peer);
        self.bytes.push(activity.bytes);
        self.tag.push(activity.tag);
    }

    pub fn push_arrow(&mut self, arrow: Arrow) {
        self.arrow_from.push(arrow.from);
        self.arrow_to.push(arrow.to);
        self.arrow_sent.push(arrow.sent_ps);
        self.arrow_received.push(arrow.received_ps);
        self.arrow_bytes.push(arrow.bytes);
    }

    /// Iterates over the activities, up to the shortest column.
    pub fn activities(&self) -> impl Iterator<Item = Activity> + '_ {
        let times = self.row.iter().zip(&self.start).zip(&self.end).zip(&self.kind);
        let rest = self.peer.iter().zip(&self.bytes).zip(&self.tag);
        times.zip(rest).map(|((((&row, &start_ps), &end_ps), &kind), ((&peer, &bytes), &tag))| Activity {
            row,
            start_ps,
            end_ps,
            kind,
            peer,
            bytes,
            tag,
        })
    }

    pub fn arrows(&self) -> impl Iterator<Item = Arrow> + '_ {
        let rows = self.arrow_from.iter().zip(&self.arrow_to);
        let rest = self.arrow_sent.iter().zip(&self.arrow_received).zip(&self.arrow_bytes);
        rows.zip(rest).map(|((&from, &to), ((&sent_ps, &received_ps), &bytes))| Arrow {
            from,
            to,
            sent_ps,
            received_ps,
            bytes,
        })
    }
}

/// Each row is a CPU of a process. Activities of NICs are left out: they overlap those of the CPU.
impl From<&trace::Timeline> for Timeline {
    fn from(run: &trace::Timeline) -> Timeline {
        let rows = rows(run);
        let mut timeline = Timeline { rows: names(&rows), kinds: kinds(run), ..Timeline::default() };
        let row = |rank: u32, cpu: u8| rows.get(&(rank, cpu)).copied();
        let mut activities: Vec<(u32, &trace::Activity)> = (run.activities.iter())
            .filter_map(|activity| match activity.lane {
                Lane::Cpu(cpu) => Some((row(activity.rank, cpu)?, activity)),
                _ => None,
            })
            .collect();
        activities.sort_by_key(|(row, activity)| (*row, activity.start, activity.end));
        // Of a process with several CPUs, the first one that is shown.
        let peer = |rank: u32| rows.range((rank, 0)..=(rank, u8::MAX)).next().map_or(NOBODY, |(_, row)| *row);
        for (row, activity) in activities {
            let peer = if moves_data(activity) { peer(activity.peer) } else { NOBODY };
            push_parts(&mut timeline, row, peer, activity);
        }
        for arrow in &run.arrows {
            if let (Some(from), Some(to)) = (row(arrow.from, arrow.from_cpu), row(arrow.to, arrow.to_cpu)) {
                let (sent_ps, received_ps) = (arrow.sent.ps() as f64, arrow.received.ps() as f64);
                timeline.push_arrow(Arrow { from, to, sent_ps, received_ps, bytes: arrow.bytes as f64 });
            }
        }
        timeline
    }
}

fn moves_data(activity: &trace::Activity) -> bool {
    !matches!(activity.kind, trace::Kind::Compute | trace::Kind::Wait | trace::Kind::Other)
}

/// The kinds of simulated runs, and those of traced runs where there are any.
fn kinds(run: &trace::Timeline) -> Vec<Kind> {
    let traced = |kind| matches!(kind, trace::Kind::Wait | trace::Kind::Collective | trace::Kind::Other);
    let is_traced = run.activities.iter().any(|activity| traced(activity.kind));
    let count = if is_traced { KINDS.len() } else { SIMULATED };
    KINDS.iter().take(count).map(|&(name, role)| Kind { name: name.into(), role }).collect()
}

/// Adds an activity, with the noise at its end as a separate activity.
fn push_parts(timeline: &mut Timeline, row: u32, peer: u32, activity: &trace::Activity) {
    let kind = match activity.kind {
        trace::Kind::Compute => 0,
        trace::Kind::Send => 1,
        trace::Kind::Receive => 2,
        trace::Kind::Gap => return,
        trace::Kind::Wait => 4,
        trace::Kind::Collective | trace::Kind::Other => 5,
    };
    let noise = activity.noise.ps().min(activity.end.since(activity.start).ps());
    let quiet_end = activity.end.ps().saturating_sub(noise);
    let part = |kind, start: u64, end: u64| Activity {
        row,
        start_ps: start as f64,
        end_ps: end as f64,
        kind,
        peer,
        bytes: if moves_data(activity) { activity.bytes as f64 } else { NO_BYTES },
        tag: activity.tag,
    };
    if quiet_end > activity.start.ps() {
        timeline.push(part(kind, activity.start.ps(), quiet_end));
    }
    if noise > 0 {
        timeline.push(part(NOISE, quiet_end, activity.end.ps()));
    }
}

/// Assigns rows to the CPUs at which any activity or message occurs.
fn rows(run: &trace::Timeline) -> BTreeMap<(u32, u8), u32> {
    let mut lanes: BTreeSet<(u32, u8)> = BTreeSet::new();
    for activity in &run.activities {
        if let Lane::Cpu(cpu) = activity.lane {
            lanes.insert((activity.rank, cpu));
        }
    }
    for arrow in &run.arrows {
        lanes.insert((arrow.from, arrow.from_cpu));
        lanes.insert((arrow.to, arrow.to_cpu));
    }
    lanes.into_iter().zip(0..).collect()
}

fn names(rows: &BTreeMap<(u32, u8), u32>) -> Vec<String> {
    let several = rows.keys().any(|&(_, cpu)| cpu > 0);
    let name = |&(rank, cpu): &(u32, u8)| match several {
        true => format!("rank {rank}, CPU {cpu}"),
        false => format!("rank {rank}"),
    };
    rows.keys().map(name).collect()
}
