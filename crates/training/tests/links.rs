//! Slow links: which ranks are blamed, and the gain from mending them.

use super::{answers, answers_of, job};
use straggler_training::Kind;
use straggler_training::exact::{Answers, Cause, CauseKind, Evidence, Finding, Replays};
use straggler_training::synthetic::{Defect, Fault, Synthetic, mean_step, rows};

/// A slow link of data-parallel rank 1, stage 1: all its links, or only that to one other worker.
fn slow_link(times: f64, with: Option<(u32, u32)>, from_step: u32) -> Vec<Fault> {
    vec![Fault { dp_rank: 1, stage: 1, from_step, what: Defect::Link { times, with } }]
}

/// The answers, and the first cause, whose gain must be that of the job without its slow link. The gradient norm is a
/// collective of all workers, so all links of a worker include it. There is nothing to compare it with: it stays
/// slow.
fn found(of: &Synthetic) -> (Answers, Cause) {
    let found = answers_of(of);
    let Defect::Link { times, with } = of.faults[0].what else { unreachable!() };
    let norm = if with.is_none() { (times - 1.0) * 0.05 * of.gradients } else { 0.0 };
    let mended = mean_step(&Synthetic { faults: Vec::new(), ..of.clone() }) + norm;
    let truth = 1.0 - mended / mean_step(of);
    let first = found.causes.first().cloned().unwrap_or_else(|| panic!("nothing found: S = {}", found.s));
    assert_eq!(first.kind, CauseKind::Communication, "{:?}", found.causes);
    assert!((first.gain - truth).abs() < 0.002, "{} instead of {truth}: {first:?}", first.gain);
    (found, first)
}

fn first_cause(of: &Synthetic) -> Cause {
    found(of).1
}

/// Whether all slow links share the ranks of a cause, how many there are, and in how many classes of operations.
fn links_of(cause: &Cause) -> (bool, usize, usize) {
    let Finding::Links { in_common, links, classes, .. } = &cause.finding else { panic!("{cause:?}") };
    (*in_common, links.len(), classes.len())
}

/// All members of a slow transfer end it late.
#[test]
fn slow_transfers_are_slow_for_all_who_take_part() {
    let quiet = Synthetic { jitter: 0.0, steps: 1, ..Synthetic::default() };
    let of = Synthetic { faults: slow_link(20.0, None, 0), ..quiet };
    let all = rows(&of);
    let ends = |kind: Kind, dp_rank: u32, stage: u32| {
        let own = all.iter().filter(move |row| (row.kind, row.dp_rank, row.stage) == (kind, dp_rank, stage));
        own.map(|row| row.start + row.duration).collect::<Vec<f64>>()
    };
    for dp_rank in 0..of.dp {
        let (own, other) = (ends(Kind::ParamsAllGather, dp_rank, 1), ends(Kind::ParamsAllGather, dp_rank, 2));
        assert!((own[0] - 20.0 * of.gradients).abs() < 1e-9 && (other[0] - of.gradients).abs() < 1e-9);
    }
    for (one, other) in ends(Kind::ForwardSend, 1, 1).iter().zip(ends(Kind::ForwardRecv, 1, 2)) {
        assert!((one - other).abs() < 1e-9, "{one} {other}");
    }
}

#[test]
fn a_slow_link_is_a_pair_of_ranks() {
    let of = Synthetic { faults: slow_link(100.0, Some((1, 2)), 0), ..Synthetic::default() };
    let first = first_cause(&of);
    assert_eq!((links_of(&first), &first.ranks[..]), ((true, 1, 2), &[5, 9][..]));
    let slow_since = |fact: &Evidence| {
        let Evidence::SlowLink { ranks, share, seconds, usual_seconds, period, .. } = fact else {
            panic!("{fact:?}")
        };
        assert_eq!((&ranks[..], *share), (&[5, 9][..], 0.5), "{fact:?}");
        assert!((seconds - 0.1).abs() < 1e-3 && (usual_seconds - 1e-3).abs() < 1e-5, "{fact:?}");
        period.since_step
    };
    assert_eq!((slow_since(&first.evidence[0]), first.since_step), (None, None));
    // Slow in half of the steps, or a little less.
    let of = Synthetic { faults: slow_link(100.0, Some((1, 2)), 12), ..Synthetic::default() };
    let first = first_cause(&of);
    assert_eq!((&first.ranks[..], first.since_step), (&[5, 9][..], Some(12)));
    assert_eq!((links_of(&first), slow_since(&first.evidence[0])), ((true, 1, 2), Some(12)), "{first:?}");
}

/// Links that differ are not called alike, even if none stands out.
#[test]
fn links_that_differ_are_not_alike() {
    let told = |times: f64| {
        let of =
            Synthetic { transfer: 0.1, faults: slow_link(times, Some((1, 2)), 0), ..Synthetic::default() };
        let job = job(&of);
        // Now and then a transfer takes very long, on any link.
        let job = Replays::new(&job).unwrap().changed(|_, at| {
            let forward = at.op.kind == Kind::ForwardSend as u16 || at.op.kind == Kind::ForwardRecv as u16;
            (at.takes + if forward && at.op.seq == 7 { 500_000_000_000 } else { 0 }, at.delay)
        });
        let causes = answers(&job).causes;
        let first = causes.into_iter().find(|cause| cause.class.as_deref() == Some("forward-pp-comm"));
        first.unwrap().evidence[0].clone()
    };
    assert!(matches!(told(1.0), Evidence::LinksAlike { .. }), "{:?}", told(1.0));
    let differ = told(1.2);
    assert!(matches!(&differ, Evidence::LinksDiffer { slowest, .. } if slowest[..] == [5, 9]), "{differ:?}");
}

/// Slow links without a common member are one cause for both directions, which are removed together.
#[test]
fn several_slow_links_are_one_cause() {
    let link = |dp_rank: u32, stage: u32| Fault {
        dp_rank,
        stage,
        from_step: 0,
        what: Defect::Link { times: 50.0, with: Some((dp_rank, stage + 1)) },
    };
    let first = first_cause(&Synthetic { faults: vec![link(2, 1), link(0, 2)], ..Synthetic::default() });
    assert_eq!(links_of(&first), (false, 2, 2));
    assert_eq!((&first.ranks[..], first.class), (&[6, 8, 10, 12][..], None));
    let all = (0..4).map(|dp_rank| link(dp_rank, 1)).collect();
    let first = first_cause(&Synthetic { faults: all, ..Synthetic::default() });
    assert_eq!(links_of(&first), (false, 4, 2));
    assert!(first.evidence.iter().all(|fact| !matches!(fact, Evidence::MoreLinks { .. })), "{first:?}");
}

/// All transfers become a little slower, and one link is slow from the start: the link is the cause, not the change.
#[test]
fn a_small_change_does_not_hide_a_slow_link() {
    let fault = Fault { dp_rank: 2, stage: 0, ..slow_link(60.0, Some((2, 1)), 0)[0] };
    let of = Synthetic { dp: 4, pp: 2, faults: vec![fault], ..Synthetic::default() };
    let job = job(&of);
    let job = Replays::new(&job).unwrap().changed(|step, at| {
        let is_transfer = Kind::ALL[at.op.kind as usize].is_send_or_recv() && at.takes < 10_000_000_000;
        (if step < 4 && is_transfer { at.takes * 6 / 10 } else { at.takes }, at.delay)
    });
    let found = answers(&job);
    let first = &found.causes[0];
    assert_eq!((links_of(first).0, &first.ranks[..], first.since_step), (true, &[2, 6][..], None));
    let truth = 1.0 - mean_step(&Synthetic { faults: Vec::new(), ..of.clone() }) / mean_step(&of);
    assert!((first.gain - truth).abs() < 0.01, "{} for {truth}", first.gain);
}

#[test]
fn a_worker_with_slow_links_is_what_they_have_in_common() {
    let of = Synthetic { faults: slow_link(40.0, None, 0), ..Synthetic::default() };
    let first = first_cause(&of);
    assert_eq!(first.ranks, [5], "{first:?}");
}

#[test]
fn a_slow_collective_is_its_group() {
    let of = Synthetic { pp: 4, transfer: 0.0, faults: slow_link(40.0, None, 0), ..Synthetic::default() };
    let first = first_cause(&of);
    assert_eq!((links_of(&first).0, &first.ranks[..]), (true, &[4, 5, 6, 7][..]));
    assert!(first.evidence.contains(&Evidence::CollectivesEndTogether), "{first:?}");
}

/// With two stages, half of all transfers are slow, and their median is no longer the usual time: S is too small, and
/// this is reported.
#[test]
fn slow_links_do_not_become_the_usual() {
    for (dp, pp) in [(2, 2), (4, 2), (1, 4), (2, 4)] {
        let base = Synthetic { dp, pp, ..Synthetic::default() };
        let fault = Fault { dp_rank: 0, stage: 1, ..slow_link(60.0, None, 0)[0] };
        let of = Synthetic { faults: vec![fault], ..base };
        let (answers, first) = found(&of);
        assert!(first.ranks.contains(&dp), "{dp} x {pp}");
        let at_least = 1.0 / (1.0 - first.gain);
        match answers.s_at_least {
            Some(told) => assert!((told - at_least).abs() < 1e-9 && told > answers.s, "{told} {answers:?}"),
            None => assert!(answers.s > 0.95 * at_least, "{dp} x {pp}: {} {at_least}", answers.s),
        }
        assert_eq!(answers.s_at_least.is_some(), (dp, pp) != (2, 4), "{dp} x {pp}: {}", answers.s);
    }
}
