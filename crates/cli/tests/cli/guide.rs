//! The examples of the guide and the README's first command work as pasted.

use crate::outside::program::{Folder, binary, smaller};
use std::path::PathBuf;
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Returns the commands in the shell blocks of a page, with continued lines joined.
fn commands(page: &str) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    let (mut inside, mut continued) = (false, false);
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```sh";
            continue;
        }
        if !inside {
            continue;
        }
        if !continued {
            list.push(String::new());
        }
        continued = line.ends_with('\\');
        if let Some(last) = list.last_mut() {
            last.push_str(line.trim_end_matches('\\').trim());
            last.push(' ');
        }
    }
    list
}

fn run(folder: &Folder, command: &str) {
    let command = &smaller(command);
    let path = format!("{}:{}", binary().parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output =
        Command::new("sh").args(["-c", command]).current_dir(folder.path()).env("PATH", path).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_example_of_the_guide_runs() {
    let mut pages: Vec<PathBuf> =
        std::fs::read_dir(root().join("docs/guide")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    assert!(pages.len() >= 5);
    for page in pages {
        let folder = Folder::installed();
        let commands = commands(&std::fs::read_to_string(&page).unwrap());
        assert!(!commands.is_empty(), "{} has no examples", page.display());
        commands.iter().for_each(|command| run(&folder, command));
    }
}

#[test]
fn the_commands_of_the_readme_run() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let doors = commands(&readme);
    // Runs the binary that is already built.
    assert_eq!(doors[0].trim(), "cargo run --release -- assess");
    run(&Folder::new(), "straggler assess");
    assert!(doors.len() > 1);
    doors[1..].iter().for_each(|door| run(&Folder::new(), &door.replace("target/release/", "")));
}
