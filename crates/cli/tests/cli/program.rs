//! Runs the program in a folder of its own, which has the fixtures and the examples in it.

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::Duration;
use tempfile::TempDir;

pub const NETWORK: &str = "L=2500ns,o=1500ns,g=1000ns,G=6ns,O=0ns,S=65535";

pub fn binary() -> PathBuf {
    cargo_bin("straggler")
}

pub fn fixtures() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures")).canonicalize().unwrap()
}

pub fn examples() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples")).canonicalize().unwrap()
}

pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Folder {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(fixtures(), folder.path().join("fixtures")).unwrap();
        std::os::unix::fs::symlink(examples(), folder.path().join("examples")).unwrap();
        Folder(folder)
    }

    /// A folder with the example files that the program itself writes, as for an installed program.
    pub fn installed() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.run("tools examples .").good();
        folder
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    /// Returns the names of all files except the fixtures and the examples.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != "fixtures" && name != "examples");
        names.sort();
        names
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(binary());
        // COLUMNS would make tables and sentences wrap, and the user may have defaults.
        command.args(line.split_whitespace()).current_dir(self.path()).env_remove("COLUMNS");
        command.env("XDG_CONFIG_HOME", self.path());
        command
    }

    pub fn run(&self, line: &str) -> Ended {
        Ended { line: line.into(), output: self.command(line).output().unwrap() }
    }
}

/// Waits until something holds, for at most a minute.
pub fn wait_until(holds: impl Fn() -> bool) {
    let pause = Duration::from_millis(10);
    assert!(
        (0..6000).any(|_| holds() || {
            std::thread::sleep(pause);
            false
        }),
        "waited for a minute"
    );
}

/// Waits until a process has computed for so many milliseconds, or has ended. On a busy machine, that is the only way to
/// know that it is in the middle of its work.
pub fn wait_until_worked(child: &Child, milliseconds: u64) {
    let path = format!("/proc/{}/stat", child.id());
    wait_until(|| {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        // The name of the program, in parentheses, is the second field, and may contain spaces.
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let ticks = |field: usize| fields.get(field - 3).and_then(|ticks| ticks.parse::<u64>().ok());
        match (fields.first(), ticks(14), ticks(15)) {
            // A tick is 10 ms on all Linux machines.
            (Some(&state), Some(user), Some(system)) => state == "Z" || (user + system) * 10 >= milliseconds,
            _ => true,
        }
    });
}

pub fn signal(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// How a run ended.
pub struct Ended {
    line: String,
    pub output: Output,
}

impl Ended {
    pub fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    pub fn stdout(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).unwrap()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8(self.output.stderr.clone()).unwrap()
    }

    #[track_caller]
    pub fn good(self) -> Ended {
        self.ends_with(0)
    }

    #[track_caller]
    pub fn ends_with(self, code: i32) -> Ended {
        assert_eq!(self.code(), Some(code), "{}\n{}\n{}", self.line, self.stdout(), self.stderr());
        self
    }

    #[track_caller]
    pub fn says(self, text: &str) -> Ended {
        assert!(self.stderr().contains(text), "{}\nlacks: {text}\n{}", self.line, self.stderr());
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.output.stdout).unwrap()
    }
}

/// The same command with less work, as the program under test is not optimised.
pub fn smaller(command: &str) -> String {
    const LESS: [(&str, &str); 11] = [
        ("--copies 1,16,256", "--copies 1,16"),
        ("--processes 1048576", "--processes 65536"),
        ("--processes 100000", "--processes 20000"),
        ("--processes 4096", "--processes 1024"),
        ("--replicas 20", "--replicas 5"),
        ("bench --quick ", "bench --quick --repeat 1 "),
        ("--processes 20000 ", "--processes 5000 "),
        ("redundancy --processes 1024 ", "redundancy --processes 256 "),
        ("sc10-fig4 sc10-sec4b-200us", "sc10-fig2"),
        ("exchanges.txt --size 1KiB ", "exchanges.txt --size 1KiB --samples 2000 "),
        ("uninterrupted.txt --size 1KiB ", "uninterrupted.txt --size 1KiB --samples 2000 "),
    ];
    match command.trim() {
        // Takes an hour at the paper's size.
        "straggler papers run sc10-fig5a" => "straggler papers run sc10-fig2".into(),
        "straggler assess" => "straggler assess --quick --time 100ms --processes 16".into(),
        // Runs until it is interrupted.
        other if other.starts_with("straggler serve") => {
            format!("timeout --preserve-status -s INT 2 {other}")
        }
        other if other.contains("--repeat") || other.contains("--samples") => other.into(),
        other => {
            let less = |line: String, (all, some): &(&str, &str)| line.replace(all, some);
            let line = LESS.iter().fold(format!("{other} "), less);
            // Sizes do not matter, unless they are asked about.
            match line.strip_prefix("straggler assess ") {
                Some(options) if line.contains("@1024") => format!("straggler assess --quick {options}"),
                Some(options) => {
                    let options =
                        options.replace("--quick ", "").replace("--processes 1024", "--processes 16");
                    format!("straggler assess --quick {options}")
                }
                None => line,
            }
        }
    }
}
