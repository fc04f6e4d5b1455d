//! Messages between processes. They are most of a run's memory traffic, so they are as small as possible.

use serde::{Deserialize, Serialize};
use straggler_model::{Rank, Tag, Time};
use straggler_schedule::Operation;

/// The content of a message apart from its source, destination and arrival.
pub trait Body: bytemuck::Pod + Send {
    /// `sequence` is the number from [`crate::agenda::Agenda::count_send`].
    fn new(send: u32, sequence: u32, operation: &Operation) -> Self;
    /// The acknowledgement of a rendezvous message.
    fn acknowledgement(early: &Early) -> Self;
    fn is_acknowledgement(&self) -> bool;
    /// The last segment of this message, if it has several.
    fn last_segment(&self) -> Self;
    #[inline(always)]
    fn is_last_segment(&self) -> bool {
        self.bytes() == LAST_SEGMENT
    }
    fn tag(&self) -> Tag;
    fn bytes(&self) -> u64;
    /// The number of the send on its rank.
    fn send(&self) -> u32;
    /// Orders messages of one source that were sent at the same time. On one lane they always stay
    /// together, so their place in memory keeps the order of sending.
    #[inline(always)]
    fn sequence(&self, place: usize) -> u32 {
        place as u32
    }
    #[inline(always)]
    fn cpu(&self) -> u8 {
        0
    }
    #[inline(always)]
    fn nic(&self) -> u8 {
        0
    }
}

/// No message is as long as this: a simulation refuses messages of 2^63 bytes and more.
const ACKNOWLEDGEMENT: u64 = u64::MAX;
const LAST_SEGMENT: u64 = u64::MAX - 1;

/// For programs with at most one send at a time, on one CPU and one NIC.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, packed)]
pub struct Compact {
    bytes: u64,
    tag: Tag,
}

impl Compact {
    #[inline(always)]
    pub fn pack(bytes: u64, tag: Tag) -> Compact {
        Compact { bytes, tag }
    }

    /// The acknowledgement of a message of this tag.
    pub fn acknowledging(tag: Tag) -> Compact {
        Compact { bytes: ACKNOWLEDGEMENT, tag }
    }
}

impl Body for Compact {
    #[inline(always)]
    fn new(_: u32, _: u32, operation: &Operation) -> Compact {
        Compact::pack(operation.amount, operation.tag)
    }
    fn acknowledgement(early: &Early) -> Compact {
        Compact::acknowledging(early.tag)
    }
    fn last_segment(&self) -> Compact {
        Compact { bytes: LAST_SEGMENT, ..*self }
    }
    #[inline(always)]
    fn is_acknowledgement(&self) -> bool {
        self.bytes == ACKNOWLEDGEMENT
    }
    #[inline(always)]
    fn tag(&self) -> Tag {
        self.tag
    }
    #[inline(always)]
    fn bytes(&self) -> u64 {
        self.bytes
    }
    #[inline(always)]
    fn send(&self) -> u32 {
        straggler_schedule::OperationKind::Send as u32
    }
}

/// For programs with any number of sends, on one CPU and one NIC.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, packed)]
pub struct Numbered {
    bytes: u64,
    tag: Tag,
    send: u32,
}

impl Numbered {
    #[inline(always)]
    pub fn pack(bytes: u64, tag: Tag, send: u32) -> Numbered {
        Numbered { bytes, tag, send }
    }
}

impl Body for Numbered {
    #[inline(always)]
    fn new(send: u32, _: u32, operation: &Operation) -> Numbered {
        Numbered::pack(operation.amount, operation.tag, send)
    }
    fn acknowledgement(early: &Early) -> Numbered {
        Numbered::pack(ACKNOWLEDGEMENT, early.tag, early.send)
    }
    fn last_segment(&self) -> Numbered {
        Numbered { bytes: LAST_SEGMENT, ..*self }
    }
    #[inline(always)]
    fn is_acknowledgement(&self) -> bool {
        self.bytes == ACKNOWLEDGEMENT
    }
    #[inline(always)]
    fn tag(&self) -> Tag {
        self.tag
    }
    #[inline(always)]
    fn bytes(&self) -> u64 {
        self.bytes
    }
    #[inline(always)]
    fn send(&self) -> u32 {
        self.send
    }
}

/// For programs with any number of sends, CPUs and NICs.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, packed)]
pub struct Full {
    bytes: u64,
    tag: Tag,
    send: u32,
    sequence: u32,
    cpu: u8,
    nic: u8,
    unused: u16,
}

impl Body for Full {
    #[inline(always)]
    fn new(send: u32, sequence: u32, operation: &Operation) -> Full {
        Full {
            bytes: operation.amount,
            tag: operation.tag,
            send,
            sequence,
            cpu: operation.cpu,
            nic: operation.nic,
            unused: 0,
        }
    }
    fn acknowledgement(early: &Early) -> Full {
        Full {
            bytes: ACKNOWLEDGEMENT,
            tag: early.tag,
            send: early.send,
            sequence: 0,
            cpu: early.cpu,
            nic: early.nic,
            unused: 0,
        }
    }
    fn last_segment(&self) -> Full {
        Full { bytes: LAST_SEGMENT, ..*self }
    }
    #[inline(always)]
    fn is_acknowledgement(&self) -> bool {
        self.bytes == ACKNOWLEDGEMENT
    }
    #[inline(always)]
    fn tag(&self) -> Tag {
        self.tag
    }
    #[inline(always)]
    fn bytes(&self) -> u64 {
        self.bytes
    }
    #[inline(always)]
    fn send(&self) -> u32 {
        self.send
    }
    #[inline(always)]
    fn sequence(&self, _: usize) -> u32 {
        self.sequence
    }
    #[inline(always)]
    fn cpu(&self) -> u8 {
        self.cpu
    }
    #[inline(always)]
    fn nic(&self) -> u8 {
        self.nic
    }
}

/// A message in flight, as plain old data. Containers keep messages of one source to one destination that
/// were sent at the same time in the order of sending.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, packed)]
pub struct Message<B, S> {
    pub arrival: u64,
    pub to: Rank,
    pub from: Rank,
    pub body: B,
    /// The stamp of the sender's observer, the message's number, or both.
    pub stamp: S,
}

impl<B: bytemuck::Pod, S: bytemuck::Pod> Serialize for Message<B, S> {
    fn serialize<Z: serde::Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        serializer.serialize_bytes(bytemuck::bytes_of(self))
    }
}

impl<'de, B: bytemuck::Pod, S: bytemuck::Pod> Deserialize<'de> for Message<B, S> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = <&[u8]>::deserialize(deserializer)?;
        bytemuck::try_pod_read_unaligned(bytes).map_err(serde::de::Error::custom)
    }
}

/// The stamp of a message that is observed and whose number its receiver needs.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, packed)]
pub struct Carried<S, N> {
    pub observed: S,
    pub number: N,
}

/// What a message carries besides its content.
pub trait Stamp: bytemuck::Pod + Default + Send {
    /// Whether messages may have several segments.
    const SEGMENTED: bool = false;

    /// What is known of it on shared links.
    fn transit(&self) -> Transit;
    fn set_transit(&mut self, transit: Transit);
}

/// A message on shared links: its number on its source, and when its last byte arrives.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, packed)]
pub struct Transit {
    pub number: u32,
    tail: u64,
}

/// The tail of a message whose last segment comes later.
const LATER: u64 = u64::MAX;

impl Transit {
    /// A message of one segment, or one that did not use shared links if `tail` is 0.
    #[inline(always)]
    pub fn whole(number: u32, tail: Time) -> Transit {
        Transit { number, tail: tail.ps().min(LATER - 1) }
    }

    /// A message whose last segment comes later.
    #[inline(always)]
    pub fn partial(number: u32) -> Transit {
        Transit { number, tail: LATER }
    }

    /// When the last byte arrives; None if only its last segment tells.
    #[inline(always)]
    pub fn tail(&self) -> Option<Time> {
        (self.tail != LATER).then_some(Time(self.tail))
    }
}

impl Stamp for () {
    #[inline(always)]
    fn transit(&self) -> Transit {
        Transit::default()
    }
    #[inline(always)]
    fn set_transit(&mut self, _: Transit) {}
}

impl Stamp for u32 {
    #[inline(always)]
    fn transit(&self) -> Transit {
        Transit::whole(*self, Time::ZERO)
    }
    #[inline(always)]
    fn set_transit(&mut self, transit: Transit) {
        *self = transit.number;
    }
}

impl Stamp for Transit {
    const SEGMENTED: bool = true;

    #[inline(always)]
    fn transit(&self) -> Transit {
        *self
    }
    #[inline(always)]
    fn set_transit(&mut self, transit: Transit) {
        *self = transit;
    }
}

impl<S: bytemuck::Pod + Default + Send, N: Stamp> Stamp for Carried<S, N> {
    const SEGMENTED: bool = N::SEGMENTED;

    #[inline(always)]
    fn transit(&self) -> Transit {
        let number = self.number;
        number.transit()
    }
    #[inline(always)]
    fn set_transit(&mut self, transit: Transit) {
        let mut number = self.number;
        number.set_transit(transit);
        self.number = number;
    }
}

const _: () = assert!(size_of::<Message<Compact, ()>>() == 28);
const _: () = assert!(size_of::<Message<Numbered, ()>>() == 32);
const _: () = assert!(size_of::<Message<Full, ()>>() == 40);

/// Something with an arrival time.
pub trait Timed {
    fn arrival(&self) -> Time;
}

impl<B: Copy, S: Copy> Timed for Message<B, S> {
    #[inline(always)]
    fn arrival(&self) -> Time {
        Time(self.arrival)
    }
}

/// A message that ran on its receiver before its receive was posted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Early {
    pub from: Rank,
    pub tag: Tag,
    pub bytes: u64,
    pub send: u32,
    pub cpu: u8,
    pub nic: u8,
    /// When its bytes have arrived, which can be after it ran if receives overlap or links are shared.
    pub done: Time,
    /// Its number on its source, if messages are numbered.
    pub number: u32,
    /// Whether its last segment tells when it has arrived, if that is later than `done`.
    pub partial: bool,
}

impl Early {
    /// Whether a receive from `source` with `tag` takes this message.
    #[inline(always)]
    pub fn matches(&self, source: Rank, tag: Tag) -> bool {
        use straggler_schedule::graph::ANY;
        (source == ANY || source == self.from) && (tag == ANY || tag == self.tag)
    }
}
