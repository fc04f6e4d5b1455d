//! What the host does, instant by instant: the innermost operation, call or annotation of a thread.

use super::super::recorded::Distinct;
use std::collections::HashMap;
use std::rc::Rc;

/// Shorter operations are not kept: most events of a trace are operations of a few microseconds.
pub const SHORTEST_PS: i64 = 10_000_000;
/// Names of host code can be whole signatures.
const LONGEST_NAME: usize = 60;

/// An operation, a call or an annotation.
#[derive(Clone, Copy, Debug)]
struct HostSpan {
    thread: i64,
    start_ps: i64,
    end_ps: i64,
    /// The index of its name.
    name: u32,
}

/// The longer spans of all threads.
#[derive(Debug, Default)]
pub struct HostSpans {
    spans: Vec<HostSpan>,
    names: Distinct<Rc<str>>,
}

impl HostSpans {
    pub fn push(&mut self, thread: i64, start_ps: i64, end_ps: i64, name: &str) {
        let end = name.char_indices().nth(LONGEST_NAME).map_or(name.len(), |(at, _)| at);
        let name = self.names.place(Rc::from(&name[..end]));
        self.spans.push(HostSpan { thread, start_ps, end_ps, name });
    }

    /// By thread: since when the host does what. `None` is code outside of all spans.
    fn doings(&mut self) -> HashMap<i64, Vec<(i64, Option<u32>)>> {
        self.spans.sort_by_key(|span| (span.thread, span.start_ps, std::cmp::Reverse(span.end_ps)));
        let mut threads = HashMap::new();
        for spans in self.spans.chunk_by(|one, next| one.thread == next.thread) {
            let mut since: Vec<(i64, Option<u32>)> = Vec::new();
            let mut open: Vec<(i64, u32)> = Vec::new();
            let close = |open: &mut Vec<(i64, u32)>, since: &mut Vec<(i64, Option<u32>)>, now: i64| {
                while let Some(&(end, _)) = open.last().filter(|&&(end, _)| end <= now) {
                    open.pop();
                    since.push((end, open.last().map(|&(_, name)| name)));
                }
            };
            for span in spans {
                close(&mut open, &mut since, span.start_ps);
                open.push((span.end_ps, span.name));
                since.push((span.start_ps, Some(span.name)));
            }
            close(&mut open, &mut since, i64::MAX);
            since.sort_by_key(|&(at, _)| at);
            threads.insert(spans[0].thread, since);
        }
        threads
    }

    /// How long the host did what during the given times of threads: name and picoseconds, the longest first. An empty name is
    /// code outside of all spans.
    pub fn during(&mut self, times: &[(i64, i64, i64)]) -> Vec<(String, i64)> {
        let threads = self.doings();
        let mut sums: HashMap<Option<u32>, i64> = HashMap::new();
        for &(thread, begin, end) in times {
            let since = threads.get(&thread).map_or(&[][..], |since| since);
            let first = since.partition_point(|&(at, _)| at <= begin);
            let mut now = (begin, first.checked_sub(1).and_then(|before| since[before].1));
            for &next in since[first..].iter().take_while(|&&(at, _)| at < end).chain([&(end, None)]) {
                let sum = sums.entry(now.1).or_default();
                *sum = sum.saturating_add(next.0.saturating_sub(now.0));
                now = next;
            }
        }
        let name = |name: Option<u32>| {
            name.map_or(String::new(), |name| self.names.items[name as usize].to_string())
        };
        let mut sums: Vec<(String, i64)> = sums.into_iter().map(|(of, sum)| (name(of), sum)).collect();
        sums.retain(|(_, sum)| *sum > 0);
        sums.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_span_counts() {
        let mut spans = HostSpans::default();
        spans.push(1, 10, 100, "step");
        spans.push(1, 20, 60, "aten::item");
        spans.push(1, 30, 50, "cudaStreamSynchronize");
        spans.push(2, 0, 100, "other");
        let during = |spans: &mut HostSpans, times: &[(i64, i64, i64)]| spans.during(times);
        let found = during(&mut spans, &[(1, 0, 35), (1, 45, 110)]);
        let wanted = [("step", 50), ("aten::item", 20), ("", 20), ("cudaStreamSynchronize", 10)];
        assert_eq!(found.len(), 4, "{found:?}");
        for (name, sum) in wanted {
            assert!(found.contains(&(name.to_string(), sum)), "{found:?}");
        }
        assert_eq!(during(&mut spans, &[(3, 5, 9)]), [(String::new(), 4)]);
        assert_eq!(during(&mut spans, &[]), []);
    }
}
