use super::*;

const US: u64 = 1_000_000;
const MS: u64 = 1_000 * US;

fn detour(start: u64, duration: u64) -> Detour {
    Detour { start: Time(start), duration: Time(duration), source: 0 }
}

/// Slices of 100 ms.
fn slices(count: u64) -> Vec<Slice> {
    let slice = |number| Slice {
        start: Time(number * 100 * MS),
        end: Time((number + 1) * 100 * MS),
        turns: 100,
        ..Slice::default()
    };
    (0..count).map(slice).collect()
}

fn names(list: &[&str]) -> Names {
    let mut names = Names::default();
    list.iter().for_each(|name| {
        names.number(name);
    });
    names
}

#[test]
fn the_sampler_owns_up() {
    let detours = [detour(MS, 50 * US), detour(100 * MS, 300 * US), detour(101 * MS, 40 * US)];
    let own = [(Time(100 * MS + 5 * US), Time(100 * MS + 290 * US))];
    let guesses = guess(&detours, &own, &slices(2), &Names::default(), Some(250));
    assert_eq!(guesses, [Guess::Nothing, Guess::Own, Guess::Nothing]);
}

/// A wait of 4.1 ms is one long detour and one short; a detour longer than the wait is not part of it.
#[test]
fn waiting_goes_to_the_longest_that_fit() {
    let mut slices = slices(2);
    slices[0].waited = Time(4 * MS + 100 * US);
    let detours = [
        detour(MS, 4 * MS + 6 * US),
        detour(10 * MS, 103 * US),
        detour(20 * MS, 9 * MS),
        detour(40 * MS, 30 * US),
        detour(110 * MS, 4 * MS),
    ];
    let guesses = guess(&detours, &[], &slices, &Names::default(), Some(250));
    let waited = [Guess::OtherThreads, Guess::OtherThreads, Guess::Nothing, Guess::Nothing, Guess::Nothing];
    assert_eq!(guesses, waited);
    // The thread had but one turn: one detour.
    slices[0].turns = 1;
    assert_eq!(guess(&detours, &[], &slices, &Names::default(), Some(250))[1], Guess::Nothing);
}

/// A step of stolen time covers everything since the previous step.
#[test]
fn stolen_time_is_counted_late() {
    let mut slices = slices(4);
    slices[2].stolen = Time(10 * MS);
    let detours = [
        detour(5 * MS, 6 * MS),
        detour(150 * MS, 4 * MS),
        detour(250 * MS, 10 * US),
        detour(350 * MS, 6 * MS),
    ];
    let guesses = guess(&detours, &[], &slices, &Names::default(), Some(250));
    assert_eq!(guesses, [Guess::Stolen, Guess::Stolen, Guess::Nothing, Guess::Nothing]);
}

/// Ticks of 250 Hz, with a clock that is 50 ppm wrong, among detours at random phases.
#[test]
fn ticks_are_told_by_their_phase() {
    let names = names(&["softirq RCU", names::TIMER_TICK]);
    let mut slices = slices(10);
    slices.iter_mut().for_each(|slice| slice.counts = vec![(1, 25)]);
    let period = 4 * MS + 4 * MS / 20_000;
    let mut detours: Vec<_> = (0..249).map(|tick| detour(tick * period + 3_700 * US, 5 * US)).collect();
    let others: Vec<_> = (0..40).map(|n| detour(n * 24_700 * US + 811 * US, 7 * US)).collect();
    detours.extend(&others);
    detours.sort_by_key(|detour| detour.start);
    let guesses = guess(&detours, &[], &slices, &names, Some(250));
    let right =
        |detour: &Detour, guess: Guess| (detour.duration == Time(5 * US)) == (guess == Guess::Counted(1));
    let wrong = detours.iter().zip(&guesses).filter(|&(detour, &guess)| !right(detour, guess)).count();
    assert!(wrong <= 3, "{wrong} of {}", detours.len());
}

/// The tick of a host, four times as fast, fills four windows as much as the tick fills one.
#[test]
fn a_faster_tick_below_is_not_ours() {
    let names = names(&[names::TIMER_TICK]);
    let mut slices = slices(5);
    slices.iter_mut().for_each(|slice| slice.counts = vec![(0, 25)]);
    let mut detours: Vec<_> = (0..499).map(|tick| detour(tick * MS + 100 * US, 9 * US)).collect();
    let ours = |tick: u64| detour(tick * 4 * MS + 3_700 * US, 5 * US);
    assert!(!guess(&detours, &[], &slices, &names, Some(250)).contains(&Guess::Counted(0)));
    detours.extend((0..124).map(ours));
    detours.sort_by_key(|detour| detour.start);
    let guesses = guess(&detours, &[], &slices, &names, Some(250));
    let right =
        |detour: &Detour, guess: Guess| (detour.duration == Time(5 * US)) == (guess == Guess::Counted(0));
    assert!(detours.iter().zip(&guesses).all(|(detour, &guess)| right(detour, guess)), "{guesses:?}");
}

/// Detours whose numbers match an interrupt are attributed to it, others are not.
#[test]
fn counts_explain_numbers() {
    let names = names(&["irq 36 disk", "softirq RCU", "reschedule interrupt"]);
    let mut slices = slices(20);
    let mut detours = Vec::new();
    for (number, slice) in slices.iter_mut().enumerate() {
        let number = number as u64;
        let disk = (number * 7) % 11;
        slice.counts = vec![(0, disk), (1, 5), (2, (number * 5) % 13)];
        slice.counts.retain(|row| row.1 > 0);
        let at = |n: u64| slice.start.ps() + (n * 3 + 1) * MS;
        detours.extend((0..disk).map(|n| detour(at(n), 12 * US)));
        detours.extend((0..number % 2).map(|n| detour(at(n) + MS, 700 * US)));
    }
    detours.sort_by_key(|detour| detour.start);
    let guesses = guess(&detours, &[], &slices, &names, Some(250));
    let named = |duration: u64, guess: Guess| {
        let matching = detours.iter().zip(&guesses);
        matching.filter(|(detour, other)| detour.duration == Time(duration) && **other == guess).count()
    };
    let disks = detours.iter().filter(|detour| detour.duration == Time(12 * US)).count();
    assert!(
        named(12 * US, Guess::Counted(0)) * 100 >= disks * 95,
        "{} of {disks}",
        named(12 * US, Guess::Counted(0))
    );
    assert_eq!(named(700 * US, Guess::Counted(0)), 0);
}

proptest::proptest! {
    #[test]
    fn any_input_gets_a_guess_for_each(
        gaps in proptest::collection::vec((0..50 * MS, 1..20 * MS), 0..60),
        waited in 0..50 * MS, stolen in 0..2u64, tick in 0..200u64,
    ) {
        let mut at = 0;
        let detours: Vec<_> = gaps.iter().map(|&(gap, length)| {
            let start = at + gap;
            at = start + length;
            detour(start, length)
        }).collect();
        let mut slices = slices(10);
        for slice in &mut slices {
            slice.waited = Time(waited);
            slice.stolen = Time(stolen * 10 * MS);
            slice.counts = vec![(0, tick)];
        }
        let guesses = guess(&detours, &[(Time(MS), Time(2 * MS))], &slices, &names(&[names::TIMER_TICK]), Some(250));
        proptest::prop_assert_eq!(guesses.len(), detours.len());
        // No slice gets more than was counted: the wait, plus a switch each and a twentieth.
        let members = |slice: &Slice| detours.iter().zip(&guesses).filter(|(detour, guess)| {
            **guess == Guess::OtherThreads && slice.start <= detour.end() && detour.end() <= slice.end
        }).map(|(detour, _)| detour.duration.ps()).collect::<Vec<_>>();
        for slice in &slices {
            let given = members(slice);
            let longest = given.iter().max().copied().unwrap_or(0);
            proptest::prop_assert!(given.iter().sum::<u64>() <= waited + longest / 19 + SWITCHES.ps() * 2);
        }
    }
}
