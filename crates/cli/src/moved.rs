//! Old names of commands. They work until the next release, with a note.

use std::ffi::{OsStr, OsString};

/// The first words of a command line, as they were and as they are. The first row that matches counts.
const MOVED: [(&[&str], &[&str]); 18] = [
    (&["measure", "noise"], &["noise", "measure"]),
    (&["measure", "latency"], &["latency", "measure"]),
    (&["measure", "merge"], &["latency", "merge"]),
    (&["compare"], &["latency", "compare"]),
    (&["diagnose"], &["latency", "diagnose"]),
    (&["resample"], &["latency", "resample"]),
    (&["redundancy"], &["papers", "redundancy"]),
    (&["reproduce", "--list"], &["papers", "list"]),
    (&["reproduce"], &["papers", "run"]),
    (&["schedule", "validate"], &["schedule", "check"]),
    (&["schedule", "check", "--collective"], &["schedule", "prove", "--collective"]),
    (&["training", "whatif"], &["whatif"]),
    (&["slurm-script"], &["tools", "slurm-script"]),
    (&["plot"], &["tools", "plot"]),
    (&["bench"], &["tools", "bench"]),
    (&["examples"], &["tools", "examples"]),
    (&["completions"], &["tools", "completions"]),
    (&["man"], &["tools", "man"]),
];

/// Common options that take a value.
const WITH_VALUE: [&str; 3] = ["--seed", "--threads", "--color"];

/// The arguments of this process under the present names, and a note if they have an old one.
pub fn arguments() -> (Vec<OsString>, Option<String>) {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let note = modernise(&mut words);
    (words, note)
}

/// Replaces an old name of a command. The first word is the program.
fn modernise(words: &mut Vec<OsString>) -> Option<String> {
    let first = command(words)?;
    let typed = &words[first..];
    let begins =
        |old: &[&str]| typed.len() >= old.len() && old.iter().zip(typed).all(|(old, word)| word == old);
    let (old, new): (&[&str], &[&str]) = match MOVED.iter().find(|(old, _)| begins(old)) {
        Some((old, new)) => (old, new),
        None if records(typed) => (&["trace"], &["trace", "record"]),
        None => return None,
    };
    words.splice(first..first + old.len(), new.iter().map(OsString::from));
    let [old, new] = [old.join(" "), new.join(" ")];
    Some(format!("`straggler {old}` is now `straggler {new}`; the old name works until the next release"))
}

/// Where the name of the command begins.
fn command(words: &[OsString]) -> Option<usize> {
    let mut place = 1;
    while words.get(place)?.as_encoded_bytes().starts_with(b"-") {
        place += if WITH_VALUE.iter().any(|option| words[place] == *option) { 2 } else { 1 };
    }
    Some(place)
}

/// Whether a recording begins without the word `record`.
fn records(typed: &[OsString]) -> bool {
    let is_option =
        |word: &OsStr| word.as_encoded_bytes().starts_with(b"-") && word != "--help" && word != "-h";
    typed[0] == "trace" && typed.get(1).is_some_and(|word| is_option(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::definition;

    fn modern(line: &str) -> String {
        let mut words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        modernise(&mut words);
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn old_names_are_replaced_and_present_ones_stay() {
        for (old, new) in [
            ("s measure noise --time 1s", "s noise measure --time 1s"),
            ("s --json --seed 3 compare a b", "s --json --seed 3 latency compare a b"),
            ("s reproduce --list", "s papers list"),
            ("s reproduce sc10-fig4", "s papers run sc10-fig4"),
            ("s schedule check --collective barrier", "s schedule prove --collective barrier"),
            ("s schedule check a.goal", "s schedule check a.goal"),
            ("s training whatif job.csv --fix 6", "s whatif job.csv --fix 6"),
            ("s trace -o run -- ./a", "s trace record -o run -- ./a"),
            ("s trace --help", "s trace --help"),
            ("s noise compare a b", "s noise compare a b"),
            ("s --threads", "s --threads"),
        ] {
            assert_eq!(modern(old), new);
        }
    }

    #[test]
    fn present_names_exist() {
        for (_, new) in MOVED {
            let mut found = definition();
            for name in new.iter().filter(|word| !word.starts_with('-')) {
                found = found.find_subcommand(name).unwrap_or_else(|| panic!("{new:?}")).clone();
            }
        }
    }
}
