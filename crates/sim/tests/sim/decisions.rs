//! Programs that decide as they run, compared with a slow and simple interpreter of the same calls.
//!
//! The interpreter runs calls, not instructions: it keeps every event in one list and searches all of them for the
//! next. It shares only the model with the engines.

#[path = "decisions/interpreter.rs"]
mod interpreter;
#[path = "decisions/program.rs"]
mod program;

use crate::tests::schedules;
use interpreter::{Decision, Interpreter, State};
use program::{Calls, Shape, draw, traced};
use proptest::prelude::*;
use std::sync::Arc;
use straggler_model::{Link, Network, PerByte, Time};
use straggler_noise::Injection;
use straggler_schedule::traced::{Building, Decisions, Options, Playback, TracedRun};
use straggler_sim::programs::{Changed, Replayed};
use straggler_sim::{Control, EngineChoice, Simulation};

/// The engine's decisions, in the interpreter's terms.
fn decisions(recording: &TracedRun, replayed: &[Replayed], acts: &[Calls]) -> Vec<Decision> {
    let mut all = Vec::new();
    for ((rank, replayed), acts) in (0u32..).zip(replayed).zip(acts) {
        for change in &replayed.changes {
            let origin = recording.rank(rank).origin(change.instruction) as usize;
            let (act, poll) = acts[origin];
            let what = match &change.what {
                Changed::Requests(_) => "request",
                Changed::Source(_) => "source",
                Changed::Earlier => "earlier",
                Changed::Later => "later",
            };
            all.push((rank, act, poll, what));
        }
    }
    all.sort_unstable();
    all
}

fn links() -> impl Strategy<Value = Link> {
    (1u64..9_000, 0u64..3_000, 0u64..3_000, 0u64..5_000, 0u64..40, 0u64..40, 0u64..3000).prop_map(
        |(latency, send, recv, gap, per_byte, overhead, eager_limit)| Link {
            latency: Time(latency * 1_000 + 7),
            send_overhead: Time(send * 1_000),
            recv_overhead: Time(recv * 997),
            gap: Time(gap * 1_000),
            gap_per_byte: PerByte::from_ps(per_byte as u32 * 50),
            overhead_per_byte: PerByte::from_ps(overhead as u32 * 10),
            eager_limit,
            overlap_limit: u64::MAX,
        },
    )
}

proptest! {
    #[test]
    fn programs_decide_as_the_interpreter_does(
        seed in any::<u64>(),
        (ranks, events) in (1u32..6, 1u32..80),
        largest in prop::sample::select(vec![1u64, 300, 4_000]),
        link in links(),
        overlap in any::<bool>(),
    ) {
        let drawn = draw(Shape { seed, ranks, events, largest });
        let (trace, acts) = traced(&drawn);
        let interpreter = Interpreter {
            drawn: &drawn,
            link: &link,
            overlap,
            states: (0..ranks).map(|_| State::default()).collect(),
            events: Vec::new(),
            decisions: Vec::new(),
        };
        let (finish, expected) = interpreter.run();
        let options = Options { decisions: Decisions::Redecide, spin: Time::ZERO, ..Options::default() };
        let recording = Arc::new(TracedRun::from_trace(&trace, &options).unwrap());
        // Short runs consist of little but tests and the time between them.
        let is_known = |note: &&String| note.contains("between unsuccessful tests");
        prop_assert_eq!(recording.notes().iter().find(|note| !is_known(note)), None);
        let playback = Playback::new(recording.clone(), 1, &Building::default()).unwrap();
        let network = Network::uniform("drawn", link);
        for (engine, threads) in [(EngineChoice::Reference, 1), (EngineChoice::Windowed, 1), (EngineChoice::Windowed, 3)] {
            let simulation = Simulation { engine, receive_overlap: overlap, ..Simulation::new(&network) };
            let mut control = Control::new(threads);
            control.block_shift = (threads > 1).then_some(0);
            let (run, replayed) = simulation.replay(&playback, &mut control).unwrap();
            prop_assert_eq!(&run.outcome.stuck, &None);
            let ends: Vec<u64> = run.outcome.finish.iter().map(|finish| finish.ps()).collect();
            prop_assert_eq!(&ends, &finish, "{:?} {}", engine, threads);
            prop_assert_eq!(decisions(&recording, &replayed, &acts), expected.clone());
        }
    }

    /// Copies make the same decisions as the original, and with noise both engines make the same decisions.
    #[test]
    fn copies_and_engines_decide_alike(
        seed in any::<u64>(),
        (ranks, events) in (1u32..5, 1u32..60),
        largest in prop::sample::select(vec![1u64, 4_000]),
        link in links(),
        noise in schedules::noises(),
    ) {
        let (trace, _) = traced(&draw(Shape { seed, ranks, events, largest }));
        let options = Options { decisions: Decisions::Redecide, spin: Time::ZERO, ..Options::default() };
        let recording = Arc::new(TracedRun::from_trace(&trace, &options).unwrap());
        let network = Network::uniform("drawn", link);
        let replay = |copies: u32, noise: Option<&Injection>, engine: EngineChoice| {
            let playback = Playback::new(recording.clone(), copies, &Building::default()).unwrap();
            let simulation = Simulation { engine, noise, ..Simulation::new(&network) };
            let mut control = Control::new(2);
            control.block_shift = Some(1);
            let (run, replayed) = simulation.replay(&playback, &mut control).unwrap();
            (run.outcome.finish, replayed)
        };
        let (finish, replayed) = replay(1, None, EngineChoice::Windowed);
        let (twice, both) = replay(2, None, EngineChoice::Windowed);
        prop_assert_eq!(twice, [&finish[..], &finish[..]].concat());
        prop_assert_eq!(&both[..replayed.len()], &replayed[..]);
        prop_assert_eq!(&both[replayed.len()..], &replayed[..]);
        let noise = noise.as_ref();
        prop_assert_eq!(replay(2, noise, EngineChoice::Windowed), replay(2, noise, EngineChoice::Reference));
    }
}
