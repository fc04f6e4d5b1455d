//! One call of a traced program.

use crate::Function;
use crate::seldom::{Empty, Seldom};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt;
use std::num::NonZero;
use std::ops::Deref;
use straggler_model::Time;

/// Peers and tags that stand for something special. Ranks and tags themselves are not negative.
pub mod special {
    /// Any source or any tag.
    pub const ANY: i32 = -1;
    /// MPI_PROC_NULL: a message to or from it does nothing.
    pub const NOBODY: i32 = -2;
    /// This process is the root of a rooted collective between two groups.
    pub const ROOT: i32 = -3;
    /// The call has no peer or no tag.
    pub const NONE: i32 = i32::MIN;
}

/// The number of a communicator in [`crate::Trace::communicators`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[repr(transparent)]
#[serde(transparent)]
pub struct CommId(pub u32);

impl CommId {
    /// Its place in a list that has one entry for each communicator.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for CommId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The call has no communicator.
pub const NO_COMM: CommId = CommId(u32::MAX);

/// The number of a request on its rank, in order of creation. A persistent request has one, and each
/// time it is begun makes another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[repr(transparent)]
#[serde(transparent)]
pub struct RequestId(pub u32);

impl RequestId {
    /// Its place in a list that has one entry for each request of a rank.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The request made so many after this one. The numbers of a damaged trace may wrap.
    pub fn wrapping_add(self, count: u32) -> RequestId {
        RequestId(self.0.wrapping_add(count))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One call. What few calls have is in [`Details`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    pub function: Function,
    /// The thread that called, counted from 0 in order of appearance.
    pub thread: u16,
    pub comm: CommId,
    pub enter: Time,
    pub exit: Time,
    /// Destination, source or root, as a rank of the communicator, or [`special`]. Of a wildcard receive:
    /// what was asked for; [`Details::matched`] says who it was.
    pub peer: i32,
    pub tag: i32,
    /// Bytes this call sends: of a message, or what this rank gives to a collective (to each, where every
    /// rank gets its own; in all, where [`Rare::sent_sizes`] lists them).
    pub sent: u64,
    /// Bytes this call receives. Of a nonblocking receive: what it has room for; [`Rare::lengths`] of the call that completes
    /// it tells where less came. Some foreign formats tell the room only.
    pub received: u64,
    /// The first request the call made, or [`Call::NO_REQUEST`]. A call that begins several makes as many,
    /// with consecutive numbers, in the order of [`Details::requests`].
    pub request: RequestId,
    /// Where its details are in [`crate::RankTrace::details`], or [`Call::NO_DETAILS`].
    pub details: u32,
}

impl Call {
    pub const NO_REQUEST: RequestId = RequestId(u32::MAX);
    pub const NO_DETAILS: u32 = u32::MAX;

    /// A call without peer, tag, bytes and requests.
    pub fn new(function: Function, enter: Time, exit: Time) -> Call {
        Call {
            function,
            thread: 0,
            comm: NO_COMM,
            enter,
            exit,
            peer: special::NONE,
            tag: special::NONE,
            sent: 0,
            received: 0,
            request: Call::NO_REQUEST,
            details: Call::NO_DETAILS,
        }
    }
}

// There are as many as a trace has calls.
const _: () = assert!(size_of::<Call>() == 56);

/// The requests given to a call. Up to four need no memory of their own.
pub type Requests = SmallVec<[RequestId; 4]>;

/// What only some calls have. What hardly any has is in [`Rare`], which can be read as if it were part of this.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Details {
    /// The requests given to the call, in the order of its list; null requests are left out. Of a call that
    /// begins persistent requests: those.
    pub requests: Requests,
    /// What the call found completed. A wait or test for all lists only receives that were wildcards and
    /// requests that were cancelled; if it succeeded, the others completed too.
    pub completed: Seldom<Vec<Completed>>,
    /// Whether a test or probe found something. Waits always do. Of a receive that failed: it took the message, which was
    /// longer than its room.
    pub found: bool,
    /// Who a blocking wildcard receive, a probe or the receiving half of a [`crate::Class::Sendrecv`] matched.
    pub matched: Option<Matched>,
    /// The receiving half of a [`crate::Class::Sendrecv`]; its bytes are the call's `received`.
    pub receive: Option<Matched>,
    /// When, inside of the call, its message was sent or its collective was over. Only some foreign formats tell; elsewhere
    /// it is when the call began or ended.
    pub moment: Option<Moment>,
    pub rare: Seldom<Rare>,
}

// Waits have them, and in some formats all that communicates.
const _: () = assert!(size_of::<Details>() == 80);

/// What hardly any call has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rare {
    /// How many calls this stands for, and the time spent inside of them, when unsuccessful tests or probes were
    /// counted instead of recorded one by one. `enter` is that of the first, `exit` that of the last.
    pub repeated: Option<Repeated>,
    /// Bytes to each rank of the communicator (or each neighbour), where they differ.
    pub sent_sizes: Vec<u64>,
    /// Bytes from each rank of the communicator (or each neighbour), where they differ.
    pub received_sizes: Vec<u64>,
    /// The communicator a call made; none where this rank got none.
    pub new_comm: Option<CommId>,
    /// How long the messages of receives were that the call completed, where they were shorter than their room.
    pub lengths: Vec<(RequestId, u64)>,
    /// The number of a message that a matching probe kept, or a matched receive took.
    pub message: Option<u32>,
    /// The number of a window, in order of creation.
    pub window: Option<u32>,
    /// The name of a region or of a function this version does not know; the level of a Pcontrol as text.
    pub text: Option<String>,
    /// Of a Pcontrol: whether calls are recorded from here on; none where it changes nothing.
    pub recording: Option<bool>,
    /// The return code, when it was not success.
    pub error: Option<i32>,
    /// What a call that makes a communicator took when nobody was waited for any more; where it is not told, the calls of all
    /// members tell it by their times.
    pub alone: Option<Time>,
}

impl Empty for Rare {
    const EMPTY: &'static Rare = &Rare {
        repeated: None,
        sent_sizes: Vec::new(),
        received_sizes: Vec::new(),
        new_comm: None,
        lengths: Vec::new(),
        message: None,
        window: None,
        text: None,
        recording: None,
        error: None,
        alone: None,
    };
}

impl Deref for Details {
    type Target = Rare;

    fn deref(&self) -> &Rare {
        &self.rare
    }
}

impl From<Rare> for Details {
    fn from(rare: Rare) -> Details {
        Details { rare: rare.into(), ..Details::default() }
    }
}

impl Details {
    pub const NOTHING: &'static Details = &Details {
        requests: Requests::new_const(),
        completed: Seldom::NOTHING,
        found: false,
        matched: None,
        receive: None,
        moment: None,
        rare: Seldom::NOTHING,
    };

    /// Of a mark: the name of its region.
    pub fn named(text: impl Into<String>) -> Details {
        Rare { text: Some(text.into()), ..Rare::default() }.into()
    }

    /// The call begins at another time, and its moment comes as long after that as before.
    pub fn move_moment(&mut self, old: Time, new: Time) {
        self.moment = self.moment.and_then(|moment| Moment::new(new + moment.time().since(old)));
    }

    /// Whether the call failed and took no message, so that nothing was sent or received.
    pub fn came_to_nothing(&self) -> bool {
        self.error.is_some() && !self.found
    }
}

/// A time other than [`Time::NEVER`], so that the absence of one needs no room.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Moment(NonZero<u64>);

impl Moment {
    /// None of [`Time::NEVER`].
    pub fn new(time: Time) -> Option<Moment> {
        NonZero::new(!time.ps()).map(Moment)
    }

    pub fn time(self) -> Time {
        Time(!self.0.get())
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.time().fmt(f)
    }
}

/// One request that a call found completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completed {
    pub request: RequestId,
    /// Who sent, where the receive was a wildcard.
    pub matched: Option<Matched>,
    pub cancelled: bool,
}

/// Who sent a message and with which tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Matched {
    pub peer: i32,
    pub tag: i32,
}

/// Unsuccessful calls that were counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repeated {
    pub calls: u64,
    /// The time spent inside of the calls; the rest of the interval lies between them.
    pub inside: Time,
}
