//! Training jobs: what is said of known faults, and of files that are no good.

use crate::program::Folder;

#[test]
fn a_slow_worker_is_named_with_its_step() {
    let folder = Folder::new();
    let text = folder.run("training show fixtures/training/slow-worker.csv").good().stdout();
    assert!(text.starts_with("The steps take 1.26 times as long as they would"), "{text}");
    assert!(text.contains("Rank 6 is slow since step 5: without that, a step would take 1.63 s"), "{text}");
    assert!(text.contains("The job is synthetic"), "{text}");
    let json = folder.run("training show fixtures/training/slow-worker.csv --json").good().json();
    for key in [
        "s",
        "replay_error",
        "m_w",
        "m_s",
        "by_stage",
        "by_dp_rank",
        "by_type",
        "by_step",
        "workers",
        "method",
    ] {
        assert!(!json[key].is_null(), "{key}: {json}");
    }
    assert_eq!((&json["workers"][0]["rank"], &json["method"]), (&6.into(), &"exact".into()));
    assert!(json["workers"][0]["s_w"].as_f64().unwrap() > 1.25);
    let published = "training show fixtures/training/slow-worker.csv --method published --json";
    let json = folder.run(published).good().json();
    assert_eq!((&json["workers"][0]["rank"], &json["method"]), (&6.into(), &"published".into()));
    assert!(json["m_w"].is_number() && json["m_s"].is_number() && json["by_step"]["0"].is_number(), "{json}");
    assert_eq!(folder.run(&format!("{published} --threads 1")).good().json(), json);
}

#[test]
fn the_page_has_a_heat_map_and_two_timelines() {
    let folder = Folder::new();
    folder.run("training show fixtures/training/last-stage.csv --report job.html").good();
    let page = std::fs::read_to_string(folder.path().join("job.html")).unwrap();
    assert!(page.starts_with("<!") || page.starts_with("<html"), "{}", &page[..80]);
    folder.run("training show fixtures/training/last-stage.csv --report job.page").good();
    assert_eq!(folder.names(), ["job.html", "job.page"]);
}

#[test]
fn layers_are_split_anew() {
    let folder = Folder::new();
    let line = "training show fixtures/training/last-stage.csv --layers";
    let text = folder.run(&format!("{line} 32")).good().stdout();
    assert!(text.contains("The best split of the layers is 9, 8, 9, 6"), "{text}");
    assert_eq!(folder.run(&format!("{line} 8,8,8,8")).good().stdout(), text);
    folder.run(&format!("{line} 30")).ends_with(2).says("the job has 4 stages: give a multiple of 4");
}

#[test]
fn generated_jobs_are_read_again() {
    let folder = Folder::new();
    let line = "training generate --dp 3 --pp 1 --microbatches 2 --steps 6 --stall 1/0:0.5 -o new.csv";
    folder.run(line).good();
    let text = folder.run("training show new.csv").good().stdout();
    assert!(text.contains("Operations start later than they could"), "{text}");
    folder.run(&line.replace("1/0:0.5", "7/0:0.5")).ends_with(2).says("there is no worker 7/0");
    folder.run(&line.replace("1/0:0.5", "nonsense")).ends_with(2).says("give DP/STAGE:HOW_MUCH");
}

/// Numbers that are equal up to the rounding of nanoseconds, and everything else that is the same.
fn is_close(one: &serde_json::Value, other: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Number, Object};
    match (one, other) {
        (Number(one), Number(other)) => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            (one - other).abs() <= 1e-8 * one.abs().max(1.0)
        }
        (Array(one), Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_close(one, other))
        }
        (Object(one), Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| is_close(one, other)))
        }
        (one, other) => one == other,
    }
}

#[test]
fn jobs_as_files_of_the_profiler_are_the_same_jobs() {
    let folder = Folder::new();
    let line = "training generate --dp 3 --pp 2 --microbatches 3 --steps 5 --slow 1/0:1.7@2 --link 2/1:20";
    folder.run(&format!("{line} -o job.csv")).good();
    let answer = folder.run(&format!("{line} --to kineto -o files --json")).good().json();
    assert_eq!((&answer["files"], &answer["synthetic"]), (&6.into(), &true.into()));
    folder.run(&format!("{line} --to kineto-gz -o packed")).good();
    let names = |of: &str| {
        let entries = std::fs::read_dir(folder.path().join(of)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names("files")[..2], ["rank-0.json", "rank-1.json"]);
    assert_eq!(names("packed")[5], "rank-5.json.gz");
    let show = |of: &str| {
        let mut json = folder.run(&format!("training show {of} --json")).good().json();
        for key in ["source", "warnings", "notes"] {
            json.as_object_mut().unwrap().remove(key);
        }
        json
    };
    let table = show("job.csv");
    assert!(table["s"].as_f64().unwrap() > 2.0 && table["causes"].is_array(), "{table}");
    for of in ["files", "packed"] {
        let read = show(of);
        assert!(is_close(&read, &table), "{read}\n{table}");
    }
    let text = folder.run("training convert files -o trace").good().stdout();
    assert!(text.contains("a trace of 6 ranks"), "{text}");
    folder.run("simulate trace --network slingshot-11").good();
    folder.run(&format!("{line} --to kineto -o files")).ends_with(3).says("files is there already");
}

#[test]
fn absurd_jobs_are_refused() {
    let folder = Folder::new();
    let refuses = |options: &str, says: &str| {
        folder.run(&format!("training generate {options} -o job.csv")).ends_with(2).says(says);
    };
    for times in ["1e30", "NaN", "-1", "0", "inf"] {
        refuses(&format!("--slow 0/0:{times}"), "the slowdown of worker 0/0 is");
    }
    refuses("--link 0/0:1e30", "give a number from 0.01 to 1000");
    refuses("--stall 0/0:-3", "give a number from 0 to 3600");
    refuses("--dp 65536 --pp 1024", "are too many workers: give 4194304 at most");
    refuses("--dp 65536 --pp 64 --steps 100000 --microbatches 4096", "operations are too many");
    refuses("--slow 0/0:2@20", "there is no step 20: steps are 0 to 19");
    // One data-parallel rank has nothing to share.
    folder.run("training generate --dp 1 --steps 3 -o one.csv").good();
    let table = std::fs::read_to_string(folder.path().join("one.csv")).unwrap();
    assert!(!table.contains("reduce-scatter") && !table.contains("all-gather"));
    folder.run("training show one.csv --method published").good();
}

#[test]
fn files_that_are_no_good_are_named() {
    let folder = Folder::new();
    folder.run("training show nowhere.csv").ends_with(3).says("nowhere.csv cannot be read");
    folder.write("text.csv", "a,b\n1,2\n");
    folder.run("training show text.csv").ends_with(3).says("there is no column `dp_rank`");
    let table = std::fs::read_to_string(folder.path().join("fixtures/training/slow-worker.csv")).unwrap();
    folder.write("unknown.csv", &table.replacen("backward-compute", "backward-guess", 1));
    folder.run("training show unknown.csv").ends_with(3).says("optype is `backward-guess`");
    folder.write("corrupt.parquet", "PAR1 nothing PAR1");
    folder.run("training show corrupt.parquet").ends_with(3).says("corrupt.parquet");
    folder.write("notes.json", "{\"hello\": 1}");
    folder.run("training show notes.json").ends_with(3).says("not a recording of a known format");
    // A recorder that was killed leaves half a line: the step that it was in is left out.
    folder.write("half.csv", &table[..table.len() - 700]);
    folder.run("training show half.csv").good().says("missing: step 11 (step 11 lacks rank 7)");
    folder.write("meta.yaml", "dp_size: 8\npp_size: 2\n");
    folder
        .run("training show fixtures/training/slow-worker.csv --meta meta.yaml")
        .good()
        .says("do they belong together?");
}
