//! The messages of one process that arrive by the end of the window and have not run.

use crate::host::Host;
use crate::latency::Latency;
use crate::message::{Body, Message, Stamp};
use crate::order::{Class, Key};
use crate::rules::{self, Rules};
use straggler_model::Time;
use straggler_noise::Noise;

/// A source of messages for a process.
pub(super) trait Mail<B: Body, S: Stamp> {
    /// When the first message may run ([`Time::NEVER`] if there is none), and its place.
    fn first<N: Noise, L: Latency>(&mut self, host: &impl Host, rules: &Rules<'_, N, L>) -> (Time, usize);
    /// The full key of the message at `place`, to break a tie.
    fn key<N: Noise, L: Latency>(&self, place: usize, host: &impl Host, rules: &Rules<'_, N, L>) -> Key;
    fn take(&mut self, place: usize) -> Option<Message<B, S>>;
    fn is_empty(&self) -> bool;
}

/// At most one message, the usual case. It is not copied.
#[derive(Debug)]
pub(super) struct One<'a, B: Copy, S: Stamp>(pub Option<&'a Message<B, S>>);

impl<B: Body, S: Stamp> Mail<B, S> for One<'_, B, S> {
    #[inline(always)]
    fn first<N: Noise, L: Latency>(&mut self, host: &impl Host, _: &Rules<'_, N, L>) -> (Time, usize) {
        (self.0.map_or(Time::NEVER, |message| eligible_of(message, host)), 0)
    }

    #[inline(always)]
    fn key<N: Noise, L: Latency>(&self, place: usize, host: &impl Host, rules: &Rules<'_, N, L>) -> Key {
        self.0.map_or(Key::LAST, |message| key_of(message, place, host, rules))
    }

    #[inline(always)]
    fn take(&mut self, _: usize) -> Option<Message<B, S>> {
        self.0.take().copied()
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

/// Any number of messages, for each source in the order of sending.
#[derive(Debug)]
pub(super) struct Inbox<B: Copy, S: Stamp> {
    messages: Vec<Message<B, S>>,
    /// Whether they are in the order in which they run; see [`Inbox::line_up`].
    lined_up: bool,
    /// The next message, if they are lined up.
    next: usize,
}

impl<B: Body, S: Stamp> Inbox<B, S> {
    pub fn new() -> Self {
        Inbox { messages: Vec::new(), lined_up: false, next: 0 }
    }

    pub fn push(&mut self, message: Message<B, S>) {
        self.messages.push(message);
    }

    /// Sorts messages by arrival, for runs in which they run in that order: if all links are equal and nothing is
    /// acknowledged, the one that arrived first was sent first (or counts as such if latencies are drawn), and may
    /// run no later than the others.
    pub fn line_up(&mut self) {
        self.messages.sort_by_key(|message| (message.arrival, message.from));
        self.lined_up = true;
    }

    /// Takes all messages. For each source they come in the order of sending.
    pub fn drain(&mut self) -> impl Iterator<Item = Message<B, S>> + '_ {
        self.lined_up = false;
        let next = std::mem::take(&mut self.next);
        self.messages.drain(..).skip(next)
    }

    pub fn len(&self) -> usize {
        self.messages.len() - self.next
    }
}

impl<B: Body, S: Stamp> Mail<B, S> for Inbox<B, S> {
    #[inline(always)]
    fn first<N: Noise, L: Latency>(&mut self, host: &impl Host, rules: &Rules<'_, N, L>) -> (Time, usize) {
        if self.lined_up {
            let first = self.messages.get(self.next);
            return (first.map_or(Time::NEVER, |message| eligible_of(message, host)), self.next);
        }
        first_of(&self.messages, host, rules)
    }

    fn key<N: Noise, L: Latency>(&self, place: usize, host: &impl Host, rules: &Rules<'_, N, L>) -> Key {
        self.messages.get(place).map_or(Key::LAST, |message| key_of(message, place, host, rules))
    }

    #[inline(always)]
    fn take(&mut self, place: usize) -> Option<Message<B, S>> {
        if !self.lined_up {
            return Some(self.messages.remove(place));
        }
        self.next = place + 1;
        self.messages.get(place).copied()
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.messages.len() == self.next
    }
}

/// When the first of some messages may run, and its place.
#[inline(never)]
fn first_of<B: Body, S: Stamp, N: Noise, L: Latency>(
    messages: &[Message<B, S>],
    host: &impl Host,
    rules: &Rules<'_, N, L>,
) -> (Time, usize) {
    let keys = messages.iter().enumerate();
    let keys = keys.map(|(place, message)| (key_of(message, place, host, rules), place));
    keys.min().map_or((Time::NEVER, 0), |(key, place)| (key.eligible, place))
}

/// When a message or an acknowledgement may run.
#[inline(always)]
pub(super) fn eligible_of<B: Body, S: Stamp>(message: &Message<B, S>, host: &impl Host) -> Time {
    let (arrival, body) = (Time(message.arrival), message.body);
    if body.is_acknowledgement() || S::SEGMENTED && body.is_last_segment() {
        arrival
    } else {
        rules::message_eligible(host, body.cpu(), body.nic(), arrival)
    }
}

/// The key of a message or an acknowledgement.
fn key_of<B: Body, S: Stamp, N: Noise, L: Latency>(
    message: &Message<B, S>,
    place: usize,
    host: &impl Host,
    rules: &Rules<'_, N, L>,
) -> Key {
    let (from, body) = (message.from, message.body);
    let (eligible, created) = (eligible_of(message, host), created_of(message, rules));
    if body.is_acknowledgement() {
        Key { eligible, created, class: Class::Acknowledgement, order: u64::from(body.send()) }
    } else if S::SEGMENTED && body.is_last_segment() {
        Key { eligible, created, class: Class::LastSegment, order: u64::from(from) << 32 | place as u64 }
    } else {
        let order = u64::from(from) << 32 | u64::from(body.sequence(place));
        Key { eligible, created, class: Class::Message, order }
    }
}

/// The creation time of a message or an acknowledgement; see [`Rules::sent_at`].
pub(super) fn created_of<B: Body, S: Stamp, N: Noise, L: Latency>(
    message: &Message<B, S>,
    rules: &Rules<'_, N, L>,
) -> Time {
    let (from, to, arrival, body) = (message.from, message.to, Time(message.arrival), message.body);
    if body.is_acknowledgement() {
        rules.matched_at(to, from, arrival)
    } else if S::SEGMENTED && body.is_last_segment() {
        Time::ZERO
    } else {
        rules.sent_at(from, to, arrival)
    }
}
