//! All commands report the same mistake in the same words.

use crate::outside::program::{Folder, NETWORK};

/// Commands that take a file, with `FILE` in its place.
const COMMANDS: [&str; 18] = [
    "assess FILE",
    "assess --goal FILE",
    "simulate FILE --network chic",
    "simulate --collective barrier --processes 4 --network chic --noise FILE",
    "predict FILE --network chic",
    "whatif FILE --network chic --scale all=0.5",
    "study run FILE",
    "study show FILE",
    "tools slurm-script simulate -- FILE --network chic",
    "tools slurm-script study FILE",
    "trace info FILE",
    "trace check FILE",
    "trace convert FILE -o out.json",
    "schedule info FILE",
    "schedule convert FILE -o out.goal",
    "noise show FILE",
    "noise convert FILE -o out",
    "report FILE",
];

#[test]
fn a_file_that_is_not_there() {
    let folder = Folder::new();
    for command in COMMANDS {
        let line = command.replace("FILE", "absent");
        folder.run(&line).ends_with(3).says("error: absent cannot be read: No such file or directory");
    }
    folder
        .run("network show absent.toml")
        .ends_with(3)
        .says("error: absent.toml cannot be read: No such file or directory");
}

#[test]
fn the_name_that_was_meant() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("measured-noise"), "").unwrap();
    for command in COMMANDS {
        let line = command.replace("FILE", "measured-nose");
        folder.run(&line).ends_with(3).says("did you mean `measured-noise`?");
    }
}

#[test]
fn a_file_of_another_kind() {
    let folder = Folder::new();
    let goal = "fixtures/conformance/eager-00.goal";
    let noise = "fixtures/noise/selfish.0";
    let study = "examples/studies/allreduce.toml";
    let is_goal = "is a GOAL schedule, not a recording of noise: use it as FILE of `straggler simulate`";
    let is_noise = "is a recording of noise, not a schedule: use it with --noise";
    for (line, text) in [
        (format!("assess {goal}"), is_goal),
        (format!("noise show {goal}"), is_goal),
        (format!("noise convert {goal} -o out"), is_goal),
        (format!("simulate --collective barrier --processes 4 --network chic --noise {goal}"), is_goal),
        (
            format!("study run {goal}"),
            "is a GOAL schedule, not a study: use it as FILE of `straggler simulate`",
        ),
        (format!("study run {noise}"), "is a recording of noise, not a study: use it with --noise"),
        (format!("assess --goal {noise}"), is_noise),
        (format!("simulate {noise} --network {NETWORK}"), is_noise),
        (format!("schedule info {noise}"), is_noise),
        (
            format!("schedule info {study}"),
            "is a TOML file, not a schedule: use a study with `straggler study run`",
        ),
    ] {
        folder.run(&line).ends_with(3).says(text);
    }
}

/// A file where a subcommand is missing.
#[test]
fn the_command_that_shows_a_file() {
    let folder = Folder::new();
    for (line, meant) in [
        ("training fixtures/training/slow-worker.csv", "training show fixtures/training/slow-worker.csv"),
        ("noise fixtures/noise/selfish.0", "noise show fixtures/noise/selfish.0"),
        ("trace fixtures/traces/halo", "trace show fixtures/traces/halo"),
        ("latency fixtures/latency/before.lat", "latency show fixtures/latency/before.lat"),
        ("noise fixtures/latency/before.lat", "latency show fixtures/latency/before.lat"),
        ("fixtures/conformance/eager-00.goal", "schedule info fixtures/conformance/eager-00.goal"),
    ] {
        folder.run(line).ends_with(2).says(&format!("did you mean `straggler {meant}`?"));
    }
    folder.run("trace shwo").ends_with(2).says("a similar subcommand exists: 'show'");
    folder.run("training absent.csv").ends_with(2).says("unrecognized subcommand");
}

/// A file that is no list of times is named for what it is; its bytes are not printed.
#[test]
fn times_that_are_none() {
    let folder = Folder::new();
    let (noise, training) = ("fixtures/noise/selfish.0", "fixtures/training/slow-worker.csv");
    std::fs::write(folder.path().join("random"), b"\xf8\xd1\x00\x1b[31m 7 \x02\n\x80").unwrap();
    std::fs::write(folder.path().join("job.parquet"), b"PAR1\x15\x04 \x15PAR1").unwrap();
    folder.write("empty", "");
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    let before = "fixtures/latency/before.lat";
    let simulated = "simulate --collective barrier --processes 4 --network chic --latency-distribution";
    for command in ["latency resample", "latency diagnose", &format!("latency compare {before}"), simulated] {
        for (file, kind) in [
            ("random", "a binary file"),
            ("job.parquet", "a table of results"),
            (noise, "a recording of noise"),
            (training, "a table of a training job"),
            ("fixtures/traces/halo/rank-000000.trace", "a trace"),
            ("folder", "a folder"),
        ] {
            let text = format!("error: {file} is {kind}, not a file of measured latencies: ");
            folder.run(&format!("{command} {file}")).ends_with(3).says(&text);
        }
    }
    for (line, text) in [
        (
            format!("noise show {training}"),
            "training job, not a recording of noise: use it with `straggler training",
        ),
        ("noise show empty".into(), "empty is an empty file, not a recording of noise: give "),
        ("study check random".into(), "random is a binary file, not a study: give a TOML file"),
        ("study check empty".into(), "empty is an empty file, not a study: give a TOML file"),
        ("study show folder".into(), "folder holds no results of a study (results.parquet): give "),
        ("network show folder".into(), "folder is a folder, not a network: give a .toml file"),
        ("network show random".into(), "random is a binary file, not a network: give a .toml file"),
        (
            "noise show fixtures/conformance/eager-00.goal".into(),
            "; `straggler show fixtures/conformance/eager-00.goal` shows it",
        ),
        ("latency show fixtures/traces/halo".into(), "; `straggler show fixtures/traces/halo` shows it"),
        (
            "training show fixtures/conformance/eager-00.goal".into(),
            "is a GOAL schedule, not a recording of a training job: use it as FILE",
        ),
        (
            "noise fit chic".into(),
            "chic is a built-in signature, not a recording: `straggler noise list chic`",
        ),
        ("noise convert CHiC -o x".into(), "CHiC is a built-in signature, not a recording"),
        (format!("tools examples {before}/x"), "before.lat is not a folder; write to another place"),
    ] {
        folder.run(&line).ends_with(3).says(text);
    }
}

#[test]
fn a_file_of_no_kind() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("text"), "hello world\n").unwrap();
    for command in ["trace info", "trace check", "whatif --network chic --scale all=0.5"] {
        let text = "error: text is not a trace: give the folder DIR that `straggler trace record -o DIR -- mpirun …` recorded";
        folder.run(&format!("{command} text")).ends_with(3).says(text);
    }
}

#[test]
fn a_folder_in_place_of_a_file_or_a_trace() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    for command in ["trace info", "trace check", "predict --network chic", "simulate --network chic"] {
        let text = "error: empty: no trace streams here (files named rank-000000.trace); record a trace with";
        folder.run(&format!("{command} empty")).ends_with(3).says(text);
    }
    for (command, kind) in [
        ("assess", "a recording of noise"),
        ("noise show", "a recording of noise"),
        ("schedule info", "a schedule"),
        ("study run", "a study"),
    ] {
        let text = format!("error: empty is a folder, not {kind}: give ");
        folder.run(&format!("{command} empty")).ends_with(3).says(&text);
    }
}

#[test]
fn what_was_probably_meant() {
    let folder = Folder::new();
    for (line, text) in [
        ("tools plot page fixtures/noise/selfish.0 --chart Evry -o x.svg", "did you mean `Every`?"),
        ("trace convert fixtures/traces/halo -o x.pftrce", "did you mean `.pftrace`?"),
        ("simulate --collective allreduce --processes 4 --size 1mb --network chic", "did you mean `MB`?"),
        ("network show L=1us,o=1us,g=1us,GG=1ns", "did you mean `G`?"),
        ("latency measure --kernel tpc -o x", "'tcp'"),
        ("serve fixtures/noise --port 80000", "at most 65,535"),
    ] {
        folder.run(line).ends_with(2).says(text);
    }
    // Case does not matter.
    let line = "simulate --collective Allreduce:Ring --processes 4 --network xt4 --json";
    assert_eq!(folder.run(line).good().json()["collective"], "allreduce:ring");
}

#[test]
fn a_network_or_a_noise_that_is_not_known() {
    let folder = Folder::new();
    let goal = "fixtures/conformance/eager-00.goal";
    for line in [
        "assess periodic:period=1ms,duration=10us --network chiq".into(),
        format!("simulate {goal} --network chiq"),
        "network show chiq".into(),
    ] {
        folder
            .run(&line)
            .ends_with(2)
            .says("unknown network `chiq` (presets: chic,")
            .says("did you mean `chic`?");
    }
    let noise = "perodic:period=1ms,duration=10us";
    for line in [
        format!("assess {noise}"),
        format!("simulate {goal} --network chic --noise {noise}"),
        format!("noise show {noise}"),
    ] {
        folder.run(&line).ends_with(2).says("did you mean `periodic`?");
    }
    // A bare name may be a file or a signature.
    for (noise, code) in [("altx", 3), ("signature:altx", 2)] {
        let line = format!("simulate {goal} --network chic --noise {noise}");
        folder.run(&line).ends_with(code).says("did you mean `altix`?");
    }
}
