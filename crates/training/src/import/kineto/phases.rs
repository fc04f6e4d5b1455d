//! Which part of the step the host was in when it launched a kernel.

use super::events::Span;

/// Parts of a step, as annotations name them.
pub const PHASES: [&str; 4] = ["forward", "backward", "optimizer", "compute"];
/// No annotation tells.
pub const UNKNOWN: u8 = 3;

/// The phase that an annotation names, as `## forward ##` or `Optimizer.step#SGD.step`.
pub fn phase(annotation: &str) -> Option<u8> {
    let name = annotation.to_ascii_lowercase();
    (0..UNKNOWN).find(|&phase| name.contains(PHASES[phase as usize]))
}

/// When each phase began, by time; the innermost annotation counts, whichever thread it is on: the main thread
/// waits in the annotation of the backward pass while another one launches its kernels.
#[derive(Debug)]
pub struct Phases {
    since: Vec<(i64, u8)>,
}

impl Phases {
    pub fn new(mut annotations: Vec<Span<String>>) -> Phases {
        annotations.sort_by_key(|span| (span.start_ps, std::cmp::Reverse(span.end_ps)));
        let mut since: Vec<(i64, u8)> = Vec::new();
        let mut open: Vec<(i64, u8)> = Vec::new();
        for span in annotations {
            close(&mut open, &mut since, span.start_ps);
            let phase = phase(&span.what).unwrap_or(UNKNOWN);
            open.push((span.end_ps, phase));
            since.push((span.start_ps, phase));
        }
        close(&mut open, &mut since, i64::MAX);
        since.sort_by_key(|&(at, _)| at);
        Phases { since }
    }

    pub fn at(&self, time_ps: i64) -> u8 {
        match self.since.partition_point(|&(at, _)| at <= time_ps) {
            0 => UNKNOWN,
            place => self.since[place - 1].1,
        }
    }
}

/// Ends the annotations that are over by `now`; what encloses them goes on.
fn close(open: &mut Vec<(i64, u8)>, since: &mut Vec<(i64, u8)>, now: i64) {
    while let Some(&(end, _)) = open.last().filter(|&&(end, _)| end <= now) {
        open.pop();
        since.push((end, open.last().map_or(UNKNOWN, |&(_, phase)| phase)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_annotation_counts() {
        let span = |what: &str, start_ps, end_ps| Span { thread: 1, start_ps, end_ps, what: what.into() };
        let phases = Phases::new(vec![
            span("## forward ##", 10, 100),
            span("Optimizer.zero_grad#SGD", 20, 30),
            span("backward", 120, 150),
        ]);
        let at: Vec<u8> = [5, 10, 25, 30, 99, 100, 130, 150].iter().map(|&time| phases.at(time)).collect();
        assert_eq!(at, [UNKNOWN, 0, 2, 0, 0, UNKNOWN, 1, UNKNOWN]);
    }
}
