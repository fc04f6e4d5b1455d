//! Figures of papers: printed output, files, and resumed runs.

use crate::outside::program::Folder;
use std::fs;
use straggler_model::Time;

#[test]
fn diagrams_of_the_paper() {
    let folder = Folder::new();
    let line = "papers run sc10-fig4 sc10-fig3 --quick -o out --markdown out.md --json";
    let answer = folder.run(line).good().json();
    let made = answer["reproductions"].as_array().unwrap();
    let names: Vec<_> = made.iter().map(|made| made["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sc10-fig3", "sc10-fig4"], "in the order of the list");
    let last = &made[1]["comparisons"][0];
    assert_eq!((last["published"].as_f64(), last["simulated"].as_f64()), (Some(3.0), Some(3.0)));
    let page = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.contains("<script id=\"data\""));
    let text = fs::read_to_string(folder.path().join("out.md")).unwrap();
    assert!(text.contains("| the process that leaves last | 3 | 3 | the same |"), "{text}");
    assert!(text.contains("`straggler papers run sc10-fig4 sc10-fig3 --quick"), "{text}");
}

#[test]
fn a_study_is_kept_and_compared() {
    let folder = Folder::new();
    let line = "papers run sc10-sec4b-2500us --quick -o out --json";
    let first = folder.run(line).good().json();
    let comparisons = &first["reproductions"][0]["comparisons"];
    let ratio = |index: usize| comparisons[index]["simulated"].as_f64().unwrap();
    // LogGOPSim's median near 59, broadcast less than half of it.
    assert!((50.0..70.0).contains(&ratio(1)), "{comparisons}");
    assert!(ratio(2) < ratio(1) / 2.0, "{comparisons}");
    let results = folder.path().join("out/quick/sc10-sec4b-2500us/results.parquet");
    let bytes = fs::read(&results).unwrap();
    let second = folder.run(line).good().json();
    assert_eq!(second["reproductions"][0]["comparisons"], *comparisons);
    assert_eq!(fs::read(&results).unwrap(), bytes);
}

/// A figure without published numbers: the text tells what was simulated.
#[test]
fn a_figure_without_numbers_is_told() {
    let folder = Folder::new();
    let text = folder.run("papers run sc10-fig10 --quick -o out").good().stdout();
    let start = "1 figure or table simulated; there are no published numbers to compare with.";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains("\n  10 times as fast: noise is not shown to exceed 10 % anywhere;"), "{text}");
}

#[test]
fn unknown_names_are_refused() {
    let folder = Folder::new();
    folder.run("papers run sc10-figs5a").ends_with(2).says("did you mean `sc10-fig5a`?");
    folder.run("papers run").ends_with(2);
    folder.run("papers list --quick").ends_with(2);
}

/// docs/measured.md agrees with the measurements in fixtures/measured.
#[test]
fn what_was_measured_here_is_in_the_document() {
    let document =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/measured.md")).unwrap();
    let folder = Folder::new();
    for processors in [2, 4, 8, 16] {
        let file = format!("fixtures/measured/exchange-{processors}.lat");
        let resampled = folder
            .run(&format!("latency resample {file} --processes {processors} --size 1MiB --json"))
            .good()
            .json();
        let case = &resampled["cases"][0];
        let median = Time(case["total_ps"]["median"].as_u64().unwrap()).to_string();
        let throughput = case["throughput_bytes_per_second"].as_f64().unwrap() / 1e6;
        let row = document.lines().find(|line| line.starts_with(&format!("| {processors} |"))).unwrap();
        assert!(row.contains(&median), "{median} is not in {row}");
        assert!(row.replace(',', "").contains(&format!("{throughput:.0}")), "{throughput} is not in {row}");
    }
}

#[test]
fn exchanges_that_were_measured_take_the_place_of_synthesised_ones() {
    let folder = Folder::new();
    let line =
        "papers run sp2-table1 sp2-fig5-6 --quick --exchanges fixtures/latency/before.lat -o out --json";
    let answer = folder.run(line).good().json();
    let table = &answer["reproductions"][0];
    assert!(table["input"].as_str().unwrap().contains("Exchanges of 8 B that were synthesised"), "{table}");
    assert!(table["title"].as_str().unwrap().ends_with("here from exchanges of another machine"), "{table}");
    let text = folder.run(line.trim_end_matches(" --json")).good().stdout();
    assert!(text.contains("  Exchanges of 8 B that were synthesised"), "{text}");
    // The published values are of another machine, but throughput falls with the number of
    // processors, too.
    let row = |index: usize| &table["comparisons"][index];
    assert!(row(0)["published"].is_null());
    let throughput = |index: usize| row(index)["simulated"].as_f64().unwrap();
    assert!(throughput(0) > throughput(4), "{table}");
    let refused =
        folder.run("papers run sc10-fig4 --exchanges fixtures/latency/before.lat -o out").ends_with(2);
    refused.says("--exchanges is for sp2-table1 and sp2-fig5-6");
    folder
        .run("papers run sp2-table1 --exchanges fixtures/latency/synthetic.txt -o out")
        .ends_with(3)
        .says("not a measurement of exchanges");
    let line = line.replace("--quick", "--quick --size 64");
    folder.run(&line).ends_with(3).says("it has no messages of 64 B, only of 8 B");
    folder.run(&line.replace("--size 64", "--size 8")).good();
}
