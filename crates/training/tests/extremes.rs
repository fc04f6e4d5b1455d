//! Tables that make no sense: whatever they hold, nothing panics or overflows.

use proptest::prelude::*;
use straggler_training::exact::{Replays, analyse, bars, slowness};
use straggler_training::published::{self, Dense};
use straggler_training::synthetic::{Synthetic, rows};
use straggler_training::{Kind, Meta, Row, Sizes, Table, derive, read_table, trace};

/// Runs everything that can be done with rows.
fn everything(rows: &[Row], meta: &Meta) {
    if let Ok(dense) = Dense::new(rows) {
        let _ = published::analyse(&dense, meta);
    }
    let Ok(job) = derive::job(rows.to_vec(), "extremes") else { return };
    assert_eq!(straggler_training::rows(&job).len(), job.operations());
    let _ = trace(&job, Sizes::new(&job));
    let Ok(replays) = Replays::new(&job) else { return };
    let layers = vec![3; job.stages()];
    let answers = analyse(&replays, Some(&layers));
    assert!(answers.s.is_finite() && answers.replay_error.is_finite(), "{answers:?}");
    bars(&replays, 0, false);
    slowness(&replays);
}

fn meta(dsp: u32) -> Meta {
    Meta { dsp, ..Meta::parse("").unwrap() }
}

fn seconds() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => 0.0..2.0,
        1 => prop::sample::select(vec![
            0.0, -0.0, -1.0, 1e-12, 4e-5, 1e3, 8e5, 864_000.0, 864_001.0, 4e6, 9.3e6, 1e11, 1e18, 1e300, f64::MAX, f64::MIN,
            f64::NAN, f64::INFINITY, f64::NEG_INFINITY,
        ]),
    ]
}

fn index() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 0u32..3, 1 => prop::sample::select(vec![7, 255, 65_535, (1 << 24) - 1, u32::MAX])]
}

fn chunk() -> impl Strategy<Value = i32> {
    prop_oneof![8 => -1i32..3, 1 => prop::sample::select(vec![i32::MIN, -2, 1000, i32::MAX - 1, i32::MAX])]
}

fn step() -> impl Strategy<Value = i64> {
    prop_oneof![8 => 0i64..3, 1 => prop::sample::select(vec![i64::MIN, -1, i64::MAX])]
}

prop_compose! {
    fn row()(
        (dp_rank, stage, rank, seq) in (index(), index(), index(), index()),
        (step, kind) in (step(), prop::sample::select(Kind::ALL.to_vec())),
        (start, duration) in (seconds(), seconds()),
        (chunk, model_chunk, microbatch) in (chunk(), chunk(), chunk()),
    ) -> Row {
        Row { dp_rank, stage, rank, step, kind, start, duration, seq, chunk, model_chunk, microbatch }
    }
}

/// Replaces some columns of a row, given as bits, by those of another row.
fn mixed(row: &Row, other: &Row, columns: u16) -> Row {
    let from = |column: u16| columns & (1 << column) != 0;
    Row {
        dp_rank: if from(0) { other.dp_rank } else { row.dp_rank },
        stage: if from(1) { other.stage } else { row.stage },
        rank: if from(2) { other.rank } else { row.rank },
        step: if from(3) { other.step } else { row.step },
        kind: if from(4) { other.kind } else { row.kind },
        start: if from(5) { other.start } else { row.start },
        duration: if from(6) { other.duration } else { row.duration },
        seq: if from(7) { other.seq } else { row.seq },
        chunk: if from(8) { other.chunk } else { row.chunk },
        model_chunk: if from(9) { other.model_chunk } else { row.model_chunk },
        microbatch: if from(10) { other.microbatch } else { row.microbatch },
    }
}

/// An operation takes long in most steps, and occurs many times in one step: its ideal times add up to more than any
/// recorded step.
#[test]
fn long_ideals() {
    let mut all = rows(&Synthetic { dp: 2, pp: 1, microbatches: 1, steps: 31, ..Synthetic::default() });
    let is_it = |row: &Row| row.kind == Kind::LayernormGradsAllReduce;
    all.iter_mut().filter(|row| is_it(row) && row.step < 30).for_each(|row| row.duration = 8e5);
    let last: Vec<Row> = all.iter().filter(|row| is_it(row) && row.step == 30).copied().collect();
    all.extend(last.iter().flat_map(|row| (1..20).map(|seq| Row { seq, ..*row })));
    let job = derive::job(all.clone(), "").unwrap();
    assert_eq!(job.steps.len(), 31);
    assert!(Replays::new(&job).is_ok());
    everything(&all, &meta(1));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_rows(rows in prop::collection::vec(row(), 0..40), dsp in index()) {
        everything(&rows, &meta(dsp));
    }

    /// A valid job in which some columns of some rows are replaced and some rows are missing.
    #[test]
    fn changed_rows(
        (dp, pp, microbatches) in (1u32..4, 1u32..4, 1u32..4),
        changes in prop::collection::vec((any::<prop::sample::Index>(), row(), any::<u16>(), any::<u16>()), 0..12),
        gone in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let mut rows = rows(&Synthetic { dp, pp, microbatches, steps: 3, ..Synthetic::default() });
        for (place, other, one, two) in &changes {
            let row = place.get(&rows).to_owned();
            let place = place.index(rows.len());
            // Few columns are replaced, so that the row stays in its place.
            rows[place] = mixed(&row, other, one & two & 0x7e0);
        }
        for place in &gone {
            rows.remove(place.index(rows.len()));
        }
        everything(&rows, &meta(1));
    }

    /// All operations of some kinds are as long as possible in one step, and short in the others.
    #[test]
    fn long_rows(times in prop::collection::vec(seconds(), Kind::ALL.len()), in_all in any::<bool>()) {
        let mut rows = rows(&Synthetic { dp: 2, pp: 3, microbatches: 12, steps: 3, ..Synthetic::default() });
        for row in rows.iter_mut().filter(|row| in_all || row.step == 1) {
            row.duration = times[row.kind as usize].abs().min(864_000.0);
        }
        everything(&rows, &meta(1));
    }

    /// Random lines.
    #[test]
    fn random_text(lines in prop::collection::vec(prop::collection::vec("[0-9a-z.,-]{0,6}|forward-compute|1e999|-1", 0..13), 0..6)) {
        let mut text = "step,rank,dp_rank,stage,optype,start_ts,duration,seq_id,mc,gmc,mb_id".to_string();
        lines.iter().for_each(|line| text += &format!("\n{}", line.join(",")));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        std::fs::write(&path, text).unwrap();
        if let Ok(table) = read_table(&path) {
            everything(&table.rows, &meta(1));
            let _ = Table::job(table, "");
        }
    }
}
