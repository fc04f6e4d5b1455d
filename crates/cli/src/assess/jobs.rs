//! Other jobs on the node: programs that took too much time to be system noise.

use straggler_measure::sources::names::is_program;
use straggler_model::words::list_up_to;
use straggler_noise::{NoiseRecording, recording::SourceId};
use straggler_report::numbers::percent;

/// A program with this share of the measured time is a job; daemons take less.
const JOB: f64 = 0.01;

/// A node whose jobs took this share of the time was busy.
const BUSY: f64 = 0.05;

/// The name of all other jobs as one source. There may be many, so they are listed only once: in the verdict for a
/// busy node, else in a note.
pub const NAME: &str = "other jobs";

/// Time taken by other jobs, and their names, the largest first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Jobs {
    pub names: Vec<String>,
    pub sources: Vec<SourceId>,
    /// Share of the measured time on all cores.
    pub share: f64,
}

impl Jobs {
    /// Other jobs of a recording, without ignored sources.
    pub fn new(recording: &NoiseRecording, left_out: &[String]) -> Jobs {
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

    /// Their names, unless the verdict lists them.
    pub fn note(&self) -> Option<String> {
        let unsaid = !self.is_busy() && !self.names.is_empty();
        unsaid.then(|| format!("{NAME}: {}", self.names.join(", ")))
    }

    /// "This node was busy: 72 % of the time went to rustc and LogGOPSim."
    pub fn sentence(&self, node: &str) -> String {
        format!(
            "{node} was busy: {} of the time went to {}.",
            percent(self.share),
            list_up_to(3, &self.names)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::Time;
    use straggler_noise::recording::{Core, Detour, Evidence};

    #[test]
    fn jobs_are_programs_that_took_much() {
        let mut recording =
            NoiseRecording { sources: NoiseRecording::unnamed(), ..NoiseRecording::default() };
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
        let jobs = Jobs::new(&recording, &["own".into()]);
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
        assert_eq!(
            (list_up_to(3, &names[..3]), list_up_to(3, &names)),
            ("a, b and c".into(), "a, b, c and 2 more".into())
        );
    }
}
