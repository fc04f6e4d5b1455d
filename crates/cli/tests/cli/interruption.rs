//! Ctrl-C ends the program with 130 and leaves no file behind.

use crate::outside::program::{Folder, signal, wait_until, wait_until_worked};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Starts a command, interrupts it when it has computed for so long, and returns its exit code, stdout and stderr.
fn interrupt_after(folder: &Folder, line: &str, milliseconds: u64) -> (Option<i32>, String, String) {
    signal_when(folder, line, "-INT", |child| wait_until_worked(child, milliseconds))
}

fn signal_when(
    folder: &Folder,
    line: &str,
    name: &str,
    wait: impl Fn(&Child),
) -> (Option<i32>, String, String) {
    let child = folder.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait(&child);
    signal(&child, name);
    let since = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Interrupts a command that computes for longer than 0.7 s, and checks that it printed nothing.
fn interrupt(folder: &Folder, line: &str) -> (Option<i32>, String) {
    let (code, stdout, stderr) = interrupt_after(folder, line, 700);
    assert_eq!(stdout, "");
    (code, stderr)
}

#[test]
fn a_run_on_either_engine() {
    let folder = Folder::new();
    for engine in ["windowed", "reference"] {
        let line = format!(
            "simulate --collective barrier --processes 4096 --cycles 1000000 --network chic --engine {engine} \
             --finish-times out.csv -o out.json --json"
        );
        let (code, text) = interrupt(&folder, &line);
        assert_eq!(code, Some(130), "{text}");
        assert!(text.contains("error: interrupted"), "{text}");
        assert_eq!(folder.names(), [""; 0]);
    }
}

#[test]
fn replicas_side_by_side() {
    let folder = Folder::new();
    let line = "simulate --collective barrier --processes 1024 --cycles 1000 --network chic --replicas 100000 \
                --noise periodic:period=1ms,duration=10us --threads 2 --finish-times out.parquet";
    let (code, text) = interrupt(&folder, line);
    assert_eq!(code, Some(130), "{text}");
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn a_conversion() {
    let folder = Folder::new();
    folder.run("schedule generate --collective allreduce --processes 16384 --cycles 2 -o in.goal").good();
    // Whether it is reading or writing when the signal comes depends on the machine.
    for wait in [300, 700] {
        let line = format!("schedule convert in.goal -o {wait}.bin");
        let (code, _, text) = interrupt_after(&folder, &line, wait);
        let complete = folder.names().contains(&format!("{wait}.bin"));
        assert!(complete || code == Some(130), "{code:?}: {text}");
        assert!(folder.names().iter().all(|name| !name.ends_with(".tmp")), "{:?}", folder.names());
    }
}

#[test]
fn a_binary_file() {
    let folder = Folder::new();
    let line = "schedule generate --collective allreduce --processes 262144 --cycles 8 -o big.bin";
    let (code, text) = interrupt(&folder, line);
    assert_eq!(code, Some(130), "{text}");
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn a_file_that_is_being_written() {
    let folder = Folder::new();
    let line = "schedule generate --collective allreduce --processes 1048576 --cycles 4 -o big.goal";
    let (code, text) = interrupt(&folder, line);
    assert_eq!(code, Some(130), "{text}");
    assert_eq!(folder.names(), [""; 0]);
}

/// Whatever is being written when the signal comes is removed, folders too.
#[test]
fn recordings_timelines_and_archives() {
    let folder = Folder::new();
    long_trace(&folder);
    let inputs = folder.names();
    for line in [
        "training generate --dp 8 --pp 4 --steps 1000 --to kineto -o job",
        "training generate --dp 8 --pp 4 --steps 2000 -o job.csv",
        "simulate --collective allreduce --processes 4096 --cycles 6 --network chic --timeline line.json",
        "trace convert long -o archive.otf2",
        "trace convert long -o copy",
    ] {
        let is_temporary = |name: &String| name.starts_with(".straggler-");
        let (code, _, text) = signal_when(&folder, line, "-INT", |_| {
            wait_until(|| folder.names().iter().any(is_temporary));
        });
        assert!(code == Some(130) && text.contains("error: interrupted"), "{line}: {code:?} {text}");
        assert_eq!(folder.names(), inputs, "{line}");
    }
}

#[test]
fn resampling() {
    let folder = Folder::new();
    let line = "latency resample fixtures/resampling/exchanges.txt --processes 4096,65536 --samples 500 \
                --histogram out.csv -o out.json";
    let (code, text) = interrupt(&folder, line);
    assert_eq!(code, Some(130), "{text}");
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn a_measurement() {
    let folder = Folder::new();
    let (code, text) = interrupt(&folder, "noise measure --time 60s -o out.noise --json");
    assert_eq!(code, Some(130), "{text}");
    assert_eq!(folder.names(), [""; 0]);
}

/// Writes a trace that is large enough to interrupt its conversion.
fn long_trace(folder: &Folder) {
    use straggler_trace::format::{directory, save};
    let (mut trace, _) = directory::open(&crate::outside::program::fixtures().join("traces/halo")).unwrap();
    for rank in &mut trace.ranks {
        let once = rank.calls.clone();
        for again in 1..4000 {
            rank.calls.extend(once.iter().map(|call| {
                let mut call = *call;
                call.enter.0 += again * 1_000_000_000;
                call.exit.0 += again * 1_000_000_000;
                call
            }));
        }
    }
    save::save(&trace, &folder.path().join("long")).unwrap();
}

/// Batch systems send SIGTERM before SIGKILL. Every command then exits with 130 and keeps what it
/// finished.
#[test]
fn sigterm_ends_with_130_and_keeps_what_is_finished() {
    let folder = Folder::new();
    long_trace(&folder);
    folder.write(
        "s.toml",
        "name = 'a'\nprocesses = 1024\ncollective = 'barrier'\nnetwork = 'chic'\nnoise = 'chic'\nreplicas = 10000000",
    );
    let barrier = "--collective barrier --processes 4096 --cycles 1000000 --network chic";
    for (line, kept) in [
        (format!("simulate {barrier} -o out.json --json"), &[][..]),
        ("trace convert long -o out.pftrace".into(), &[]),
        ("study run s.toml -o s".into(), &["s/journal", "s/study.toml"]),
        ("assess --time 50ms --processes 67108864 --sources none -o a".into(), &["a/node.noise"]),
    ] {
        let (code, stdout, stderr) = signal_when(&folder, &line, "-TERM", |child| {
            wait_until_worked(child, 1000);
            if line.starts_with("assess") {
                wait_until(|| folder.path().join("a/node.noise").exists());
            }
        });
        let complete = line.starts_with("trace") && folder.path().join("out.pftrace").exists();
        assert!(
            complete || (code == Some(130) && stderr.contains("interrupted")),
            "{line}: {code:?} {stderr}"
        );
        assert!(complete || stdout.is_empty(), "{line}: {stdout}");
        for name in kept {
            assert!(folder.path().join(name).exists(), "{line}: {name} is lost");
        }
        assert!(folder.names().iter().all(|name| !name.ends_with(".tmp") && name != "out.json"), "{line}");
    }
}
