//! One call of a traced program.

use crate::Function;
use crate::option_box::{Empty, OptionBox};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt;
use std::num::NonZero;
use std::ops::Deref;
use straggler_model::{Rank, Time};

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
    /// Index into a list that has one entry per communicator.
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

/// The number of a request on its rank, in order of creation. A persistent request has a number,
/// and each start of it gets another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[repr(transparent)]
#[serde(transparent)]
pub struct RequestId(pub u32);

impl RequestId {
    /// Index into a list that has one entry per request of a rank.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the request made `count` requests after this one. The numbers of a damaged trace may wrap.
    pub fn wrapping_add(self, count: u32) -> RequestId {
        RequestId(self.0.wrapping_add(count))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One call. Fields that only some calls need are in [`Details`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    pub function: Function,
    /// The thread that called, counted from 0 in order of appearance.
    pub thread: u16,
    pub comm: CommId,
    pub enter: Time,
    pub exit: Time,
    /// Destination, source or root, as a rank of the communicator, or [`special`]. A wildcard
    /// receive keeps its wildcard here; [`Details::matched`] says who sent the message.
    pub peer: i32,
    pub tag: i32,
    /// Bytes this call sends: the length of a message, or what this rank contributes to a collective
    /// (per receiver if every rank gets its own part; in total if [`Rare::sent_sizes`] lists the parts).
    pub sent: u64,
    /// Bytes this call receives. For a nonblocking receive, the size of its buffer; if less arrived,
    /// [`Rare::lengths`] of the completing call says how much. Some foreign formats record only the buffer size.
    pub received: u64,
    /// The first request the call made, or [`Call::NO_REQUEST`]. A call that starts several
    /// requests numbers them consecutively, in the order of [`Details::requests`].
    pub request: RequestId,
    /// Index into [`crate::RankTrace::details`], or [`Call::NO_DETAILS`].
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

// A trace holds one per call, so the size matters.
const _: () = assert!(size_of::<Call>() == 56);

/// The requests passed to a call. Up to four are stored inline.
pub type Requests = SmallVec<[RequestId; 4]>;

/// Fields that only some calls need. Those that hardly any call needs are in [`Rare`], to which this dereferences.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Details {
    /// The requests passed to the call, in the order of its list, without null requests. For a call
    /// that starts persistent requests, the persistent ones.
    pub requests: Requests,
    /// The requests the call found completed. A wait or test for all lists only wildcard receives
    /// and cancelled requests; if it succeeded, the others completed too.
    pub completed: OptionBox<Vec<Completed>>,
    /// Whether a test or probe succeeded; waits always do. For a receive that failed: whether it
    /// still took the message, which was longer than its buffer.
    pub found: bool,
    /// Who a blocking wildcard receive, a probe or the receiving half of a [`crate::Class::Sendrecv`] matched.
    pub matched: Option<Matched>,
    /// The receiving half of a [`crate::Class::Sendrecv`]; its bytes are the call's `received`.
    pub receive: Option<Matched>,
    /// When, inside the call, its message was sent or its collective completed. Only some foreign
    /// formats record this; otherwise the beginning or end of the call stands for it.
    pub moment: Option<Moment>,
    pub rare: OptionBox<Rare>,
}

// Every wait has one, and in some formats every call that communicates, so the size matters.
const _: () = assert!(size_of::<Details>() == 80);

/// Fields that hardly any call needs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rare {
    /// How many calls this one stands for, and the time spent inside them, when unsuccessful tests or probes
    /// were counted instead of recorded one by one. `enter` is that of the first, `exit` that of the last.
    pub repeated: Option<Repeated>,
    /// Bytes to each rank of the communicator (or each neighbour), where they differ.
    pub sent_sizes: Vec<u64>,
    /// Bytes from each rank of the communicator (or each neighbour), where they differ.
    pub received_sizes: Vec<u64>,
    /// The communicator the call created; `None` if this rank got none.
    pub new_comm: Option<CommId>,
    /// Requests of completed receives whose messages were shorter than their buffers, with the bytes received.
    pub lengths: Vec<(RequestId, u64)>,
    /// The number of the message that a matching probe (MPI_Mprobe) set aside, or that a matched receive took.
    pub message: Option<u32>,
    /// The number of a window, in order of creation.
    pub window: Option<u32>,
    /// World ranks of the group that a call begins an epoch with (MPI_Win_post, MPI_Win_start).
    pub group: Vec<Rank>,
    /// The name of a region or of a function this version does not know, or the level of an MPI_Pcontrol.
    pub text: Option<String>,
    /// For MPI_Pcontrol: whether calls are recorded from here on; `None` if it changes nothing.
    pub recording: Option<bool>,
    /// The return code, when it was not success.
    pub error: Option<i32>,
    /// How long a call that creates a communicator takes once it waits for no other rank. If
    /// `None`, it is estimated from the times of all members' calls.
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
        group: Vec::new(),
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
        completed: OptionBox::NOTHING,
        found: false,
        matched: None,
        receive: None,
        moment: None,
        rare: OptionBox::NOTHING,
    };

    /// The details of a mark: the name of its region.
    pub fn named(text: impl Into<String>) -> Details {
        Rare { text: Some(text.into()), ..Rare::default() }.into()
    }

    /// Shifts the moment when the call's beginning moves from `old` to `new`.
    pub fn move_moment(&mut self, old: Time, new: Time) {
        self.moment = self.moment.and_then(|moment| Moment::new(new + moment.time().since(old)));
    }

    /// Whether the call failed and took no message, so that nothing was sent or received.
    pub fn has_failed(&self) -> bool {
        self.error.is_some() && !self.found
    }
}

/// A time other than [`Time::NEVER`], so that an `Option` of it needs no extra space.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Moment(NonZero<u64>);

impl Moment {
    /// Returns `None` for [`Time::NEVER`].
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
    /// The time spent inside the calls; the rest of the interval lies between them.
    pub inside: Time,
}
