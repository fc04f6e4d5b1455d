//! Every call of the program in `scripts` has valid options: some scripts need a GPU or several MPI libraries, and their
//! calls would otherwise break unnoticed.

use crate::args::Cli;
use crate::commands::validate;
use crate::outside::program::Folder;
use clap::Parser;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts")
}

/// The values that a script's loops give to variables: `for NAME in WORD...; do`.
fn loops(script: &str) -> HashMap<String, Vec<String>> {
    let one = |line: &str| {
        let (name, list) = line.trim().strip_prefix("for ")?.strip_suffix("; do")?.split_once(" in ")?;
        Some((name.to_string(), shlex::split(list)?))
    };
    script.lines().filter_map(one).collect()
}

/// The text of each call: from the command's name to the end of the call. Where the program is an argument of another
/// script, the next word is quoted, a variable or the end of a test.
fn calls(script: &str) -> Vec<String> {
    let joined = script.replace("\\\n", " ");
    let call = |text: &str| {
        let is_call = text.starts_with(|first: char| first.is_ascii_lowercase());
        is_call.then(|| until_redirection(text).to_string())
    };
    joined.lines().flat_map(|line| line.split("\"$straggler\" ").skip(1).filter_map(call)).collect()
}

/// The studies that a script writes: `cat > "$to/NAME.toml" <<'STUDY'` up to the line `STUDY`.
fn studies(script: &str) -> impl Iterator<Item = &str> {
    script.split("<<'STUDY'\n").skip(1).filter_map(|text| text.split_once("STUDY\n").map(|(study, _)| study))
}

/// Cuts where the shell ends a command or redirects its output.
fn until_redirection(text: &str) -> &str {
    let mut quoted = false;
    let end = text.char_indices().find(|&(_, letter)| {
        quoted ^= letter == '"';
        !quoted && matches!(letter, '>' | '<' | '|' | ';' | '&' | ')')
    });
    end.map_or(text, |(end, _)| &text[..end]).trim_end_matches(['1', '2', ' '])
}

/// The words of a call, with variables replaced: those of loops by their value number `turn`, others by this folder.
fn words(call: &str, loops: &HashMap<String, Vec<String>>, turn: usize) -> Vec<String> {
    let value = |name: &str| match loops.get(name) {
        Some(values) => values[turn % values.len()].clone(),
        None => ".".to_string(),
    };
    let mut words = vec!["straggler".to_string()];
    for word in shlex::split(call).unwrap_or_else(|| panic!("{call} cannot be split")) {
        let whole = word.strip_prefix('$').and_then(|name| loops.get(name).map(|_| value(name)));
        let text = whole.unwrap_or_else(|| expand(&word, &value));
        // An unquoted variable without a value is no word.
        if !text.is_empty() {
            words.push(text);
        }
    }
    words
}

fn expand(word: &str, value: &dyn Fn(&str) -> String) -> String {
    let mut text = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let (name, more) = match after.strip_prefix('{') {
            Some(braced) => braced.split_once('}').unwrap_or((braced, "")),
            None => {
                let end = after.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
                after.split_at(end.unwrap_or(after.len()))
            }
        };
        text.push_str(&value(name));
        rest = more;
    }
    text + rest
}

fn assert_valid(words: &[String], script: &str) {
    let cli =
        Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{script}: {}\n{error}", words.join(" ")));
    if let Err(failure) = validate(cli) {
        panic!("{script}: {}\n{failure:?}", words.join(" "));
    }
}

#[test]
fn calls_in_shell_scripts_are_valid() {
    let mut found = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let script = std::fs::read_to_string(&path).unwrap();
        let loops = loops(&script);
        let turns = loops.values().map(Vec::len).max().unwrap_or(1);
        for call in calls(&script) {
            found += 1;
            (0..turns)
                .for_each(|turn| assert_valid(&words(&call, &loops, turn), &path.display().to_string()));
        }
    }
    assert_eq!(found, 9, "calls were found");
}

#[test]
fn studies_in_shell_scripts_are_valid() {
    let to = Folder::new();
    let script = std::fs::read_to_string(folder().join("test-gpu")).unwrap();
    let studies: Vec<&str> = studies(&script).collect();
    assert_eq!(studies.len(), 2);
    for study in studies {
        to.write("study.toml", study);
        to.run("study check study.toml").good();
    }
}

#[test]
fn calls_that_count_instructions_are_valid() {
    let listed = std::process::Command::new(folder().join("instructions")).arg("--list").output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let text = String::from_utf8(listed.stdout).unwrap();
    assert!(text.lines().count() >= 8, "{text}");
    for line in text.lines() {
        let mut words = shlex::split(line).unwrap();
        // Its temporary folder is gone.
        let written = words.iter_mut().filter(|word| word.ends_with(".bin") || word.ends_with(".goal"));
        written.for_each(|word| *word = Path::new(word).file_name().unwrap().to_string_lossy().into_owned());
        assert_valid(&words, "instructions");
    }
}

#[test]
fn a_wrong_call_is_noticed() {
    let script = "for device in cpu gpu; do\n\"$straggler\" simulate --collective barrier $way \\\n --finish-times \
                  \"$to/$device.finish\" --processes 4 --network chic > /dev/null\n";
    let calls = calls(script);
    let words = words(&calls[0], &loops(script), 1);
    assert_eq!(words[1..6], ["simulate", "--collective", "barrier", ".", "--finish-times"]);
    let cli = |words: &[String]| Cli::try_parse_from(words.iter().filter(|word| *word != "."));
    assert!(validate(cli(&words).unwrap()).is_err(), "the extension is unknown");
    let mended: Vec<String> = words.iter().map(|word| word.replace(".finish", ".csv")).collect();
    assert!(validate(cli(&mended).unwrap()).is_ok());
}
