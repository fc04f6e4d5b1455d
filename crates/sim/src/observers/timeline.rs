//! Records the timeline of selected ranks in an interval of time.

use crate::observer::{Observer, Ran, RanKind};
use crate::release::Release;
use straggler_model::{Rank, Time};
use straggler_trace::{Activity, Arrow, Kind, Lane, Timeline};

/// Which part of a run is recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection {
    /// First and last rank of each range, both included. Empty: every rank.
    pub ranks: Vec<(Rank, Rank)>,
    /// Activities that overlap the time from `from` to `to` are recorded.
    pub from: Time,
    pub to: Time,
}

impl Selection {
    fn holds(&self, rank: Rank) -> bool {
        self.ranks.is_empty() || self.ranks.iter().any(|&(first, last)| (first..=last).contains(&rank))
    }
}

/// The stamp of a message: whether and when its send was recorded.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, packed)]
pub struct SendStamp {
    sent_ps: u64,
    /// 1 if it was recorded, else 0.
    recorded: u8,
    cpu: u8,
}

/// Observes the activities and messages of the selected ranks.
#[derive(Debug)]
pub struct TimelineObserver<'a> {
    selection: &'a Selection,
    timeline: Timeline,
}

impl<'a> TimelineObserver<'a> {
    pub fn new(selection: &'a Selection) -> TimelineObserver<'a> {
        TimelineObserver { selection, timeline: Timeline::default() }
    }

    /// Joins the timelines of a run's parts.
    pub fn join(parts: impl IntoIterator<Item = TimelineObserver<'a>>) -> Timeline {
        Timeline::join(parts.into_iter().map(|part| part.timeline))
    }

    fn add(&mut self, event: &Ran<SendStamp>, lane: Lane, kind: Kind, start: Time, end: Time) -> bool {
        let inside =
            self.selection.holds(event.rank) && start < self.selection.to && end >= self.selection.from;
        if inside && end > start {
            let message = kind != Kind::Compute;
            self.timeline.activities.push(Activity {
                rank: event.rank,
                lane,
                kind,
                function: None,
                start,
                end,
                noise: if matches!(lane, Lane::Cpu(_)) { event.noise } else { Time::ZERO },
                bytes: if message { event.amount } else { 0 },
                peer: if message { event.peer } else { 0 },
                tag: if message { event.tag } else { 0 },
            });
        }
        inside
    }
}

impl Observer for TimelineObserver<'_> {
    type Stamp = SendStamp;

    fn ran(&mut self, event: &Ran<SendStamp>) -> SendStamp {
        let cpu = Lane::Cpu(event.cpu);
        match event.what {
            RanKind::Calc => {
                self.add(event, cpu, Kind::Compute, event.t, event.cpu_free);
            }
            RanKind::Send { .. } => {
                let recorded = self.add(event, cpu, Kind::Send, event.t, event.cpu_free);
                self.add(event, Lane::Send(event.nic), Kind::Gap, event.t, event.nic_free);
                return SendStamp { recorded: recorded.into(), cpu: event.cpu, sent_ps: event.t.ps() };
            }
            RanKind::Message { .. } => {
                let recorded = self.add(event, cpu, Kind::Receive, event.t, event.cpu_free);
                self.add(event, Lane::Receive(event.nic), Kind::Gap, event.t, event.nic_free);
                if recorded && event.cause.recorded != 0 {
                    self.timeline.arrows.push(Arrow {
                        from: event.peer,
                        from_cpu: event.cause.cpu,
                        to: event.rank,
                        to_cpu: event.cpu,
                        sent: Time(event.cause.sent_ps),
                        received: event.t,
                        bytes: event.amount,
                        tag: event.tag,
                    });
                }
            }
            RanKind::Recv { .. } | RanKind::Acknowledgement => {}
        }
        SendStamp::default()
    }

    fn released(&mut self, _: Rank, _: &Release) {}
}
