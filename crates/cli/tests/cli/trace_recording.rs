//! `trace record -o DIR -- COMMAND`: a command is run and recorded.

use crate::outside::program::{Folder, fixtures};
use crate::outside::trace::{copy, file};
use serde_json::Value;

#[test]
fn a_command_is_run_with_the_library_and_keeps_its_code() {
    let folder = Folder::new();
    folder.write("fake.so", "");
    let run = |script: &str| {
        let mut command = folder.command("trace record -o out --force -- sh -c");
        command.arg(script).env("STRAGGLER_TRACER", "fake.so").env("LD_PRELOAD", "/no/other.so");
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, stdout, stderr) = run("echo $LD_PRELOAD; echo $STRAGGLER_TRACE_DIR; exit 7");
    let place = folder.path().canonicalize().unwrap();
    assert_eq!(code, Some(7), "{stderr}");
    assert_eq!(stdout, format!("{0}/fake.so:/no/other.so\n{0}/out\n", place.display()));
    assert!(stderr.contains("nothing was recorded") && stderr.contains("mpirun -x LD_PRELOAD"), "{stderr}");
    assert_eq!(run("kill -TERM $$").0, Some(128 + 15));
    assert_eq!(run("exit 0").0, Some(0));
    // Reports the streams that are in the folder when the command has ended.
    let halo = fixtures().join("traces/halo");
    let (code, _, stderr) = run(&format!("cp {}/* $STRAGGLER_TRACE_DIR", halo.display()));
    assert_eq!(code, Some(0));
    assert!(stderr.contains("Recorded 4 ranks, ") && stderr.contains("bytes per call, in out"), "{stderr}");
}

/// The last line of stdout is the summary, whatever the command printed before.
#[test]
fn a_recording_is_summed_up_for_programs() {
    let folder = Folder::new();
    folder.write("fake.so", "");
    let halo = fixtures().join("traces/halo");
    let script = format!("cp {}/* $STRAGGLER_TRACE_DIR; printf 'one\ntwo'; exit 3", halo.display());
    let mut command = folder.command("trace --json -o out -- sh -c");
    let output = command.arg(script).env("STRAGGLER_TRACER", "fake.so").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let stdout = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[1]), (3, "one", "two"), "{stdout}");
    let summary: Value = serde_json::from_str(lines[2]).unwrap();
    assert_eq!((&summary["folder"], &summary["exit_code"]), (&"out".into(), &3.into()));
    let run = &summary["runs"][0];
    assert_eq!((&run["processes"], &run["trace"], &run["errors"]), (&4.into(), &"out".into(), &0.into()));
    assert_eq!(run["calls"], folder.run("trace info out --json").good().json()["calls"]);
    let mut command = folder.command("trace --json -o none -- true");
    let output = command.env("STRAGGLER_TRACER", "fake.so").output().unwrap();
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["runs"], serde_json::json!([]));
    assert!(summary["warnings"][0].as_str().unwrap().contains("nothing was recorded"), "{summary}");
}

#[test]
fn streams_of_an_earlier_run_are_kept() {
    let folder = Folder::new();
    copy(&folder);
    folder.write("fake.so", "");
    let mut command = folder.command("trace record -o run -- true");
    let refused = command.env("STRAGGLER_TRACER", "fake.so").output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--force"));
    assert!(file(&folder.path().join("run"), 0).exists());
}

#[test]
fn what_cannot_be_recorded_is_said_with_the_mend() {
    let folder = Folder::new();
    folder.write("fake.so", "");
    let run = |line: &str, library: &str| {
        let output = folder.command(line).env("STRAGGLER_TRACER", library).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, text) = run("trace record -o out -- true", "missing.so");
    assert!(code == Some(3) && text.contains("libstraggler_tracer.so"), "{text}");
    let (code, text) = run("trace record -o out -- no-such-program", "fake.so");
    assert!(code == Some(3) && text.contains("cannot start no-such-program"), "{text}");
    assert!(!folder.path().join("out").exists());
    assert_eq!(run("trace record -o out --", "fake.so").0, Some(2));
    assert_eq!(run("trace -- true", "fake.so").0, Some(2));
    assert_eq!(run("trace record -o out info fixtures/traces/halo", "fake.so").0, Some(2));
}

/// A signal sent to straggler alone is forwarded to the command, which decides how to end.
#[test]
fn a_signal_is_handed_on() {
    let folder = Folder::new();
    folder.write("fake.so", "");
    let script = "trap 'echo caught; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let mut command = folder.command("trace record -o out -- sh -c");
    command.arg(script).env("STRAGGLER_TRACER", "fake.so").stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    assert_eq!(line, "ready\n");
    let killed =
        std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    std::io::Read::read_to_string(&mut output, &mut line).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(9));
    assert!(line.contains("caught"), "{line}");
}

/// The message does not blame a program without MPI.
#[test]
fn a_folder_that_is_removed_while_the_command_runs_is_named() {
    let folder = Folder::new();
    folder.write("fake.so", "");
    let mut command = folder.command("trace record -o out -- sh -c");
    let output = command.arg("rm -r out").env("STRAGGLER_TRACER", "fake.so").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("it was removed while the command ran"), "{said}");
    assert!(!said.contains("MPI_Init"), "{said}");
}
