//! `straggler papers redundancy`.

use crate::outside::program::Folder;

const LINE: &str = "papers redundancy --processes 256 --cycles 10 --noise periodic:period=10ms,duration=100us \
                    --network L=1us,o=1ns,g=0ns,G=1ns,O=0ns,S=65535";

#[test]
fn the_ratio_is_that_of_the_trials() {
    let folder = Folder::new();
    let answer = folder.run(&format!("{LINE} --json")).good().json();
    let trials = answer["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 20);
    let ratios: Vec<f64> = trials.iter().filter_map(|trial| trial["ratio"].as_f64()).collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!((answer["recovery"]["mean"].as_f64().unwrap() - mean).abs() < 1e-12);
    assert!(answer["recovery"]["low"].as_f64().unwrap() < mean);
    for trial in trials {
        let [conventional, redundant, quiet] =
            ["conventional_ps", "redundant_ps", "quiet_ps"].map(|name| trial[name].as_f64().unwrap());
        let ratio = (conventional - redundant) / (conventional - quiet);
        assert!((trial["ratio"].as_f64().unwrap() - ratio).abs() < 1e-12);
    }
    // 10 cycles of 8 rounds of o + L + o.
    assert_eq!(answer["undisturbed"]["conventional_ps"], 80 * 1_002_000);
}

#[test]
fn threads_make_no_difference() {
    let folder = Folder::new();
    let trials =
        |threads| folder.run(&format!("{LINE} --json --threads {threads}")).good().json()["trials"].clone();
    assert_eq!(trials(1), trials(3));
}

#[test]
fn says_it_in_a_sentence() {
    let folder = Folder::new();
    let text = folder.run(LINE).good().stdout();
    assert!(text.starts_with("Redundant exchanges recover "), "{text}");
    let growing = folder.run(&format!("{LINE} --growth 2 --size 1KiB")).good().stdout();
    assert!(growing.starts_with("Redundant exchanges do not pay off on 256 processes"), "{growing}");
}

#[test]
fn nonsense_is_refused_with_a_reason() {
    let folder = Folder::new();
    let noise = "--noise periodic:period=10ms,duration=100us --network chic";
    folder
        .run(&format!("papers redundancy --processes 12 {noise}"))
        .ends_with(2)
        .says("the nearest are 8 and 16");
    folder
        .run(&format!("papers redundancy --processes 16 --rounds 1 {noise}"))
        .ends_with(2)
        .says("after rounds 2 to 4 of 4");
    folder
        .run(&format!("papers redundancy --processes 16 --rounds 5 {noise}"))
        .ends_with(2)
        .says("after rounds 2 to 4 of 4");
    folder
        .run("papers redundancy --processes 16 --noise none --network chic")
        .ends_with(2)
        .says("nothing to recover");
}
