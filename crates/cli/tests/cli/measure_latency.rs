//! Latency measurements. The results depend on the machine; the tests check that they are
//! consistent.

use crate::outside::program::{Folder, signal, wait_until_worked};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn every_kernel_measures_and_adds_up() {
    let folder = Folder::new();
    let kernels = [
        ("tcp --size 4KiB,1B", 2),
        ("unix-socket", 1),
        ("pipe", 1),
        ("system-calls", 3),
        ("file --folder .", 2),
        ("copy --size 1KiB", 1),
    ];
    for (kernel, series) in kernels {
        let line = format!("latency measure --kernel {kernel} --trials 30 --cycles 3 -o out.lat --json");
        let answer = folder.run(&line).good().json();
        let list = answer["series"].as_array().unwrap();
        assert_eq!((list.len(), &answer["finished"]), (series, &true.into()), "{answer}");
        for series in list {
            assert_eq!((&series["count"], &series["underflow"]), (&90.into(), &0.into()), "{series}");
            let minima = series["cycle_minima_ps"].as_array().unwrap();
            assert_eq!((minima.len(), &minima[0]), (3, &series["min_ps"]), "{series}");
            assert_eq!(series["quantiles"].as_array().unwrap().len(), 1, "{series}");
        }
        assert_eq!(folder.names(), ["out.lat"]);
    }
}

#[test]
fn people_get_a_sentence_a_table_and_the_timer() {
    let folder = Folder::new();
    let text = folder.run("latency measure --kernel pipe --trials 1000 --cycles 1").good().stdout();
    assert!(
        text.starts_with("Median pipe round trip: ") && text.contains("One trial in 100 took longer"),
        "{text}"
    );
    for word in ["median", "90 %", "99 %", "max", "Timer: ", "which is subtracted"] {
        assert!(text.contains(word), "{word}\n{text}");
    }
    assert!(!text.contains("99.9 %"), "{text}");
}

#[test]
fn other_bins_and_a_command() {
    let folder = Folder::new();
    let line = "latency measure --trials 3 --cycles 2 --bins log:50ns/1000 -o a.lat --json -- sh -c true";
    let answer = folder.run(line).good().json();
    assert_eq!((&answer["kernel"], &answer["series"][0]["kernel"]), (&"command".into(), &"sh".into()));
    let text = std::fs::read_to_string(folder.path().join("a.lat")).unwrap();
    assert!(text.starts_with(r#"{"format":"straggler latency","version":1,"#), "{text}");
    assert!(text.contains(r#"{"layout":"logarithmic","size_ps":50000,"count":1000}"#), "{text}");
    assert!(text.contains("straggler latency measure --trials 3"), "{text}");
}

#[test]
fn what_fails_half_way_keeps_what_was_measured() {
    let folder = Folder::new();
    folder.write("twelve", "echo >> count; [ $(wc -l < count) -le 12 ]");
    let line = "latency measure --trials 20 --cycles 2 -o a.lat -- sh twelve";
    let ended = folder.run(line).ends_with(3).says("failed after 10 trials").says("is in a.lat");
    assert!(ended.stdout().starts_with("Median time of sh: "), "{}", ended.stdout());
    assert_eq!(folder.names(), ["a.lat", "count", "twelve"]);
    let nothing = folder.run("latency measure -o b.lat -- /no/such/program");
    nothing.ends_with(3).says("cannot be run").says("nothing was measured");
    assert!(!folder.names().contains(&"b.lat".to_string()));
}

#[test]
fn control_c_keeps_what_was_measured() {
    let folder = Folder::new();
    let line = "latency measure --kernel pipe --trials 1000000000 -o a.lat";
    let child = folder.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until_worked(&child, 1000);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(text.contains("interrupted after") && text.contains("is in a.lat"), "{text}");
    assert_eq!(folder.names(), ["a.lat"]);
}

#[test]
fn two_hosts() {
    let folder = Folder::new();
    let mut server =
        folder.command("latency measure --listen --cores 0").stdout(Stdio::piped()).spawn().unwrap();
    let mut command = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut command).unwrap();
    let client = command.trim().strip_prefix("straggler ").unwrap();
    let address = client.split(" --token").next().unwrap();
    let ended = folder.run(&format!("{client} --trials 50 --cycles 2 -o two.lat --json"));
    let wrong = ["x", "0".repeat(32).as_str()]
        .map(|token| folder.run(&format!("{address} --token {token} --trials 50")));
    let longer = folder.run(&format!("{client}x --trials 50"));
    server.kill().unwrap();
    server.wait().unwrap();
    let answer = ended.good().json();
    assert_eq!(answer["series"][0]["count"], 100);
    // Both processes run on this host, so they share a node.
    let [client_at, server_at] = [0, 1].map(|rank| &answer["processes"][rank]);
    assert_eq!(
        (&client_at["host"], &client_at["node"]),
        (&server_at["host"], &server_at["node"]),
        "{answer}"
    );
    folder.run("latency measure --listen --cores 1000").ends_with(2).says("this process may not use core");
    for wrong in wrong.into_iter().chain([longer]) {
        wrong.ends_with(3).says("use the --token that ");
    }
    // The file does not contain the token.
    let token = client.rsplit(' ').next().unwrap();
    let text = std::fs::read_to_string(folder.path().join("two.lat")).unwrap();
    assert!(!text.contains(token) && text.contains("--token TOKEN"), "{text}");
}

#[test]
fn bad_input_says_what_helps() {
    let folder = Folder::new();
    let cases = [
        ("--trials 10", "give --kernel NAME"),
        ("--kernel pip", "possible values"),
        ("--kernel command", "after --"),
        ("--kernel pipe -- true", "remove --kernel"),
        ("--kernel futex --size 4", "has no sizes"),
        ("--kernel pipe --size 0B", "at least 1B"),
        ("--kernel pipe --bins hdx", "did you mean `hdr`"),
        ("--kernel pipe --trials 0", "0 is out of range"),
        ("--kernel pipe --cores 1000", "this process may not use core"),
        ("--kernel pipe --connect a:1 --token x", "--connect is for the tcp kernel"),
        ("--kernel tcp --connect a:1", "--token"),
        ("--kernel pipe --folder .", "--folder is for the file kernel"),
        ("--listen 256.0.0.1:1", "cannot listen"),
        ("--listen --token short", "32 letters and digits"),
    ];
    for (options, text) in cases {
        folder.run(&format!("latency measure {options}")).ends_with(2).says(text);
    }
    folder.run("latency measure --kernel pipe -o no/a.lat").ends_with(3).says("make it first");
    folder
        .run("latency measure --kernel file --folder no --trials 1")
        .ends_with(3)
        .says("cannot create a file");
}
