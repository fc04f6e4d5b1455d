//! Training jobs as files: formats read and written, and the syntax of faults.

use crate::outside::program::Folder;
use std::fs;

const SMALL: &str = "training generate --dp 2 --pp 2 --microbatches 2 --steps 6";

fn table(folder: &Folder) -> String {
    fs::read_to_string(folder.path().join("fixtures/training/slow-worker.csv")).unwrap()
}

/// Returns the table with `change` applied to its time columns.
fn with_times(table: &str, change: impl Fn(f64) -> String) -> String {
    let mut lines = table.lines();
    let mut text = format!("{}\n", lines.next().unwrap());
    for line in lines {
        let mut cells: Vec<String> = line.split(',').map(str::to_string).collect();
        for cell in &mut cells[5..7] {
            *cell = change(cell.parse().unwrap());
        }
        text.push_str(&format!("{}\n", cells.join(",")));
    }
    text
}

#[test]
fn times_in_other_units_are_noticed() {
    let folder = Folder::new();
    let write = |times: f64| {
        folder.write("other.csv", &with_times(&table(&folder), |time| format!("{:.9}", time * times)));
    };
    for (unit, times) in [("milliseconds", 1e3), ("microseconds", 2e5)] {
        write(times);
        folder.run("training show other.csv").good().says(&format!("are the times in {unit}?"));
    }
    write(1e6);
    folder.run("training show other.csv").ends_with(3).says("are the times in seconds?");
    let json = folder.run("training show fixtures/training/slow-worker.csv --json").good().json();
    assert!(!json["notes"].to_string().contains("are the times in"), "{json}");
}

#[test]
fn semicolons_and_decimal_commas_are_read() {
    let folder = Folder::new();
    let plain = folder.run("training show fixtures/training/slow-worker.csv --json").good().json();
    folder.write("semicolons.csv", &table(&folder).replace(',', ";").replace('.', ","));
    let other = folder.run("training show semicolons.csv --json").good().json();
    assert_eq!((&plain["s"], &plain["causes"]), (&other["s"], &other["causes"]));
}

#[test]
fn files_without_use_are_named() {
    let folder = Folder::new();
    folder.write("names.csv", &format!("{}\n", table(&folder).lines().next().unwrap()));
    folder.run("training show names.csv").ends_with(3).says("names.csv: the table has a header but no rows");
    fs::write(folder.path().join("damaged.parquet"), [0x80, 0xff, 0xfe, 0x0a, 0xc3, 0x28]).unwrap();
    folder
        .run("training show damaged.parquet")
        .ends_with(3)
        .says("damaged.parquet: neither Parquet nor text");
    folder.write("notes.json", "{\"hello\": 1}");
    folder.run("training show notes.json").ends_with(3).says("tables of operations (Parquet, CSV)");
    // In a folder with recordings, other files are skipped.
    folder.run(&format!("{SMALL} --to kineto -o files")).good();
    folder.write("files/README.md", "# A job\n");
    folder.run("training show files").good().says("skipped, not recordings: README.md");
    fs::create_dir(folder.path().join("tables")).unwrap();
    folder.write("tables/job.csv", &table(&folder));
    folder.write("tables/README.md", "# A job\n");
    folder.run("training show tables").good();
}

/// An unreadable file is reported, and the others are still analysed.
#[test]
fn the_rest_of_a_folder_is_analysed() {
    let folder = Folder::new();
    let text = table(&folder);
    let (header, rows) = text.split_once('\n').unwrap();
    let rank = header.split(',').position(|name| name == "rank").unwrap();
    fs::create_dir(folder.path().join("tables")).unwrap();
    for number in 0..8 {
        let own = |line: &&str| line.split(',').nth(rank) == Some(&number.to_string());
        let own: Vec<&str> = rows.lines().filter(own).collect();
        folder.write(&format!("tables/rank-{number}.csv"), &format!("{header}\n{}\n", own.join("\n")));
    }
    let whole = folder.run("training show tables --json").good().json();
    assert_eq!(whole["notes"].as_array().map(Vec::len), Some(0), "{whole}");
    fs::write(folder.path().join("tables/rank-3.csv"), [0x80, 0xff, 0xfe, 0x0a, 0xc3, 0x28]).unwrap();
    let shown = folder.run("training show tables").good().says("rank-3.csv: neither Parquet nor text");
    let shown = shown.says("The file is left out");
    assert!(shown.stdout().contains("Rank 6 is slow"), "{}", shown.stdout());
    folder
        .run("training show tables --method published")
        .ends_with(3)
        .says("rank-3.csv")
        .says("needs complete tables");
    fs::create_dir(folder.path().join("bad")).unwrap();
    fs::write(folder.path().join("bad/rank-3.csv"), [0x80, 0xff, 0xfe, 0x0a, 0xc3, 0x28]).unwrap();
    folder.run("training show bad").ends_with(3).says("neither Parquet nor text");

    folder.run(&format!("{SMALL} --to kineto -o files")).good();
    folder.write("files/rank-3.json", "{\"traceEvents\": [");
    let shown = folder.run("training show files").good();
    shown
        .says("rank-3.json: it is not valid JSON from byte 17 on, before the first event")
        .says("The file is left out");
    fs::write(folder.path().join("files/rank-2.json"), [0x1f, 0x8b, 0xff]).unwrap();
    folder.run("training show files").good().says("rank-2.json: cannot be read");
    folder.run("training show files/rank-0.json files/rank-9.json").ends_with(3).says("rank-9.json");
}

#[test]
fn the_name_decides_what_a_table_is_written_as() {
    let folder = Folder::new();
    folder.run(&format!("{SMALL} -o job.csv")).good();
    folder.run(&format!("{SMALL} -o job.parquet")).good();
    assert!(fs::read(folder.path().join("job.parquet")).unwrap().starts_with(b"PAR1"));
    let show = |name: &str| {
        let mut json = folder.run(&format!("training show {name} --json")).good().json();
        json.as_object_mut().unwrap().remove("source");
        json
    };
    assert_eq!(show("job.csv"), show("job.parquet"));
    assert_eq!(show("job.parquet")["synthetic"], true);
    for name in ["job.txt", "job"] {
        folder.run(&format!("{SMALL} -o {name}")).ends_with(2).says("written as .csv or .parquet");
        folder.run(&format!("whatif job.csv --slow all:2 -o {name}")).ends_with(2).says("as .csv or");
    }
}

#[test]
fn workers_are_named_in_one_way() {
    let folder = Folder::new();
    let text = |options: &str| {
        folder.run(&format!("{SMALL} {options} -o job.csv")).good();
        fs::read_to_string(folder.path().join("job.csv")).unwrap()
    };
    // Rank 3 is data-parallel rank 1 of stage 1.
    for (one, other) in [
        ("--slow 3:2@2", "--slow 1/1:2@2"),
        ("--stall 3:0.2s", "--stall 1/1:200ms"),
        ("--link 1-3:9", "--link 1/0-1/1:9"),
        ("--slow all:2", "--slow 0:2 --slow 1:2 --slow 2:2 --slow 3:2"),
    ] {
        assert_eq!(text(one), text(other), "{one} and {other}");
    }
    assert_ne!(text("--slow any:2"), text(""));
    for (options, says) in [
        ("--slow 4:2", "there is no rank 4: ranks are 0 to 3"),
        ("--slow 0/7:2", "there is no worker 0/7"),
        ("--link 0-3:2", "no transfer involves only workers 0/0 and 1/1"),
        ("--slow 0:2@99", "there is no step 99: steps are 0 to 5"),
        ("--slow 0:2@-1", "there is no step -1"),
        ("--stall 0:0.5", "0.5"),
    ] {
        folder.run(&format!("{SMALL} {options} -o job.csv")).ends_with(2).says(says);
    }
    let changed = |options: &str| {
        folder.run(&format!("whatif job.csv {options} --json")).good().json()["slowdown"].clone()
    };
    text("");
    assert_eq!(changed("--slow 3:2"), changed("--slow 1/1:2"));
    assert_eq!(changed("--link 1-3:9"), changed("--link 1/0-1/1:9"));
    folder.run("whatif job.csv --slow 5/5:2").ends_with(2).says("there is no worker 5/5");
}

#[test]
fn sizes_that_are_given_are_not_guessed() {
    let folder = Folder::new();
    let job = "training convert fixtures/training/last-stage.csv";
    let text = folder.run(&format!("{job} -o one --activations 32MiB")).good().stdout();
    assert!(text.contains("sends 32 MiB from stage to stage; a stage has "), "{text}");
    assert_eq!(text.matches("guessed").count(), 1, "{text}");
    let text = folder.run(&format!("{job} -o two --activations 32MiB --gradients 2GiB")).good().stdout();
    assert!(!text.contains("guessed"), "{text}");
}

#[test]
fn what_is_given_is_replayed_once() {
    let folder = Folder::new();
    let job = "whatif fixtures/training/last-stage.csv --json --noise";
    let json = folder.run(&format!("{job} delay:rank=3,at=1s,duration=2s")).good().json();
    assert_eq!(json["draws"], 1, "{json}");
    let json = folder.run(&format!("{job} periodic:rate=10Hz,duration=1ms --draws 3")).good().json();
    assert_eq!(json["draws"], 3, "{json}");
}

#[test]
fn jobs_of_profilers_have_copies_too() {
    let folder = Folder::new();
    folder.run(&format!("{SMALL} --to kineto -o files")).good();
    folder.run(&format!("{SMALL} -o job.csv")).good();
    let slowdown = |of: &str| {
        let json = folder.run(&format!("whatif {of} --copies 3 --slow 9:2 --json")).good().json();
        assert_eq!(json["workers"], 12, "{json}");
        json["slowdown"].as_f64().unwrap()
    };
    assert!((slowdown("files") - slowdown("job.csv")).abs() < 1e-6);
    folder.run("whatif files --slow 1:2 -o changed.csv").good();
}

/// Without microbatch annotations only kernels are known. If all ranks communicate, the job can still become a trace
/// or a workload.
#[test]
fn kernels_are_shown_as_a_trace_simulated_and_copied() {
    let folder = Folder::new();
    folder
        .run("training generate --dp 4 --pp 1 --microbatches 2 --steps 3 --slow 2:1.5 --to kineto -o files")
        .good();
    for file in std::fs::read_dir(folder.path().join("files")).unwrap().flatten() {
        let text = std::fs::read_to_string(file.path()).unwrap();
        std::fs::write(file.path(), text.replace("\"PP:0", "\"pass ")).unwrap();
    }
    let shown = folder.run("training show files --json").good().json();
    assert!(shown["verdict"].as_str().unwrap().contains("Rank 2 is slow"), "{shown}");
    let seconds = shown["step_seconds"].as_f64().unwrap();
    // The others wait for the slow rank, inside MPI.
    let trace = folder.run("trace show files --json").good().json();
    let share = |rank: usize| trace["ranks"][rank]["mpi_share"].as_f64().unwrap_or_else(|| panic!("{trace}"));
    assert!(share(2) < 0.15 && [0, 1, 3].iter().all(|&rank| share(rank) > 0.3), "{trace}");
    let simulated = |more: &str| {
        let json = folder.run(&format!("simulate files --network slingshot-11 {more} --json")).good().json();
        json["makespan_ps"].as_f64().unwrap_or_else(|| panic!("{json}")) / 1e12
    };
    // Three steps, whose communication takes about as long on this network as recorded.
    let one = simulated("");
    assert!((one / (3.0 * seconds) - 1.0).abs() < 0.15, "{one} {seconds}");
    assert!((simulated("--copies 4") / one - 1.0).abs() < 0.15);
    let wide = folder.run("whatif files --copies 4 --slow 9:3 --json").good().json();
    assert_eq!(wide["workers"], 16, "{wide}");
    assert!(wide["slowdown"].as_f64().unwrap() > 1.5, "{wide}");
}

/// Profiler files contain the places of ranks.
#[test]
fn places_of_ranks_are_read_again() {
    let folder = Folder::new();
    for (dp, pp) in [(2, 3), (1, 4), (4, 1), (2, 1)] {
        let name = format!("files-{dp}-{pp}");
        let line = format!("training generate --dp {dp} --pp {pp} --microbatches 2 --steps 3");
        folder.run(&format!("{line} --to kineto -o {name}")).good();
        let json = folder.run(&format!("training show {name} --json")).good().json();
        assert_eq!((&json["dp_ranks"], &json["stages"]), (&dp.into(), &pp.into()), "{name}");
        for worker in json["workers"].as_array().unwrap() {
            let at = |key: &str| worker[key].as_u64().unwrap();
            assert_eq!(at("rank"), at("stage") * dp + at("dp_rank"), "{name}: {worker}");
        }
    }
}

/// With two stages, half of the collectives are slow, so the typical ones are slow, too.
#[test]
fn slow_links_of_two_stages_are_not_called_harmless() {
    let folder = Folder::new();
    folder.run("training generate --dp 4 --pp 2 --link 1/1:40 -o job.csv").good();
    let text = folder.run("training show job.csv").good().stdout();
    assert!(text.starts_with("The steps take at least 2.46 times as long as they should."), "{text}");
    assert!(
        text.contains("they take 50 % longer") && text.contains("the typical worker is slow as well"),
        "{text}"
    );
    folder.run("training generate --dp 4 --pp 4 --link 1/1:40 -o job.csv").good();
    let text = folder.run("training show job.csv").good().stdout();
    assert!(text.starts_with("The steps take 2.13 times as long as they would"), "{text}");
}

/// Every error about a table names the file.
#[test]
fn faults_of_tables_name_the_file() {
    let folder = Folder::new();
    let table = table(&folder);
    let (names, rows) = table.split_once('\n').unwrap();
    let first = rows.lines().next().unwrap();
    folder.write("twice.csv", &format!("{names}\n{first}\n{rows}"));
    folder
        .run("training show twice.csv")
        .good()
        .says("1 row is repeated and used only once: the first is backward-compute 0 of rank 0 in step 0");
    folder
        .run("training show twice.csv --method published")
        .ends_with(3)
        .says("twice.csv: step 0, rank 0: backward-compute 0 appears twice");
    let is_lost = |line: &&str| line.split(',').nth(1) == Some("2") && line.contains("grads-reduce-scatter");
    let rest: Vec<&str> = rows.lines().filter(|line| !is_lost(line)).collect();
    folder.write("lost.csv", &format!("{names}\n{}\n", rest.join("\n")));
    folder.run("training show lost.csv").good().says("of rank 2 in step 0, ");
    folder
        .run("training show lost.csv --method published")
        .ends_with(3)
        .says("lost.csv: step 0, data-parallel rank ")
        .says("needs every operation: remove --method published");
    folder
        .run("simulate lost.csv --network slingshot-11")
        .ends_with(3)
        .says("lost.csv: step 0, rank 2: grads-reduce-scatter is missing");
}
