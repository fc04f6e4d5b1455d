//! Jobs changed by faults, compared with the same jobs generated or computed in another way.

use super::{job, job_of};
use straggler_noise::{Injection, NoiseSpec, Phases};
use straggler_training::exact::{Replays, mean};
use straggler_training::published::Dense;
use straggler_training::synthetic::{self, Synthetic, rows};
use straggler_training::whatif::{CopyError, Effect, Fault, Outcome, Scenario, ScenarioError, Whom, copied};
use straggler_training::{Job, Kind, Meta, Row, read_table};

fn only(whom: Whom, what: Effect) -> Scenario {
    Scenario { faults: vec![Fault { whom, what, from_step: None }], ..Scenario::default() }
}

fn outcome(job: &Job, scenario: &Scenario) -> Outcome {
    scenario.check(job).unwrap();
    scenario.outcome(&Replays::new(job).unwrap(), 0).unwrap()
}

fn steps_of(job: &Job) -> Vec<i64> {
    Replays::new(job).unwrap().all(|_, at| at.real())
}

/// Steps are equal to one part in a million: the generator rounds times before they are multiplied.
fn assert_close(one: &[i64], other: &[i64]) {
    assert_eq!(one.len(), other.len());
    let close = |(a, b): (&i64, &i64)| (a - b).abs() as f64 <= 1e-6 * *b as f64;
    assert!(one.iter().zip(other).all(close), "{one:?}\n{other:?}");
}

#[test]
fn nothing_changes_without_a_fault() {
    let job = job(&Synthetic { lengths: 0.2, ..Synthetic::default() });
    let found = outcome(&job, &Scenario::default());
    assert_eq!((found.steps, found.samples), (steps_of(&job), vec![1.0; 20]));
}

/// A fault injected into a healthy job gives the job that the generator makes with it.
#[test]
fn faults_put_in_are_those_generated() {
    let healthy = Synthetic { steps: 6, ..Synthetic::default() };
    let cases = [
        (synthetic::Defect::Slow(1.7), Effect::Slow(1.7)),
        (synthetic::Defect::Stall(0.3), Effect::Stall(300_000_000_000)),
    ];
    for (generated, what) in cases {
        let fault = synthetic::Fault { dp_rank: 2, stage: 1, from_step: 3, what: generated };
        let with = job(&Synthetic { faults: vec![fault], ..healthy.clone() });
        let mut scenario = only(Whom::Rank(6), what);
        scenario.faults[0].from_step = Some(3);
        let without = job(&healthy);
        let found = outcome(&without, &scenario);
        assert_close(&found.steps, &steps_of(&with));
        assert_eq!(found.steps[..3], steps_of(&without)[..3]);
        assert!(found.steps[3] > steps_of(&without)[3]);
        // Replaying the changed job as a recording gives the same steps.
        let replays = Replays::new(&without).unwrap();
        assert_close(&steps_of(&scenario.changed(&replays).unwrap()), &found.steps);
    }
}

/// Lost workers delay no others: the rest is a job of its own.
#[test]
fn a_job_goes_on_without_a_data_parallel_rank() {
    let of = Synthetic { jitter: 0.0, lengths: 0.3, steps: 4, ..Synthetic::default() };
    let all = rows(&of);
    let mut scenario = only(Whom::Rank(6), Effect::Lost);
    scenario.faults[0].from_step = Some(2);
    let found = outcome(&job_of(all.clone()), &scenario);
    let lost = 2;
    // Collectives start when the last member has come, lost or not, so their durations must not depend on it.
    let rest = rows(&of).into_iter().filter(|row| row.dp_rank != lost);
    let rest: Vec<Row> =
        rest.map(|row| Row { dp_rank: row.dp_rank - u32::from(row.dp_rank > lost), ..row }).collect();
    let rest = job_of(rest);
    let alone = Replays::new(&rest).unwrap();
    let whole = job_of(all);
    let with_its_transfers = Replays::new(&whole).unwrap();
    assert_eq!(found.steps[..2], steps_of(&whole)[..2]);
    for step in 2..4 {
        // The rest computes as recorded, with collectives as long as in the whole job.
        let expected = alone.all(|_, at| {
            let wide = [Kind::ParamsAllGather, Kind::GradsReduceScatter, Kind::OptimizerClipMainGrad];
            let is_wide = wide.iter().any(|kind| *kind as u16 == at.op.kind);
            let typical = with_its_transfers.stage_ideal.takes(0, at.op);
            (if is_wide { typical } else { at.takes }, at.delay)
        });
        assert!(
            (found.steps[step] - expected[step]).abs() < 1000,
            "{} {}",
            found.steps[step],
            expected[step]
        );
    }
    assert_eq!(found.samples, [1.0, 1.0, 0.75, 0.75]);
    let nobody = Scenario {
        faults: (4..8)
            .map(|rank| Fault { whom: Whom::Rank(rank), what: Effect::Lost, from_step: None })
            .collect(),
        ..Scenario::default()
    };
    let error = nobody.outcome(&with_its_transfers, 0).unwrap_err();
    assert_eq!(error, ScenarioError::NobodyLeft { dp_ranks: 4 });
}

/// The table of a job without a data-parallel rank takes as long as the steps of the what-if.
#[test]
fn the_rest_of_a_job_is_a_table() {
    let of = Synthetic { lengths: 0.3, steps: 4, ..Synthetic::default() };
    let job = job(&of);
    let replays = Replays::new(&job).unwrap();
    let mut scenario = only(Whom::Rank(6), Effect::Lost);
    let rest = job_of(scenario.rows(&replays).unwrap());
    assert_eq!((rest.workers.len(), rest.dp_ranks()), (12, 3));
    assert!(rest.notes.is_empty() && rest.workers.iter().all(|worker| worker.recorded), "{:?}", rest.notes);
    assert!(rest.workers.iter().all(|worker| worker.rank % 4 != 2), "{:?}", rest.workers);
    assert_close(&steps_of(&rest), &outcome(&job, &scenario).steps);
    scenario.faults[0].from_step = Some(2);
    let error = scenario.rows(&replays).unwrap_err();
    assert_eq!(error, ScenarioError::LostLater { step: 2, first: 0 });
    assert!(error.to_string().ends_with("lose it at the first step, 0"), "{error}");
    scenario.faults[0].from_step = Some(0);
    assert_eq!(scenario.rows(&replays).unwrap().len(), rest.operations());
}

/// A link that no worker has is an error, whichever worker is drawn.
#[test]
fn links_without_transfers_are_refused() {
    let with = |other: u32| Effect::Link { times: 3.0, with: Some(other) };
    let all = Effect::Link { times: 3.0, with: None };
    let one_stage = job(&Synthetic { pp: 1, steps: 2, ..Synthetic::default() });
    let refused = |job: &Job, whom: Whom, what: Effect| only(whom, what).check(job).unwrap_err();
    for whom in [Whom::Any, Whom::Each(0.5)] {
        assert_eq!(refused(&one_stage, whom, with(2)), ScenarioError::NoPartner { other: 2 });
    }
    assert_eq!(refused(&one_stage, Whom::Rank(1), with(2)), ScenarioError::NoLink { rank: 1, other: 2 });
    assert_eq!(refused(&one_stage, Whom::Rank(2), with(2)), ScenarioError::NoLink { rank: 2, other: 2 });
    only(Whom::Any, all).check(&one_stage).unwrap();
    let alone = job(&Synthetic { dp: 1, pp: 1, steps: 2, ..Synthetic::default() });
    assert_eq!(refused(&alone, Whom::Any, all), ScenarioError::NoTransfers { rank: None });
    assert_eq!(refused(&alone, Whom::Rank(0), all), ScenarioError::NoTransfers { rank: Some(0) });
    let pipeline = job(&Synthetic { steps: 2, ..Synthetic::default() });
    only(Whom::Any, with(2)).check(&pipeline).unwrap();
}

/// A step begins with the first of the remaining workers.
#[test]
fn a_step_does_not_begin_with_a_lost_worker() {
    let of = Synthetic { dp: 3, pp: 1, jitter: 0.0, steps: 3, ..Synthetic::default() };
    let lost = only(Whom::Rank(0), Effect::Lost);
    let expected = outcome(&job(&of), &lost).steps;
    let mut early = rows(&of);
    for row in &mut early {
        match (row.rank, row.kind) {
            (0, Kind::ParamsAllGather) => row.duration += 0.5,
            _ => row.start += 0.5,
        }
    }
    assert_close(&outcome(&job_of(early), &lost).steps, &expected);
}

/// Two stages with one microbatch are a chain: a slow link adds the extra time of its two transfers and of the
/// embedding.
#[test]
fn a_slow_link_slows_what_goes_over_it() {
    let of = Synthetic { dp: 2, pp: 2, microbatches: 1, steps: 2, jitter: 0.0, ..Synthetic::default() };
    let job = job(&of);
    let before = steps_of(&job);
    let transfer = (of.transfer * 1e12) as i64;
    // Ranks 0 and 2 are the stages of the first data-parallel rank.
    let pair = outcome(&job, &only(Whom::Rank(0), Effect::Link { times: 11.0, with: Some(2) }));
    let gradients = (of.gradients * 1e12) as i64;
    assert_eq!(pair.steps[0] - before[0], 2 * 10 * transfer + gradients);
    let reversed = outcome(&job, &only(Whom::Rank(2), Effect::Link { times: 11.0, with: Some(0) }));
    assert_eq!(pair.steps, reversed.steps);
    // All links of a rank: its collectives as well.
    let all = outcome(&job, &only(Whom::Rank(0), Effect::Link { times: 11.0, with: None }));
    assert!(all.steps[0] - before[0] >= 2 * 10 * transfer + 21 * gradients, "{} {}", all.steps[0], before[0]);
    // Two slowdowns of a link multiply; a slow link of a lost worker slows no one.
    let link = |times: f64| Fault {
        whom: Whom::Rank(0),
        what: Effect::Link { times, with: Some(2) },
        from_step: None,
    };
    let twice = Scenario { faults: vec![link(2.0), link(5.5)], ..Scenario::default() };
    assert_eq!(outcome(&job, &twice).steps, pair.steps);
    let gone = Fault { whom: Whom::Rank(2), what: Effect::Lost, from_step: None };
    let both = Scenario { faults: vec![link(11.0), gone], ..Scenario::default() };
    assert_eq!(outcome(&job, &both).steps, outcome(&job, &only(Whom::Rank(2), Effect::Lost)).steps);
    let itself = only(Whom::Rank(0), Effect::Link { times: 2.0, with: Some(0) });
    assert_eq!(itself.check(&job), Err(ScenarioError::NoLink { rank: 0, other: 0 }));
    let any = only(Whom::Any, Effect::Link { times: 11.0, with: Some(2) });
    let replays = Replays::new(&job).unwrap();
    // Drawn from the ranks that exchange messages with rank 2 alone: its neighbour stage, and the other data-parallel
    // rank.
    let hit = |draw| any.outcome(&replays, draw).unwrap().hit;
    assert!((0..20).all(|draw| hit(draw) == [(0, 0)] || hit(draw) == [(0, 3)]));
    let strangers = only(Whom::Rank(0), Effect::Link { times: 2.0, with: Some(3) });
    assert_eq!(strangers.check(&job), Err(ScenarioError::NoLink { rank: 0, other: 3 }));
    assert_eq!(
        only(Whom::Rank(4), Effect::Lost).check(&job),
        Err(ScenarioError::NoRank { rank: 4, first: 0, last: 3, nearest: 3 })
    );
    let mut late = only(Whom::Any, Effect::Lost);
    late.faults[0].from_step = Some(2);
    assert_eq!(late.check(&job), Err(ScenarioError::NoStep { step: 2, first: 0, last: 1 }));
}

fn noise(text: &str) -> Injection {
    let sources = NoiseSpec::of_typed(text).unwrap().load(7).unwrap().sources;
    Injection::new(sources, Phases::Drawn { seed: 7, replica: 0 }, false).unwrap()
}

#[test]
fn noise_falls_on_computing() {
    let of = Synthetic { dp: 2, pp: 1, microbatches: 1, steps: 2, jitter: 0.0, ..Synthetic::default() };
    let job = job(&of);
    let before = steps_of(&job);
    // In the second step, while rank 1 computes.
    let at = before[0] as f64 / 1e12 + of.gradients + 0.01;
    let once = Scenario {
        noise: Some(noise(&format!("delay:rank=1,at={at}s,duration=30ms"))),
        ..Scenario::default()
    };
    let found = outcome(&job, &once);
    assert_eq!([found.steps[0] - before[0], found.steps[1] - before[1]], [0, 30_000_000_000]);
    // Noise takes a tenth of everyone's time: computing takes at least a tenth longer.
    let often = Scenario { noise: Some(noise("periodic:rate=1kHz,duration=100us")), ..Scenario::default() };
    let found = outcome(&job, &often);
    let computing = 3.0 * of.forward * 1e12;
    assert!((found.steps[0] - before[0]) as f64 > 0.099 * computing, "{:?} {before:?}", found.steps);
}

#[test]
fn draws_are_their_own_and_the_same_every_time() {
    let job = job(&Synthetic { steps: 3, ..Synthetic::default() });
    let replays = Replays::new(&job).unwrap();
    let scenario = only(Whom::Any, Effect::Slow(2.0));
    let drawn: Vec<Outcome> = (0..200).map(|draw| scenario.outcome(&replays, draw).unwrap()).collect();
    let mut hit: Vec<u32> = drawn.iter().flat_map(|one| one.hit.iter().map(|&(_, rank)| rank)).collect();
    assert_eq!(hit.len(), 200);
    hit.sort_unstable();
    hit.dedup();
    assert_eq!(hit, (0..16).collect::<Vec<u32>>());
    let one = drawn.iter().find(|one| one.hit == [(0, 9)]).unwrap();
    assert_eq!(one.steps, outcome(&job, &only(Whom::Rank(9), Effect::Slow(2.0))).steps);
    assert_eq!(scenario.outcome(&replays, 42).unwrap(), drawn[42]);
    // A tenth of 16 workers, in the mean of 200 draws.
    let each = only(Whom::Each(0.1), Effect::Slow(2.0));
    let count: usize = (0..200).map(|draw| each.outcome(&replays, draw).unwrap().hit.len()).sum();
    assert!((280..360).contains(&count), "{count}");
}

#[test]
fn copies_stand_side_by_side() {
    let of = Synthetic { dp: 2, steps: 2, ..Synthetic::default() };
    let rows = rows(&of);
    let job = job_of(rows.clone());
    let wide = copied(&job, 3).unwrap();
    assert_eq!((wide.workers.len(), wide.steps[0].columns), (24, 6));
    assert_eq!(steps_of(&wide), steps_of(&job));
    // The job is the same as if all copies had been recorded.
    let again = job_of(straggler_training::rows(&wide));
    assert_eq!((&again.workers, &again.start, &again.steps), (&wide.workers, &wide.start, &wide.steps));
    // Columns that differ are joined into one, and so are their copies.
    let mut uneven = rows;
    let is_it = |row: &&Row| row.kind == Kind::LayernormGradsAllReduce && row.rank == 5 && row.step == 1;
    let last = *uneven.iter().find(is_it).unwrap();
    uneven.push(Row { seq: 1, ..last });
    let uneven = job_of(uneven);
    let wide = copied(&uneven, 3).unwrap();
    assert_eq!((wide.workers.len(), wide.steps[1].columns), (24, 1));
    assert_eq!(steps_of(&wide), steps_of(&uneven));
    assert!(matches!(copied(&job, u32::MAX), Err(CopyError::TooMany { .. })));
}

#[test]
fn absurd_faults_are_refused() {
    let job = job(&Synthetic { steps: 1, ..Synthetic::default() });
    let replays = Replays::new(&job).unwrap();
    for what in [Effect::Slow(1e18), Effect::Stall(i64::MAX), Effect::Link { times: 1e18, with: None }] {
        let error = only(Whom::Rank(0), what).outcome(&replays, 0).unwrap_err();
        assert_eq!(error, ScenarioError::TooLong { step: 0 });
    }
}

fn published(job: &Job) -> f64 {
    let dense = Dense::new(&straggler_training::rows(job)).unwrap();
    straggler_training::published::analyse(&dense, &Meta::parse("").unwrap()).unwrap().s
}

/// Mends a worker, then slows it by what it was slower than typical workers of its stage. Returns the published S of both.
fn mended_and_slowed_again(job: &Job, rank: u32) -> [f64; 2] {
    let replays = Replays::new(job).unwrap();
    let place = job.workers.iter().position(|worker| worker.rank == rank).unwrap();
    let stage = job.workers[place].stage;
    let mended = only(Whom::Rank(rank), Effect::Repaired).changed(&replays).unwrap();
    let slower = |kind: Kind| {
        let (mut own, mut count) = (0, 0);
        for (step, times) in replays.times.iter().enumerate() {
            let columns = job.steps[step].columns as usize;
            for (op, of) in job.shape(step).ops.iter().enumerate().filter(|(_, of)| of.kind == kind as u16) {
                let at = (0..columns)
                    .find(|&column| job.worker(step, column, op) == place && of.kind == kind as u16);
                if let Some(column) = at {
                    own += times.takes[op * columns + column];
                    count += 1;
                }
            }
        }
        let of_kind = job.shape(0).ops.iter().find(|op| op.kind == kind as u16).unwrap();
        own as f64 / f64::from(count) / replays.stage_ideal.takes(stage, of_kind) as f64
    };
    let factors = [slower(Kind::ForwardCompute), slower(Kind::BackwardCompute)];
    let again = Replays::new(&mended).unwrap().changed(|_, at| {
        let times = match Kind::ALL[at.op.kind as usize] {
            Kind::ForwardCompute if at.worker == place => factors[0],
            Kind::BackwardCompute if at.worker == place => factors[1],
            _ => 1.0,
        };
        ((at.takes as f64 * times).round() as i64, at.delay)
    });
    [published(&mended), published(&again)]
}

#[test]
fn a_mended_job_is_slowed_again() {
    let fault = synthetic::Fault { dp_rank: 2, stage: 1, from_step: 0, what: synthetic::Defect::Slow(2.4) };
    let job = job(&Synthetic { faults: vec![fault], ..Synthetic::default() });
    let slow = published(&job);
    let [healthy, again] = mended_and_slowed_again(&job, 6);
    assert!(healthy < 1.03 && slow > 1.5, "{healthy} {slow}");
    assert!((again / slow - 1.0).abs() < 0.02, "{again} {slow}");
}

/// The same with job AR, whose published S is 1.973. Its table is in the folder in STRAGGLER_TRAINING_JOBS.
#[test]
fn a_real_job_is_mended_and_slowed_again() {
    let Some(folder) = super::public_jobs::folder() else { return };
    let table = read_table(&std::path::Path::new(&folder).join("trace-AR.parquet")).unwrap();
    let job = table.job("AR").unwrap();
    let [healthy, again] = mended_and_slowed_again(&job, 0);
    assert!(healthy < 1.06, "{healthy}");
    assert!((again / 1.973 - 1.0).abs() < 0.02, "{again}");
    println!("S {healthy} mended, {again} slowed again; steps of {} s", mean(&steps_of(&job)) / 1e12);
}

/// Of three data-parallel ranks one was never recorded: losing the other two leaves nobody.
#[test]
fn losing_all_that_were_recorded_leaves_nobody() {
    let mut all = rows(&Synthetic { dp: 3, pp: 2, steps: 3, ..Synthetic::default() });
    all.retain(|row| row.dp_rank != 1);
    let job = job_of(all);
    let lost = |rank: u32| Fault { whom: Whom::Rank(rank), what: Effect::Lost, from_step: None };
    let replays = Replays::new(&job).unwrap();
    let one = Scenario { faults: vec![lost(0)], ..Scenario::default() };
    assert_eq!(one.outcome(&replays, 0).unwrap().samples, [0.5; 3]);
    let both = Scenario { faults: vec![lost(0), lost(2)], ..Scenario::default() };
    assert_eq!(both.outcome(&replays, 0).unwrap_err(), ScenarioError::NobodyLeft { dp_ranks: 2 });
}

/// A worker that is alone begins its steps with its first computation; its host is late before the second.
#[test]
fn a_single_worker_can_be_late() {
    let alone = Synthetic { dp: 1, pp: 1, steps: 3, ..Synthetic::default() };
    let fault = synthetic::Fault { dp_rank: 0, stage: 0, from_step: 0, what: synthetic::Defect::Stall(0.3) };
    let late = job(&Synthetic { faults: vec![fault], ..alone.clone() });
    let healthy = job(&alone);
    let expected: Vec<i64> = steps_of(&healthy).iter().map(|step| step + 300_000_000_000).collect();
    assert_close(&steps_of(&late), &expected);
    assert_close(&outcome(&healthy, &only(Whom::Rank(0), Effect::Stall(300_000_000_000))).steps, &expected);
}

/// Mending a worker gives the steps of the job without the fault, whatever the fault was and whenever it began. The
/// gradient norm is a collective of all workers: if it was always slow, there is nothing to compare it with, and it
/// stays slow.
#[test]
fn a_mended_worker_is_as_if_nothing_had_happened() {
    let of = Synthetic::default();
    let healthy = steps_of(&job(&of));
    let cases = [
        (synthetic::Defect::Slow(2.0), 0),
        (synthetic::Defect::Slow(2.0), 10),
        (synthetic::Defect::Link { times: 30.0, with: None }, 0),
        (synthetic::Defect::Link { times: 30.0, with: None }, 10),
        (synthetic::Defect::Link { times: 100.0, with: Some((2, 2)) }, 10),
        (synthetic::Defect::Stall(0.5), 10),
    ];
    for (what, from_step) in cases {
        let fault = synthetic::Fault { dp_rank: 2, stage: 1, from_step, what };
        let with = job(&Synthetic { faults: vec![fault], ..of.clone() });
        let norm = match what {
            synthetic::Defect::Link { times, with: None } if from_step == 0 => {
                (times - 1.0) * 0.05 * of.gradients
            }
            _ => 0.0,
        };
        let mended = outcome(&with, &only(Whom::Rank(6), Effect::Repaired)).steps;
        for (step, (mended, healthy)) in mended.iter().zip(&healthy).enumerate() {
            let truth = *healthy as f64 + 1e12 * norm;
            let off = (*mended as f64 / truth - 1.0).abs();
            assert!(off < 0.02, "{what:?} since {from_step}, step {step}: {mended} instead of {truth}");
        }
        // Mending also undoes earlier faults of its links.
        let fault = |what| Fault { whom: Whom::Rank(6), what, from_step: None };
        let faults = vec![fault(Effect::Link { times: 50.0, with: None }), fault(Effect::Repaired)];
        let both = outcome(&with, &Scenario { faults, ..Scenario::default() }).steps;
        assert_eq!(both, mended, "{what:?}");
    }
}

/// A mended stage, or a mended job, is as it was before it became slower.
#[test]
fn a_mended_stage_is_as_it_was_before() {
    let of = Synthetic::default();
    let healthy = steps_of(&job(&of));
    for stages in [vec![1], (0..of.pp).collect()] {
        let whole = (0..of.dp).flat_map(|dp_rank| stages.iter().map(move |&stage| (dp_rank, stage)));
        let slow = |(dp_rank, stage)| {
            [(8, 1.5), (12, 1.4)].map(|(from_step, times)| {
                let what = synthetic::Defect::Slow(times);
                synthetic::Fault { dp_rank, stage, from_step, what }
            })
        };
        let with = job(&Synthetic { faults: whole.flat_map(slow).collect(), ..of.clone() });
        let mended = with.workers.iter().filter(|worker| stages.contains(&worker.stage));
        let mended = mended.map(|worker| Fault {
            whom: Whom::Rank(worker.rank),
            what: Effect::Repaired,
            from_step: None,
        });
        let scenario = Scenario { faults: mended.collect(), ..Scenario::default() };
        let mended = outcome(&with, &scenario).steps;
        for (step, (mended, healthy)) in mended.iter().zip(&healthy).enumerate() {
            let off = (*mended as f64 / *healthy as f64 - 1.0).abs();
            assert!(off < 0.02, "stages {stages:?}, step {step}: {mended} instead of {healthy}");
        }
    }
}

/// A collective is as slow as its slowest member: mending another one changes nothing.
#[test]
fn mending_a_healthy_worker_wins_nothing() {
    let what = synthetic::Defect::Link { times: 30.0, with: None };
    let fault = synthetic::Fault { dp_rank: 2, stage: 1, from_step: 0, what };
    let job = job(&Synthetic { faults: vec![fault], ..Synthetic::default() });
    // Rank 5 is in the collectives of rank 6.
    let found = outcome(&job, &only(Whom::Rank(5), Effect::Repaired));
    assert!(mean(&found.steps) > 0.99 * mean(&steps_of(&job)), "{:?}", found.steps);
}

#[test]
fn a_change_that_changes_nothing_is_told() {
    let job = job(&Synthetic { jitter: 0.0, ..Synthetic::default() });
    let differs = |what| outcome(&job, &only(Whom::Rank(6), what)).differs;
    assert!(!differs(Effect::Slow(1.0)) && !differs(Effect::Repaired));
    assert!(differs(Effect::Slow(1.01)) && differs(Effect::Stall(1)));
}
