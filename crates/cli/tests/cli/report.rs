//! Reports: the numbers in the page are those of the input.

use crate::outside::program::{Folder, NETWORK, fixtures};
use straggler_model::Time;
use straggler_report::finish_times;
use straggler_report::page::{Block, Cell, Chart, Distribution, Page, Plot, Scatter, Table, Timeline};

const NOISE: &str = "fixtures/conformance/eager-noise-00.noise";
const NOISY: &str =
    "simulate --collective allreduce --processes 16 --network chic --noise periodic:period=1ms,duration=50us";

/// Returns the data embedded in a report.
fn page(folder: &Folder, name: &str) -> Page {
    let html = std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(html.starts_with("<!doctype html>") || html.starts_with("<!DOCTYPE html>"));
    assert!(!html.contains("@@TITLE@@") && !html.contains("@@DATA@@"));
    assert!(!html.contains("src=\"http") && !html.contains("href=\"http"), "nothing is loaded");
    Page::from_html(&html).unwrap().unwrap()
}

fn chart<'a>(page: &'a Page, title: &str) -> &'a Chart {
    page.charts().find(|chart| chart.title.starts_with(title)).unwrap_or_else(|| panic!("{title}: {page:?}"))
}

fn scatter(chart: &Chart) -> &Scatter {
    let Plot::Scatter(plot) = &chart.plot else { panic!("{chart:?}") };
    plot
}

fn distribution(chart: &Chart) -> &Distribution {
    let Plot::Distribution(plot) = &chart.plot else { panic!("{chart:?}") };
    plot
}

fn timeline(chart: &Chart) -> &Timeline {
    let Plot::Timeline(plot) = &chart.plot else { panic!("{chart:?}") };
    plot
}

fn table<'a>(page: &'a Page, title: &str) -> &'a Table {
    let sections = page.bodies().into_iter().flat_map(|body| &body.sections);
    let mut blocks = sections.flat_map(|section| &section.blocks);
    let found = blocks.find_map(|block| match block {
        Block::Table(table) if table.title == title => Some(table),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{title}"))
}

#[test]
fn noise_is_shown_as_it_is() {
    let folder = Folder::new();
    folder.write("a.txt", "0 1000\n5000 2500\n9000 1500\n");
    let said = folder.run("report a.txt").good().stdout();
    assert!(said.starts_with("report.html: 4 charts in 1 section, "), "{said}");
    let page = page(&folder, "report.html");
    let every = chart(&page, "Every detour");
    assert_eq!((every.command.as_str(), every.synthetic), ("straggler report a.txt", false));
    let series = &scatter(every).series[0];
    let seconds = |ns: [u64; 3]| ns.map(|ns| Time::from_ns(ns).seconds());
    assert_eq!(series.x, seconds([0, 5000, 9000]));
    assert_eq!(series.y, seconds([1000, 2500, 1500]));
    assert_eq!(distribution(chart(&page, "How long")).series[0].values, seconds([1000, 1500, 2500]));
    let Plot::Histogram(histogram) = &chart(&page, "Number of detours by duration").plot else { panic!() };
    assert_eq!(histogram.series[0].counts.iter().sum::<f64>(), 3.0);
    assert_eq!(histogram.series[0].edges.len(), histogram.series[0].counts.len() + 1);
    let sources = table(&page, "Sources of the noise");
    assert_eq!(sources.rows[0][1], Cell::number("3", 3.0));
}

#[test]
fn finish_times_and_timelines_come_back() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("run")).unwrap();
    let line = format!("{NOISY} --finish-times run/finish.parquet --timeline run/timeline.json --json");
    let answer = folder.run(&line).good().json();
    folder.write("run/notes.md", "1 2\n3 4\n");
    folder.write("run/answer.json", "{}");
    let report = folder.run("report run -o run.html --json").good().json();
    assert_eq!(report["charts"], 3, "{report}");
    let skipped: Vec<&str> =
        report["skipped"].as_array().unwrap().iter().map(|one| one["file"].as_str().unwrap()).collect();
    assert_eq!(skipped, ["run/answer.json", "run/notes.md"]);
    let page = page(&folder, "run.html");
    assert_eq!(page.title, "finish.parquet and timeline.json");
    let finish = finish_times::read(&folder.path().join("run/finish.parquet")).unwrap();
    let seconds: Vec<f64> = finish.iter().map(|time| time.seconds()).collect();
    assert_eq!(scatter(chart(&page, "Finish time of each rank")).series[0].y, seconds);
    let drawn = chart(&page, "What happens when");
    assert!(drawn.synthetic && drawn.command.starts_with("straggler simulate --collective"), "{drawn:?}");
    let timeline = timeline(drawn);
    assert_eq!(timeline.rows.len(), 16);
    let last = timeline.end.iter().copied().fold(0.0, f64::max);
    assert_eq!(Some(last as u64), answer["makespan_ps"].as_u64());
    // Recursive doubling: log2 P rounds, in each of which every process sends.
    assert_eq!(Some(timeline.arrow_sent.len() as u64), answer["messages"].as_u64());
}

#[test]
fn pages_are_put_together() {
    let folder = Folder::new();
    folder.run(&format!("{NOISY} --replicas 5 --compare-quiet --report a.page")).good();
    folder.run(&format!("report {NOISE} -o b.page")).good();
    folder.run("report a.page b.page -o both.html --title Both").good();
    let [a, b] = ["a.page", "b.page"]
        .map(|name| Page::from_container(&std::fs::read(folder.path().join(name)).unwrap()).unwrap());
    let both = page(&folder, "both.html");
    assert_eq!(both.title, "Both");
    assert_eq!(both.charts().count(), a.charts().count() + b.charts().count());
    // The single pages are parts, with all that they say but the version, which is the same.
    let [first, second] = &both.parts[..] else { panic!("{both:?}") };
    assert_eq!((&first.sections, &first.summary, &second.title), (&a.sections, &a.summary, &b.title));
    assert!(first.facts.0.iter().all(|(fact, _)| fact != "Version") && first.facts.0.contains(&a.facts.0[0]));
    // Parts of a joined page stay parts.
    folder.run("report a.page b.page -o both.page").good();
    folder.run("report both.page a.page -o three.html").good();
    let titles: Vec<String> = page(&folder, "three.html").parts.into_iter().map(|part| part.title).collect();
    assert_eq!(titles, [&a.title, &b.title, &a.title].map(String::clone));
    // A single page stays as it is.
    folder.run("report a.page -o c.page").good();
    assert_eq!(
        std::fs::read(folder.path().join("a.page")).unwrap(),
        std::fs::read(folder.path().join("c.page")).unwrap()
    );
}

/// Files of one name are told apart by their folders.
#[test]
fn parts_of_one_name_have_their_paths() {
    let folder = Folder::new();
    for place in ["x", "y"] {
        std::fs::create_dir(folder.path().join(place)).unwrap();
        folder.write(&format!("{place}/a.txt"), "0 1000\n5000 2500\n9000 1500\n");
    }
    folder.run("report x/a.txt y/a.txt -o both.html").good();
    let both = page(&folder, "both.html");
    assert_eq!(both.title, "a.txt (x/a.txt) and a.txt (y/a.txt)");
    let titles: Vec<&str> = both.parts.iter().map(|part| part.title.as_str()).collect();
    assert_eq!(titles, ["Noise of x/a.txt", "Noise of y/a.txt"]);
}

#[test]
fn simulations_write_their_page() {
    let folder = Folder::new();
    let line = format!(
        "{NOISY} --replicas 7 --compare-quiet --explain --finish-times f.csv --timeline t.json --report r.html --json"
    );
    let answer = folder.run(&line).good().json();
    let page = page(&folder, "r.html");
    let command = format!("straggler {line}");
    assert!(page.charts().all(|chart| chart.command == command && chart.synthetic));
    let mut makespans: Vec<u64> = answer["replicas"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["makespan_ps"].as_u64().unwrap())
        .collect();
    makespans.sort_unstable();
    let expected: Vec<f64> = makespans.into_iter().map(|ps| Time(ps).seconds()).collect();
    assert_eq!(distribution(chart(&page, "Makespans")).series[0].values, expected);
    assert_eq!(table(&page, "Runs").rows.len(), 8);
    let Plot::Bars(bars) = &chart(&page, "Parts of the critical path").plot else { panic!() };
    let total: f64 = bars.bars.iter().map(|bar| bar.value).sum();
    let makespan = Time(answer["makespan_ps"].as_u64().unwrap()).seconds();
    assert!((total - makespan).abs() < 1e-9 * makespan, "{total} {makespan}");
    chart(&page, "What happens when");
    chart(&page, "Finish time of each rank");
    assert!(page.summary[0].starts_with("One allreduce of 8 B by dissemination"), "{:?}", page.summary);
}

#[test]
fn other_results_write_theirs() {
    let folder = Folder::new();
    let times: String = (0..200).map(|index| format!("{}\n", 100 + index * index % 97)).collect();
    folder.write("times.txt", &times);
    for (line, titles) in [
        (format!("noise show {NOISE}"), &["Every detour", "Frequencies"][..]),
        ("noise show signature:name=chic".into(), &["Every detour"]),
        (format!("noise compare {NOISE} fixtures/conformance/eager-noise-01.noise"), &["How long", "How far"]),
        ("noise measure --time 50ms --sources none".into(), &[]),
        (
            "papers redundancy --processes 64 --cycles 3 --replicas 4 --noise periodic:period=1ms,duration=50us --network chic".into(),
            &["Run times", "Mean run times"],
        ),
        (
            "latency resample times.txt --unit us --processes 2,4 --samples 100".into(),
            &["Duration of an all-to-all", "Idle time of a processor", "Total times"],
        ),
    ] {
        folder.run(&format!("{line} --report out.html")).good();
        let page = page(&folder, "out.html");
        for title in titles {
            assert!(!chart(&page, title).command.is_empty());
        }
        assert!(page.facts.0.contains(&("Command".into(), format!("straggler {line} --report out.html"))));
        assert!(!page.sections.is_empty(), "{line}");
    }
}

#[test]
fn an_assessment_has_a_page() {
    let folder = Folder::new();
    let line = "assess --quick periodic:period=1ms,duration=50us --processes 64 --network chic -o out --json";
    let answer = folder.run(line).good().json();
    let page = page(&folder, "out/report.html");
    let data = std::fs::read(folder.path().join("out/assess.page")).unwrap();
    assert_eq!(Page::from_container(&data).unwrap(), page);
    let Plot::Lines(lines) = &chart(&page, "Cost of this noise on").plot else { panic!() };
    let points = answer["curves"][0]["points"].as_array().unwrap();
    let medians: Vec<f64> =
        points.iter().map(|point| point["slowdown"]["median"].as_f64().unwrap()).collect();
    assert_eq!(lines.series[0].y, medians);
    assert!(page.charts().all(|chart| chart.synthetic));
}

/// What qualifies an assessment is a note on its page, and no warning of a report that includes it.
#[test]
fn notes_are_no_warnings() {
    let folder = Folder::new();
    let line = "assess --quick periodic:period=1ms,duration=50us --processes 64 --network chic -o out";
    folder.run(line).good();
    let alone = page(&folder, "out/report.html");
    assert!(alone.warnings.is_empty() && !alone.notes.is_empty(), "{alone:?}");
    let said = folder.run("report out/assess.page fixtures/noise/selfish.0 -o both.html").good();
    assert!(!said.stderr().contains("warning"), "{}", said.stderr());
    let answer =
        folder.run("report out/assess.page fixtures/noise/selfish.0 -o both.html --json").good().json();
    assert_eq!(answer["warnings"].as_array().map(Vec::len), Some(0));
    let note = format!("{}: {}", alone.title, alone.notes[0]);
    assert_eq!(answer["notes"][0].as_str(), Some(note.as_str()), "{answer}");
}

/// The page of a description begins as the console does, with the share of the description and not of what was drawn.
#[test]
fn described_noise_has_the_share_of_its_description() {
    let folder = Folder::new();
    let text = folder.run("noise show chic --report chic.html").good().stdout();
    let page = page(&folder, "chic.html");
    let sentence = text.lines().next().unwrap();
    assert!(page.summary[0].ends_with("% of rank 0's time."), "{:?}", page.summary);
    assert_eq!(format!("{} {}", page.summary[0], page.summary[1]), sentence);
    assert_eq!(page.title, "Noise of chic");
}

/// Named recordings are analysed; a folder around them is searched for results only.
#[test]
fn traces_and_training_jobs_become_pages() {
    let folder = Folder::new();
    let (trace, job) = ("fixtures/traces/halo", "fixtures/training/slow-worker.csv");
    folder.run(&format!("report {trace} {job} -o all.html")).good();
    let all = page(&folder, "all.html");
    assert!(table(&all, "Patterns").rows.len() > 2);
    assert!(all.title.starts_with("Waits of "), "in the order given: {}", all.title);
    assert!(all.parts[1].title.contains("slow-worker.csv"), "{all:?}");
    folder.run(&format!("trace waits {trace} --report one.html")).good();
    folder.run(&format!("report {trace} -o same.html")).good();
    let titles = |name| page(&folder, name).sections.into_iter().map(|one| one.title).collect::<Vec<_>>();
    assert_eq!(titles("one.html"), titles("same.html"));
    // Results beside a recording are not lost.
    let mixed = folder.path().join("mixed");
    std::fs::create_dir_all(&mixed).unwrap();
    for (file, name) in [("training/slow-worker.csv", "job.csv"), ("noise/selfish.0", "node.noise")] {
        std::fs::copy(fixtures().join(file), mixed.join(name)).unwrap();
    }
    folder.run("report mixed -o mixed.html").good();
    assert!(page(&folder, "mixed.html").title.starts_with("Noise of "));
    folder.run("report fixtures/traces -o none.html").ends_with(3).says("fixtures/traces");
}

#[test]
fn what_is_not_there_is_said() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path().join("empty/a/b/c/d")).unwrap();
    folder.write("empty/a/b/c/d/deep.noise", "0 1000\n");
    folder.write("empty/.hidden.noise", "0 1000\n");
    folder.write("broken.page", "no page");
    folder.write("cut.json", "{\"displayTimeUnit\":\"ns\",\"otherData\":{},\"traceEvents\":[\n");
    folder.write("bad.csv", "rank,finish_ps\n1,5\n");
    folder.write("old.html", "old");
    for (line, text) in [
        ("report empty", "no results found. Recognised are .page files, noise recordings"),
        ("report missing -o old.html", "missing cannot be read"),
        ("report broken.page -o old.html", "broken.page is not a page"),
        ("report cut.json", "cut.json: ends in the middle"),
        ("report bad.csv", "bad.csv, line 2"),
        ("report old.html", "no results found"),
        ("report broken.page broken.page -o no/r.html", ""),
    ] {
        folder.run(line).ends_with(3).says(text);
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("old.html")).unwrap(), "old");
    assert_eq!(folder.names(), ["bad.csv", "broken.page", "cut.json", "empty", "old.html"]);
    folder.run(&format!("{NOISY} --report no/r.html")).ends_with(3).says("there is no folder no");
}

#[test]
fn broken_files_of_a_folder_are_left_out() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    folder.write("in/a.noise", "0 1000\n");
    folder.write("in/b.page", "no page");
    let answer = folder.run("report in --json").good().json();
    assert_eq!(answer["skipped"][0]["file"], "in/b.page");
    assert_eq!(answer["charts"], 4);
}

#[test]
fn charts_of_a_page_become_pictures() {
    let folder = Folder::new();
    folder.run(&format!("simulate fixtures/conformance/eager-00.goal --network {NETWORK} --timeline t.json --report p.page")).good();
    let listed = folder.run("tools plot page p.page --list --json").good().json();
    assert_eq!(listed[0]["title"], "What happens when");
    folder.run("tools plot page p.page --chart 1 -o t.svg").good();
    folder.run("tools plot page p.page --chart what -o t.pdf").good();
    folder.run("tools plot page t.json --chart 1 -o t.png").good();
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(read("t.svg").starts_with(b"<svg ") && read("t.pdf").starts_with(b"%PDF-"));
    assert!(read("t.png").starts_with(b"\x89PNG"));
    assert!(String::from_utf8(read("t.svg")).unwrap().contains("straggler simulate fixtures/"));
    folder
        .run("tools plot page p.page --chart 2 -o t.svg")
        .ends_with(2)
        .says("the charts are: 1 What happens when");
    folder.run("tools plot page p.page --chart 0 -o t.svg").ends_with(2);
    folder.run("tools plot page p.page -o t.svg").ends_with(2);
}
