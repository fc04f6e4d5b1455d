//! What the host knew of a communication when it launched the kernel, and where that meets other ranks.

use super::super::recorded::{Channel, collective_name, ends_together};
use super::events::{Communication, Span};

/// Spans of the host, by thread and begin.
#[derive(Debug)]
pub struct HostCommunications {
    spans: Vec<Span<Communication>>,
}

impl HostCommunications {
    pub fn new(mut spans: Vec<Span<Communication>>) -> HostCommunications {
        spans.sort_by_key(|span| (span.thread, span.start_ps));
        HostCommunications { spans }
    }

    /// Completes what the kernel says by what the host says that launched it. `nccl:all_reduce` lies within
    /// `record_param_comms`, so a launch is in two spans at most, apart from what surrounds them.
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

    /// The bytes that go in, where the trace says.
    pub fn bytes(&self) -> Option<u64> {
        self.elements?.checked_mul(width(self.dtype.as_deref()?)?)
    }

    /// Where it meets its partners. `place` tells streams without process groups apart.
    pub fn channel(&self, rank: Option<u32>, place: usize) -> Channel {
        let collective = self.collective();
        if let Some((from, to)) = self.pair(rank) {
            let group = self.group.as_deref().unwrap_or("");
            return Channel {
                key: format!("pair {group} {from} {to}"),
                label: format!("the messages from rank {from} to rank {to}"),
                size: Some(2),
                by_order: false,
                ends_together: false,
                one_way: false,
            };
        }
        // Numbers count all collectives of a group. Without them, a missing one shifts only those of its name.
        let by_order = self.seq.is_none();
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
            ends_together: ends_together(collective),
            one_way: false,
        }
    }

    /// The number that partners share. Messages have none: PyTorch counts those of a rank, whoever they go to or come
    /// from, but they do not overtake each other.
    pub fn shared_number(&self, rank: Option<u32>) -> Option<u64> {
        self.seq.filter(|_| self.pair(rank).is_none())
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
