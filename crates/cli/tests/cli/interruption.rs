//! Ctrl-C ends the program with 130 and leaves no file behind.

use crate::program::Folder;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Starts a command, interrupts it and tells how it ended.
fn interrupt(folder: &Folder, line: &str) -> (Option<i32>, String) {
    let child = folder.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let since = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
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
fn a_file_that_is_being_written() {
    let folder = Folder::new();
    let line = "schedule generate --collective allreduce --processes 4194304 --cycles 10 -o big.goal";
    let (code, text) = interrupt(&folder, line);
    assert_eq!(code, Some(130), "{text}");
    assert_eq!(folder.names(), [""; 0]);
}
