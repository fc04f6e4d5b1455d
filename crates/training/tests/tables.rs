//! Reading tables, including those with unusable rows.

use super::answers;
use std::path::{Path, PathBuf};
use straggler_training::exact::{CauseKind, Distrust, Finding};
use straggler_training::synthetic::{Defect, Fault, Synthetic, rows};
use straggler_training::{
    Job, Kind, Row, Table, read_job, read_table, read_tables, write_csv, write_parquet,
};

const HEADER: &str = "step,rank,dp_rank,stage,optype,start_ts,duration,seq_id,mc,gmc,mb_id";

fn read(text: &str) -> Table {
    try_read(text).unwrap()
}

fn try_read(text: &str) -> Result<Table, straggler_training::TableError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    std::fs::write(&path, text).unwrap();
    read_table(&path)
}

/// A job of two workers as CSV, one line a row.
fn lines(steps: u32) -> Vec<String> {
    let mut text = Vec::new();
    let of = Synthetic { dp: 2, pp: 1, microbatches: 2, steps, ..Synthetic::default() };
    write_csv(&rows(&of), false, &mut text).unwrap();
    String::from_utf8(text).unwrap().lines().map(str::to_string).collect()
}

fn numbers(job: &Job) -> Vec<i64> {
    job.steps.iter().map(|step| step.number).collect()
}

#[test]
fn tables_as_text() {
    let text = format!("{HEADER}\n7,3,1,0,forward-compute,0.5,0.25,2,0,1,4\n\n");
    let expected = Row {
        dp_rank: 1,
        stage: 0,
        rank: 3,
        step: 7,
        kind: Kind::ForwardCompute,
        start: 0.5,
        duration: 0.25,
        seq: 2,
        chunk: 0,
        model_chunk: 1,
        microbatch: 4,
    };
    let table = read(&text);
    assert_eq!((table.rows, table.faults.notes()), (vec![expected], vec![]));
    let error = try_read(&text.replace("seq_id", "sequence")).unwrap_err().to_string();
    assert!(error.contains("column `seq_id` is missing"), "{error}");
    let error = try_read(&text.replace("\n7,", "\nsoon,")).unwrap_err().to_string();
    assert!(error.contains("row 1: step is `soon`, which is not a whole number"), "{error}");
    let error = try_read("PAR1 and nothing else PAR1").unwrap_err().to_string();
    assert!(error.contains("table.csv"), "{error}");
}

/// A row with an impossible value leaves out its step, and nothing else.
#[test]
fn steps_with_impossible_values_are_left_out_and_named() {
    let good = lines(4);
    let at = good.iter().position(|line| line.starts_with("2,1,1,0,forward-compute")).unwrap();
    let cells: Vec<&str> = good[at].split(',').collect();
    for (column, value, says) in [
        (6, "-1", "duration is `-1`, which is negative"),
        (6, "NaN", "duration is `NaN`, which is not a time in seconds"),
        (6, "1e300", "which is not a time in seconds"),
        (5, "inf", "start_ts is `inf`, which is not a time in seconds"),
        (5, "-1e12", "start_ts is `-1000000000000`, which is not a time in seconds"),
        (5, "soon", "start_ts is `soon`, which is not a number of seconds"),
        (7, "-3", "seq_id is `-3`, which is not an index (0 to 16,777,215)"),
        (9, "2147483647", "gmc is `2147483647`, which is neither an index"),
        (2, "99999999999", "dp_rank is `99999999999`, which is not an index"),
        (10, "", "mb_id is ``, which is not a whole number"),
    ] {
        let (mut changed, mut cells) = (good.clone(), cells.clone());
        cells[column] = value;
        changed[at] = cells.join(",");
        let job = read(&(changed.join("\n") + "\n")).job("").unwrap();
        assert_eq!(numbers(&job), [0, 1, 3], "{value}: {:?}", job.notes);
        assert!(job.notes[0].starts_with("1 row cannot be correct; the first: "), "{:?}", job.notes);
        assert!(job.notes[0].contains(&format!("row {at} (step 2, rank 1): ")), "{:?}", job.notes);
        assert!(job.notes[0].contains(says), "{:?}", job.notes);
        assert_eq!(job.notes[1], "left out because of these rows: step 2");
    }
    let all: Vec<String> = good.iter().map(|line| line.replace(",0.0", ",-0.1")).collect();
    let error = read(&all.join("\n")).job("").unwrap_err().to_string();
    assert!(error.starts_with("no step can be analysed: ") && error.contains("is negative"), "{error}");
}

#[test]
fn starts_far_from_the_others_leave_their_step_out() {
    let all = rows(&Synthetic { dp: 2, pp: 1, steps: 3, ..Synthetic::default() });
    for start in [1e9, -1e9] {
        let mut rows = all.clone();
        rows.iter_mut().find(|row| row.step == 1 && row.rank == 1).unwrap().start = start;
        let job = Table { rows, ..Table::default() }.job("").unwrap();
        assert_eq!(numbers(&job), [0, 2]);
        let says = "step 1: backward-compute of rank 1 is more than ten days";
        assert!(job.notes[0].contains(says), "{:?}", job.notes);
    }
}

/// Rows of unknown operations are left out, but not their steps.
#[test]
fn operations_that_are_not_known_are_counted() {
    let good = lines(3);
    let changed: Vec<String> =
        good.iter().map(|line| line.replace("layernorm-grads", "rmsnorm-grads")).collect();
    let table = read(&(changed.join("\n") + "\n"));
    assert_eq!(table.rows.len(), good.len() - 1 - 6);
    let job = table.job("").unwrap();
    assert_eq!(numbers(&job), [0, 1, 2]);
    let note = &job.notes[0];
    assert!(
        note.starts_with("6 rows were not read because of unknown operations: `rmsnorm-grads-all-reduce`"),
        "{note}"
    );
    assert!(note.contains("(step 0, rank 0)"), "{note}");
}

/// Copies of a row count once. Rows that contradict each other cost their step.
#[test]
fn rows_that_appear_twice_do_not_cost_the_job() {
    let good = lines(6);
    let plain = read(&(good.join("\n") + "\n")).job("").unwrap();
    let place = good.iter().position(|line| line.starts_with("3,")).unwrap();
    let with = |line: &str| read(&format!("{}\n{line}\n", good.join("\n"))).job("").unwrap();
    let mut copied = with(&good[place]);
    let note = copied.notes.remove(0);
    assert!(note.starts_with("1 row is repeated and used only once: the first is "), "{note}");
    assert!(note.ends_with(" in step 3"), "{note}");
    assert_eq!(copied, plain);
    let mut cells: Vec<&str> = good[place].split(',').collect();
    let duration = good[0].split(',').position(|name| name == "duration").unwrap();
    cells[duration] = "0.125";
    let job = with(&cells.join(","));
    assert_eq!((numbers(&job), job.steps_left_out), (vec![0, 1, 2, 4, 5], 1));
    assert!(
        job.notes[0].starts_with("left out, because rows contradict each other: step 3 ("),
        "{:?}",
        job.notes
    );
}

/// A byte that is not text costs its step, like any other invalid value.
#[test]
fn bytes_that_are_no_text_cost_their_step() {
    let good = lines(3);
    let place = good.iter().position(|line| line.starts_with("1,")).unwrap();
    let duration = good[0].split(',').position(|name| name == "duration").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    let mut text = Vec::new();
    for (number, line) in good.iter().enumerate() {
        let mut cells: Vec<&[u8]> = line.split(',').map(str::as_bytes).collect();
        if number == place {
            cells[duration] = b"0.\xff1";
        }
        text.extend(cells.join(&b','));
        text.push(b'\n');
    }
    std::fs::write(&path, text).unwrap();
    let table = read_table(&path).unwrap();
    let notes = table.faults.notes();
    assert!(notes[0].contains(&format!("table.csv: row {place} (step 1, rank ")), "{notes:?}");
    assert_eq!(numbers(&table.job("").unwrap()), [0, 2]);
    std::fs::write(&path, [0; 64]).unwrap();
    let error = read_table(&path).unwrap_err().to_string();
    assert!(error.contains("table.csv: neither Parquet nor text"), "{error}");
}

/// The name of a job counts only the files that were read.
#[test]
fn files_that_are_left_out_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let good = lines(3);
    for (rank, name) in [("0", "b.csv"), ("1", "c.csv")] {
        let own = good
            .iter()
            .enumerate()
            .filter(|(place, line)| *place == 0 || line.split(',').nth(1) == Some(rank));
        let own: Vec<&str> = own.map(|(_, line)| line.as_str()).collect();
        std::fs::write(folder.path().join(name), own.join("\n") + "\n").unwrap();
    }
    std::fs::write(folder.path().join("a.csv"), [0, 159, 146, 150]).unwrap();
    let job = straggler_training::read_job(&[folder.path().into()]).unwrap();
    assert!(job.source.ends_with("b.csv and 1 more"), "{}", job.source);
    assert!(job.notes[0].contains("a.csv: neither Parquet nor text"), "{:?}", job.notes);
}

/// Unknown operations may fill the gaps: no one is blamed for late starts.
#[test]
fn operations_that_are_not_known_blame_no_host() {
    let rows: Vec<Row> = rows(&Synthetic { dp: 4, pp: 2, steps: 6, ..Synthetic::default() });
    let mut text = Vec::new();
    write_csv(&rows, false, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let blames_host = |text: &str| {
        let job = read(text).job("").unwrap();
        let found = answers(&job);
        found.causes.iter().any(|cause| cause.kind == CauseKind::LaunchDelay)
    };
    let is_forward = |line: &&str| line.contains("forward-compute");
    let without: Vec<&str> = text.lines().filter(|line| !is_forward(line)).collect();
    assert!(blames_host(&(without.join("\n") + "\n")));
    let renamed = text.lines().map(|line| match is_forward(&line) {
        true => line.replace("forward-compute", "fwd"),
        false => line.into(),
    });
    let renamed = renamed.collect::<Vec<String>>().join("\n") + "\n";
    assert!(!blames_host(&renamed));
    // If all forward computations are unknown, no one is blamed at all.
    let job = read(&renamed).job("").unwrap();
    let found = answers(&job);
    assert_eq!((found.distrust, found.causes.len()), (Some(Distrust::Operations), 0));
    assert!(job.notes[0].ends_with("params-all-gather and separate-grads-all-reduce"), "{}", job.notes[0]);
}

#[test]
fn text_that_is_utf_16_is_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    let text: Vec<u8> = "\u{feff}step,rank".encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(&path, text).unwrap();
    assert!(read_table(&path).unwrap_err().to_string().ends_with("the text is UTF-16: save it as UTF-8"));
}

/// Profiler files next to tables are not read, and a note says so.
#[test]
fn profiles_beside_tables_are_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rank0.csv"), lines(3).join("\n") + "\n").unwrap();
    let profile = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, "{\"schemaVersion\": 1}").unwrap();
        path
    };
    let first = profile("rank0.json");
    std::fs::write(folder.path().join("answers.json"), "{}").unwrap();
    let read = |paths: &[std::path::PathBuf]| straggler_training::read_job(paths);
    let notes = read(&[folder.path().into()]).unwrap().notes;
    assert!(
        notes.iter().any(|note| note.contains("not read: ") && note.contains("rank0.json.")),
        "{notes:?}"
    );
    // A table among more profiler files, or given together with one, is refused.
    profile("rank1.json.gz");
    for paths in [vec![folder.path().to_path_buf()], vec![folder.path().join("rank0.csv"), first]] {
        let error = read(&paths).unwrap_err().to_string();
        assert!(error.ends_with("is not: give files of one kind"), "{error}");
    }
}

#[test]
fn a_last_line_that_is_cut_off_is_noticed() {
    let good = lines(3);
    let whole = good.join("\n");
    // Without its last newline, the table is the same: nothing can follow -1.
    assert!(whole.ends_with("-1"));
    let table = read(&whole);
    assert_eq!((table.rows.len(), table.faults.notes().len()), (good.len() - 1, 0));
    // Cut in any field of the last line: its step is left out, or that of the previous line, which is the same.
    let last = whole.rfind('\n').unwrap() + 1;
    for end in last + 1..whole.len() {
        let table = read(&whole[..end]);
        assert_eq!(table.rows.len(), good.len() - 2, "{}", &whole[last..end]);
        let job = table.job("").unwrap();
        assert_eq!(numbers(&job), [0, 1], "{}", &whole[last..end]);
        assert!(
            job.notes[0]
                .ends_with("table.csv: ends in the middle of a row of step 2: was the recorder killed?")
        );
    }
    // A microbatch may have lost digits.
    let table = read(&format!("{HEADER}\n7,3,1,0,forward-compute,0.5,0.25,2,0,1,1"));
    assert!(table.rows.is_empty() && table.faults.leaves_out(7));
    // In a column that is not read, this does not matter.
    let table = read(&format!("{HEADER},synthetic\n7,3,1,0,forward-compute,0.5,0.25,2,0,1,1,1"));
    assert_eq!((table.rows.len(), table.faults.leaves_out(7)), (1, false));
}

/// Other programs write a byte order mark, quotes, and no newline at the end.
#[test]
fn text_as_other_programs_write_it() {
    let text = lines(3).join("\n") + "\n";
    let plain = read(&text);
    assert_eq!(read(&format!("\u{feff}{text}")).rows, plain.rows);
    let quote = |line: &str| line.split(',').map(|cell| format!("\"{cell}\"")).collect::<Vec<_>>().join(",");
    let quoted: Vec<String> = text.lines().map(quote).collect();
    assert_eq!(read(&format!("\u{feff}{}\r\n", quoted.join("\r\n"))).rows, plain.rows);
    // Quotes end a value, and a comma within them is a decimal comma, not a separator.
    let one = "\"7\",3,1,0,\"forward-compute\",\"0,5\",\"0,25\",2,0,1,\"4\"";
    let table = read(&format!("{HEADER}\n{one}"));
    assert_eq!((table.rows.len(), table.faults.notes().len()), (1, 0));
    assert_eq!((table.rows[0].start, table.rows[0].microbatch), (0.5, 4));
    // A microbatch at the very end is complete if the same operation has it in another step.
    let compute = |line: &&str| line.contains("forward-compute") && !line.ends_with("-1");
    let (last, others): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with("2,1,") && compute(line) && line.ends_with(",1"));
    let [last] = last[..] else { panic!("{last:?}") };
    let table = read(&format!("{}\n{last}", others.join("\n")));
    assert_eq!((table.rows.len(), table.faults.notes().len()), (plain.rows.len(), 0));
    let other = last.replace(",1", ",7");
    assert!(read(&format!("{}\n{other}", others.join("\n"))).faults.leaves_out(2));
}

#[test]
fn a_table_that_is_cut_off_within_its_only_step_says_so() {
    let whole = lines(1).join("\n");
    let error = read(&whole[..whole.len() - 20]).job("").unwrap_err().to_string();
    assert!(
        error.starts_with("no step can be analysed: ")
            && error.contains("table.csv ends in the middle of a row of step 0"),
        "{error}"
    );
    assert!(error.contains("Was the recorder killed"), "{error}");
}

/// Other programs choose other types, allow missing values, and add columns.
#[test]
fn parquet_of_other_programs() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/parquet");
    let table = read_table(&fixtures.join("operations.pandas.parquet")).unwrap();
    assert_eq!((table.rows.len(), table.faults.notes().len()), (8, 0));
    for (number, row) in (0u32..).zip(&table.rows) {
        let kind = if number % 2 == 0 { Kind::ForwardCompute } else { Kind::BackwardCompute };
        let expected = Row {
            dp_rank: number / 2,
            stage: number % 2,
            rank: number,
            step: 7,
            kind,
            start: f64::from(number) / 8.0,
            duration: 0.25,
            seq: 0,
            chunk: -1,
            model_chunk: 0,
            microbatch: (number % 3) as i32,
        };
        assert_eq!(*row, expected);
    }
    let error = read_table(&fixtures.join("nested.pyarrow.parquet")).unwrap_err().to_string();
    assert!(error.contains("column `dp_rank` is missing"), "{error}");
    let error = read_table(&fixtures.join("refused.encrypted.parquet")).unwrap_err().to_string();
    assert!(error.ends_with("the footer is encrypted: write the table without encryption"), "{error}");
}

/// The damaged part of a table without a checksum of ours is named: the footer, or a column.
#[test]
fn damaged_parts_of_parquet_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.parquet");
    let mut good = Vec::new();
    let all = rows(&Synthetic { dp: 2, pp: 2, steps: 3, ..Synthetic::default() });
    write_parquet(&all, false, &mut good).unwrap();
    // As others write it.
    let key = b"straggler.crc32";
    let at = good.windows(key.len()).position(|bytes| bytes == key).unwrap();
    good[at] ^= 1;
    let mut seen = [0, 0];
    for place in (4..good.len() - 8).step_by(61) {
        let mut bad = good.clone();
        bad[place..place + 8].fill(0xff);
        std::fs::write(&path, bad).unwrap();
        let Err(error) = read_table(&path) else { continue };
        let error = error.to_string();
        let of = ["footer", "column "].map(|part| error.contains(part));
        assert!(error.contains("job.parquet: ") && of.contains(&true), "{place}: {error}");
        seen[usize::from(!of[0])] += 1;
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

/// Any change of a table of our own is noticed, also where values would still be read.
#[test]
fn changes_of_own_parquet_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.parquet");
    let mut good = Vec::new();
    let all = rows(&Synthetic { dp: 2, pp: 2, steps: 3, ..Synthetic::default() });
    write_parquet(&all, false, &mut good).unwrap();
    for place in (4..good.len() - 8).step_by(61) {
        let mut bad = good.clone();
        bad[place] ^= 0x10;
        std::fs::write(&path, bad).unwrap();
        let error = read_table(&path).unwrap_err().to_string();
        assert!(error.contains("job.parquet: its checksum is wrong"), "{place}: {error}");
    }
}

#[test]
fn tables_of_two_jobs_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, rows: &[Row]| -> PathBuf {
        let (path, mut text) = (folder.path().join(name), Vec::new());
        write_csv(rows, false, &mut text).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    };
    let of = |dp: u32, pp: u32| rows(&Synthetic { dp, pp, steps: 2, ..Synthetic::default() });
    let by_rank = |rows: &[Row], rank: u32| -> Vec<Row> {
        rows.iter().filter(|row| row.rank == rank).copied().collect()
    };
    let (one, other) = (of(2, 2), of(4, 1));
    let parts = [0, 1, 2, 3].map(|rank| write(&format!("{rank}.csv"), &by_rank(&one, rank)));
    let whole = read_tables(&parts).unwrap().job("").unwrap();
    assert_eq!(whole, Table { rows: one.clone(), ..Table::default() }.job("").unwrap());
    let why =
        |second: PathBuf| read_tables(&[parts.to_vec(), vec![second]].concat()).unwrap_err().to_string();
    let error = why(write("copy.csv", &by_rank(&one, 3)));
    assert!(
        error.contains("copy.csv is a copy of ") && error.ends_with("3.csv: give one of them"),
        "{error}"
    );
    let mut again = by_rank(&one, 3);
    again[0].duration += 1.0;
    let error = why(write("again.csv", &again));
    assert!(
        error.contains("3.csv and ")
            && error.contains("again.csv belong to different jobs: both have step 0 of rank 3"),
        "{error}"
    );
    let error = why(write("layout.csv", &by_rank(&other, 2)));
    assert!(
        error.contains(
            "rank 2 is data-parallel rank 0 of stage 1 in the first, data-parallel rank 2 of stage 0 in"
        ),
        "{error}"
    );
    let mut moved = by_rank(&one, 3);
    moved.iter_mut().for_each(|row| row.rank = 7);
    let error = why(write("moved.csv", &moved));
    assert!(
        error.contains("data-parallel rank 1 of stage 1 is rank 3 in the first, rank 7 in the second"),
        "{error}"
    );
    // A rank whose steps are in two files is one job.
    let (early, late): (Vec<Row>, Vec<Row>) = one.iter().partition(|row| row.step == 0);
    let halves = [write("early.csv", &early), write("late.csv", &late)];
    assert_eq!(read_tables(&halves).unwrap().job("").unwrap(), whole);
}

/// A public job with some bytes changed: an error that names the file, or a table, but no panic.
#[test]
fn corrupt_parquet_is_refused() {
    let Some(jobs) = super::public_jobs::folder() else { return };
    let good = std::fs::read(jobs.join("trace-ST.parquet")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corrupt.parquet");
    let mut random = 1u64;
    let mut draw = |below: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % below
    };
    let mut refused = 0;
    for _ in 0..400 {
        let mut bad = good.clone();
        for _ in 0..1 + draw(8) {
            // The footer, at the end, contains all lengths.
            let place = if draw(2) == 0 { draw(bad.len()) } else { bad.len() - 1 - draw(4000) };
            bad[place] = draw(256) as u8;
        }
        bad.truncate(if draw(4) == 0 { draw(bad.len()) } else { bad.len() });
        std::fs::write(&path, bad).unwrap();
        if let Err(error) = read_table(&path) {
            refused += 1;
            assert!(error.to_string().contains("corrupt.parquet"), "{error}");
        }
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn hosts_come_from_what_the_probe_writes_beside_tables() {
    let folder = tempfile::tempdir().unwrap();
    let all = rows(&Synthetic { dp: 2, pp: 1, steps: 2, ..Synthetic::default() });
    let paths = [0, 1].map(|rank| {
        let (path, mut text) = (folder.path().join(format!("rank-{rank:05}.csv")), Vec::new());
        let own: Vec<Row> = all.iter().filter(|row| row.rank == rank).copied().collect();
        write_csv(&own, false, &mut text).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    });
    std::fs::write(paths[1].with_extension("clock"), "host: node-b\n").unwrap();
    let job = read_tables(&paths).unwrap().job("").unwrap();
    let hosts: Vec<Option<&str>> = job.workers.iter().map(|worker| worker.host.as_deref()).collect();
    assert_eq!(hosts, [None, Some("node-b")]);
}

#[test]
fn an_empty_file_is_called_empty() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.csv");
    std::fs::write(&path, "").unwrap();
    assert!(read_table(&path).unwrap_err().to_string().ends_with("job.csv: the file is empty"));
}

/// The same file twice is not two jobs.
#[test]
fn a_file_that_is_given_twice_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    std::fs::write(&path, lines(2).join("\n") + "\n").unwrap();
    let error = |other: PathBuf| read_tables(&[path.clone(), other]).unwrap_err().to_string();
    let name = path.display();
    assert_eq!(error(path.clone()), format!("{name} is given twice: give it once"));
    let other =
        folder.path().join(".").join("../").join(folder.path().file_name().unwrap()).join("table.csv");
    assert_eq!(
        error(other.clone()),
        format!("{name} is given twice, also as {}: give it once", other.display())
    );
}

/// Units and clocks are also doubted if rows are used as recorded.
#[test]
fn doubts_of_a_table() {
    let of = Synthetic { dp: 4, pp: 2, steps: 4, ..Synthetic::default() };
    let table = |change: &dyn Fn(&mut Row)| {
        let mut rows = rows(&of);
        rows.iter_mut().for_each(change);
        Table { rows, ..Table::default() }
    };
    assert_eq!(table(&|_| {}).doubts(), Vec::<String>::new());
    let long = table(&|row| (row.start, row.duration) = (1000.0 * row.start, 1000.0 * row.duration)).doubts();
    assert!(long.len() == 1 && long[0].contains("are the times in milliseconds?"), "{long:?}");
    let apart = table(&|row| row.start += if row.rank == 5 { 3.0 } else { 0.0 }).doubts();
    assert!(apart.len() == 1 && apart[0].starts_with("clocks differ: in step "), "{apart:?}");
    assert!(apart[0].contains("rank 5"), "{apart:?}");
}

/// A rank that ended before its recorder wrote a row is reported.
#[test]
fn a_file_without_rows_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let all = rows(&Synthetic { dp: 2, pp: 1, steps: 2, ..Synthetic::default() });
    let paths = ["rank-0.csv", "rank-2.csv"].map(|name| folder.path().join(name));
    for (path, rows) in paths.iter().zip([&all[..], &[]]) {
        let mut text = Vec::new();
        write_csv(rows, false, &mut text).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let job = read_tables(&paths).unwrap().job("").unwrap();
    assert!(job.notes.iter().any(|note| note.contains("rank-2.csv: has no rows")), "{:?}", job.notes);
}

/// A compressed table is the same table; a truncated one is reported as such.
#[test]
fn compressed_and_cut_files() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let made = rows(&Synthetic::default());
    let (mut text, mut parquet) = (Vec::new(), Vec::new());
    write_csv(&made, true, &mut text).unwrap();
    straggler_training::write_parquet(&made, true, &mut parquet).unwrap();
    let (plain, packed) = (folder.path().join("job.csv"), folder.path().join("job.csv.gz"));
    std::fs::write(&plain, &text).unwrap();
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(&text).unwrap();
    std::fs::write(&packed, out.finish().unwrap()).unwrap();
    let read = |path: &Path| read_table(path);
    assert_eq!(read(&packed).unwrap().rows, read(&plain).unwrap().rows);
    assert!(straggler_training::holds_job(&packed) && straggler_training::is_synthetic(&packed));
    let cut = folder.path().join("job.parquet");
    std::fs::write(&cut, &parquet[..parquet.len() / 2]).unwrap();
    let error = read(&cut).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "the footer is missing: the file is truncated. Copy it again, or let its writer finish"
        ),
        "{error}"
    );
}

#[test]
fn times_in_microseconds_are_asked_about() {
    let wrong = rows(&Synthetic::default());
    let rows: Vec<Row> = wrong.iter().map(|row| Row { duration: row.duration * 1e8, ..*row }).collect();
    let mut text = Vec::new();
    write_csv(&rows, true, &mut text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.csv");
    std::fs::write(&path, text).unwrap();
    let notes = read_table(&path).unwrap().faults.notes();
    assert!(notes[0].contains("are the times in milliseconds or microseconds?"), "{notes:?}");
}

/// A table whose recorder could not tell waits from computing: one slow rank makes all look slow.
#[test]
fn waits_within_computing_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let faults =
        (0..4).map(|dp_rank| Fault { dp_rank, stage: 0, from_step: 8, what: Defect::Slow(1.5) }).collect();
    let all = rows(&Synthetic { dp: 4, pp: 1, faults, ..Synthetic::default() });
    for caveat in ["", "caveat: backward includes waits for other ranks: no wait of Wrapper was seen\n"] {
        for rank in 0..4 {
            let path = folder.path().join(format!("rank-{rank:05}.csv"));
            let own: Vec<Row> = all.iter().filter(|row| row.rank == rank).copied().collect();
            write_csv(&own, true, &mut std::fs::File::create(&path).unwrap()).unwrap();
            std::fs::write(path.with_extension("clock"), format!("host: n{}\n{caveat}", rank / 2)).unwrap();
        }
        let job = read_job(&[folder.path().into()]).unwrap();
        let found = answers(&job);
        assert_eq!(
            found.notes.iter().any(|note| note.contains("no wait of Wrapper was seen")),
            !caveat.is_empty()
        );
        let first = &found.causes[0];
        let Finding::WholeJob { waits_in_computing, .. } = first.finding else { panic!("{first:?}") };
        assert_eq!((waits_in_computing, first.since_step), (!caveat.is_empty(), Some(8)), "{first:?}");
    }
}

/// A send lasts until its message is taken: if the receiver stalls once, it overlaps with what its worker does next.
#[test]
fn a_send_that_lasts_costs_no_step() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = rows(&Synthetic { dp: 2, pp: 2, ..Synthetic::default() });
    let long = |row: &&mut Row| (row.step, row.rank, row.kind, row.seq) == (7, 0, Kind::ForwardSend, 3);
    all.iter_mut().filter(long).for_each(|row| row.duration += 0.4);
    let path = folder.path().join("job.csv");
    write_csv(&all, true, &mut std::fs::File::create(&path).unwrap()).unwrap();
    let job = read_job(&[path]).unwrap();
    assert_eq!((job.steps.len(), job.steps_left_out), (20, 0), "{:?}", job.notes);
}
