//! Training jobs: reports on known faults, and errors for bad files.

#[path = "../../../training/tests/public_jobs.rs"]
mod public_jobs;

use crate::outside::program::Folder;
use straggler_report::page::{Block, Chart, Heat, Page, Plot};

#[test]
fn a_slow_worker_is_named_with_its_step() {
    let folder = Folder::new();
    let text = folder.run("training show fixtures/training/slow-worker.csv").good().stdout();
    assert!(text.starts_with("The steps take 26 % longer than they would"), "{text}");
    assert!(text.contains("Rank 6 is slow from step 5 on: without that, a step would take 1.63 s"), "{text}");
    assert!(text.contains("20 % less (from step 5 on, 1.63 s instead of 2.34 s)."), "{text}");
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

fn page(folder: &Folder, job: &str) -> Page {
    folder.run(&format!("training show {job} --report job.html")).good();
    let html = std::fs::read_to_string(folder.path().join("job.html")).unwrap();
    Page::from_html(&html).unwrap().unwrap()
}

fn heat(page: &Page) -> (&Chart, &Heat) {
    let heats = page.charts().filter_map(|chart| match &chart.plot {
        Plot::Heat(heat) => Some((chart, heat)),
        _ => None,
    });
    heats.last().unwrap()
}

#[test]
fn the_page_has_causes_a_heat_map_and_two_timelines() {
    let folder = Folder::new();
    let page = page(&folder, "fixtures/training/slow-worker.csv");
    let shown = folder.run("training show fixtures/training/slow-worker.csv --json").good().json();
    let cause = shown["causes"][0]["summary"].as_str().unwrap();
    assert!(cause.starts_with("Rank 6 is slow from step 5 on"), "{cause}");
    let fact = &shown["causes"][0]["facts"][0];
    assert_eq!((&fact["kind"], &fact["rank"]), (&"slow-worker".into(), &6.into()), "{fact}");
    assert!((fact["factor"].as_f64().unwrap() - 1.6).abs() < 0.05, "{fact}");
    let line = shown["causes"][0]["evidence"][0].as_str().unwrap();
    assert!(line.starts_with("Rank 6 (data-parallel rank ") && page.sections[0].text[1] == line, "{line}");
    assert!(page.sections[0].text[0].starts_with(&format!("1. {cause}")), "{:?}", page.sections[0].text);
    let Some(Block::Table(gains)) = page.sections[0].blocks.first() else { panic!("no table") };
    assert_eq!(
        (gains.rows[0][0].text.as_str(), gains.rows[0][1].value),
        (cause, shown["causes"][0]["gain"].as_f64())
    );
    assert_eq!(gains.columns[2].name, "time per step");

    // Only rank 6 takes 1.6 times as long, from step 5 on.
    let (chart, heat) = heat(&page);
    assert_eq!((heat.xs.len(), heat.ys.len(), chart.note.as_str()), (12, 8, ""));
    assert_eq!((heat.x.names[0].as_str(), heat.x.names[11].as_str()), ("0", "11"));
    for (place, &value) in heat.values.iter().enumerate() {
        let (rank, step) = (heat.y.names[place / 12].as_str(), place % 12);
        let expected = if rank == "6" && step >= 5 { 1.6 } else { 1.0 };
        assert!((value / expected - 1.0).abs() < 0.1, "rank {rank}, step {step}: {value}");
    }

    // The slow worker comes first, recorded and ideal, and its rows end at the reported times.
    let timelines = page.charts().filter_map(|chart| match &chart.plot {
        Plot::Timeline(timeline) => Some(timeline),
        _ => None,
    });
    let timeline = timelines.last().unwrap();
    assert_eq!(timeline.rows[..2], ["rank 6 recorded", "rank 6 ideal"]);
    let ends = |row: u32| {
        let own = timeline.activities().filter(|bar| bar.row == row);
        own.map(|bar| bar.end_ps).fold(0.0, f64::max) / 1e12
    };
    let by_step: Vec<f64> =
        shown["by_step"].as_object().unwrap().values().map(|s| s.as_f64().unwrap()).collect();
    let worst = by_step.into_iter().fold(0.0, f64::max);
    assert!((ends(0) / ends(1) / worst - 1.0).abs() < 0.02, "{} {} {worst}", ends(0), ends(1));
    folder.run("training show fixtures/training/last-stage.csv --report job.page").good();
    assert_eq!(folder.names(), ["job.html", "job.page"]);
}

/// If only some steps were recorded, each has a column, and an empty column stands for a gap.
#[test]
fn steps_that_are_far_apart_are_seen() {
    let folder = Folder::new();
    let table = std::fs::read_to_string(folder.path().join("fixtures/training/slow-worker.csv")).unwrap();
    let (header, rows) = table.split_once('\n').unwrap();
    let step = header.split(',').position(|name| name == "step").unwrap();
    let mut text = format!("{header}\n");
    for line in rows.lines() {
        let mut cells: Vec<String> = line.split(',').map(str::to_string).collect();
        match cells[step].as_str() {
            "2" | "3" => continue,
            "4" => cells[step] = "900".into(),
            number if number.len() > 1 || number > "4" => cells[step] = format!("1{number:0>3}"),
            _ => {}
        }
        text.push_str(&format!("{}\n", cells.join(",")));
    }
    folder.write("gaps.csv", &text);
    let page = page(&folder, "gaps.csv");
    let (chart, heat) = heat(&page);
    let expected = ["0", "1", "", "900", "", "1005", "1006", "1007", "1008", "1009", "1010", "1011"];
    assert_eq!((&heat.x.names[..], heat.xs.len()), (&expected.map(String::from)[..], 12));
    assert_eq!(chart.note, "Empty columns are steps that were not analysed.");
    for (place, value) in heat.values.iter().enumerate() {
        assert_eq!(value.is_nan(), [2, 4].contains(&(place % 12)), "{place}: {value}");
    }
}

/// A cause hidden by others is reported with the gain of removing all of them, not as worth nothing.
#[test]
fn hidden_causes_are_worth_what_all_save() {
    let folder = Folder::new();
    folder.run("training generate --slow 2/0:1.3@5 --stall 3/1:400ms@10 -o job.csv").good();
    let text = folder.run("training show job.csv").good().stdout();
    let hidden = "mainly on rank 7 from step 10 on, hidden behind \u{201c}Rank 2 is slow from step 5 on";
    assert!(text.contains(hidden) && text.contains("removing both saves"), "{text}");
    let priced = folder.run("training show job.csv --cost 2").good().stdout();
    assert_eq!(priced.matches("Together with what hides it, costs ").count(), 1, "{priced}");
    assert!(priced.contains(" Costs "), "{priced}");
    let page = page(&folder, "job.csv");
    let text = &page.sections[0].text;
    assert!(text.iter().any(|line| line.contains("removing both saves")), "{text:?}");
    // The page numbers the causes and warns as the terminal does.
    assert!(text[0].starts_with("1. ") && text.iter().any(|line| line.starts_with("2. ")), "{text:?}");
    assert!(text.iter().any(|line| line.starts_with("Gains do not add up")), "{text:?}");
}

/// With several chunks per stage, the published analysis refuses recordings without the transfers at the pipeline's
/// ends.
#[test]
fn the_published_analysis_says_what_it_cannot_take() {
    let folder = Folder::new();
    folder.run("training generate --dp 2 --pp 2 --vpp 2 --microbatches 4 --steps 3 -o job.csv").good();
    let fault = "stage 0 has 4 operations forward-recv for 8 computations";
    folder.run("training show job.csv --method published").ends_with(3).says(fault);
    folder.run("training show job.csv --method published").ends_with(3).says("Remove --method published");
    folder.run("training show job.csv").good();
}

/// The report of a job with one stage does not mention stages.
#[test]
fn one_stage_is_not_spoken_of() {
    let folder = Folder::new();
    folder.run("training generate --dp 6 --pp 1 --slow 2/0:1.5 -o job.csv").good();
    let text = folder.run("training show job.csv").good().stdout();
    assert!(text.contains("Rank 2 computes 1.50 times as long as the others"), "{text}");
    assert!(!text.contains("stage"), "{text}");
}

/// Fixes and slows down job AR, whose published S is 1.973. STRAGGLER_TRAINING_JOBS names the folder of the tables.
#[test]
fn a_public_job_is_fixed_and_slowed_again() {
    let Some(jobs) = public_jobs::folder() else { return };
    let folder = Folder::new();
    let jobs = jobs.canonicalize().unwrap();
    let (table, meta) = (jobs.join("trace-AR.parquet"), jobs.join("meta-AR.yaml"));
    let line = format!("whatif {} --fix 0 --slow 0:2.36 -o again.parquet", table.display());
    folder.run(&line).good();
    let show = format!("training show again.parquet --meta {} --method published --json", meta.display());
    let s = folder.run(&show).good().json()["s"].as_f64().unwrap();
    assert!((s / 1.973 - 1.0).abs() < 0.02, "{s}");
}

#[test]
fn layers_are_split_anew() {
    let folder = Folder::new();
    let line = "training show fixtures/training/last-stage.csv --layers";
    let text = folder.run(&format!("{line} 32")).good().stdout();
    assert!(text.contains("The best split of the layers is 9, 8, 9, 6"), "{text}");
    assert_eq!(folder.run(&format!("{line} 8,8,8,8")).good().stdout(), text);
    folder.run(&format!("{line} 3.2e1")).good();
    folder.run(&format!("{line} many")).ends_with(2).says("not a whole number");
    folder.run(&format!("{line} 30")).ends_with(2).says("the job has 4 stages: give a multiple of 4");
}

#[test]
fn generated_jobs_are_read_again() {
    let folder = Folder::new();
    let line = "training generate --dp 3 --pp 1 --microbatches 2 --steps 6 --stall 1/0:500ms -o new.csv";
    folder.run(line).good();
    let text = folder.run("training show new.csv").good().stdout();
    assert!(text.contains("The host delays operations"), "{text}");
    folder.run(&line.replace("1/0:500ms", "7/0:500ms")).ends_with(2).says("there is no worker 7/0");
    folder.run(&line.replace("1/0:500ms", "nonsense")).ends_with(2).says("write it like 3:200ms");
}

/// Compares two values: numbers up to the rounding of nanoseconds, everything else exactly.
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
        for key in ["source", "warnings", "notes", "remarks"] {
            json.as_object_mut().unwrap().remove(key);
        }
        json
    };
    let table = show("job.csv");
    // With two stages, half of the collectives are slow: S is 1.5, and the slow transfers alone make it more than 2.
    assert!(table["s_at_least"].as_f64().unwrap() > 2.0 && table["causes"].is_array(), "{table}");
    for of in ["files", "packed"] {
        let read = show(of);
        assert!(is_close(&read, &table), "{read}\n{table}");
    }
    let text = folder.run("training convert files -o trace").good().stdout();
    assert!(text.contains("a trace of 6 ranks"), "{text}");
    folder.run("simulate trace --network slingshot-11").good();
    folder.run(&format!("{line} --to kineto -o files")).ends_with(3).says("files already exists");
}

#[test]
fn absurd_jobs_are_refused() {
    let folder = Folder::new();
    let refuses = |options: &str, says: &str| {
        folder.run(&format!("training generate {options} -o job.csv")).ends_with(2).says(says);
    };
    for times in ["1e30", "NaN", "-1", "inf"] {
        refuses(&format!("--slow 0/0:{times}"), &format!("`{times}` is not a factor: give a number from 0"));
    }
    refuses("--slow 0/0:0", "the slowdown of worker 0/0 is 0: give a number from 0.01 to 1000");
    refuses("--link 0/0:1e5", "give a number from 0.01 to 1000");
    refuses("--stall 0/0:2000min", "give a number from 0 to 3600");
    refuses("--dp 65536 --pp 1024", "are too many workers: use at most 4194304");
    refuses("--dp 65536 --pp 64 --steps 100000 --microbatches 4096", "operations are too many");
    refuses("--slow 0/0:2@20", "there is no step 20: steps are 0 to 19");
    // A single data-parallel rank needs no collectives.
    folder.run("training generate --dp 1 --steps 3 -o one.csv").good();
    let table = std::fs::read_to_string(folder.path().join("one.csv")).unwrap();
    assert!(!table.contains("reduce-scatter") && !table.contains("all-gather"));
    folder.run("training show one.csv --method published").good();
    // A single worker has nobody to be compared with.
    folder.run("training generate --dp 1 --pp 1 --steps 3 -o one.csv").good();
    let text = folder.run("training show one.csv").good().stdout();
    assert!(text.starts_with("One worker was recorded: there is no other to compare it with."), "{text}");
    folder.run("training generate --dp 1 --pp 1 --steps 1 -o one.csv").good();
    let text = folder.run("training show one.csv").good().stdout();
    assert!(text.starts_with("One step of one worker was recorded, and takes "), "{text}");
    assert!(!text.contains("typical"), "{text}");
}

#[test]
fn files_that_are_no_good_are_named() {
    let folder = Folder::new();
    folder.run("training show nowhere.csv").ends_with(3).says("nowhere.csv cannot be read");
    folder.write("text.csv", "a,b\n1,2\n");
    folder.run("training show text.csv").ends_with(3).says("column `dp_rank` is missing");
    let table = std::fs::read_to_string(folder.path().join("fixtures/training/slow-worker.csv")).unwrap();
    folder.write("unknown.csv", &table.replacen("backward-compute", "backward-guess", 1));
    folder
        .run("training show unknown.csv")
        .good()
        .says("optype is `backward-guess`, which is not a known operation");
    let published = folder.run("training show unknown.csv --method published").ends_with(3);
    published.says("optype is `backward-guess`").says("The published analysis needs complete tables");
    let mut lines: Vec<String> = table.lines().map(str::to_string).collect();
    let wrong = lines.iter().position(|line| line.starts_with("3,")).unwrap();
    lines[wrong] = lines[wrong].replacen(",0.", ",-0.", 2);
    folder.write("negative.csv", &(lines.join("\n") + "\n"));
    let shown = folder.run("training show negative.csv --json").good();
    assert_eq!(shown.json()["notes"][1], "left out because of these rows: step 3", "{}", shown.stdout());
    folder.run("training show negative.csv").good().says("(step 3, rank ").says("which is negative");
    std::fs::create_dir(folder.path().join("two")).unwrap();
    folder.write("two/a.csv", &table);
    folder.write("two/b.csv", &table);
    folder.run("training show two").ends_with(3).says("b.csv is a copy of ");
    folder.write("two/b.csv", &(lines.join("\n") + "\n"));
    folder.run("training show two").ends_with(3).says("belong to different jobs: both have step 0 of rank 0");
    folder.write("corrupt.parquet", "PAR1 nothing PAR1");
    folder.run("training show corrupt.parquet").ends_with(3).says("corrupt.parquet");
    folder.write("notes.json", "{\"hello\": 1}");
    folder.run("training show notes.json").ends_with(3).says("not a recording in a known format");
    // A killed recorder leaves half a line; its step is left out.
    folder.write("half.csv", &table[..table.len() - 700]);
    folder
        .run("training show half.csv")
        .good()
        .says("half.csv: ends in the middle of a row of step 11: was the recorder killed?");
    let metas = [
        ("dp_size: 8\npp_size: 2\n", "What the others did is unknown"),
        ("dp_size: 2\npp_size: 2\n", "Do they belong together?"),
    ];
    for (meta, says) in metas {
        folder.write("meta.yaml", meta);
        for method in ["", " --method published"] {
            let line = format!("training show fixtures/training/slow-worker.csv --meta meta.yaml{method}");
            folder.run(&line).good().says(says);
            let json = folder.run(&format!("{line} --json")).good().json();
            assert!(json["warnings"].to_string().contains(says), "{json}");
        }
    }
    // The meta.yaml that a recorder writes beside the tables is read automatically.
    std::fs::create_dir(folder.path().join("live")).unwrap();
    folder.write("live/rank-00000.csv", &table);
    folder.write("live/rank-00099.csv", table.lines().next().unwrap_or_default());
    folder.write("live/meta.yaml", "dp_size: 9\npp_size: 9\n");
    folder
        .run("training show live")
        .good()
        .says("rank-00099.csv: has no rows")
        .says("the description has 9 data-parallel ranks and 9 stages")
        .says("What the others did is unknown");
}

#[test]
fn a_job_is_changed() {
    let folder = Folder::new();
    let job = "fixtures/training/slow-worker.csv";
    let text = folder.run(&format!("whatif {job} --fix 6")).good().stdout();
    assert!(text.starts_with("A step takes 1.63 s instead of 2.04 s, 20 % less."), "{text}");
    assert!(text.contains("  rank 6 is as fast as typical workers of its stage\n"), "{text}");
    // Fixing it saves what the analysis says. `--mend` is the former name of `--fix`.
    let shown = folder.run(&format!("training show {job} --json")).good().json();
    let fixed = folder.run(&format!("whatif {job} --mend 6 --json")).good().json();
    let won = fixed["step_seconds"].as_f64().unwrap() - fixed["changed_seconds"].as_f64().unwrap();
    assert!((won / shown["causes"][0]["seconds"].as_f64().unwrap() - 1.0).abs() < 0.02, "{fixed}");
    // The written table can be analysed like any other job.
    folder.run(&format!("whatif {job} --fix 6 --slow 6:1.6@5 -o again.csv")).good();
    let again = folder.run("training show again.csv --json").good().json();
    assert_eq!((&again["causes"][0]["ranks"][0], &again["synthetic"]), (&6.into(), &true.into()), "{again}");
    assert_eq!(again["causes"][0]["since_step"], 5, "{again}");
}

#[test]
fn what_is_left_to_chance_is_drawn() {
    let folder = Folder::new();
    let job = "whatif fixtures/training/last-stage.csv";
    let drawn = format!("{job} --slow any:2 --link 5%:3 --copies 4 --draws 40 --json --seed 3");
    let json = folder.run(&drawn).good().json();
    assert_eq!((&json["draws"], &json["workers"]), (&40.into(), &32.into()), "{json}");
    let at = |name: &str| json["slowdowns"][name].as_f64().unwrap();
    assert!(1.0 < at("p5") && at("p5") <= at("p50") && at("p95") <= at("max"), "{json}");
    assert_eq!(json["worst"][0]["slowdown"], json["slowdowns"]["max"]);
    assert_eq!(folder.run(&format!("{drawn} --threads 1")).good().json(), json);
    // The worst draws name only the ranks that were drawn, not those that are always affected.
    let both = folder.run(&format!("{job} --fix all --slow any:2 --draws 5 --json")).good().json();
    assert_eq!(both["worst"][0]["ranks"].as_array().unwrap().len(), 1, "{both}");
    let noise = format!("{job} --noise periodic:rate=100Hz,duration=1ms --draws 3 --report noise.html");
    let text = folder.run(&noise).good().stdout();
    assert!(text.contains("noise disturbs all workers"), "{text}");
    let page = std::fs::read_to_string(folder.path().join("noise.html")).unwrap();
    assert!(page.contains("</html>"));
    let text = folder.run(&format!("{job} --lose 3@4")).good().stdout();
    assert!(text.starts_with("From step 4 on, a step takes 2.6"), "{text}");
    assert!(text.contains("It trains 50 % of the samples, so the same number of samples takes"), "{text}");
}

#[test]
fn changes_that_cannot_be_are_named() {
    let folder = Folder::new();
    let job = "whatif fixtures/training/last-stage.csv";
    for (options, says) in [
        ("", "nothing is changed"),
        ("--slow 99:2", "there is no rank 99: the job has 0 to 7"),
        ("--slow 1:2@99", "there is no step 99"),
        ("--slow one:2", "`one` is not a worker"),
        ("--slow 1:-2", "`-2` is not a factor"),
        ("--slow 1", "write it like 3:1.5"),
        ("--slow 101%:2", "is not a probability"),
        ("--link 0-5:2", "no transfer involves only ranks 0 and 5"),
        ("--lose 0 --lose 1", "no data-parallel rank would be left"),
        ("--lose 0@4 -o x.csv", "lose it at the first step, 0"),
        ("--link any-5:2@99", "there is no step 99"),
        ("--stall 1:100days", "unknown unit `days`"),
    ] {
        folder.run(&format!("{job} {options}")).ends_with(2).says(says);
    }
}

/// The table that is left after losing a node can be simulated.
#[test]
fn a_job_without_a_node_is_simulated() {
    let folder = Folder::new();
    let job = "fixtures/training/slow-worker.csv";
    let lost = folder.run(&format!("whatif {job} --lose 6 -o rest.csv --json")).good().json();
    let rest = folder.run("training show rest.csv --json").good().json();
    assert_eq!((&rest["dp_ranks"], rest["notes"].as_array().map(Vec::len)), (&3.into(), Some(0)), "{rest}");
    let seconds = |json: &serde_json::Value, key: &str| json[key].as_f64().unwrap();
    let (replayed, changed) = (seconds(&rest, "replayed_seconds"), seconds(&lost, "changed_seconds"));
    assert!((replayed / changed - 1.0).abs() < 1e-6, "{replayed} {changed}");
    let whole = folder.run(&format!("simulate {job} --network slingshot-11 --json")).good().json();
    let simulated = folder.run("simulate rest.csv --network slingshot-11 --json").good().json();
    assert_eq!(4 * simulated["processes"].as_u64().unwrap(), 3 * whole["processes"].as_u64().unwrap());
    // A link that no transfer uses is refused, even if one end is drawn.
    folder.run("training generate --pp 1 --steps 2 -o flat.csv").good();
    folder
        .run("whatif flat.csv --link any-2:10")
        .ends_with(2)
        .says("no transfer involves only rank 2 and one other rank");
}

/// Every command that takes a job as a table takes profiler files, too.
#[test]
fn profiles_are_simulated_as_tables_are() {
    let folder = Folder::new();
    let line = "training generate --dp 3 --pp 2 --microbatches 3 --steps 4";
    folder.run(&format!("{line} -o job.csv")).good();
    folder.run(&format!("{line} --to kineto-gz -o files")).good();
    let simulated = |of: &str| {
        let line = format!("simulate {of} --network slingshot-11 --copies 2 --json");
        folder.run(&line).good().json()
    };
    // The profiles state the sizes of their messages.
    folder.run("training convert job.csv --activations 32MiB --gradients 2GiB -o job.trace").good();
    let (table, files) = (simulated("job.trace"), simulated("files"));
    assert_eq!((&files["processes"], &table["processes"]), (&12.into(), &12.into()), "{files}");
    let makespan = |json: &serde_json::Value| json["makespan_ps"].as_f64().unwrap();
    assert!((makespan(&files) / makespan(&table) - 1.0).abs() < 1e-3, "{files}\n{table}");
    folder.run("training convert files -o files.trace").good();
    for line in ["trace show files", "trace waits files", "predict files", "whatif files.trace"] {
        let network = if line.starts_with("trace") { "" } else { " --network slingshot-11" };
        folder.run(&format!("{line}{network}")).good();
    }
    // The file of a single rank can be analysed as a job, but not as a trace.
    folder
        .run("simulate files/rank-0.json.gz --network slingshot-11")
        .ends_with(3)
        .says("a trace needs all of them");
}

#[test]
fn a_job_is_simulated_as_it_is() {
    let folder = Folder::new();
    let job = "fixtures/training/last-stage.csv";
    let json = folder.run(&format!("simulate {job} --network slingshot-11 --copies 4 --json")).good().json();
    assert_eq!(json["processes"], 32, "{json}");
    folder.run(&format!("training convert {job} -o trace")).good();
    let converted = folder.run("simulate trace --network slingshot-11 --copies 4 --json").good().json();
    assert_eq!(json["makespan_ps"], converted["makespan_ps"]);
    // More copies share the same parameters of a stage.
    let at = |copies: u32| {
        let line = format!("simulate {job} --network slingshot-11 --copies {copies} --json");
        folder.run(&line).good().json()["makespan_ps"].as_f64().unwrap()
    };
    assert!(at(64) < 1.25 * at(1), "{} {}", at(64), at(1));
    let text = folder.run(&format!("trace show {job}")).good().stdout();
    assert!(text.contains("MPI_Reduce_scatter_block"), "{text}");
}

/// Writes a generated table whose times `change` computes from rank, start and duration.
fn with_times(folder: &Folder, change: impl Fn(u32, f64, f64) -> (f64, f64)) {
    folder.run("training generate --dp 4 --pp 2 --steps 6 -o good.csv").good();
    let text = std::fs::read_to_string(folder.path().join("good.csv")).unwrap();
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    let place = |name: &str| header.split(',').position(|column| column == name).unwrap();
    let (rank, start, duration) = (place("rank"), place("start_ts"), place("duration"));
    let mut changed = format!("{header}\n");
    for line in lines {
        let mut cells: Vec<String> = line.split(',').map(str::to_string).collect();
        let number = |at: usize| cells[at].parse::<f64>().unwrap();
        let times = change(number(rank) as u32, number(start), number(duration));
        (cells[start], cells[duration]) = (times.0.to_string(), times.1.to_string());
        changed.push_str(&format!("{}\n", cells.join(",")));
    }
    std::fs::write(folder.path().join("changed.csv"), changed).unwrap();
}

/// Both analyses warn about clocks and units.
#[test]
fn the_published_analysis_warns_as_the_exact_one_does() {
    let folder = Folder::new();
    with_times(&folder, |rank, start, duration| (start + if rank == 5 { 3.0 } else { 0.0 }, duration));
    folder.run("training show changed.csv").good().says("Clocks were aligned");
    let published = folder.run("training show changed.csv --method published --json").good().json();
    assert!(published["warnings"][0].as_str().unwrap().starts_with("clocks differ: in step "), "{published}");
    with_times(&folder, |_, start, duration| (1000.0 * start, 1000.0 * duration));
    for method in ["exact", "published"] {
        let run = folder.run(&format!("training show changed.csv --method {method}")).good();
        run.says("are the times in milliseconds?");
    }
    let good = folder.run("training show good.csv --method published --json").good().json();
    assert_eq!(good["warnings"].as_array().unwrap().len(), 0, "{good}");
}

#[test]
fn files_that_say_nothing_are_refused_with_the_reason() {
    let folder = Folder::new();
    // Execution traces of PyTorch contain an order, but no times.
    let trace = r#"{"schema": "1.1.0-chakra.0.0.4", "pid": 1, "nodes": [
        {"id": 1, "name": "ProfilerStep#4", "ctrl_deps": 0, "inputs": {"values": []}, "attrs": []},
        {"id": 2, "name": "record_param_comms", "ctrl_deps": 1, "inputs": {"values": [[1, 2], 33, "allreduce"]},
         "attrs": [{"name": "collective_name", "type": "string", "value": "allreduce"},
                   {"name": "in_msg_nelems", "type": "uint64", "value": 12}, {"name": "pg_name", "value": "0"}]}],
        "finish_ts": 2}"#;
    std::fs::write(folder.path().join("et_0.json"), trace).unwrap();
    let untimed = folder.run("whatif et_0.json --slow 0:2").ends_with(3);
    untimed.says("the recording has no times, so nothing can be changed");
    with_times(&folder, |_, start, duration| (start, duration));
    folder.run("training show good.csv ./good.csv").ends_with(3).says("good.csv is given twice");
    folder.run("training generate --dp 2 --pp 2 --steps 4 -o job.parquet").good();
    let bytes = std::fs::read(folder.path().join("job.parquet")).unwrap();
    std::fs::write(folder.path().join("half.parquet"), &bytes[..bytes.len() / 2]).unwrap();
    let cut_off = folder.run("simulate half.parquet --network slingshot-11").ends_with(3);
    cut_off.says("half.parquet is a truncated Parquet table").says("copy it again");
}

/// Slow ranks of one node are that node, and every cause has its price.
#[test]
fn slow_ranks_are_explained_by_their_node_and_priced() {
    let folder = Folder::new();
    let slow: String = (8..12).map(|rank| format!(" --slow {rank}:1.3")).collect();
    folder.run(&format!("training generate --dp 16 --pp 1{slow} -o job.csv")).good();
    let json = folder.run("training show job.csv --nodes 4 --cost 2.50 --json").good().json();
    let summary = json["causes"][0]["summary"].as_str().unwrap();
    assert_eq!(summary, "The workers of node 2 (ranks 8 to 11, 4 of 16 workers) are slow");
    let hours = 24.0 * 16.0 * json["causes"][0]["gain"].as_f64().unwrap();
    let cost = &json["cost"];
    assert!((cost["causes"][0].as_f64().unwrap() - hours).abs() < 1e-9, "{cost}");
    assert_eq!((cost["gpus"].as_u64(), cost["price_of_gpu_hour"].as_f64()), (Some(16), Some(2.5)));
    let parts = &json["breakdown"]["all"];
    let sum: f64 =
        ["computing", "exposed", "host", "idle"].iter().map(|part| parts[part].as_f64().unwrap()).sum();
    assert!((sum / json["step_seconds"].as_f64().unwrap() - 1.0).abs() < 0.01, "{parts}");
    let text = folder.run("training show job.csv --nodes 4 --cost 2.50").good().stdout();
    assert!(text.contains(" GPU-hours a day, which cost "), "{text}");
    assert!(!text.contains("share of a step") && text.ends_with("fixing several workers saves.\n"), "{text}");
    let details = folder.run("training show job.csv --nodes 4 -v").good().stdout();
    assert!(details.contains("share of a step") && details.contains("workers fixed"), "{details}");
    let places: String = (0..16).map(|rank| format!("{rank},r{}\n", rank / 8)).collect();
    folder.write("places.csv", &format!("rank,rack\n{places}"));
    let text = folder.run("training show job.csv --nodes places.csv").good().stdout();
    assert!(text.contains("(4 of 16 workers) are slow"), "{text}");
    folder.write("places.csv", "rank,rack\nx,1\n");
    folder
        .run("training show job.csv --nodes places.csv")
        .ends_with(3)
        .says("places.csv: line 2: `x` is not a rank");
    folder.run("training show job.csv --nodes 0").ends_with(2).says("a node has at least one rank");
    folder.run("training show job.csv --cost x").ends_with(2).says("give the price of a GPU-hour");
    folder.run("training show job.csv --method published --cost 1").ends_with(2).says("need --method exact");
}
