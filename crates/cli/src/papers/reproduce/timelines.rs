//! Small runs as timelines: synchronisation of two processes, a broadcast, two barriers.

use crate::kernel::prelude::*;
use crate::papers::reproduce::comparison::{Comparison, Quantity};
use crate::papers::reproduce::{Findings, Setting, Size, Work};
use crate::{papers::reproduce::studies::Description, simulate::page::timeline_chart};
use straggler_model::{Network, Rank};
use straggler_noise::{Injection, Phases, Source, Waveform, Who};
use straggler_schedule::collectives::{Algorithm, Job, Operation};
use straggler_schedule::goal;
use straggler_sim::{Control, Outcome as RunOutcome, Simulation, Workload, observers::Selection};
use straggler_trace::Timeline;

/// CHiC from Table III: the diagrams of the paper have no numbers.
const NETWORK: &str = "chic";
const NETWORK_SAID: &str = "The paper's diagram has no numbers; network of Table III (CHiC).";

/// Few messages, at any size.
fn little(_: Size) -> Work {
    Work { runs: 1, messages: 50 }
}

/// One delay of one rank.
fn delay(rank: Rank, at: Time, duration: Time) -> Injection {
    let waveform = Waveform::Once { at, duration };
    let sources = vec![Source { name: "delay".into(), waveform, who: Who::Ranks(rank, rank) }];
    let phases = Phases::Drawn { seed: 1, replica: 0 };
    Injection { sources, phases, wallclock: false, computation_only: false }
}

/// A run with all its events.
struct Recorded {
    outcome: RunOutcome,
    timeline: Timeline,
}

fn record(workload: &Workload, noise: Option<&Injection>) -> Outcome<Recorded> {
    let network = network()?;
    let selection = Selection { ranks: Vec::new(), from: Time::ZERO, to: Time::NEVER };
    let simulation = Simulation { noise, ..Simulation::new(&network) };
    let mut progress = |_| {};
    let mut control = Control::new(1).stop_if(interrupt::flag()).progress(&mut progress);
    let (run, timeline) = simulation.run_with_timeline(workload, &selection, &mut control)?;
    Ok(Recorded { outcome: run.outcome, timeline })
}

/// A collective of one byte, `cycles` times, each time after `compute`.
fn repeated(
    operation: Operation,
    algorithm: &str,
    processes: u32,
    cycles: u32,
    compute: Time,
) -> Outcome<Workload> {
    let algorithm = named(operation, algorithm)?;
    let collective = algorithm.build(operation, &Job::new(processes, 1))?;
    Ok(Workload::Collective { collective, cycles, compute })
}

fn network() -> Outcome<Network> {
    Ok(Network::parse(NETWORK)?)
}

fn named(operation: Operation, algorithm: &str) -> Outcome<Algorithm> {
    Algorithm::parse(operation, algorithm).map_err(|fault| Failure::usage(fault.to_string()))
}

fn chart(title: &str, timeline: &Timeline, setting: &Setting<'_>) -> Chart {
    Chart { title: title.into(), ..timeline_chart(timeline, &setting.command, false) }
}

fn microseconds(time: Time) -> f64 {
    time.ps() as f64 / 1e6
}

/// Figure 2.
pub mod synchronisation {
    use super::*;

    /// The send starts after 30 µs, the receive is posted after 10, and 10 µs of work follow it.
    const BLOCKING: &str = "num_ranks 2\nrank 0 {\na: calc 30000\nb: send 1b to 1 tag 0\nb requires a\n}\n\
        rank 1 {\na: calc 10000\nb: recv 1b from 0 tag 0\nb requires a\nc: calc 10000\nc requires b\n}\n";
    /// The same with 15 µs of work between posting the receive and waiting for it.
    const NONBLOCKING: &str = "num_ranks 2\nrank 0 {\na: calc 30000\nb: send 1b to 1 tag 0\nb requires a\n}\n\
        rank 1 {\na: calc 10000\nb: recv 1b from 0 tag 0\nb requires a\nw: calc 15000\nw requires a\n\
        c: calc 10000\nc requires b\nc requires w\n}\n";
    const SEND_AT: Time = Time(30_000_000);
    const RECEIVE_AT: Time = Time(10_000_000);
    const WAIT_AT: Time = Time(25_000_000);
    const WORK_AFTER: Time = Time(10_000_000);
    const DETOUR: Time = Time(15_000_000);

    pub fn describe() -> Description {
        Description {
            figure: "Figure 2".into(),
            title: "Late senders, nonblocking receives, and noise that is absorbed".into(),
            about: "A receiver waits X = max(T_s + N − T, 0), where N = o + L + (k − 1) G + o and T is when it \
                    receives, or waits for what it has posted. A detour of the receiver that ends before the message \
                    comes is absorbed; the same detour of the sender delays the receiver."
                .into(),
            input: NETWORK_SAID.into(),
        }
    }

    pub fn work(size: Size) -> Work {
        little(size)
    }

    pub fn run(setting: &Setting<'_>) -> Outcome<Findings> {
        let graph = |text: &str| {
            let graph = goal::text::parse(text.as_bytes());
            graph.map(Workload::from).map_err(|fault| Failure::bad_input(fault.to_string()))
        };
        let (blocking, nonblocking) = (graph(BLOCKING)?, graph(NONBLOCKING)?);
        let link = *network()?.link(0, 1);
        let message = link.flight() + link.recv_overhead;
        let mut findings = Findings::default();
        let mut show = |letter: &str, what: &str, graph: &Workload, noise: Option<&Injection>| {
            let recorded = record(graph, noise)?;
            findings.section.add(chart(&format!("{letter} {what}"), &recorded.timeline, setting));
            Ok::<Time, Failure>(recorded.outcome.finish[1])
        };
        let plain = show("(a)", "a blocking receive waits for a late sender", &blocking, None)?;
        let posted = show("(b)", "a receive that is waited for later waits less", &nonblocking, None)?;
        let on_receiver = delay(1, Time(5_000_000), DETOUR);
        let absorbed = show("(c)", "noise on the receiver is absorbed", &blocking, Some(&on_receiver))?;
        let on_sender = delay(0, Time(5_000_000), DETOUR);
        let spread = show("(c)", "the same noise on the sender is not", &blocking, Some(&on_sender))?;
        let micro = |what: &str, published: Time, simulated: Time| {
            let published = Some(microseconds(published));
            Comparison::new(what, Quantity::Microseconds, published, microseconds(simulated)).by("formula")
        };
        findings.comparisons.extend([
            micro(
                "(a) X_r by the formula, and waited",
                (SEND_AT + message).since(RECEIVE_AT),
                plain.since(RECEIVE_AT + WORK_AFTER),
            ),
            micro(
                "(b) X_r by the formula, and waited",
                (SEND_AT + message).since(WAIT_AT),
                posted.since(WAIT_AT + WORK_AFTER),
            ),
            micro(
                "(c) delay of the end by a detour of 15 µs on the receiver",
                Time::ZERO,
                absorbed.since(plain),
            ),
            micro("(c) delay of the end by a detour of 15 µs on the sender", DETOUR, spread.since(plain)),
        ]);
        Ok(findings)
    }
}

/// Figure 3.
pub mod broadcast {
    use super::*;

    const PROCESSES: u32 = 15;
    /// The ends of the longest paths, as the paper names them.
    const ENDS: [Rank; 4] = [7, 11, 13, 14];

    pub fn describe() -> Description {
        Description {
            figure: "Figure 3".into(),
            title: "A binomial broadcast to 15 processes".into(),
            about: "The longest paths are (0, 1, 3, 7), (0, 1, 3, 11), (0, 1, 5, 13) and (0, 2, 6, \
                    14). Detours before a send on such a path delay all that follow; all but the root can absorb \
                    some while they wait."
                .into(),
            input: NETWORK_SAID.into(),
        }
    }

    pub fn work(size: Size) -> Work {
        little(size)
    }

    pub fn run(setting: &Setting<'_>) -> Outcome<Findings> {
        let workload = repeated(Operation::Bcast, "binomial", PROCESSES, 1, Time::ZERO)?;
        let recorded = record(&workload, None)?;
        let hops = hops(&recorded.timeline);
        let longest = hops.iter().copied().max().unwrap_or(0);
        let ends: Vec<Rank> = (0..PROCESSES).filter(|&rank| hops[rank as usize] == longest).collect();
        // The paper counts four dependencies on each path, the number of processes on it.
        let (length, paths) = (f64::from(longest + 1), ends.len() as f64);
        let mut findings = Findings {
            comparisons: vec![
                Comparison::new("processes on each of the longest paths", Quantity::Rank, Some(4.0), length),
                Comparison::new("paths of that length", Quantity::Rank, Some(ENDS.len() as f64), paths),
            ],
            ..Findings::default()
        };
        for (published, simulated) in ENDS.into_iter().zip(&ends) {
            let what = format!("end of a longest path: rank {published}");
            let simulated = f64::from(*simulated);
            findings.comparisons.push(Comparison::new(
                what,
                Quantity::Rank,
                Some(published.into()),
                simulated,
            ));
        }
        findings.section.add(chart("Binomial broadcast, 15 processes", &recorded.timeline, setting));
        Ok(findings)
    }

    /// The number of messages between the root and each rank.
    fn hops(timeline: &Timeline) -> Vec<u32> {
        let mut arrows = timeline.arrows.clone();
        arrows.sort_by_key(|arrow| arrow.sent);
        let mut hops = vec![0; PROCESSES as usize];
        for arrow in arrows {
            hops[arrow.to as usize] = hops[arrow.from as usize] + 1;
        }
        hops
    }
}

/// Figure 4.
pub mod barriers {
    use super::*;

    const PROCESSES: u32 = 8;
    const COMPUTE: Time = Time(20_000_000);
    const DETOUR: Time = Time(30_000_000);
    const DELAYED: Rank = 4;

    pub fn describe() -> Description {
        Description {
            figure: "Figure 4".into(),
            title: "Two barriers, and process 4 is late between them".into(),
            about: "Eight processes, a dissemination barrier, computation, another barrier. The paper has \
                all leave the second one at different times, and process 3 last: a collective is not a \
                black box that delays all alike. In our simulation pairs of processes at the same \
                distance from process 4 leave together."
                .into(),
            input: NETWORK_SAID.into(),
        }
    }

    pub fn work(size: Size) -> Work {
        little(size)
    }

    pub fn run(setting: &Setting<'_>) -> Outcome<Findings> {
        let workload = repeated(Operation::Barrier, "dissemination", PROCESSES, 2, COMPUTE)?;
        let quiet = record(&workload, None)?;
        // Half of the run is over when the second computation begins; the delay lies in it.
        let middle = Time(quiet.outcome.makespan().ps() / 2 + COMPUTE.ps() / 2);
        let late = record(&workload, Some(&delay(DELAYED, middle, DETOUR)))?;
        let finish = &late.outcome.finish;
        let last = (0..PROCESSES).max_by_key(|&rank| finish[rank as usize]).unwrap_or(0);
        let mut times = finish.clone();
        times.sort_unstable();
        let (first, end) = (times[0], times[times.len() - 1]);
        times.dedup();
        let comparisons = vec![
            Comparison::new("the process that leaves last", Quantity::Rank, Some(3.0), f64::from(last)),
            Comparison::new("distinct exit times", Quantity::Rank, Some(8.0), times.len() as f64),
            Comparison::new(
                "between the first and the last to leave",
                Quantity::Microseconds,
                None,
                microseconds(end.since(first)),
            ),
        ];
        let mut findings = Findings { comparisons, ..Findings::default() };
        findings.section.add(chart("Two barriers with process 4 delayed", &late.timeline, setting));
        Ok(findings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Console;

    fn made(run: fn(&Setting<'_>) -> Outcome<Findings>) -> Findings {
        let console = Console::silent();
        let setting = Setting {
            size: Size::Quick,
            seed: 1,
            device: crate::kernel::devices::TypedDevice::Cpu,
            threads: Some(1),
            fresh: false,
            exchanges: None,
            folder: std::path::PathBuf::new(),
            command: String::new(),
            console: &console,
        };
        run(&setting).unwrap()
    }

    /// Everything the paper states about its diagrams is reproduced exactly.
    #[test]
    fn diagrams_are_as_the_paper_says() {
        for run in [synchronisation::run, broadcast::run, barriers::run] {
            for comparison in made(run).comparisons {
                // Two pairs leave together in our run.
                if comparison.published.is_some() && comparison.what != "distinct exit times" {
                    assert_eq!(comparison.published, comparison.simulated, "{}", comparison.what);
                }
            }
        }
    }
}
