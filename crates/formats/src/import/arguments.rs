//! The arguments of a call in terms that all foreign formats share, and their conversion to a [`Call`].
//!
//! Formats write counts and datatypes; a [`Call`] has bytes. For rooted collectives they write the
//! root's arguments on all ranks, meaningful or not; a [`Call`] has only what this rank gives and gets.

use straggler_trace::call::{Call, Details, Matched, special};
use straggler_trace::{Class, Collective, RankTrace};

/// Arguments of one call, sizes in bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Arguments {
    /// Destination, source or root.
    pub peer: Option<i32>,
    pub tag: Option<i32>,
    /// Source and tag of the receiving half, where a call does both.
    pub source: Option<i32>,
    pub source_tag: Option<i32>,
    pub sent: u64,
    pub received: u64,
    pub sent_sizes: Vec<u64>,
    pub received_sizes: Vec<u64>,
}

impl Arguments {
    /// Writes the arguments into a call and its details.
    pub fn fill(self, call: &mut Call, details: &mut Details) {
        call.peer = self.peer.unwrap_or(special::NONE);
        call.tag = self.tag.unwrap_or(special::NONE);
        let total = |sizes: &[u64], one: u64| if sizes.is_empty() { one } else { sum(sizes) };
        call.sent = total(&self.sent_sizes, self.sent);
        call.received = total(&self.received_sizes, self.received);
        if let Class::Sendrecv(_) = call.function.class() {
            let [peer, tag] = [self.source, self.source_tag].map(|half| half.unwrap_or(special::NONE));
            details.receive = Some(Matched { peer, tag });
        }
        if !self.sent_sizes.is_empty() || !self.received_sizes.is_empty() {
            details.rare.sent_sizes = self.sent_sizes;
            details.rare.received_sizes = self.received_sizes;
        }
    }
}

/// Reduces a collective to what rank `own` of its communicator gives and gets.
pub(super) fn settle(call: &mut Call, details: Option<&mut Details>, own: u32) {
    let Class::Collective(kind, _) = call.function.class() else { return };
    let rare = details.and_then(|details| details.rare.get_mut());
    let root = call.peer == special::ROOT || u32::try_from(call.peer) == Ok(own);
    match kind {
        Collective::Bcast if root => call.received = 0,
        Collective::Bcast => call.sent = 0,
        Collective::Reduce | Collective::Gather if !root => call.received = 0,
        Collective::Scatter if !root => call.sent = 0,
        Collective::Gatherv if !root => {
            call.received = 0;
            rare.into_iter().for_each(|rare| rare.received_sizes.clear());
        }
        Collective::Scatterv if !root => {
            call.sent = 0;
            rare.into_iter().for_each(|rare| rare.sent_sizes.clear());
        }
        Collective::ReduceScatter => {
            let sizes = rare.map(|rare| rare.sent_sizes.as_slice()).unwrap_or_default();
            call.received = sizes.get(own as usize).copied().unwrap_or(call.received);
        }
        _ => {}
    }
}

/// Appends a call, with its details if it has any.
pub(super) fn push(rank: &mut RankTrace, call: Call, details: Details) {
    if details == Details::default() {
        rank.push(call);
    } else {
        rank.push_with(call, details);
    }
}

/// The sum, saturating.
pub(super) fn sum(sizes: &[u64]) -> u64 {
    sizes.iter().fold(0, |total, &size| total.saturating_add(size))
}

/// The bytes of `count` elements; 0 if the count is negative.
pub(super) fn bytes(count: i64, size: u64) -> u64 {
    u64::try_from(count).unwrap_or(0).saturating_mul(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::Time;
    use straggler_trace::Function;

    fn settled(function: Function, own: u32) -> (u64, u64) {
        let mut call = Call::new(function, Time(0), Time(1));
        let arguments = Arguments { peer: Some(1), sent: 8, received: 8, ..Arguments::default() };
        arguments.fill(&mut call, &mut Details::default());
        settle(&mut call, None, own);
        (call.sent, call.received)
    }

    #[test]
    fn rooted_collectives_keep_what_this_rank_gives_and_gets() {
        assert_eq!([settled(Function::Bcast, 1), settled(Function::Bcast, 0)], [(8, 0), (0, 8)]);
        assert_eq!([settled(Function::Reduce, 1), settled(Function::Reduce, 0)], [(8, 8), (8, 0)]);
        assert_eq!([settled(Function::Scatter, 1), settled(Function::Scatter, 0)], [(8, 8), (0, 8)]);
        assert_eq!(settled(Function::Allreduce, 0), (8, 8));
    }
}
