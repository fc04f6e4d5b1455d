//! Studies: the results do not depend on kills or on the number of threads, and the messages agree with
//! them.

use crate::outside::program::{Folder, signal, wait_until_worked};
use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

/// Takes some seconds in an unoptimised build.
const STUDY: &str = r#"
name = "Two systems"
replicas = 200
until-ci = "4%"
processes = "2..2048 x4"
collective = ["allreduce:dissemination", "bcast:binomial"]
size = 1

[[sweep]]
name = "CHiC"
network = "chic"
noise = ["none", "chic"]

[[sweep]]
name = "Altix"
network = "altix"
noise = "periodic:period=1ms,duration=100us"
cosched = [false, true]
"#;

fn results(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path().join(name).join("results.parquet")).unwrap()
}

fn study(lines: &str) -> Folder {
    let folder = Folder::new();
    folder.write("s.toml", lines);
    folder
}

#[test]
fn killed_at_any_moment_and_on_any_threads_it_is_the_same_file() {
    let folder = study(STUDY);
    folder.run("study run s.toml -o whole --threads 1 --quiet").good();
    let whole = results(&folder, "whole");
    for threads in [2, 3] {
        folder.run(&format!("study run s.toml -o t{threads} --threads {threads} --quiet")).good();
        assert!(results(&folder, &format!("t{threads}")) == whole, "{threads} threads");
    }
    // Most attempts run a little longer than the one before, plus some jitter.
    let mut kills = 0;
    for (attempt, wait) in [40u64, 75, 60, 130, 110, 170, 220, 200, 300, 290].into_iter().enumerate() {
        let mut command =
            folder.command(&format!("study run s.toml -o killed --threads {}", attempt % 3 + 1));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let jitter = u64::from(std::process::id()) * 7919 % 37 + attempt as u64;
        std::thread::sleep(Duration::from_millis(wait + jitter));
        let running = child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        kills += usize::from(running);
        child.wait().unwrap();
    }
    assert!(kills > 0, "the study is too short to be killed");
    folder.run("study run s.toml -o killed --threads 2 --quiet").good();
    assert!(results(&folder, "killed") == whole);
    let text = std::fs::read_to_string(folder.path().join("killed/provenance.json")).unwrap();
    let provenance: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(provenance["sessions"].as_u64().unwrap() > 2, "{provenance}");
    // A torn tail is cut off and run again. Records are multiples of four bytes, so 101 bytes cut inside
    // one.
    let journal = folder.path().join("killed/journal");
    let bytes = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &bytes[..bytes.len() - 101]).unwrap();
    folder.run("study run s.toml -o killed").good().says("torn record");
    assert!(results(&folder, "killed") == whole);
    // Another run has nothing left to do.
    folder.run("study run s.toml -o killed").good().says("already done: ");
    assert!(results(&folder, "killed") == whole);
}

#[test]
fn interrupted_it_says_how_to_go_on() {
    let folder = study(
        "name='long'\nreplicas=100000\nprocesses=[64, 1024]\ncollective='barrier'\nnetwork='chic'\nnoise='chic'",
    );
    let mut child =
        folder.command("study run s.toml").stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    wait_until_worked(&child, 1500);
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(text.contains("of at most 200,002 runs are saved; run the same command"), "{text}");
    assert_eq!(folder.names(), ["s", "s.toml"]);
    // A study with fewer replicas reuses the ones that are there.
    let text = std::fs::read_to_string(folder.path().join("s.toml")).unwrap();
    folder.write("s.toml", &text.replace("100000", "10"));
    folder.run("study run s.toml").good().says("already done: ");
    let fresh = folder.run("study run s.toml -o other --json").good().json();
    assert_eq!(folder.run("study show s --json").good().json()["series"], fresh["series"]);
    assert!(results(&folder, "s") == results(&folder, "other"));
}

#[test]
fn another_study_in_the_folder_is_refused() {
    let lines = "name='a'\nreplicas=8\nprocesses=[4, 8]\ncollective='barrier'\nnetwork='chic'\nnoise='n.txt'";
    let folder = study(lines);
    folder.write("n.txt", "0 100\n10000 500\n20000 1\n");
    folder.run("study run s.toml").good();
    let before = results(&folder, "s");
    folder.write("s.toml", &lines.replace("[4, 8]", "[4, 16]"));
    folder
        .run("study run s.toml")
        .ends_with(3)
        .says("belongs to another study")
        .says("--fresh")
        .says("16 processes");
    assert!(results(&folder, "s") == before);
    folder.write("s.toml", lines);
    folder.write("n.txt", "0 100\n10000 501\n20000 1\n");
    folder.run("study run s.toml").ends_with(3).says("belongs to another study").says("n.txt");
    folder.run("study run s.toml --fresh").good();
    assert!(results(&folder, "s") != before);
}

/// Old results must not be taken for those of a new study in the same folder.
#[test]
fn old_results_go_when_a_new_study_begins() {
    let folder = study(
        "name = 'old'\nreplicas = 6\nprocesses = [4, 8]\ncollective = 'barrier'\nnetwork = 'chic'\nnoise = 'chic'",
    );
    folder.run("study run s.toml --quiet").good();
    let file = folder.path().join("s/results.parquet");
    assert!(file.exists());
    folder.write(
        "s.toml",
        "name = 'new'\nreplicas = 1000\nprocesses = 1048576\ncollective = 'barrier'\nnetwork = 'chic'\nnoise = 'chic'",
    );
    let mut running = folder.command("study run s.toml --fresh --quiet").spawn().unwrap();
    for _ in 0..600 {
        if !file.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    running.kill().unwrap();
    running.wait().unwrap();
    folder.run("study show s").ends_with(3).says("not finished");
    assert!(!folder.path().join("s/report.html").exists());
}

/// Results with a wrong checksum are refused and restored from the journal.
#[test]
fn damaged_results_are_refused_and_written_again() {
    let folder = study(
        "name = 'a'\nreplicas = 6\nprocesses = [4, 8]\ncollective = 'barrier'\nnetwork = 'chic'\nnoise = 'chic'",
    );
    folder.run("study run s.toml --quiet").good();
    let good = results(&folder, "s");
    let mut damaged = good.clone();
    damaged[good.len() / 3] ^= 1;
    std::fs::write(folder.path().join("s/results.parquet"), damaged).unwrap();
    std::fs::remove_file(folder.path().join("s/study.page")).unwrap();
    for line in ["study show s", "study export s -o x.csv", "report s/results.parquet -o r.html"] {
        folder.run(line).ends_with(3).says("results.parquet").says("checksum").says("study run");
    }
    folder.run("report s -o r.html").ends_with(3).says("results.parquet").says("checksum");
    folder.run("study run s.toml --quiet").good();
    assert!(results(&folder, "s") == good);
}

#[test]
fn two_at_once_are_refused() {
    let folder = study(
        "name='long'\nreplicas=1000000\nprocesses=1024\ncollective='barrier'\nnetwork='chic'\nnoise='chic'",
    );
    let mut first =
        folder.command("study run s.toml").stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let journal = folder.path().join("s/journal");
    let begun = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        std::fs::metadata(&journal).is_ok_and(|about| about.len() > 1000)
    });
    assert!(begun);
    let second = folder.run("study run s.toml --fresh");
    first.kill().unwrap();
    first.wait().unwrap();
    second.ends_with(3).says("another process is running this study");
}

#[test]
fn errors_name_the_place_and_the_mend() {
    let base = "name='a'\nprocesses=4\ncollective='barrier'\nnetwork='chic'\n";
    for (lines, complaints) in [
        (
            "replcas = 5",
            &["s.toml: line 5, column 1", "unknown key `replcas`", "did you mean `replicas`?"][..],
        ),
        ("noise = 'nosuch'", &["the study: noise:", "nosuch"]),
        ("[[sweep]]\nname='x'\nnetwork='chik'", &["sweep `x`: network:", "did you mean `chic`?"]),
        ("[[sweep]]\nprocesses=4000000000\nname='x'", &["sweep `x`: processes:"]),
        ("[[sweep]]\nprocesses=2000000000", &["of memory", "2,000,000,000 processes"]),
        (
            "noise='chic'\nreplicas=90000000\n[[sweep]]\nprocesses='2..1048576'\nseed=[1,2,3,4,5,6,7,8,9,10]",
            &["rows of results"],
        ),
    ] {
        let folder = study(&format!("{base}{lines}"));
        let ended = folder.run("study run s.toml").ends_with(3);
        complaints.iter().fold(ended, |ended, complaint| ended.says(complaint));
        assert_eq!(folder.names(), ["s.toml"]);
    }
    Folder::new().run("study run none.toml").ends_with(3).says("none.toml cannot be read");
    Folder::new().run("study show nowhere").ends_with(3).says("nowhere");
}

#[test]
fn what_is_shown_is_what_was_found() {
    let folder = study(STUDY);
    let shown = folder.run("study run s.toml --csv --json").good().json();
    assert_eq!(shown["series"].as_array().unwrap().len(), 8);
    let rows = std::fs::read_to_string(folder.path().join("s/results.csv")).unwrap();
    let rows: Vec<Vec<&str>> = rows.lines().skip(1).map(|line| line.split(',').collect()).collect();
    for series in shown["series"].as_array().unwrap() {
        for point in series["points"].as_array().unwrap() {
            let at = &point["point"];
            let mut times: Vec<u64> = rows
                .iter()
                .filter(|row| {
                    // A noise description with a comma was split into two cells.
                    let (noise, behind) = if row.len() == 13 {
                        (row[6].to_string(), 7)
                    } else {
                        (format!("{},{}", row[6], row[7]).replace('"', ""), 8)
                    };
                    row[0] == at["sweep"]
                        && row[1] == at["workload"]
                        && row[3].parse().ok() == at["processes"].as_u64()
                        && noise == at["noise"]
                        && row[behind].parse().ok() == at["cosched"].as_bool()
                })
                .map(|row| row[row.len() - 3].parse().unwrap())
                .collect();
            times.sort_unstable();
            assert_eq!(point["count"], times.len());
            assert_eq!(point["median"], times[(times.len() - 1) / 2]);
            assert_eq!(point["max"], *times.last().unwrap());
            let quiet = point["quiet_ps"].as_u64().unwrap() as f64;
            assert_eq!(point["largest_slowdown"], *times.last().unwrap() as f64 / quiet - 1.0);
        }
    }
    let text = folder.run("study show s").good().stdout();
    assert!(text.starts_with("Two systems\n") && text.contains("Altix"), "{text}");
    assert!(text.contains("µs to ") && !text.contains("s – "), "{text}");
    folder.run("study show s --quantile 0.99").ends_with(2).says("needs at least 368 replicas");
    folder.run("study show s --quantile 1.5").ends_with(2).says("between 0 and 1");
    let medians = folder.run("study show s/results.parquet --quantile 0.5 --json").good().json();
    let point = &medians["series"][1]["points"][2];
    assert_eq!(point["quantiles"][0]["value"], point["median"]);
    folder.run("study export s -o all.json").good();
    folder.run("study export s -o again.parquet").good();
    assert!(std::fs::read(folder.path().join("again.parquet")).unwrap() == results(&folder, "s"));
    let all: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("all.json")).unwrap()).unwrap();
    assert_eq!(all.as_array().unwrap().len(), rows.len());
    folder.run("study export s -o summary.csv --summary").good();
    let summary = std::fs::read_to_string(folder.path().join("summary.csv")).unwrap();
    assert_eq!(summary.lines().count(), 1 + 8 * 6);
    // `report` on the folder uses the study's page, or rebuilds it from the results if it is missing.
    let page = folder.run("report s -o one.html --json").good().json();
    assert_eq!((page["sections"].as_u64(), page["charts"].as_u64()), (Some(4), Some(12)));
    std::fs::remove_file(folder.path().join("s/study.page")).unwrap();
    assert_eq!(folder.run("report s -o two.html --json").good().json()["charts"], page["charts"]);
    folder.run("study export s -o x.txt").ends_with(2);
    folder.run("study export s -o x.parquet --summary").ends_with(2);
}

#[test]
fn one_replica_is_one_simulation() {
    let folder = study(
        "name='a'\nreplicas=3\nseed=7\nprocesses=96\ncollective='allreduce:ring'\nsize='1KiB'\nnetwork='altix'\nnoise='chic'",
    );
    folder.run("study run s.toml --csv").good();
    let csv = std::fs::read_to_string(folder.path().join("s/results.csv")).unwrap();
    let line = "simulate --collective allreduce:ring --size 1KiB --processes 96 --network altix --seed 7 --replicas 3 \
                --noise signature:name=chic --json";
    let simulated = folder.run(line).good().json();
    for (row, replica) in csv.lines().skip(1).zip(simulated["replicas"].as_array().unwrap()) {
        assert_eq!(row.split(',').nth(10).unwrap(), replica["makespan_ps"].to_string());
    }
}

#[test]
fn a_sweep_adds_to_the_top_level() {
    let top =
        "name='a'\nreplicas=20\nprocesses=[4, 64]\ncollective='barrier'\nnetwork='chic'\nnoise='chic'\n";
    let folder = study(&format!("{top}[[sweep]]\nname='Altix'\nnetwork='altix'\nnoise='altix'"));
    let checked = folder.run("study check s.toml").good().stdout();
    assert!(checked.contains("Run: the top level, Altix."), "{checked}");
    assert!(checked.contains("roughly") && checked.contains("less than a second"), "{checked}");
    let text = folder.run("study run s.toml --csv").good().stdout();
    assert!(text.contains("\nnetwork chic, noise chic: "), "{text}");
    assert!(text.contains("\nAltix, network altix, noise altix: "), "{text}");
    let csv = std::fs::read_to_string(folder.path().join("s/results.csv")).unwrap();
    let rows = |start: &str| csv.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!((rows(",barrier,"), rows("Altix,barrier,")), (40, 40));
    folder
        .write("s.toml", "name='a'\nprocesses=4\ncollective='barrier'\n[[sweep]]\nname='x'\nnetwork='chic'");
    let checked = folder.run("study check s.toml").good().stdout();
    assert!(checked.contains("The top level is not run: it lacks `network`"), "{checked}");
    assert!(checked.contains("Run: x."), "{checked}");
}

/// The next run restores provenance.json if it is missing, for instance after a kill before it was
/// written.
#[test]
fn a_lost_provenance_is_written_again() {
    let folder =
        study("name='a'\nreplicas=6\nprocesses=4\ncollective='barrier'\nnetwork='chic'\nnoise='chic'");
    folder.run("study run s.toml --quiet").good();
    let file = folder.path().join("s/provenance.json");
    let before = results(&folder, "s");
    std::fs::remove_file(&file).unwrap();
    folder.run("study run s.toml --quiet").good();
    assert!(file.exists() && results(&folder, "s") == before);
}

#[test]
fn a_study_that_does_not_fit_ends_with_3_where_it_is_checked() {
    let seeds: Vec<u32> = (0..1000).collect();
    let folder = study(&format!(
        "name = 'a'\nprocesses = 1048576\ncollective = 'barrier'\nnetwork = 'chic'\nnoise = 'periodic:period=1ms,duration=1us'\n\
         replicas = 100000000\nseed = {seeds:?}"
    ));
    let run = folder.run("study check s.toml").ends_with(3).says("the study takes about");
    assert!(run.stdout().contains("memory, at least"), "{}", run.stdout());
    let answer = folder.run("study check s.toml --json").ends_with(3).json();
    assert_eq!(answer["fits"], false);
}

#[test]
fn files_that_are_missing_are_named_with_their_line() {
    let folder = study(
        "name = 'a'\nnetwork = 'chic'\ngoal = [\n  'fixtures/conformance/eager-00.goal',\n  'no.goal',\n]",
    );
    for command in ["study check s.toml", "study run s.toml -o out"] {
        folder.run(command).ends_with(3).says("s.toml: line 5: the study: goal:").says("no.goal");
    }
}

#[test]
fn long_work_is_announced() {
    let folder = study(
        "name = 'a'\nprocesses = 4096\ncollective = 'barrier'\nnetwork = 'chic'\nnoise = 'chic'\nreplicas = 10000000",
    );
    let mut command = folder.command("study run s.toml -o out");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until_worked(&child, 1000);
    signal(&child, "-INT");
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    assert!(said.contains("this will take about ") && said.contains(" (rough estimate)"), "{said}");
    assert!(said.contains("fewer replicas or processes, or until-ci, reduce it"), "{said}");
}

/// All output of a study names the copies of a trace and the network fitted to it.
#[test]
fn traces_in_studies_tell_copies_and_network() {
    let folder =
        study("name = 'a'\ntrace = 'fixtures/traces/halo'\ncopies = [4, 1]\nnoise = 'chic'\nreplicas = 6");
    let text = folder.run("study run s.toml -o out").good().stdout();
    assert!(text.contains("Network fitted to the trace fixtures/traces/halo: L="), "{text}");
    assert!(text.contains("processes  copies"), "{text}");
    let answer = folder.run("study show out --json").good().json();
    assert_eq!(answer["fitted"][0]["trace"], "fixtures/traces/halo");
    assert!(answer["fitted"][0]["network"]["L"].is_string(), "{answer}");
    assert_eq!(
        (&answer["series"][0]["points"][0]["copies"], &answer["series"][0]["points"][1]["copies"]),
        (&1.into(), &4.into())
    );
    let html = std::fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    let page = straggler_report::page::Page::from_html(&html).unwrap().unwrap();
    assert!(page.facts.0.iter().any(|(name, _)| name.starts_with("Network fitted to the trace")));
    let blocks = page.sections.iter().flat_map(|section| &section.blocks);
    let columns = blocks.filter_map(|block| match block {
        straggler_report::page::Block::Table(table) => Some(&table.columns),
        straggler_report::page::Block::Chart(_) => None,
    });
    assert!(columns.flatten().any(|column| column.name == "copies"));
}

/// Wherever rows are counted, the text says what a row is.
#[test]
fn rows_are_explained_where_they_are_counted() {
    let folder =
        study("name='a'\nprocesses=[2,4]\ncollective='barrier'\nnetwork='chic'\nnoise='chic'\nreplicas=3\n");
    let text = folder.run("study check s.toml").good().stdout();
    assert!(text.contains("rows of results, at most (one per point and replica)"), "{text}");
    folder.run("study run s.toml -o out").good();
    folder
        .run("study export out -o rows.csv")
        .good()
        .says("6 rows in rows.csv: one for each point and replica");
    folder
        .run("study export out --summary -o points.csv")
        .good()
        .says("2 rows in points.csv: one for each point");
}

/// A point with measured latencies has the same makespans as in `simulate`.
#[test]
fn measured_latencies_are_drawn_as_simulate_draws_them() {
    let folder = study(
        "name = \"Latencies\"\nreplicas = 3\nprocesses = 16\ncollective = \"barrier\"\nnetwork = \"chic\"\nseed = 3\n\
         latency-distribution = [\"none\", \"fixtures/latency/before.lat\"]\n",
    );
    folder.run("study run s.toml -o out --csv").good().says("its latencies are synthetic");
    let table = std::fs::read_to_string(folder.path().join("out/results.csv")).unwrap();
    let drawn: Vec<u64> = table
        .lines()
        .filter(|line| line.contains("\"chic, latencies of fixtures/latency/before.lat\""))
        .map(|line| line.rsplit(',').nth(2).unwrap().parse().unwrap())
        .collect();
    let line = "simulate --collective barrier --processes 16 --network chic --replicas 3 --seed 3 --json";
    let answer =
        folder.run(&format!("{line} --latency-distribution fixtures/latency/before.lat")).good().json();
    let simulated: Vec<u64> = answer["replicas"]
        .as_array()
        .unwrap()
        .iter()
        .map(|replica| replica["makespan_ps"].as_u64().unwrap())
        .collect();
    assert_eq!((drawn.len(), drawn), (3, simulated), "{table}");
}

/// A sentence says what a run is: a single collective says little about a program that repeats it.
#[test]
fn runs_are_single_collectives_or_programs() {
    let folder = study(
        "name = 's'\nreplicas = 8\nprocesses = 4\ncollective = 'barrier'\nnetwork = 'chic'\nnoise = 'chic'\n",
    );
    let single = folder.run("study run s.toml -o single").good().stdout();
    let kind = single.lines().find(|line| line.starts_with("Each run is one collective")).unwrap();
    assert!(kind.starts_with("Each run is one collective that starts at a random moment."), "{single}");
    let text = std::fs::read_to_string(folder.path().join("s.toml")).unwrap();
    folder.write("s.toml", &format!("{text}cycles = 20\ncompute = '1ms'\n"));
    let program = folder.run("study run s.toml -o program").good().stdout();
    assert!(program.contains("\nEach run is a program that repeats the collective.\n"), "{program}");
    let json = folder.run("study show program --json").good().json();
    let verdict = json["verdict"].as_array().unwrap();
    assert_eq!(verdict.last().unwrap(), "Each run is a program that repeats the collective.");
}
