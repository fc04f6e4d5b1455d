//! The published analysis on jobs with known results.

use serde_json::Value;
use std::collections::BTreeMap;
use straggler_training::published::{Dense, DenseError, analyse};
use straggler_training::{Kind, Meta, Row, read_table};

const FORWARD: f64 = 1.0;
const BACKWARD: f64 = 2.0;
const MICROBATCHES: u32 = 3;

/// A job of one stage: all-gather, some forwards, as many backwards, and the tail, all without launch delays. A worker takes
/// `slow` times as long to compute.
fn job(dp: u32, steps: i64, slow: impl Fn(i64, u32) -> f64) -> Vec<Row> {
    let mut rows = Vec::new();
    for step in 0..steps {
        let computed = |rank: u32| slow(step, rank) * (FORWARD + BACKWARD) * f64::from(MICROBATCHES);
        let slowest = (0..dp).map(computed).fold(0.0, f64::max);
        for rank in 0..dp {
            let mut add = |kind, seq, start, duration, chunk| {
                let row = Row {
                    dp_rank: rank,
                    stage: 0,
                    rank,
                    step,
                    kind,
                    start,
                    duration,
                    seq,
                    chunk,
                    model_chunk: chunk,
                    microbatch: -1,
                };
                rows.push(row);
            };
            let mut now = 0.5;
            add(Kind::ParamsAllGather, 0, 0.0, 0.5, 0);
            for (kind, takes) in [(Kind::ForwardCompute, FORWARD), (Kind::BackwardCompute, BACKWARD)] {
                for seq in 0..MICROBATCHES {
                    let takes = takes * slow(step, rank);
                    add(kind, seq, now, takes, 0);
                    now += takes;
                }
            }
            add(Kind::Gc, 0, now, 0.0, -1);
            add(Kind::LayernormGradsAllReduce, 0, now, 0.0, -1);
            add(Kind::EmbeddingGradsAllReduce, 0, now, 0.0, -1);
            // The others wait for the slowest.
            let end = 0.5 + slowest + 0.25;
            add(Kind::GradsReduceScatter, 0, now, end - now, 0);
            add(Kind::OptimizerClipMainGrad, 0, end, 0.125, -1);
            add(Kind::Optimizer, 0, end + 0.125, 0.125, -1);
        }
    }
    rows
}

fn meta(dp: u32) -> Meta {
    Meta::parse(&format!("dp_size: {dp}\nworld_size: {dp}")).unwrap()
}

#[test]
fn a_job_without_a_straggler_is_as_fast_as_it_can_be() {
    let answers = analyse(&Dense::new(&job(4, 3, |_, _| 1.0)).unwrap(), &meta(4)).unwrap();
    assert!((answers.s - 1.0).abs() < 1e-12 && answers.replay_error.abs() < 1e-12, "{answers:?}");
    assert_eq!((answers.by_stage, answers.m_w), (None, None));
    // No time is lost, so none can be saved.
    assert_eq!((answers.m_s.rem, answers.m_s.add), (None, None));
}

#[test]
fn one_slow_worker_is_found_and_mended() {
    // Rank 2 computes twice as long. The pooled mean is 1.25 times that of the others.
    let rows = job(4, 3, |_, rank| if rank == 2 { 2.0 } else { 1.0 });
    let answers = analyse(&Dense::new(&rows).unwrap(), &meta(4)).unwrap();
    let step = |computed: f64| 0.5 + computed + 0.25 + 0.25;
    let (real, ideal) = (step(18.0), step(9.0 * 1.25));
    assert!((answers.s - real / ideal).abs() < 1e-12, "{answers:?}");
    let m_w = answers.m_w.unwrap();
    assert_eq!(m_w.ranks, [2]);
    // Once it is mended, the others are faster than the mean, which the straggler has raised.
    assert!((m_w.seconds_without - ideal).abs() < 1e-12 && (m_w.rem.unwrap() - 1.0).abs() < 1e-12, "{m_w:?}");
    assert_eq!((answers.workers[0].rank, answers.workers.len()), (2, 4));
    let by_rank = answers.by_dp_rank.unwrap();
    assert!((by_rank["2"] - real / ideal).abs() < 1e-12 && by_rank["0"] < 1.0 + 1e-12, "{by_rank:?}");
}

#[test]
fn steps_are_told_apart() {
    let rows = job(2, 2, |step, rank| if step == 1 && rank == 0 { 3.0 } else { 1.0 });
    let answers = analyse(&Dense::new(&rows).unwrap(), &meta(2)).unwrap();
    assert!(answers.by_step[&1] > 2.0 * answers.by_step[&0], "{answers:?}");
}

#[test]
fn what_is_missing_is_named() {
    let mut rows = job(2, 2, |_, _| 1.0);
    let place =
        rows.iter().position(|row| row.step == 1 && row.dp_rank == 1 && row.kind == Kind::Optimizer).unwrap();
    let gone = rows.remove(place);
    let error = Dense::new(&rows).unwrap_err();
    assert_eq!(error, DenseError::Missing { step: 1, dp_rank: 1, stage: 0, name: "optimizer", seq: 0 });
    rows.extend([gone, gone]);
    assert!(matches!(Dense::new(&rows), Err(DenseError::Twice { step: 1, rank: 1, .. })));
    rows.pop();
    rows[0].rank = 77;
    assert!(matches!(Dense::new(&rows), Err(DenseError::TwoRanks { .. })));
    assert_eq!(Dense::new(&[]).unwrap_err(), DenseError::Empty);
    let later: Vec<Row> = rows.iter().map(|row| Row { stage: row.stage + 1, ..*row }).collect();
    assert_eq!(Dense::new(&later).unwrap_err(), DenseError::NoStage { stage: 0 });
    let without: Vec<Row> = job(2, 1, |_, _| 1.0).into_iter().filter(|row| row.kind != Kind::Gc).collect();
    let error = analyse(&Dense::new(&without).unwrap(), &meta(2)).unwrap_err().to_string();
    assert!(error.starts_with("stage 0 has no gc, which the published analysis expects"), "{error}");
}

/// All published results of the three public jobs, if STRAGGLER_TRAINING_JOBS names the folder of their tables.
#[test]
fn published_answers() {
    let Some(folder) = super::public_jobs::folder() else { return };
    for name in ["AR", "SE", "ST"] {
        let read = |file: String| std::fs::read_to_string(folder.join(file)).unwrap();
        let json =
            |what: &str| -> Value { serde_json::from_str(&read(format!("{what}-{name}.json"))).unwrap() };
        let table = read_table(&folder.join(format!("trace-{name}.parquet"))).unwrap();
        let meta = Meta::parse(&read(format!("meta-{name}.yaml"))).unwrap();
        let found = analyse(&Dense::new(&table.rows).unwrap(), &meta).unwrap();
        let (result, m_w) = (json("result"), found.m_w.clone().unwrap());
        let mean = |key: &str| {
            let steps = numbers(&result[key]);
            steps.values().sum::<f64>() / steps.len() as f64
        };
        // Times are compared by their ratio to the published ones.
        let mut pairs = vec![
            (found.step_seconds / mean("step_t_base"), 1.0),
            (found.replayed_seconds / mean("step_t_nodelay"), 1.0),
            (found.ideal_seconds / mean("step_t_noblk"), 1.0),
            (found.s, result["blocking_slowdown"].as_f64().unwrap()),
            (found.launch_slowdown, result["launch_slowdown"].as_f64().unwrap()),
            (found.replay_error, 1.0 - 1.0 / result["launch_slowdown"].as_f64().unwrap()),
        ];
        for (found, file, own) in [(&m_w, "mw", "Mw"), (&found.m_s, "ms", "Ms")] {
            let published = json(file);
            let number = |key: &str| published[key].as_f64().unwrap();
            pairs.extend([
                (found.rem.unwrap(), number("rem")),
                (found.rem.unwrap(), number(own)),
                (found.add.unwrap(), number("add")),
                (found.seconds_without / number("trem"), 1.0),
                (found.seconds_with_only / number("tadd"), 1.0),
            ]);
        }
        let by_step = found.by_step.iter().map(|(step, s)| (step.to_string(), *s)).collect();
        for (found, key) in [
            (Some(by_step), "blocking_step_slowdown"),
            (found.by_stage, "blocking_decompose_by_stage"),
            (found.by_dp_rank, "blocking_decompose_by_dp_rank"),
            (found.by_type, "blocking_decompose_by_optype"),
        ] {
            let (found, published) = (found.unwrap(), numbers(&result[key]));
            assert!(found.keys().eq(published.keys()), "{name}, {key}: {found:?}");
            pairs.extend(found.into_values().zip(published.into_values()));
        }
        for (found, key) in [
            (found.launch_by_stage, "launch_decompose_by_stage"),
            (found.launch_by_dp_rank, "launch_decompose_by_dp_rank"),
            (found.launch_by_type, "launch_decompose_by_optype"),
        ] {
            assert!(found.is_none() && result[key].is_null(), "{name}, {key}: {found:?}");
        }
        let far: Vec<_> =
            pairs.iter().filter(|(found, published)| (found - published).abs() >= 1e-6).collect();
        assert!(far.is_empty(), "{name}: {far:?}");
    }
}

/// Numbers by their names.
fn numbers(object: &Value) -> BTreeMap<String, f64> {
    let of = object.as_object().unwrap().iter();
    of.map(|(name, number)| (name.clone(), number.as_f64().unwrap())).collect()
}
