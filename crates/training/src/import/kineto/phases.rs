//! The phase of the step in which the host launched a kernel.

use super::events::Span;

/// Phases of a step, as named by annotations.
pub const PHASES: [&str; 4] = ["forward", "backward", "optimizer", "compute"];
pub const FORWARD: u8 = 0;
pub const BACKWARD: u8 = 1;
pub const OPTIMIZER: u8 = 2;
/// The phase without an annotation.
pub const UNKNOWN: u8 = 3;

/// A phase, and the microbatch and the chunk of the model where the annotation names them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pass {
    pub phase: u8,
    pub microbatch: Option<u32>,
    pub chunk: Option<u32>,
}

impl Pass {
    const NONE: Pass = Pass { phase: UNKNOWN, microbatch: None, chunk: None };

    /// Parses an annotation: `## forward ##`, `Optimizer.step#SGD.step`, and those of PyTorch's pipelines, `Forward 3` or
    /// `PP:1B3`, which is microbatch 3 backward through chunk 1 of the model.
    pub fn named(annotation: &str) -> Option<Pass> {
        if let Some(action) = annotation.strip_prefix("PP:") {
            return Pass::of_action(action);
        }
        let name = annotation.to_ascii_lowercase();
        let phase = (0..UNKNOWN).find(|&phase| name.contains(PHASES[phase as usize]))?;
        let mut words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let is_phase = words.next() == Some(PHASES[phase as usize]) && phase != OPTIMIZER;
        let rest: Vec<&str> = words.collect();
        let microbatch = match rest[..] {
            [number] | ["microbatch" | "mb", number] if is_phase => number.parse().ok(),
            _ => None,
        };
        Some(Pass { phase, microbatch, chunk: None })
    }

    /// Parses an action of a pipeline schedule: chunk, action, microbatch. Sends and receives are not a phase.
    fn of_action(action: &str) -> Option<Pass> {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (chunk, rest) = action.split_at(digits(action));
        let (what, microbatch) = rest.split_at(rest.len() - digits_behind(rest));
        let phase = match what {
            "F" => FORWARD,
            // Separate gradients of inputs and weights are two operations; a table has room for one.
            "B" | "I" | "W" => BACKWARD,
            _ => return None,
        };
        let whole = what.len() == 1 && matches!(what, "F" | "B");
        let microbatch = microbatch.parse().ok().filter(|_| whole);
        Some(Pass { phase, microbatch, chunk: chunk.parse().ok() })
    }
}

fn digits_behind(text: &str) -> usize {
    text.bytes().rev().take_while(u8::is_ascii_digit).count()
}

/// When each phase began, by time. The innermost annotation counts, on whatever thread: the main thread waits in the annotation
/// of the backward pass while another thread launches its kernels.
#[derive(Debug)]
pub struct Phases {
    since: Vec<(i64, Pass)>,
}

impl Phases {
    pub fn new(mut annotations: Vec<Span<Pass>>) -> Phases {
        annotations.sort_by_key(|span| (span.start_ps, std::cmp::Reverse(span.end_ps)));
        let mut since: Vec<(i64, Pass)> = Vec::new();
        let mut open: Vec<(i64, Pass)> = Vec::new();
        for span in annotations {
            close(&mut open, &mut since, span.start_ps);
            let outer = open.last().map(|&(_, outer)| outer).filter(|outer| outer.phase == span.what.phase);
            let pass = outer.filter(|_| span.what.microbatch.is_none()).unwrap_or(span.what);
            open.push((span.end_ps, pass));
            since.push((span.start_ps, pass));
        }
        close(&mut open, &mut since, i64::MAX);
        since.sort_by_key(|&(at, _)| at);
        Phases { since }
    }

    pub fn at(&self, time_ps: i64) -> Pass {
        match self.since.partition_point(|&(at, _)| at <= time_ps) {
            0 => Pass::NONE,
            place => self.since[place - 1].1,
        }
    }
}

/// Closes the annotations that have ended by `now`. The enclosing ones continue.
fn close(open: &mut Vec<(i64, Pass)>, since: &mut Vec<(i64, Pass)>, now: i64) {
    while let Some(&(end, _)) = open.last().filter(|&&(end, _)| end <= now) {
        open.pop();
        since.push((end, open.last().map_or(Pass::NONE, |&(_, pass)| pass)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_annotation_counts() {
        let span = |name: &str, start_ps, end_ps| {
            let what = Pass::named(name).unwrap();
            Span { thread: 1, start_ps, end_ps, what }
        };
        let phases = Phases::new(vec![
            span("## forward ##", 10, 100),
            span("Optimizer.zero_grad#SGD", 20, 30),
            span("backward", 120, 150),
            span("Forward 3", 200, 300),
            span("DistributedDataParallel.forward", 210, 290),
        ]);
        let at: Vec<u8> =
            [5, 10, 25, 30, 99, 100, 130, 150].iter().map(|&time| phases.at(time).phase).collect();
        assert_eq!(at, [UNKNOWN, 0, 2, 0, 0, UNKNOWN, 1, UNKNOWN]);
        assert_eq!(phases.at(250).microbatch, Some(3));
    }

    #[test]
    fn names_of_passes() {
        let named = |name: &str| Pass::named(name).map(|pass| (pass.phase, pass.microbatch, pass.chunk));
        assert_eq!(named("Forward 12"), Some((FORWARD, Some(12), None)));
        assert_eq!(named("backward_microbatch_3"), Some((BACKWARD, Some(3), None)));
        assert_eq!(named("## forward ##"), Some((FORWARD, None, None)));
        assert_eq!(named("forward step 7 of 9"), Some((FORWARD, None, None)));
        assert_eq!(named("Optimizer.step#AdamW.step"), Some((OPTIMIZER, None, None)));
        assert_eq!(named("PP:12F3"), Some((FORWARD, Some(3), Some(12))));
        assert_eq!(named("PP:0B10"), Some((BACKWARD, Some(10), Some(0))));
        assert_eq!(named("PP:1W10"), Some((BACKWARD, None, Some(1))));
        let none = ["PP:1SEND_F0", "PP:1RECV_B0", "PP:", "PP:F", "PP:1", "PP:99999999999F1", "nothing"];
        let found: Vec<_> = none.iter().map(|name| named(name).and_then(|found| found.2)).collect();
        assert_eq!(found, [None; 7]);
    }
}
