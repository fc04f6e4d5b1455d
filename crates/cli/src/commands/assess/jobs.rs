//! Other jobs on the node: programs that took so much of the time that they are no noise of the system.

use straggler_measure::sources::names::is_program;
use straggler_model::noise::Recording;
use straggler_model::noise::recording::SourceId;
use straggler_report::numbers::percent;

/// A program that had this share of the measured time is a job; daemons take less.
const JOB: f64 = 0.01;

/// A node on which jobs had this share of the time was busy.
const BUSY: f64 = 0.05;

/// What they are called as one source. They may be many, so they are listed once: in the verdict of a busy node, else in a
/// note.
pub const NAME: &str = "other jobs";

/// What jobs took, and which they were, the largest first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Jobs {
    pub names: Vec<String>,
    pub sources: Vec<SourceId>,
    /// Of the measured time on all cores.
    pub share: f64,
}

impl Jobs {
    /// Those of a recording, without the sources that are to be left out.
    pub fn of(recording: &Recording, left_out: &[String]) -> Jobs {
        let length = recording.noise_and_length().1.seconds().max(f64::MIN_POSITIVE);
        let mut shares = vec![0.0; recording.sources.len()];
        for detour in recording.cores.iter().flat_map(|core| &core.detours) {
            if let Some(share) = shares.get_mut(usize::from(detour.source)) {
                *share += detour.duration.seconds() / length;
            }
        }
        let sources = (0..).zip(&recording.sources).zip(shares);
        let mut found: Vec<(f64, SourceId, &str)> = sources
            .filter(|((_, source), share)| *share >= JOB && is_program(&source.name))
            .filter(|((_, source), _)| !left_out.contains(&source.name))
            .map(|((id, source), share)| (share, id, source.name.as_str()))
            .collect();
        found.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
        Jobs {
            names: found.iter().map(|(_, _, name)| name.to_string()).collect(),
            sources: found.iter().map(|&(_, id, _)| id).collect(),
            share: found.iter().map(|(share, ..)| share).sum(),
        }
    }

    pub fn is_busy(&self) -> bool {
        self.share >= BUSY
    }

    /// Who they are, where nothing else says it.
    pub fn note(&self) -> Option<String> {
        let unsaid = !self.is_busy() && !self.names.is_empty();
        unsaid.then(|| format!("{NAME}: {}", self.names.join(", ")))
    }

    /// "This node was busy: 72 % of the time went to rustc and LogGOPSim."
    pub fn sentence(&self, node: &str) -> String {
        format!("{node} was busy: {} of the time went to {}.", percent(self.share), listed(&self.names))
    }
}

/// "a", "a and b", "a, b and c"; of many, the first and how many more.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first, second, third, rest @ ..] if rest.len() > 1 => {
            format!("{first}, {second}, {third} and {} more", rest.len())
        }
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::Time;
    use straggler_model::noise::recording::{Core, Detour, Evidence};

    #[test]
    fn jobs_are_programs_that_took_much() {
        let mut recording = Recording { sources: Recording::unnamed(), ..Recording::default() };
        let mut at = 0;
        let mut detours = Vec::new();
        for (name, ms) in
            [("sshd", 2), ("rustc", 50), ("timer tick", 90), ("kworker", 40), ("LogGOPSim", 22), ("own", 30)]
        {
            let source = recording.source_id(name, Evidence::Traced);
            let duration = Time::from_ns(ms * 1_000_000);
            detours.push(Detour { start: Time::from_ns(at), duration, source });
            at += (ms + 1) * 1_000_000;
        }
        let length = Time::from_ns(1_000_000_000);
        recording.cores.push(Core { length, detours, ..Core::default() });
        let jobs = Jobs::of(&recording, &["own".into()]);
        assert_eq!(jobs.names, ["rustc", "LogGOPSim"]);
        assert!(jobs.is_busy() && (jobs.share - 0.072).abs() < 1e-9, "{jobs:?}");
        assert_eq!(
            jobs.sentence("This node"),
            "This node was busy: 7.2 % of the time went to rustc and LogGOPSim."
        );
        assert_eq!(jobs.note(), None);
        let few = Jobs { share: 0.02, ..jobs };
        assert_eq!(few.note().as_deref(), Some("other jobs: rustc, LogGOPSim"));
        let names: Vec<String> = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
        assert_eq!((listed(&names[..3]), listed(&names)), ("a, b and c".into(), "a, b, c and 2 more".into()));
    }
}
