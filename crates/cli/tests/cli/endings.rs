//! Exit codes, and what an error says.

use crate::outside::program::{Folder, NETWORK, binary};

const DEADLOCK: &str = "num_ranks 2
rank 0 {
  r: recv 8b from 1 tag 5
  s: send 8b to 1 tag 5
  s requires r
}
rank 1 {
  r: recv 16b from 0 tag 5
  s: send 8b to 0 tag 5
  s requires r
}
";
const LEFTOVER: &str = "num_ranks 2\nrank 0 {\n  send 100b to 1 tag 3\n}\n";

#[test]
fn usage_ends_with_2() {
    let folder = Folder::new();
    folder.run("").ends_with(2);
    folder.run("simulate").ends_with(2);
    folder.run("simulate fixtures/conformance/eager-00.goal").ends_with(2).says("--network");
    folder.run("simulate a.goal --collective barrier --processes 4 --network chic").ends_with(2);
    folder.run("simulate a.goal --network chic --cycles 4").ends_with(2);
    folder.run("simulate --collective barrier --network chic").ends_with(2).says("--processes");
    folder.run("simulate --collective barrier --processes 0 --network chic").ends_with(2);
    folder.run("simulate a.goal --network chik").ends_with(2).says("did you mean `chic`?");
    folder.run("simulate a.goal --network L=5,o=1us,g=1us,G=1ns").ends_with(2).says("network parameter L");
    folder
        .run("simulate a.goal --network chic --noise perodic:rate=1Hz,duration=1us")
        .ends_with(2)
        .says("periodic");
    folder
        .run("simulate --collective barrier --processes 4 --network chic --compare-quiet")
        .ends_with(2)
        .says("--noise");
    folder
        .run("simulate --collective bcast --processes 4 --root 4 --network chic")
        .ends_with(2)
        .says("root 4");
    folder
        .run("simulate --collective barrier --processes 4 --root 1 --network chic")
        .ends_with(2)
        .says("no root");
    folder.run("simulate a.goal --network chic --timeline-ranks 0-3").ends_with(2).says("--timeline");
}

#[test]
fn unknown_algorithms_are_answered_with_known_ones() {
    let folder = Folder::new();
    folder
        .run("simulate --collective allreduce:tree --processes 4 --network chic")
        .ends_with(2)
        .says("(known: dissemination, recursive-doubling, ring, rabenseifner, reduce-bcast, ");
    folder.run("simulate --collective gossip --processes 4 --network chic").ends_with(2).says("allreduce, ");
}

#[test]
fn a_windowed_engine_without_lookahead_is_refused() {
    let folder = Folder::new();
    let line =
        "simulate fixtures/conformance/eager-00.goal --network L=0ns,o=0ns,g=0ns,G=0 --engine windowed";
    folder.run(line).ends_with(2).says("needs a lookahead above 0").says("reference");
}

#[test]
fn bad_input_ends_with_3_and_says_where() {
    let folder = Folder::new();
    folder.run("simulate no.goal --network chic").ends_with(3).says("error: no.goal cannot be read");
    folder.write("bad.goal", "num_ranks 2\nrank 0 {\n  send 8b to 7 tag 1\n}\n");
    folder
        .run("simulate bad.goal --network chic")
        .ends_with(3)
        .says("error: bad.goal: line 3, column ")
        .says("rank 0")
        .says("peer 7 is out of range");
    folder.write("bad.noise", "0 10\n5 x\n");
    folder
        .run("simulate fixtures/conformance/eager-00.goal --network chic --noise bad.noise")
        .ends_with(3)
        .says("bad.noise: line 2, column 3");
    folder.write("short.txt", "0\n1\n");
    folder
        .run("simulate fixtures/conformance/eager-00.goal --network chic --noise periodic:rate=1kHz,duration=1us --noise-offsets short.txt")
        .ends_with(3)
        .says("short.txt: 2 offsets for 4 processes");
    folder.write("net.toml", "name = \"x\"\nL = \"1us\"\nq = 3\n");
    folder
        .run("simulate fixtures/conformance/eager-00.goal --network net.toml")
        .ends_with(3)
        .says("net.toml")
        .says("line 3");
}

#[test]
fn an_output_that_cannot_be_written_ends_with_3() {
    let folder = Folder::new();
    let line = format!(
        "simulate fixtures/conformance/eager-00.goal --network {NETWORK} --finish-times no/such/out.csv"
    );
    folder.run(&line).ends_with(3).says("no/such/out.csv: cannot be written");
}

#[test]
fn a_deadlock_ends_with_4_and_names_its_circle() {
    let folder = Folder::new();
    folder.write("dead.goal", DEADLOCK);
    for engine in ["reference", "windowed"] {
        let run = folder
            .run(&format!("simulate dead.goal --network {NETWORK} --engine {engine} --finish-times out.csv"));
        let run = run.ends_with(4).says("rank 0 waits: receive of 8 B from rank 1, tag 5");
        let run = run.says("rank 1 waits: receive of 16 B from rank 0, tag 5");
        let run = run.says("rank 0 waits for rank 1, which waits for rank 0");
        assert_eq!(run.stdout(), "");
    }
    assert_eq!(folder.names(), ["dead.goal"]);
    let answer = folder.run(&format!("simulate dead.goal --network {NETWORK} --json")).ends_with(4).json();
    assert_eq!(answer["stuck"]["unfinished"], 2);
    assert_eq!(answer["stuck"]["cycle"], serde_json::json!([0, 1]));
    assert_eq!(answer["stuck"]["blocked"][1]["bytes"], 16);
}

#[test]
fn a_rendezvous_without_receiver_is_named() {
    let folder = Folder::new();
    folder.write("alone.goal", "num_ranks 2\nrank 0 {\n  send 100000b to 1 tag 3\n}\n");
    folder
        .run(&format!("simulate alone.goal --network {NETWORK}"))
        .ends_with(4)
        .says("rank 0 waits: rendezvous send of 100 kB to rank 1, tag 3");
}

#[test]
fn leftovers_end_with_4_unless_allowed() {
    let folder = Folder::new();
    folder.write("left.goal", LEFTOVER);
    let line = format!("simulate left.goal --network {NETWORK}");
    folder
        .run(&line)
        .ends_with(4)
        .says("never received: 100 B from rank 0 to rank 1 with tag 3")
        .says("--allow-leftovers");
    folder.run(&format!("{line} --allow-leftovers")).good();
    let answer = folder.run(&format!("{line} --allow-leftovers --json")).good().json();
    assert_eq!(answer["stuck"]["leftover_count"], 1);
    folder.run("schedule check left.goal").ends_with(4).says("left.goal: 1 error");
    // A cycle is no schedule at all.
    folder.write("cycle.goal", "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}");
    folder.run("schedule check cycle.goal").ends_with(3).says("dependency cycle");
}

#[test]
fn warnings_go_to_stderr_and_into_the_object() {
    let folder = Folder::new();
    let line = format!("simulate fixtures/conformance/eager-00.goal --network {NETWORK} --cosched --json");
    let run = folder.run(&line).good().says("warning: --cosched has no effect");
    assert_eq!(run.json()["warnings"].as_array().unwrap().len(), 1);
    assert_eq!(folder.run(&format!("{line} --quiet")).good().stderr(), "");
}

#[test]
fn a_closed_pipe_is_no_error() {
    use std::process::Stdio;
    let folder = Folder::new();
    let mut child = folder
        .command("tools completions bash")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A message that cannot be written to stderr is dropped; the command still does its work.
#[test]
#[cfg(target_os = "linux")]
fn a_full_or_closed_stderr_is_no_error() {
    let folder = Folder::new();
    folder.write("a.noise", "0 100\n10000 500\n20000 1\n30000 7\n");
    for line in [
        "simulate fixtures/conformance/eager-00.goal --network chic --cosched",
        "noise fit a.noise -o a.toml",
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let status = folder.command(line).stdout(std::process::Stdio::null()).stderr(full).status().unwrap();
        assert_eq!(status.code(), Some(0), "{line}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = folder.command(line);
        let status = command.stdout(writer.try_clone().unwrap()).stderr(writer).status().unwrap();
        assert_eq!(status.code(), Some(0), "{line}");
    }
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let status = folder.command("simulate no.goal --network chic").stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(3));
}

#[test]
fn too_many_replicas_are_refused_before_they_are_run() {
    Folder::new()
        .run("simulate --collective barrier --processes 4 --network chic --replicas 4000000000")
        .ends_with(2)
        .says("the results of 4,000,000,000 replicas take about");
}

/// All commands report a path that they cannot write in the same words: once, and as it was typed.
#[test]
fn places_that_cannot_be_written_are_told_alike() {
    let folder = Folder::new();
    folder.write("taken", "");
    folder.write("s.toml", "name='a'\nprocesses=4\ncollective='barrier'\nnetwork='chic'\n");
    let missing = "cannot be written: there is no folder no; make it first";
    let no_folder = "taken cannot be created: it is a file; use another folder";
    for (line, text) in [
        ("schedule generate --collective barrier --processes 4 -o no/x.goal", missing),
        ("trace convert fixtures/traces/halo -o /proc/x.pftrace", "/proc/x.pftrace: cannot be written: "),
        ("trace convert fixtures/traces/halo -o /proc/x", "/proc/x: cannot be written: "),
        ("noise measure --time 1ms --sources none -o no/x.noise", missing),
        ("tools plot noise fixtures/noise/selfish.0 -o no/x.svg", missing),
        ("assess none --processes 4 -o taken", no_folder),
        ("study run s.toml -o taken", no_folder),
        ("papers run sc10-fig4 --quick -o taken", no_folder),
    ] {
        let said = folder.run(line).ends_with(3).says(text).stderr();
        assert!(!said.contains("straggler-"), "{line}: {said}");
        let place = line.rsplit_once(' ').unwrap().1;
        let error = said.lines().find(|line| line.starts_with("error: ")).unwrap();
        assert_eq!(error.matches(place).count(), 1, "{line}: {error}");
    }
}

/// A program that the system gives no more memory ends with a sentence.
#[test]
#[cfg(target_os = "linux")]
fn too_little_memory_is_an_error() {
    let folder = Folder::new();
    let mut list = String::new();
    (0..6_000_000).for_each(|number| list += &format!("{number}.5us\n"));
    folder.write("times.txt", &list);
    let line = format!("ulimit -v 110000; exec {} latency diagnose times.txt", binary().display());
    let output =
        std::process::Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("error: out of memory"), "{said}");
    assert_eq!(output.status.code(), Some(3), "{said}");
}
