//! Analyses a table from the command line: for measurements.
fn main() {
    let path = std::env::args().nth(1).expect("a table");
    let begin = std::time::Instant::now();
    let table = straggler_training::read_table(path.as_ref()).expect("rows");
    let read = begin.elapsed();
    let job = table.job("table").expect("a job");
    let derived = begin.elapsed();
    let replays = straggler_training::exact::Replays::new(&job).expect("times");
    let answers = straggler_training::exact::analyse(&replays, None);
    println!("read {read:?} derived {derived:?} all {:?} shapes {}", begin.elapsed(), job.shapes.len());
    println!("{answers:#?}");
}
