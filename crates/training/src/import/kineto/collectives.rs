//! What the host recorded about a communication when it launched the kernel, and the channel on which it meets other ranks.

use super::super::recorded::{Channel, collective_name, ends_together};
use super::events::{Communication, Span};

/// Communication spans of the host, by thread and start.
#[derive(Debug)]
pub struct HostCommunications {
    spans: Vec<Span<Communication>>,
}

impl HostCommunications {
    pub fn new(mut spans: Vec<Span<Communication>>) -> HostCommunications {
        spans.sort_by_key(|span| (span.thread, span.start_ps));
        HostCommunications { spans }
    }

    /// Adds what the host recorded around the launch to what is known from the kernel. `nccl:all_reduce` lies within
    /// `record_param_comms`, so a launch is in at most two such spans.
    pub fn complete(&self, known: &Communication, thread: i64, launch_ps: i64) -> Communication {
        const ENCLOSING: usize = 4;
        let mut known = known.clone();
        let before = self.spans.partition_point(|span| (span.thread, span.start_ps) <= (thread, launch_ps));
        for span in self.spans[..before].iter().rev().take(ENCLOSING) {
            if span.thread == thread && span.end_ps >= launch_ps {
                fill(&mut known, &span.what);
            }
        }
        known
    }
}

fn fill(known: &mut Communication, host: &Communication) {
    fn one<T: Clone>(known: &mut Option<T>, host: &Option<T>) {
        if known.is_none() {
            known.clone_from(host);
        }
    }
    one(&mut known.name, &host.name);
    one(&mut known.group, &host.group);
    one(&mut known.description, &host.description);
    one(&mut known.ranks, &host.ranks);
    one(&mut known.size, &host.size);
    one(&mut known.elements, &host.elements);
    one(&mut known.dtype, &host.dtype);
    one(&mut known.seq, &host.seq);
    one(&mut known.source, &host.source);
    one(&mut known.target, &host.target);
}

impl Communication {
    pub fn collective(&self) -> &'static str {
        match self.name.as_deref().map(collective_name) {
            Some("collective") | None => self.kernel.unwrap_or("collective"),
            Some(name) => name,
        }
    }

    /// The input size in bytes, if recorded.
    pub fn bytes(&self) -> Option<u64> {
        self.elements?.checked_mul(width(self.dtype.as_deref()?)?)
    }

    /// The channel on which it meets its partners. `place` distinguishes streams without process groups.
    pub fn channel(&self, rank: Option<u32>, place: usize) -> Channel {
        let collective = self.collective();
        if let Some((from, to)) = self.pair(rank) {
            let group = self.group.as_deref().unwrap_or("");
            return Channel {
                key: format!("pair {group} {from} {to}"),
                label: format!("the messages from rank {from} to rank {to}"),
                size: Some(2),
                by_order: false,
                numbered: false,
                ends_together: false,
                one_way: false,
            };
        }
        // Sequence numbers count all collectives of a group. Without them, collectives are counted by name, so that a
        // missing one shifts only those of its name. Messages that are launched together are counted by each rank
        // separately.
        let by_order = self.seq.is_none() || self.is_message();
        let name = if by_order { collective } else { "" };
        let (group, label) = match (&self.group, &self.description) {
            (Some(group), Some(text)) => (format!("group {group}"), format!("group {group} ({text})")),
            (Some(group), None) => (format!("group {group}"), format!("group {group}")),
            (None, _) => (format!("stream {place}"), format!("communication stream {place}")),
        };
        Channel {
            key: format!("{group} {} {name}", self.ranks.as_deref().unwrap_or("")),
            label,
            size: self.size,
            by_order,
            numbered: !by_order,
            ends_together: ends_together(collective),
            one_way: false,
        }
    }

    /// The sequence number that partners share. Messages have none: PyTorch counts all messages of a rank, whatever the partner.
    /// But messages do not overtake each other.
    pub fn shared_number(&self, rank: Option<u32>) -> Option<u64> {
        self.seq.filter(|_| !self.is_message() && self.pair(rank).is_none())
    }

    /// Whether it is point-to-point rather than a collective.
    pub fn is_message(&self) -> bool {
        matches!(self.collective(), "send" | "recv" | "send_recv")
    }

    /// Sender and receiver of a single message.
    pub fn pair(&self, rank: Option<u32>) -> Option<(u32, u32)> {
        match self.collective() {
            "send" => Some((self.source.or(rank)?, self.target?)),
            "recv" => Some((self.source?, self.target.or(rank)?)),
            _ => None,
        }
    }
}

/// Bytes of an element of a PyTorch type.
fn width(dtype: &str) -> Option<u64> {
    Some(match dtype {
        "Double" | "Long" | "ComplexFloat" => 8,
        "Float" | "Int" => 4,
        "Half" | "BFloat16" | "Short" => 2,
        "Byte" | "Char" | "Bool" => 1,
        _ if dtype.starts_with("Float8") => 1,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages that are launched together name no partner, and each rank counts them separately. So partners do not
    /// share their numbers, and the numbers do not show whether files belong together.
    #[test]
    fn only_collectives_have_numbers_in_common() {
        let named = |name: &str| Communication {
            name: Some(name.into()),
            group: Some("7".into()),
            seq: Some(12),
            ..Communication::default()
        };
        for (name, number) in [("allreduce", Some(12)), ("coalesced", Some(12)), ("send_recv", None)] {
            let of = named(name);
            let channel = of.channel(Some(0), 0);
            assert_eq!(of.shared_number(Some(0)), number, "{name}");
            assert_eq!((channel.numbered, channel.by_order), (number.is_some(), number.is_none()), "{name}");
        }
    }
}
