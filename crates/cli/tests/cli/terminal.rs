//! Output fits the terminal's width, which COLUMNS states.

use crate::outside::program::Folder;

fn printed(folder: &Folder, line: &str, columns: Option<&str>) -> String {
    let mut command = folder.command(line);
    command.envs(columns.map(|columns| ("COLUMNS", columns)));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// Returns all numbers in a text, sorted.
fn numbers(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = text
        .split_whitespace()
        .filter(|word| word.chars().all(|c| c.is_ascii_digit() || ",.".contains(c)))
        .collect();
    words.sort_unstable();
    words
}

#[test]
fn tables_and_sentences_fit() {
    let folder = Folder::new();
    for (line, width) in [
        ("network list", 90),
        ("schedule algorithms", 80),
        ("trace waits fixtures/traces/regions", 90),
        ("noise list", 80),
        ("papers list", 100),
    ] {
        let whole = printed(&folder, line, None);
        let fitted = printed(&folder, line, Some(&width.to_string()));
        assert!(widest(&whole) > width, "{line}: too narrow to tell\n{whole}");
        assert!(widest(&fitted) <= width, "{line}\n{fitted}");
        assert_eq!(numbers(&whole), numbers(&fitted), "{line}\n{fitted}");
    }
}

/// A wide terminal, no terminal, or an invalid width leaves the output unwrapped.
#[test]
fn what_fits_is_as_in_a_file() {
    let folder = Folder::new();
    let whole = printed(&folder, "trace show fixtures/traces/halo", None);
    for columns in ["1000", "0", "", "wide"] {
        assert_eq!(printed(&folder, "trace show fixtures/traces/halo", Some(columns)), whole, "{columns:?}");
    }
}

/// Files and scripts on stdout are for programs and are never wrapped.
#[test]
fn files_are_never_wrapped() {
    let folder = Folder::new();
    for line in
        ["network show chic", "noise list chic", "schedule selector mpich --toml", "tools completions bash"]
    {
        let whole = printed(&folder, line, None);
        assert!(widest(&whole) > 40, "{line}: too narrow to tell\n{whole}");
        assert_eq!(printed(&folder, line, Some("40")), whole, "{line}");
    }
    let json = "trace show fixtures/traces/halo --json";
    assert_eq!(printed(&folder, json, Some("40")), printed(&folder, json, None));
}

/// Errors of the option parser and indented lines wrap like all other errors.
#[test]
fn errors_fit() {
    let mut ring = String::from("num_ranks 5\n");
    for rank in 0..5 {
        let (before, after) = ((rank + 4) % 5, (rank + 1) % 5);
        ring +=
            &format!("rank {rank} {{\nr: recv 8b from {before}\ns: send 8b to {after}\ns requires r\n}}\n");
    }
    let folder = Folder::new();
    folder.write("ring.goal", &ring);
    for (line, code, says) in [
        ("simulate --collective foo", 2, "unknown collective operation `foo`"),
        ("simulate ring.goal --network chic", 4, "which waits for rank 0"),
    ] {
        let said = |columns: &str| {
            let output = folder.command(line).env("COLUMNS", columns).output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{line}");
            String::from_utf8(output.stderr).unwrap()
        };
        let (whole, fitted) = (said("1000"), said("80"));
        assert!(widest(&whole) > 80 && whole.contains(says), "{line}\n{whole}");
        assert!(widest(&fitted) <= 80, "{line}\n{fitted}");
        assert!(fitted.split_whitespace().eq(whole.split_whitespace()), "{line}\n{fitted}");
    }
}

/// Colours are for terminals and for those who ask; no environment forces them, and none changes the text.
#[test]
fn colours_are_asked_for() {
    let folder = Folder::new();
    let said = |line: &str, variables: &[(&str, &str)]| {
        let output = folder.command(line).envs(variables.iter().copied()).output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (out, err)
    };
    let line = "simulate --collective barrier --processes 4 --network chic --cosched";
    let (plain, warning) = said(line, &[]);
    assert!(!plain.contains('\x1b') && !warning.contains('\x1b'), "not a terminal");
    let (out, err) = said(&format!("{line} --color always"), &[("NO_COLOR", "1")]);
    let (answer, rest) = plain.split_once('\n').unwrap();
    assert!(out.starts_with(&format!("\x1b[1m{answer}\x1b[0m\n")), "{out}");
    assert!(!rest.is_empty() && !out[answer.len() + 8..].contains('\x1b'), "only the answer is bold");
    assert_eq!(err, warning.replace("warning:", "\x1b[33mwarning:\x1b[0m"));
    let (_, err) = said("--color always simulate x.goal --network chic", &[]);
    assert!(err.starts_with("\x1b[1;31merror:\x1b[0m x.goal"), "{err}");
    let (_, err) = said("simulate --colour --color=always", &[]);
    assert!(err.starts_with("\x1b[1;31merror:\x1b[0m unexpected"), "{err}");
}

/// `script` runs a command on a terminal.
#[test]
fn a_terminal_has_colours_unless_its_environment_objects() {
    let folder = Folder::new();
    if std::process::Command::new("script").arg("--version").output().is_err() {
        return;
    }
    let on_terminal = |options: &str, variables: &[(&str, &str)]| {
        let line = format!("{} network show chicc {options}", crate::outside::program::binary().display());
        let mut command = std::process::Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).current_dir(folder.path());
        command.env("TERM", "xterm").env_remove("NO_COLOR").envs(variables.iter().copied());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let coloured = "\x1b[1;31merror:\x1b[0m";
    assert!(on_terminal("", &[]).contains(coloured));
    for (options, variables) in
        [("--color never", &[][..]), ("", &[("NO_COLOR", "1")]), ("", &[("TERM", "dumb")])]
    {
        let said = on_terminal(options, variables);
        assert!(said.contains("error:") && !said.contains('\x1b'), "{options} {variables:?}: {said}");
    }
}
