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

#[test]
fn files_that_are_no_good_are_named() {
    let folder = Folder::new();
    folder.run("training show nowhere.csv").ends_with(3).says("nowhere.csv cannot be read");
    folder.write("text.csv", "a,b\n1,2\n");
    folder.run("training show text.csv").ends_with(3).says("there is no column `dp_rank`");
    let table = std::fs::read_to_string(folder.path().join("fixtures/training/slow-worker.csv")).unwrap();
    folder.write("unknown.csv", &table.replacen("backward-compute", "backward-guess", 1));
    folder.run("training show unknown.csv").good().says("optype is `backward-guess`, which is no operation");
    let published = folder.run("training show unknown.csv --method published").ends_with(3);
    published.says("optype is `backward-guess`").says("The published analysis needs whole tables");
    let mut lines: Vec<String> = table.lines().map(str::to_string).collect();
    let wrong = lines.iter().position(|line| line.starts_with("3,")).unwrap();
    lines[wrong] = lines[wrong].replacen(",0.", ",-0.", 2);
    folder.write("negative.csv", &(lines.join("\n") + "\n"));
    let shown = folder.run("training show negative.csv --json").good();
    assert!(shown.json()["notes"][1].as_str().unwrap().contains("such rows: step 3"), "{}", shown.stdout());
    folder.run("training show negative.csv").good().says("(step 3, rank ").says("which is negative");
    std::fs::create_dir(folder.path().join("two")).unwrap();
    folder.write("two/a.csv", &table);
    folder.write("two/b.csv", &table);
    folder.run("training show two").ends_with(3).says("are of two jobs: both have step 0 of rank 0");
    folder.write("corrupt.parquet", "PAR1 nothing PAR1");
    folder.run("training show corrupt.parquet").ends_with(3).says("corrupt.parquet");
    folder.write("notes.json", "{\"hello\": 1}");
    folder.run("training show notes.json").ends_with(3).says("not a recording of a known format");
    // A recorder that was killed leaves half a line: the step that it was in is left out.
    folder.write("half.csv", &table[..table.len() - 700]);
    folder
        .run("training show half.csv")
        .good()
        .says("half.csv: ends within a row of step 11: was the recorder killed?");
    folder.write("meta.yaml", "dp_size: 8\npp_size: 2\n");
    for method in ["", " --method published"] {
        let line = format!("training show fixtures/training/slow-worker.csv --meta meta.yaml{method}");
        folder.run(&line).good().says("do they belong together?");
        let json = folder.run(&format!("{line} --json")).good().json();
        assert!(json["warnings"].to_string().contains("do they belong together?"), "{json}");
    }
}
