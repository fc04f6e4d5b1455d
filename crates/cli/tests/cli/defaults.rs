//! Defaults of options from `straggler.toml`.

use crate::outside::program::Folder;

const BARRIER: &str = "simulate --collective barrier --processes 4";

/// The keys hold where nothing is typed, results name them, and a parent folder counts within a repository.
#[test]
fn a_file_sets_defaults_and_results_name_them() {
    let folder = Folder::new();
    folder.run(BARRIER).ends_with(2).says("--network is missing");
    folder.write("straggler.toml", "network = \"chic\"\nseed = 7\n");
    let answer = folder.run(&format!("{BARRIER} --json --report page.html")).good().json();
    assert_eq!((&answer["network"]["name"], &answer["seed"]), (&"chic".into(), &7.into()));
    let defaults = answer["defaults"].as_array().unwrap();
    let named: Vec<_> = defaults.iter().map(|one| (one["option"].as_str(), one["value"].as_str())).collect();
    assert_eq!(named, [(Some("network"), Some("chic")), (Some("seed"), Some("7"))]);
    assert!(defaults[0]["file"].as_str().unwrap().ends_with("/straggler.toml"));
    folder.run(&format!("{BARRIER} -v")).good().says("--network chic from ");
    let typed = folder.run(&format!("{BARRIER} --network altix --seed 1 --json")).good().json();
    assert_eq!((&typed["network"]["name"], typed.get("defaults")), (&"altix".into(), None));
    std::fs::create_dir(folder.path().join("below")).unwrap();
    let below = || folder.command(BARRIER).current_dir(folder.path().join("below")).output().unwrap();
    assert_eq!(below().status.code(), Some(2), "no repository");
    std::fs::create_dir(folder.path().join(".git")).unwrap();
    assert_eq!(below().status.code(), Some(0));
}

/// The file of the user holds everywhere; that of the folder wins.
#[test]
fn the_file_of_the_user_counts_too() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("straggler")).unwrap();
    folder.write("straggler/straggler.toml", "network = \"altix\"\nthreads = 1\n");
    folder.write("straggler.toml", "network = \"chic\"\n");
    let answer = folder.run(&format!("{BARRIER} --json")).good().json();
    assert_eq!((&answer["network"]["name"], &answer["threads"]), (&"chic".into(), &1.into()));
}

/// A trace is still fitted if --fit asks for it, and a change to try is no default.
#[test]
fn a_default_network_forces_nothing() {
    let folder = Folder::new();
    folder.write("straggler.toml", "network = \"chic\"\n");
    let fitted = folder.run("simulate fixtures/traces/halo --fit --json").good().json();
    assert!(fitted["fit"].is_object() && fitted["network"]["name"] != "chic");
    folder.run("whatif fixtures/traces/halo").ends_with(2).says("nothing is changed");
}

#[test]
fn mistakes_name_the_file_and_the_line() {
    let folder = Folder::new();
    for (text, says) in [
        ("seed = 1\nnetwrok = \"chic\"", "straggler.toml: line 2: unknown key `netwrok`"),
        ("threads = \"many\"", "straggler.toml, line 1: invalid value 'many' for '--threads <N>'"),
        ("network = [1]", "straggler.toml: line 1, column 11: "),
        ("network = ", "straggler.toml: line 1, "),
    ] {
        folder.write("straggler.toml", text);
        let ended = folder.run(BARRIER);
        assert!([Some(2), Some(3)].contains(&ended.code()), "{text}: {}", ended.stderr());
        ended.says(says);
    }
    folder.write("straggler.toml", "\nnetwork = \"chicc\"");
    folder.run(BARRIER).ends_with(2).says("--network chicc from ").says("straggler.toml, line 2");
    // Help is there even if the file is broken.
    folder.write("straggler.toml", "seed = ");
    folder.run("simulate --help").good();
}
