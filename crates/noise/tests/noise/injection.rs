//! Noise injection compared with a literal implementation of the model's definitions.

use proptest::prelude::*;
use std::sync::Arc;
use straggler_model::{Rank, Time};
use straggler_noise::{Detours, Injection, Noise, Phases, QuietUntil, Source, Waveform, Who};

const LENGTH: u64 = 500;

/// A source as plain numbers.
#[derive(Clone, Debug)]
enum Plain {
    Trace(Vec<(u64, u64)>),
    Once(u64, u64),
}

#[derive(Clone, Debug)]
struct PlainSource {
    shape: Plain,
    who: Who,
}

fn some_who() -> impl Strategy<Value = Who> {
    prop_oneof![
        Just(Who::Everyone),
        (0u32..4, 0u32..3).prop_map(|(first, more)| Who::Ranks(first, first + more)),
        (1u32..4, 0u32..4).prop_map(|(modulus, r)| Who::Residue { modulus, remainder: r % modulus }),
    ]
}

fn some_trace(longest: u64) -> impl Strategy<Value = Plain> {
    prop::collection::vec((0..LENGTH, 0..=longest), 1..6).prop_map(|mut detours| {
        detours.sort_by_key(|detour| detour.0);
        Plain::Trace(detours)
    })
}

fn some_source(longest: u64) -> impl Strategy<Value = PlainSource> {
    let shape = prop_oneof![3 => some_trace(longest), 1 => (0u64..1500, 0u64..80).prop_map(|(at, d)| Plain::Once(at, d))];
    (shape, some_who()).prop_map(|(shape, who)| PlainSource { shape, who })
}

fn build(sources: &[PlainSource], phases: Phases, wallclock: bool) -> Injection {
    let source = |plain: &PlainSource| {
        let waveform = match &plain.shape {
            Plain::Once(at, duration) => Waveform::Once { at: Time(*at), duration: Time(*duration) },
            Plain::Trace(detours) => {
                let list: Vec<_> = detours.iter().map(|&(s, d)| (Time(s), Time(d))).collect();
                Waveform::Trace(Arc::new(Detours::new(&list, Some(Time(LENGTH))).unwrap()))
            }
        };
        Source { name: String::new(), waveform, who: plain.who.clone() }
    };
    Injection::new(sources.iter().map(source).collect(), phases, wallclock).unwrap()
}

/// noise(a, b) over an explicit, sorted list of detours.
fn over_list(detours: &[(u64, u64)], x: u64, y: u64) -> u64 {
    let in_progress = detours.iter().rfind(|&&(start, _)| start <= x);
    let left = in_progress.map_or(0, |&(start, duration)| (start + duration).saturating_sub(x));
    left + detours.iter().filter(|&&(start, _)| start > x && start < y).map(|&(_, d)| d).sum::<u64>()
}

/// noise(a, b) summed over the sources of a rank with one offset into all traces.
fn by_definition(sources: &[PlainSource], rank: Rank, offset: u64, a: u64, b: u64) -> u64 {
    let one = |source: &PlainSource| match &source.shape {
        Plain::Once(at, duration) => over_list(&[(*at, *duration)], a, b),
        Plain::Trace(detours) => {
            let turns = (b + offset) / LENGTH + 1;
            let unrolled: Vec<_> = (0..=turns)
                .flat_map(|turn| detours.iter().map(move |&(s, d)| (s + turn * LENGTH, d)))
                .collect();
            over_list(&unrolled, a + offset, b + offset)
        }
    };
    sources.iter().filter(|source| source.who.holds(rank)).map(one).sum()
}

/// The shortest extension of (a, b) that covers its own noise, found by exhaustive search.
fn wallclock_by_definition(sources: &[PlainSource], rank: Rank, offset: u64, a: u64, b: u64) -> u64 {
    (0..).find(|extra| by_definition(sources, rank, offset, a, b + extra) <= *extra).unwrap()
}

/// Looks up a sequence of intervals, each starting no earlier than the end of the one before plus
/// its noise, as a CPU does; `expected` gives the noise of each.
fn walk(
    injection: &Injection,
    rank: Rank,
    steps: &[(u64, u64)],
    expected: impl Fn(u64, u64) -> u64,
) -> Result<(), TestCaseError> {
    let mut quiet = QuietUntil::default();
    let mut now = 0;
    for &(idle, work) in steps {
        let (from, to) = (now + idle, now + idle + work);
        let noise = injection.charge(rank, &mut quiet, Time(from), Time(to));
        prop_assert_eq!(noise.ps(), expected(from, to), "rank {} from {} to {}", rank, from, to);
        now = to + noise.ps();
    }
    Ok(())
}

fn some_steps() -> impl Strategy<Value = Vec<(u64, u64)>> {
    // Short steps exercise the cache, zeros the edges, long ones several turns of a trace.
    let idle = prop_oneof![Just(0u64), 0u64..10, 0u64..900];
    let work = prop_oneof![Just(0u64), 0u64..10, 0u64..1300];
    prop::collection::vec((idle, work), 1..40)
}

proptest! {
    #[test]
    fn equals_the_definition(
        sources in prop::collection::vec(some_source(60), 0..4),
        steps in some_steps(),
        rank in 0u32..6,
        offset in 0u64..1200,
    ) {
        let given = Phases::Given(vec![Time(offset); 6].into());
        let injection = build(&sources, given, false);
        walk(&injection, rank, &steps, |a, b| by_definition(&sources, rank, offset, a, b))?;
    }

    #[test]
    fn the_cache_changes_nothing(
        sources in prop::collection::vec(some_source(60), 0..4),
        steps in some_steps(),
        rank in 0u32..6,
        seed in any::<u64>(),
        together in any::<bool>(),
    ) {
        let phases = match together {
            true => Phases::Together { seed, replica: 1 },
            false => Phases::Drawn { seed, replica: 1 },
        };
        let injection = build(&sources, phases, false);
        let fresh = |a, b| injection.charge(rank, &mut QuietUntil::default(), Time(a), Time(b)).ps();
        walk(&injection, rank, &steps, fresh)?;
    }

    #[test]
    fn wallclock_closes_at_the_first_chance(
        // Three sources of five detours of 30 in a length of 500 leave at least a tenth free.
        sources in prop::collection::vec(some_source(30), 0..4),
        steps in some_steps(),
        rank in 0u32..6,
        offset in 0u64..1200,
    ) {
        let given = Phases::Given(vec![Time(offset); 6].into());
        let injection = build(&sources, given, true);
        walk(&injection, rank, &steps, |a, b| wallclock_by_definition(&sources, rank, offset, a, b))?;
    }
}
