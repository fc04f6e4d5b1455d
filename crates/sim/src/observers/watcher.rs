//! Either observer in one type, so that engines are compiled only once for both.

use super::recorder::{EventId, Recorder};
use super::timeline::{SendStamp, TimelineObserver};
use crate::observer::{Observer, Ran};
use crate::release::Release;
use straggler_model::Rank;

#[derive(Debug)]
pub(crate) enum Watcher<'a> {
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
    const ACTIVE: bool = true;
    type Stamp = Stamp;

    #[inline(never)]
    fn ran(&mut self, event: &Ran<Stamp>) -> Stamp {
        match self {
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
            Watcher::Timeline(observer) => observer.released(rank, release),
            Watcher::Recorder(recorder) => recorder.released(rank, release),
        }
    }
}
