//! Names of files that are not UTF-8.

use crate::outside::program::Folder;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A file name that is not UTF-8, with the given ending.
fn name(ending: &str) -> OsString {
    OsString::from_vec([b"na\xff\xfeme".as_slice(), ending.as_bytes()].concat())
}

/// Runs a command line in which `@ENDING` stands for [`name`] with that ending, and returns its stdout.
fn run(folder: &Folder, line: &str) -> String {
    let (before, rest) = line.split_once('@').unwrap();
    let (ending, after) = rest.split_once(' ').unwrap_or((rest, ""));
    let mut command = folder.command(before);
    let output = command.arg(name(ending)).args(after.split_whitespace()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {:?} {said}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// A recording is read as such: not as a spec, which would be drawn.
#[test]
fn recordings_are_the_same_whatever_their_names_are() {
    let folder = Folder::new();
    for file in [OsString::from("plain.0"), name(".0")] {
        std::fs::copy(folder.path().join("fixtures/noise/selfish.0"), folder.path().join(file)).unwrap();
    }
    for (line, parts) in [
        ("tools plot noise @ -o p.svg --json", &["detours", "cores", "synthetic"][..]),
        ("assess --quick @ --network chic --processes 64 --json", &["curves", "rankings"]),
    ] {
        let plain = folder.run(&line.replace('@', "plain.0")).good().json();
        let odd: serde_json::Value = serde_json::from_str(&run(&folder, &line.replace('@', "@.0"))).unwrap();
        for part in parts {
            assert_eq!(odd[part], plain[part], "{line}: {part}");
        }
    }
}

#[test]
fn files_are_read_whatever_their_names_are() {
    let folder = Folder::new();
    let copy = |from: &str, ending: &str| {
        std::fs::copy(folder.path().join(from), folder.path().join(name(ending))).unwrap();
    };
    copy("fixtures/latency/tail.noise", ".noise");
    copy("fixtures/latency/before.lat", ".lat");
    copy("fixtures/networks/shared-memory.toml", ".toml");
    copy("fixtures/training/slow-worker.csv", ".csv");
    copy("fixtures/conformance/bcast-00.goal", ".goal");
    let table = folder.run("schedule selector mpich --toml").good().stdout();
    std::fs::write(folder.path().join(name("-table.toml")), table).unwrap();
    for line in [
        "noise show @.noise",
        "noise fit @.noise -o fitted.toml",
        "noise compare chic @.noise",
        "tools plot noise @.noise -o noise.png",
        "assess --quick @.noise --network chic --processes 64",
        "simulate --collective barrier --processes 8 --network chic --noise @.noise",
        "simulate --collective barrier --processes 8 --network @.toml",
        "simulate --collective allreduce --processes 8 --network chic --algorithms @-table.toml",
        "network show @.toml",
        "schedule selector @-table.toml",
        "schedule check @.goal",
        "simulate --network chic @.goal",
        "latency diagnose @.lat",
        "latency compare fixtures/latency/after.lat @.lat",
        "training show @.csv",
        "whatif fixtures/training/slow-worker.csv --noise @.noise --draws 2",
        "simulate --network chic @.csv",
    ] {
        run(&folder, line);
    }
}

#[test]
fn files_are_written_whatever_their_names_are() {
    let folder = Folder::new();
    let there = |ending: &str| folder.path().join(name(ending)).is_file();
    for (line, ending) in [
        ("noise convert fixtures/latency/tail.noise -o @.noise", ".noise"),
        ("tools plot noise chic -o @.png", ".png"),
        ("noise show chic --report @.html", ".html"),
        ("noise show fixtures/latency/tail.noise --prometheus @.prom", ".prom"),
        ("simulate --collective barrier --processes 4 --network chic --timeline @.json", ".json"),
        ("training generate --steps 2 -o @.csv", ".csv"),
        ("schedule convert fixtures/conformance/bcast-00.goal -o @.goal", ".goal"),
    ] {
        run(&folder, line);
        assert!(there(ending), "{line}");
    }
}

/// A name that cannot be printed is escaped.
#[test]
fn errors_show_such_names() {
    let folder = Folder::new();
    let mut command = folder.command("simulate --collective barrier --processes 8 --network chic --noise");
    let output = command.arg(OsStr::from_bytes(b"no\xffise")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("no\\xffise") || said.contains("no\u{fffd}ise"), "{said}");
    assert!(PathBuf::from(name("")).to_str().is_none());
}
