//! Either observer, or none, in one type, so that engines are compiled only once for all.

use super::recorder::{EventId, Recorder};
use super::timeline::{SendStamp, TimelineObserver};
use crate::observer::{Observer, Ran};
use crate::release::Release;
use straggler_model::Rank;

#[derive(Debug)]
pub(crate) enum Watcher<'a> {
    /// For programs that are rarely run, and have no engine of their own for runs without an observer.
    Nothing,
    Timeline(TimelineObserver<'a>),
    Recorder(Recorder),
}

/// The stamp for either observer; the other half stays empty.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, packed)]
pub(crate) struct Stamp {
    send: SendStamp,
    event: EventId,
}

impl<'a> Watcher<'a> {
    pub fn timeline(self) -> Option<TimelineObserver<'a>> {
        if let Watcher::Timeline(observer) = self { Some(observer) } else { None }
    }

    pub fn recorder(self) -> Option<Recorder> {
        if let Watcher::Recorder(recorder) = self { Some(recorder) } else { None }
    }
}

impl Observer for Watcher<'_> {
    type Stamp = Stamp;

    #[inline(never)]
    fn ran(&mut self, event: &Ran<Stamp>) -> Stamp {
        match self {
            Watcher::Nothing => Stamp::default(),
            Watcher::Timeline(observer) => {
                Stamp { send: observer.ran(&event.with_cause(event.cause.send)), ..Stamp::default() }
            }
            Watcher::Recorder(recorder) => {
                Stamp { event: recorder.ran(&event.with_cause(event.cause.event)), ..Stamp::default() }
            }
        }
    }

    #[inline(never)]
    fn released(&mut self, rank: Rank, release: &Release) {
        match self {
            Watcher::Nothing => {}
            Watcher::Timeline(observer) => observer.released(rank, release),
            Watcher::Recorder(recorder) => recorder.released(rank, release),
        }
    }

    #[inline(always)]
    fn is_active(&self) -> bool {
        !matches!(self, Watcher::Nothing)
    }
}
