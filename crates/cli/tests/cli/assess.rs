//! Assessments: measured, read and described noise.

use crate::outside::program::{Folder, signal, wait_until, wait_until_worked};

#[test]
fn noise_that_is_described_is_assessed() {
    let folder = Folder::new();
    let noise = "periodic:rate=250Hz,duration=4us,name=tick+periodic:period=50ms,duration=2ms,name=daemon";
    let line =
        format!("assess --quick {noise} --network chic --processes 4096 --interval 10ms -o out --json");
    let answer = folder.run(&line).good().json();
    let curves = answer["curves"].as_array().unwrap();
    assert_eq!(curves[0]["operation"], "allreduce");
    assert_eq!(curves[1]["same_as"], "allreduce");
    assert_eq!(curves[0]["points"].as_array().unwrap().len(), 12);
    let ranking = answer["rankings"].as_array().unwrap().last().unwrap();
    assert_eq!(ranking["removals"][0]["cause"], "daemon");
    let verdict = answer["verdict"].to_string();
    assert!(verdict.contains("Remove first: daemon"), "{verdict}");
    // The same numbers again, whatever the number of threads.
    let again = folder.run(&format!("{line} --threads 1")).good().json();
    assert_eq!((&again["curves"], &again["rankings"]), (&answer["curves"], &answer["rankings"]));
    let written = std::fs::read_to_string(folder.path().join("out/assess.json")).unwrap();
    assert!(written.contains("\"inflection\""));
    for name in ["programs.svg", "programs.png", "slowdown.svg", "slowdown.png", "sources.svg", "sources.png"]
    {
        assert!(folder.path().join("out").join(name).metadata().unwrap().len() > 1000, "{name}");
    }
    let picture = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name)).unwrap();
    let slowdowns = picture("slowdown.svg");
    assert!(slowdowns.contains(">slowdown<") && slowdowns.contains(">20×<"), "{slowdowns}");
    let sources = picture("sources.svg");
    assert!(sources.contains(">time saved<") && sources.contains("ms<"), "{sources}");
}

/// Programs come first on the console, on the page and in the JSON, and as metrics. A long run of the same loop says the
/// same.
#[test]
fn programs_that_synchronise_are_assessed() {
    let folder = Folder::new();
    let noise = "poisson:rate=50Hz,duration=1ms";
    let line = format!(
        "assess --quick {noise} --network chic --processes 32 --interval 10ms,1ms -o out --prometheus a.prom --fail-if \
         program_slowdown[10ms]@32>1000%"
    );
    let text = folder.run(&line).good().stdout();
    let expected = "processes up, noise costs a program more than 10 % if it synchronises every";
    assert!(text.starts_with("From ") && text.lines().next().unwrap().contains(expected), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("out/assess.json")).unwrap())
            .unwrap();
    let programs = json["programs"].as_array().unwrap();
    let number = |point: &serde_json::Value, name: &str| point[name].as_f64().unwrap();
    let each: Vec<(f64, f64)> = programs
        .iter()
        .map(|point| (number(point, "processes"), number(point, "interval_seconds")))
        .collect();
    assert_eq!(each.len(), 10);
    assert_eq!((each[0], each[9]), ((2.0, 1e-3), (32.0, 1e-2)));
    assert!(programs.iter().all(|point| number(point, "low") <= number(point, "high")), "{programs:?}");
    let simulate = format!(
        "simulate --collective allreduce --size 1 --processes 32 --cycles 3000 --compute 1ms --noise {noise} \
         --wallclock --network chic --seed 7 --compare-quiet --json"
    );
    let long = folder.run(&simulate).good().json()["slowdown"].as_f64().unwrap();
    let point = &programs[8];
    assert!(number(point, "low") < long && long < number(point, "high"), "{long} {point}");
    let metrics = std::fs::read_to_string(folder.path().join("a.prom")).unwrap();
    let metric = "straggler_program_slowdown_ratio{interval=\"10ms\",processes=\"32\"}";
    assert!(metrics.contains(metric), "{metrics}");
    let page = page_of(&folder, "out/report.html");
    assert_eq!(page.summary[0], text.lines().next().unwrap());
    assert_eq!(page.sections[0].title, "What a program pays");
    assert_eq!(table_of(&page, "Mean slowdowns of programs").columns[2].name, "every 10 ms");
}

#[test]
fn this_machine_is_assessed_and_its_recording_again() {
    let folder = Folder::new();
    let line = "assess --quick --time 100ms --processes 64 --interval 10ms --sources none -o a -v";
    let text = folder.run(line).good().stdout();
    let [first, second] = [0, 1].map(|line| text.lines().nth(line).unwrap_or_default());
    assert!(first.contains("a program") && second.starts_with("On this node, noise takes "), "{text}");
    assert!(text.contains("process r replays") || text.contains("every process replays"), "{text}");
    let first = std::fs::read_to_string(folder.path().join("a/assess.json")).unwrap();
    let first: serde_json::Value = serde_json::from_str(&first).unwrap();
    let again =
        folder.run("assess --quick a/node.noise --processes 64 --interval 10ms -o b --json").good().json();
    assert_eq!(first["curves"], again["curves"]);
}

#[test]
fn quiet_nodes_and_mistakes() {
    let folder = Folder::new();
    let text = folder.run("assess none --processes 16 -v").good().stdout();
    assert!(text.starts_with("Noise costs nothing on up to 16 processes, even if"), "{text}");
    assert!(text.contains("up to 16 processes, noise adds nothing to a typical allreduce."), "{text}");
    assert!(text.contains("no source to remove"), "{text}");
    for (line, code, text) in [
        ("assess none --network nowhere", 2, "nowhere"),
        ("assess none --processes 1", 2, "1 is out of range"),
        ("assess none --threshold 0", 2, "above 0"),
        ("assess none --interval 1ms,0s", 2, "give times above 0"),
        ("assess none --interval 1ms --goal a.goal", 2, "cannot be used with"),
        ("assess none --time 1s", 2, "cannot be used with"),
        ("assess nothing.noise", 3, "nothing.noise"),
        ("assess delay:rank=1,at=0us,duration=1ms", 2, "not noise of a node"),
        ("assess none --processes 4 -o fixtures/noise/columns.txt/x", 3, "is not a folder"),
    ] {
        folder.run(line).ends_with(code).says(text);
    }
}

#[test]
fn a_traced_program_is_assessed_in_copies() {
    let folder = Folder::new();
    let noise = "periodic:period=10ms,duration=1ms,name=daemon";
    let line = format!("assess --quick {noise} --trace fixtures/traces/halo --copies 16,1,4 -o out");
    let answer = folder.run(&format!("{line} --json")).good().json();
    let points = answer["curves"][0]["points"].as_array().unwrap();
    let processes: Vec<u64> = points.iter().map(|point| point["processes"].as_u64().unwrap()).collect();
    assert_eq!(processes, [4, 16, 64]);
    assert_eq!(answer["program"]["copies"], serde_json::json!([1, 4, 16]));
    assert_eq!(
        (answer["program"]["kind"].as_str(), answer["program"]["fitted"].as_bool()),
        (Some("trace"), Some(true))
    );
    assert_eq!((&answer["bytes"], &answer["programs"]), (&serde_json::Value::Null, &serde_json::json!([])));
    // The run without noise is the replay that `predict` does.
    for (point, copies) in points.iter().zip([1, 4, 16]) {
        let line = format!("predict fixtures/traces/halo --fit --copies {copies} --json");
        let predicted = folder.run(&line).good().json()["predicted_seconds"].as_f64().unwrap();
        let quiet = point["quiet_ps"].as_u64().unwrap() as f64 * 1e-12;
        assert!((quiet - predicted).abs() < 1e-12, "{copies} copies: {quiet} {predicted}");
    }
    // Half of the runs on four processes meet no detour; runs on 16 and 64 nearly always do.
    let medians: Vec<f64> =
        points.iter().map(|point| point["slowdown"]["median"].as_f64().unwrap()).collect();
    assert!(medians[0] >= 0.0 && medians[1] > 1.0 && medians[2] > medians[1], "{medians:?}");
    let text = folder.run(&format!("{line} --network chic -v")).good().stdout();
    for part in [
        "processes up, noise adds more than 10 % to the traced program",
        "the traced program fixtures/traces/halo",
        "copies",
        "Remove first: daemon",
        "come on top",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    folder.run("report out -o all.html").good();
}

/// The run time of the program is the first answer: that of `simulate` with the same draws.
#[test]
fn the_run_time_of_a_traced_program_comes_first() {
    let folder = Folder::new();
    let noise = "periodic:period=5ms,duration=200us,name=daemon";
    let line =
        format!("assess --quick {noise} --trace fixtures/traces/halo --copies 1,8 --network chic -o out");
    let text = folder.run(&line).good().stdout();
    let json = std::fs::read_to_string(folder.path().join("out/assess.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let point = json["curves"][0]["points"].as_array().unwrap().last().unwrap();
    let simulate = format!(
        "simulate fixtures/traces/halo --copies 8 --network chic --noise {noise} --compare-quiet --json --replicas {}",
        point["replicas"]
    );
    let simulated = folder.run(&simulate).good().json();
    assert_eq!(simulated["makespan_ps"], point["median_ps"]);
    assert_eq!(simulated["quiet_makespan_ps"], point["quiet_ps"]);
    let [noisy, quiet] = ["makespan_ps", "quiet_makespan_ps"]
        .map(|key| straggler_model::Time(simulated[key].as_u64().unwrap()));
    let first = text.lines().next().unwrap();
    let begins =
        format!("On 32 processes the traced program fixtures/traces/halo takes {noisy} with this noise, ");
    assert!(first.starts_with(&begins), "{begins}\n{first}");
    assert!(first.contains(&format!(" without ({quiet}). On 4 processes it takes ")), "{first}");
}

/// On a quiet node, no source is worth removing, whatever gains most.
#[test]
fn noise_that_costs_nearly_nothing_needs_no_action() {
    let folder = Folder::new();
    let noise = "periodic:rate=10Hz,duration=1us,name=tick+periodic:rate=20Hz,duration=2us,name=other";
    let text = folder
        .run(&format!("assess --quick {noise} --network chic --processes 16 --interval 1ms"))
        .good()
        .stdout();
    assert!(text.starts_with("Noise costs at most 0."), "{text}");
    assert!(text.contains("\nNoise costs too little to act on: no source is worth removing.\n"), "{text}");
    assert!(!text.contains("Remove first") && !text.contains("to blame"), "{text}");
}

/// The answer fits on a screen; -v has what else is known.
#[test]
fn details_are_printed_if_asked_for() {
    let folder = Folder::new();
    let line = "assess --quick chic --network chic --processes 64 --interval 100us,1ms,10ms,100ms";
    let [short, long] = ["", " -v"].map(|option| {
        let output = folder.command(&format!("{line}{option}")).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    });
    assert!(short.lines().count() <= 40, "{short}");
    let [single, notes] = ["A single operation that starts at a random moment", "\nNotes\n"];
    assert!(long.contains(single) && long.contains(notes) && !short.contains(single), "{long}\n{short}");
    assert!(
        short.ends_with("With -v, and in report.html: a single operation and how this was found.\n"),
        "{short}"
    );
    assert!(
        short.contains("\nThe noise chic (synthesised, not measured) takes 0.21 % of CPU time.\n"),
        "{short}"
    );
    assert_eq!(short.matches("synthesised").count(), 1, "{short}");
}

#[test]
fn schedules_are_assessed() {
    let folder = Folder::new();
    for processes in [4, 16] {
        let line = format!(
            "schedule generate --collective allreduce:ring --processes {processes} -o {processes}.goal"
        );
        folder.run(&line).good();
    }
    let noise = "periodic:period=1ms,duration=100us";
    let line = format!("assess --quick {noise} --goal 16.goal --goal 4.goal --network chic -o out --json");
    let answer = folder.run(&line).good().json();
    let points = answer["curves"][0]["points"].as_array().unwrap();
    assert_eq!((points[0]["processes"].as_u64(), points[1]["processes"].as_u64()), (Some(4), Some(16)));
    let simulated = folder.run("simulate 16.goal --network chic --json").good().json();
    assert_eq!(points[1]["quiet_ps"], simulated["makespan_ps"]);
    assert_eq!(answer["program"]["name"], "4.goal, 16.goal");
}

#[test]
fn programs_that_cannot_be_assessed() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("stuck.goal", "num_ranks 2\nrank 0 {\nrecv 1b from 1\n}\nrank 1 {\nrecv 1b from 0\n}");
    write("left.goal", "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\n}");
    write("nothing.goal", "num_ranks 2\nrank 0 {\n}\nrank 1 {\n}");
    write("bad.goal", "num_ranks 2\nrank 0 {\ncalk 1\n}");
    let halo = "--trace fixtures/traces/halo";
    for (line, code, text) in [
        (format!("{halo} --goal stuck.goal"), 2, "cannot be used with"),
        (format!("{halo} --processes 4"), 2, "cannot be used with"),
        (format!("{halo} --size 4"), 2, "cannot be used with"),
        (format!("{halo} --copies 0"), 2, "0 is out of range"),
        (format!("{halo} --copies 1,x"), 2, "invalid"),
        (format!("{halo} --copies 1,4294967295"), 2, "simulate fewer"),
        ("--copies 4".into(), 2, "--trace"),
        ("--drop-unmatched".into(), 2, "need --trace"),
        ("--trace nowhere".into(), 3, "nowhere"),
        ("--trace bad.goal".into(), 3, "bad.goal"),
        ("--goal nowhere.goal".into(), 3, "nowhere.goal"),
        ("--goal bad.goal".into(), 3, "line 3"),
        ("--goal nothing.goal".into(), 3, "nothing.goal has no operations"),
        ("--goal stuck.goal".into(), 4, "stuck.goal, 2 processes: the schedule cannot finish"),
        ("--goal left.goal".into(), 4, "1 message is never received"),
        ("--goal stuck.goal --copies 4".into(), 2, "--copies needs --trace"),
        ("--goal fixtures/traces/halo".into(), 2, "Give --trace fixtures/traces/halo"),
        ("--goal stuck.goal --goal nothing.goal".into(), 3, "nothing.goal has no operations"),
        ("--goal stuck.goal --goal stuck.goal".into(), 2, "both have 2 processes"),
    ] {
        folder.run(&format!("assess none {line}")).ends_with(code).says(text);
    }
}

/// Writes a recording of one core: a job that runs half of the time, a tick, straggler itself, and unnamed noise.
fn busy_recording(folder: &Folder) {
    use straggler_model::Time;
    use straggler_noise::NoiseRecording;
    use straggler_noise::format::{self, Format};
    use straggler_noise::recording::{Core, Detour, Evidence};
    let mut recording = NoiseRecording { sources: NoiseRecording::unnamed(), ..NoiseRecording::default() };
    let us = |count: u64| Time::from_ns(count * 1000);
    let mut source = |name: &str| recording.source_id(name, Evidence::Traced);
    let parts = [
        (source("rustc"), 0, 5000),
        (source("timer tick"), 6000, 4),
        (source("straggler itself"), 7000, 900),
        (0, 8000, 9),
    ];
    let detours = (0..100).flat_map(|slice| {
        parts.map(|(source, at, length)| Detour {
            start: us(slice * 10_000 + at),
            duration: us(length),
            source,
        })
    });
    recording.cores.push(Core { length: us(1_000_000), detours: detours.collect(), ..Core::default() });
    let written = format::write(&recording, Format::Straggler).unwrap();
    std::fs::write(folder.path().join("busy.noise"), &written.files[0].bytes).unwrap();
}

#[test]
fn a_busy_node_is_said_first_and_jobs_can_be_left_out() {
    let folder = Folder::new();
    busy_recording(&folder);
    let answer = folder
        .run("assess --quick busy.noise --network chic --processes 256 --interval 10ms -o a --json")
        .good()
        .json();
    let verdict: Vec<&str> =
        answer["verdict"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert!(verdict[0].starts_with("busy.noise was busy: 50 % of the time went to rustc."), "{verdict:?}");
    assert!(verdict[0].ends_with("straggler assess busy.noise --ignore rustc"), "{verdict:?}");
    assert!(
        verdict.iter().any(|line| line.starts_with("Keep the other jobs named above off the node first.")),
        "{verdict:?}"
    );
    let removals = |answer: &serde_json::Value| -> Vec<String> {
        let all =
            answer["rankings"].as_array().unwrap().last().unwrap()["removals"].as_array().unwrap().clone();
        all.iter().map(|removal| removal["cause"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(removals(&answer), ["other jobs", "timer tick"]);
    let quiet = folder.run(
        "assess --quick busy.noise --ignore RUSTC --network chic --processes 256 --interval 10ms -o b --json",
    );
    let quiet = quiet.good().json();
    assert_eq!(removals(&quiet), ["timer tick"]);
    let text = quiet["findings"].to_string();
    assert!(!text.contains("was busy") && text.contains("ignored because of --ignore: RUSTC"), "{text}");
}

/// A recording of 8 ms says little about a program that synchronises every 100 ms. Sources of a description are ignored by
/// the names that it gives them.
#[test]
fn short_recordings_are_doubted_and_described_sources_are_ignored() {
    let folder = Folder::new();
    folder.write("few.txt", "1000 5000\n4001000 6000\n8001000 5500\n");
    let text = folder
        .run("assess --quick few.txt --network chic --processes 16 --interval 10ms -o few")
        .good()
        .stdout();
    assert!(text.contains(" of CPU time was measured: rarer noise is missing"), "{text}");
    assert!(text.contains("shorter than 10 ms and repeats within it"), "{text}");
    let noise = "periodic:rate=250Hz,duration=4us,name=tick+poisson:rate=10Hz,duration=200us,name=daemon";
    let line =
        format!("assess --quick {noise} --network chic --processes 4 --interval 10ms -o out --json --ignore");
    let causes =
        |name: &str| folder.run(&format!("{line} {name}")).good().json()["noise"]["causes"].to_string();
    assert!(causes("daemon").contains("tick") && !causes("daemon").contains("daemon"));
    assert!(causes("tick").contains("daemon"));
}

/// `--ignore` with an unknown name is an error that lists the known names. A measurement made before is kept.
#[test]
fn names_that_no_source_has_are_refused() {
    let folder = Folder::new();
    busy_recording(&folder);
    let list = "--ignore nobody: no such source; the sources are: unnamed, rustc, timer tick";
    folder.run("assess --quick busy.noise --ignore rustc --ignore nobody -o a").ends_with(2).says(list);
    folder
        .run("assess periodic:period=1ms,duration=1us,name=tick --ignore nobody")
        .ends_with(2)
        .says("--ignore nobody: no such source; the sources are: tick");
    let text = "assess it with: straggler assess b/node.noise";
    folder.run("assess --quick --time 50ms --sources none --ignore nobody -o b").ends_with(2).says(text);
    assert!(folder.path().join("b/node.noise").exists());
}

/// An interrupted measurement reports how much of it was done.
#[test]
fn a_stopped_measurement_says_how_much_there_is() {
    let folder = Folder::new();
    let mut command = folder.command("assess --time 10s --sources none --processes 4 -o out");
    let child =
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_until_worked(&child, 1500);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("of 10 s") && said.contains("of 5 batches"), "{said}");
    let kept = folder.path().join("out/node.noise").exists();
    assert_eq!(
        kept,
        said.contains("saved in out/node.noise; assess it with: straggler assess out/node.noise"),
        "{said}"
    );
}

/// The table of sources shows the time that each removal saves, and a line below the table explains the star.
#[test]
fn tables_explain_themselves() {
    let folder = Folder::new();
    let noise = "periodic:period=10ms,duration=1ms,name=daemon+periodic:period=7ms,duration=5us,name=tick";
    let line = format!("assess --quick {noise} --trace fixtures/traces/halo --copies 1,4 -o out");
    let text = folder.run(&line).good().stdout();
    let json = std::fs::read_to_string(folder.path().join("out/assess.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let removals = json["rankings"].as_array().unwrap().last().unwrap()["removals"].clone();
    let (_, table) = text.split_once("Gain from removing a source").unwrap();
    let rows: Vec<&str> = table.lines().skip(4).take(2).collect();
    for (row, removal) in rows.iter().zip(removals.as_array().unwrap()) {
        assert!(row.trim_start().starts_with(removal["cause"].as_str().unwrap()), "{row}");
    }
    let point = json["curves"][0]["points"].as_array().unwrap().last().unwrap();
    let saved = removals[0]["gain"].as_f64().unwrap() * point["quiet_ps"].as_f64().unwrap();
    let shown = format!("  {} [", straggler_model::Time(saved.round() as u64));
    assert!(rows[0].contains(&shown), "{shown}: {}", rows[0]);
    let (slowdowns, _) = text.split_once("Gain from removing").unwrap();
    assert!(slowdowns.contains("] *") && slowdowns.contains("\n  * interval wider"), "{text}");
    assert_eq!(text.matches("interval wider").count(), 1, "{text}");
}

#[test]
fn console_page_and_json_say_the_same() {
    let folder = Folder::new();
    let noise = "periodic:period=10ms,duration=7ms,name=hog+periodic:period=7ms,duration=1us,name=tick";
    let line = format!("assess --quick {noise} --network chic --processes 4096 --interval 10ms -o out");
    let text = folder.run(&format!("{line} -v")).good().stdout();
    let json = std::fs::read_to_string(folder.path().join("out/assess.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let html = std::fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    let page = straggler_report::page::Page::from_html(&html).unwrap().unwrap();
    let findings = json["findings"].as_array().unwrap();
    assert!(findings.len() > 3, "{findings:?}");
    for finding in findings {
        let said = finding["text"].as_str().unwrap();
        assert!(text.contains(said), "the console lacks: {said}\n{text}");
        let shown = [&page.summary, &page.warnings, &page.notes]
            .iter()
            .any(|lines| lines.iter().any(|line| line == said));
        assert!(shown, "the page lacks: {said}");
    }
}

#[test]
fn an_older_assessment_leaves_only_its_recording_behind() {
    let folder = Folder::new();
    folder.run("assess --quick --time 100ms --processes 16 --interval 10ms --sources none -o out").good();
    assert!(folder.path().join("out/node.noise").exists() && folder.path().join("out/detours.svg").exists());
    folder.write("out/mine.txt", "stays");
    // The recording is an input here, so it stays.
    folder.run("assess --quick out/node.noise --processes 16 --interval 10ms -o out").good();
    assert!(folder.path().join("out/node.noise").exists());
    let recording = std::fs::read(folder.path().join("out/node.noise")).unwrap();
    let kept = "out/node.noise of an earlier measurement is kept";
    folder
        .run("assess periodic:period=1ms,duration=10us --processes 16 --interval 10ms -o out")
        .good()
        .says(kept);
    for name in ["detours.svg", "detours.png"] {
        assert!(!folder.path().join("out").join(name).exists(), "{name}");
    }
    // Only the recording stays: it may be the only copy.
    assert_eq!(std::fs::read(folder.path().join("out/node.noise")).unwrap(), recording);
    assert!(folder.path().join("out/mine.txt").exists());
}

#[test]
fn a_finished_measurement_survives_an_interruption() {
    use std::io::Read;
    let folder = Folder::new();
    // The measurement is short; the number of processes makes the simulation long.
    let mut command = folder.command("assess --quick --time 50ms --processes 67108864 --sources none -o out");
    let mut child =
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let file = folder.path().join("out/node.noise");
    wait_until(|| file.exists());
    signal(&child, "-INT");
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    assert!(said.contains("assess it with: straggler assess out/node.noise"), "{said}");
    folder.run("assess --quick out/node.noise --processes 4 --interval 10ms -o out").good();
}

fn page_of(folder: &Folder, name: &str) -> straggler_report::page::Page {
    let html = std::fs::read_to_string(folder.path().join(name)).unwrap();
    straggler_report::page::Page::from_html(&html).unwrap().unwrap()
}

/// Returns the first table whose title starts with `title`.
fn table_of<'a>(page: &'a straggler_report::page::Page, title: &str) -> &'a straggler_report::page::Table {
    let blocks = page.sections.iter().flat_map(|section| &section.blocks);
    let mut tables = blocks.filter_map(|block| match block {
        straggler_report::page::Block::Table(table) => Some(table),
        straggler_report::page::Block::Chart(_) => None,
    });
    tables.find(|table| table.title.starts_with(title)).unwrap()
}

/// The page marks unsettled numbers as the console does, and shows the copies and the fitted network.
#[test]
fn the_page_of_a_traced_program_says_what_the_console_says() {
    let folder = Folder::new();
    let noise = "periodic:period=10ms,duration=1ms,name=daemon";
    let line =
        format!("assess --quick {noise} --trace fixtures/traces/halo --copies 1,4 --network fit -o out -v");
    let text = folder.run(&line).good().stdout();
    let page = page_of(&folder, "out/report.html");
    let table = table_of(&page, "Slowdowns");
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names[..4], ["program", "processes", "copies", "slowdown"]);
    let cells =
        |column: usize| -> Vec<&str> { table.rows.iter().map(|row| row[column].text.as_str()).collect() };
    assert_eq!(cells(2), ["1", "4"]);
    // Runs on few processes meet many detours or none.
    assert!(
        text.contains("] *") && cells(3).iter().any(|cell| cell.ends_with(" *")),
        "{text}\n{:?}",
        cells(3)
    );
    let json = std::fs::read_to_string(folder.path().join("out/assess.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let points = json["curves"][0]["points"].as_array().unwrap();
    for (point, cell) in points.iter().zip(cells(3)) {
        assert_eq!(point["settled"] == false, cell.ends_with('*'), "{cell}");
    }
    let latency = format!("Network fitted to the trace: L={}", json["network"]["L"].as_str().unwrap());
    assert!(text.contains(&latency), "{text}");
    assert!(page.facts.0.iter().any(|(name, _)| name == "Network fitted to the trace"), "{:?}", page.facts);
}
