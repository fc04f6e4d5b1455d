//! The published analysis on jobs with known results, and its graph edge by edge: many edges affect no published number,
//! so only the graph shows them.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use straggler_training::graph::Graph;
use straggler_training::published::{Dense, DenseError, GraphError, analyse, graph};
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

/// A planned operation: kind, chunk of the stage, and chunk of the model. The operations of a stage take a second
/// each, one after the other.
type Planned = (Kind, i32, i32);

/// A step of some data-parallel ranks that all do the same.
fn rows(dp: u32, stages: &[Vec<Planned>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for dp_rank in 0..dp {
        for (stage, planned) in (0..).zip(stages) {
            for (place, &(kind, chunk, model_chunk)) in planned.iter().enumerate() {
                let seq = planned[..place].iter().filter(|(other, _, _)| *other == kind).count() as u32;
                rows.push(Row {
                    dp_rank,
                    stage,
                    rank: stage * dp + dp_rank,
                    step: 0,
                    kind,
                    start: place as f64,
                    duration: 1.0,
                    seq,
                    chunk,
                    model_chunk,
                    microbatch: -1,
                });
            }
        }
    }
    rows
}

#[derive(Clone, Copy, PartialEq)]
enum Gradients {
    /// A job of one data-parallel rank.
    None,
    /// After everything is computed.
    Separate,
    /// While backward is running.
    Overlapped,
}

/// Two stages with two chunks each and one microbatch. Every pass receives and sends, even where no stage has the
/// other end.
fn interleaved(stage: i32, gradients: Gradients) -> Vec<Planned> {
    use Kind::*;
    let (mut early, mut late) = (Vec::new(), Vec::new());
    let scatters = [(GradsReduceScatter, 1, -1), (GradsReduceScatter, 0, -1)];
    match gradients {
        Gradients::None => {}
        Gradients::Separate => late.extend(scatters),
        Gradients::Overlapped => {
            early.extend(scatters);
            late.push((SeparateGradsAllReduce, -1, -1));
        }
    }
    let mut planned = Vec::new();
    if gradients != Gradients::None {
        planned.extend([(ParamsAllGather, 0, -1), (ParamsAllGather, 1, -1)]);
    }
    for chunk in [0, 1] {
        planned.extend([
            (ForwardRecv, -1, -1),
            (ForwardCompute, chunk, 2 * chunk + stage),
            (ForwardSend, -1, -1),
        ]);
    }
    for chunk in [1, 0] {
        planned.extend([
            (BackwardRecv, -1, -1),
            (BackwardCompute, chunk, 2 * chunk + stage),
            (BackwardSend, -1, -1),
        ]);
    }
    planned.extend(early);
    planned.extend([(Gc, -1, -1), (LayernormGradsAllReduce, -1, -1), (EmbeddingGradsAllReduce, -1, -1)]);
    planned.extend(late);
    planned.extend([(OptimizerClipMainGrad, -1, -1), (Optimizer, -1, -1)]);
    planned
}

fn short(kind: Kind) -> &'static str {
    match kind {
        Kind::ForwardCompute => "f",
        Kind::BackwardCompute => "b",
        Kind::ForwardSend => "fs",
        Kind::ForwardRecv => "fr",
        Kind::BackwardSend => "bs",
        Kind::BackwardRecv => "br",
        Kind::ParamsAllGather => "ag",
        Kind::GradsReduceScatter => "rs",
        Kind::SeparateGradsAllReduce => "sep",
        Kind::LayernormGradsAllReduce => "ln",
        Kind::EmbeddingGradsAllReduce => "emb",
        Kind::OptimizerClipMainGrad => "clip",
        Kind::Optimizer => "opt",
        other => other.name(),
    }
}

fn name(job: &Dense, op: u32) -> String {
    let op = job.ops[op as usize];
    format!("{}{}", short(op.kind), op.seq)
}

/// The edges of a stage, as `after<before`; none may connect two stages.
fn edges(job: &Dense, graph: &Graph, stage: u32) -> BTreeSet<String> {
    let of_stage = (0..job.ops.len()).filter(|&op| job.ops[op].stage == stage);
    let edges = of_stage.flat_map(|op| graph.before.get(op).iter().map(move |&before| (op as u32, before)));
    edges
        .map(|(after, before)| {
            assert_eq!(job.ops[before as usize].stage, stage);
            format!("{}<{}", name(job, after), name(job, before))
        })
        .collect()
}

/// All groups, each as its operations with their stages, in order; wide ones marked.
fn groups(job: &Dense, graph: &Graph) -> BTreeSet<String> {
    let member = |&op: &u32| format!("{}@{}", name(job, op), job.ops[op as usize].stage);
    (0..graph.groups.len())
        .map(|group| {
            let mut members: Vec<String> = graph.groups.get(group).iter().map(member).collect();
            members.sort();
            format!("{}{}", members.join(" "), if graph.wide[group] { " wide" } else { "" })
        })
        .collect()
}

fn set(text: &str) -> BTreeSet<String> {
    text.split(',').map(|part| part.trim().to_string()).filter(|part| !part.is_empty()).collect()
}

/// Rules 1 to 4, which hold whatever gradients do: the queue of computing; the four queues of transfers; sends after what they
/// send, computing after what it receives, receives after the computation before; the first backward.
const PASSES: &str = "f1<f0, b0<f1, b1<b0, \
    fs1<fs0, fr1<fr0, bs1<bs0, br1<br0, \
    fs0<f0, fs1<f1, bs0<b0, bs1<b1, f0<fr0, f1<fr1, b0<br0, b1<br1, fr1<f0, br1<b0, \
    br0<f0, bs0<f0, \
    gc0<b1";

/// Messages at the model's first and last chunk that have no other end are groups of one: fr0 of stage 0 and fs1 of
/// stage 1, bs1 of stage 0 and br0 of stage 1. From stage 1 the others go around to stage 0.
const MESSAGES: &str = "fr0@1 fs0@0, fr1@1 fs1@0, fr1@0 fs0@1, br0@0 bs0@1, br1@0 bs1@1, br1@1 bs0@0, \
    fr0@0, fs1@1, bs1@0, br0@1, emb0@0 emb0@1, clip0@0 clip0@1 wide";

fn check(gradients: Gradients, own_edges: &str, own_groups: &str) {
    let dp = if gradients == Gradients::None { 1 } else { 2 };
    let job = Dense::new(&rows(dp, &[interleaved(0, gradients), interleaved(1, gradients)])).unwrap();
    let graph = graph(&job, 1).unwrap();
    let wanted: BTreeSet<String> = set(PASSES).union(&set(own_edges)).cloned().collect();
    for stage in 0..2 {
        assert_eq!(edges(&job, &graph, stage), wanted, "stage {stage}");
    }
    assert_eq!(graph.before.items(), 2 * wanted.len());
    let wanted: BTreeSet<String> = set(MESSAGES).union(&set(own_groups)).cloned().collect();
    assert_eq!(groups(&job, &graph), wanted);
}

#[test]
fn a_job_without_data_parallelism() {
    check(Gradients::None, "ln0<gc0, emb0<ln0, clip0<emb0, opt0<clip0", "");
}

#[test]
fn gradients_after_everything() {
    check(
        Gradients::Separate,
        "ag1<ag0, rs0<ag1, rs1<rs0, f0<ag0, f1<ag1, ln0<gc0, emb0<ln0, rs0<emb0, clip0<rs1, opt0<clip0",
        "ag0@0 wide, ag1@0 wide, ag0@1 wide, ag1@1 wide, rs0@0 wide, rs1@0 wide, rs0@1 wide, rs1@1 wide",
    );
}

#[test]
fn gradients_while_backward_is_running() {
    check(
        Gradients::Overlapped,
        "ag1<ag0, rs0<ag1, rs1<rs0, f0<ag0, f1<ag1, rs0<b0, rs1<b1, \
         ln0<gc0, ln0<rs1, emb0<ln0, sep0<emb0, clip0<sep0, opt0<clip0",
        "ag0@0 wide, ag1@0 wide, ag0@1 wide, ag1@1 wide, rs0@0 wide, rs1@0 wide, rs0@1 wide, rs1@1 wide, \
         sep0@0 wide, sep0@1 wide",
    );
}

/// Two stages of one chunk and two microbatches: forward, forward, backward, backward.
fn plain(stage: i32) -> Vec<Planned> {
    use Kind::*;
    let mut planned = Vec::new();
    for _ in 0..2 {
        planned.extend((stage == 1).then_some((ForwardRecv, -1, -1)));
        planned.push((ForwardCompute, 0, stage));
        planned.extend((stage == 0).then_some((ForwardSend, -1, -1)));
    }
    for _ in 0..2 {
        planned.extend((stage == 0).then_some((BackwardRecv, -1, -1)));
        planned.push((BackwardCompute, 0, stage));
        planned.extend((stage == 1).then_some((BackwardSend, -1, -1)));
    }
    for kind in [Gc, LayernormGradsAllReduce, EmbeddingGradsAllReduce, OptimizerClipMainGrad, Optimizer] {
        planned.push((kind, -1, -1));
    }
    planned
}

#[test]
fn transfers_that_are_left_over_or_missing() {
    // A receive that begins after the last forward is left over: it is in its queue, and has no peer.
    let left_over = |stage: i32| -> Vec<Planned> {
        let mut planned = plain(stage);
        planned.extend((stage == 1).then_some((Kind::ForwardRecv, -1, -1)));
        planned
    };
    let job = Dense::new(&rows(1, &[left_over(0), left_over(1)])).unwrap();
    let found = graph(&job, 1).unwrap();
    let of_it: BTreeSet<String> =
        edges(&job, &found, 1).into_iter().filter(|edge| edge.contains("fr2")).collect();
    assert_eq!(of_it, set("fr2<fr1"));
    assert!(
        groups(&job, &found).is_superset(&set("fr2@1, fr0@1 fs0@0, fr1@1 fs1@0")),
        "{:?}",
        groups(&job, &found)
    );
    // The first receive of the last stage is missing: the other belongs to the second forward, and is after the first.
    let missing = |stage: i32| -> Vec<Planned> {
        let mut planned = plain(stage);
        let first = planned.iter().position(|(kind, _, _)| *kind == Kind::ForwardRecv);
        if let Some(first) = first {
            planned.remove(first);
        }
        planned
    };
    let error = graph(&Dense::new(&rows(1, &[missing(0), missing(1)])).unwrap(), 1).unwrap_err();
    assert_eq!(error, GraphError::Unpaired { stage: 0, other: 1, name: "forward-send", sends: 2, recvs: 1 });
    // Two receives for four forwards cannot be matched.
    let mut three = plain(1);
    three.splice(0..0, [(Kind::ForwardCompute, 0, 1), (Kind::ForwardCompute, 0, 1)]);
    let error = graph(&Dense::new(&rows(1, &[plain(0), three])).unwrap(), 1).unwrap_err();
    assert!(matches!(error, GraphError::Unmatched { stage: 1, live: 2, computes: 4, .. }), "{error}");
    assert!(error.to_string().contains("Remove --method published"), "{error}");
}

#[test]
fn data_parallel_operations_need_data_parallelism() {
    let job = Dense::new(&rows(1, &[0, 1].map(|stage| interleaved(stage, Gradients::Separate)))).unwrap();
    assert_eq!(graph(&job, 1).unwrap_err(), GraphError::NoDataParallelism { name: "grads-reduce-scatter" });
    // Sequence parallelism within a data-parallel rank makes them possible.
    assert!(graph(&job, 2).is_ok());
}

/// Edges and groups of the three public jobs, counted by an independent implementation.
#[test]
fn graphs_of_public_jobs() {
    let Some(folder) = super::public_jobs::folder() else { return };
    for (name, ops, edges, groups) in [("AR", 666, 1229, 202), ("SE", 78, 121, 22), ("ST", 106, 165, 34)] {
        let table = read_table(&folder.join(format!("trace-{name}.parquet"))).unwrap();
        let job = Dense::new(&table.rows).unwrap();
        let meta = std::fs::read_to_string(folder.join(format!("meta-{name}.yaml"))).unwrap();
        let graph = graph(&job, Meta::parse(&meta).unwrap().dsp).unwrap();
        assert_eq!((job.ops.len(), graph.before.items(), graph.groups.len()), (ops, edges, groups), "{name}");
    }
}

/// A job of two stages and two data-parallel ranks, small enough to compute by hand. Seconds:
///
/// | | rank 0 (dp 0) | rank 1 (dp 1) | stage 1 of both |
/// |---|---|---|---|
/// | forward, backward | 2, 4 | 6, 12 | 2, 4 |
///
/// An all-gather takes 1 before that, a transfer 0.5, the embedding 0.5, a reduce-scatter 1, the norm 0.5, the optimizer 1. A
/// data-parallel rank needs 1 + F0 + 0.5 + F1 + B1 + 0.5 + B0 + 0.5 until its gradients are reduced, with all others, in 1 + 0.5 + 1.
#[test]
fn a_job_computed_by_hand() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/training/by-hand.csv");
    let table = read_table(&path).unwrap();
    let meta = Meta::parse("dp_size: 2\npp_size: 2\nworld_size: 4").unwrap();
    let found = analyse(&Dense::new(&table.rows).unwrap(), &meta).unwrap();
    let step = |f0: f64, f1: f64, b1: f64, b0: f64| 1.0 + f0 + 0.5 + f1 + b1 + 0.5 + b0 + 0.5 + 2.5;
    // As recorded, the slow rank determines the step.
    // Ideal is the mean of four: (2 + 6 + 2 + 2) / 4 = 3, and (4 + 12 + 4 + 4) / 4 = 6.
    let (real, ideal) = (step(6.0, 2.0, 4.0, 12.0), step(3.0, 3.0, 6.0, 6.0));
    assert_eq!((real, ideal), (29.0, 23.0));
    assert_eq!((found.step_seconds, found.replayed_seconds, found.ideal_seconds), (real, real, ideal));
    assert_eq!((found.s, found.launch_slowdown, found.replay_error), (29.0 / 23.0, 1.0, 0.0));
    let of = |list: Option<&std::collections::BTreeMap<String, f64>>, name: &str| list.unwrap()[name] * ideal;
    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found} for {wanted}");
    // The fast rank is faster than the ideal one that it waits for.
    near(of(found.by_dp_rank.as_ref(), "0"), ideal);
    near(of(found.by_dp_rank.as_ref(), "1"), real);
    near(of(found.by_stage.as_ref(), "0"), step(6.0, 3.0, 6.0, 12.0));
    near(of(found.by_stage.as_ref(), "1"), step(3.0, 2.0, 4.0, 6.0));
    near(of(found.by_type.as_ref(), "forward-compute"), step(6.0, 2.0, 6.0, 6.0));
    near(of(found.by_type.as_ref(), "backward-compute"), step(3.0, 3.0, 4.0, 12.0));
    near(of(found.by_type.as_ref(), "forward-pp-comm"), ideal);
    assert!(
        found.launch_by_stage.is_none()
            && found.launch_by_dp_rank.is_none()
            && found.launch_by_type.is_none()
    );
    // 3 % of four workers are one: data-parallel rank 1 of stage 0. Without it, rank 1 needs step(3, 2, 4, 6) = 20.
    let m_w = found.m_w.unwrap();
    assert_eq!(m_w.ranks, [1]);
    assert_eq!((m_w.seconds_without, m_w.seconds_with_only), (20.0, 32.0));
    assert_eq!((m_w.rem, m_w.add), (Some((29.0 - 20.0) / 6.0), Some((32.0 - 23.0) / 6.0)));
    // The last stage is faster than the mean: with ideal times there, a step takes step(6, 3, 6, 12) = 32.
    assert_eq!((found.m_s.seconds_without, found.m_s.seconds_with_only), (32.0, 20.0));
    assert_eq!((found.m_s.rem, found.m_s.add), (Some((29.0 - 32.0) / 6.0), Some((20.0 - 23.0) / 6.0)));
    let workers: Vec<(u32, f64)> =
        found.workers.iter().map(|worker| (worker.rank, worker.s_w * ideal)).collect();
    assert_eq!(workers.iter().map(|(rank, _)| *rank).collect::<Vec<_>>(), [1, 0, 2, 3]);
    for ((_, found), wanted) in workers.into_iter().zip([29.0, 23.0, 20.0, 20.0]) {
        near(found, wanted);
    }
}
