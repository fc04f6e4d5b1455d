//! `straggler latency resample`.

use crate::outside::program::Folder;
use serde_json::Value;

const SAMPLE: &str = "latency resample fixtures/resampling/exchanges.txt --size 1KiB";
const INTERRUPTED: &str = "latency resample fixtures/resampling/uninterrupted.txt \
     --noise periodic:period=10ms,duration=60us+periodic:period=6025us,duration=45us \
     --noise poisson:rate=8Hz,duration=lognormal(median=400us,sigma=0.5)";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn throughput_falls_because_processors_wait() {
    let answer = Folder::new().run(&format!("{SAMPLE} --samples 5000 --json")).good().json();
    let cases = answer["cases"].as_array().unwrap();
    let processes: Vec<u64> = cases.iter().map(|case| case["processes"].as_u64().unwrap()).collect();
    assert_eq!(processes, [2, 4, 8, 16, 32]);
    assert_eq!(cases[0]["idle_share"], 0.0);
    for pair in cases.windows(2) {
        let of = |key: &str| (number(&pair[0][key]), number(&pair[1][key]));
        assert!(of("throughput_bytes_per_second").0 > of("throughput_bytes_per_second").1);
        assert!(of("idle_share").0 < of("idle_share").1);
    }
    let last = &cases[4];
    assert_eq!(last["processors"].as_array().unwrap().len(), 32);
    assert_eq!(last["idle_ps"]["count"], 32 * 5000);
    // A processor's throughput follows from its own time, the slowest one's from the total.
    for (time, throughput) in [
        (&last["mean_own_ps"], &last["throughput_bytes_per_second"]),
        (&last["total_ps"]["mean"], &last["slowest_throughput_bytes_per_second"]),
    ] {
        let by_hand = 31.0 * 1024.0 / (number(time) * 1e-12);
        assert!((number(throughput) / by_hand - 1.0).abs() < 1e-9);
    }
    assert!(number(&last["mean_own_ps"]) < number(&last["total_ps"]["mean"]));
    let one = &answer["one_to_one"];
    assert!(number(&one["distance"]) < number(&one["chance_distance"]), "{one}");
}

#[test]
fn interrupts_reproduce_what_was_measured() {
    let folder = Folder::new();
    let line = format!(
        "{INTERRUPTED} --processes 2,5 --samples 500 --measured fixtures/resampling/exchanges.txt --json"
    );
    let answer = folder.run(&line).good().json();
    let one = &answer["one_to_one"];
    assert!(number(&one["distance"]) < number(&one["chance_distance"]), "{one}");
    assert!(answer["noise"].as_str().unwrap().starts_with("60 µs every 10 ms"));
    // Without the interrupts the distributions differ.
    let line = "latency resample fixtures/resampling/uninterrupted.txt --processes 2 --samples 500 --json \
                --measured fixtures/resampling/exchanges.txt";
    let one = folder.run(line).good().json()["one_to_one"].clone();
    assert!(number(&one["distance"]) > number(&one["chance_distance"]), "{one}");
    let text = folder.run(&format!("{INTERRUPTED} --processes 2 --samples 500")).good().stdout();
    assert!(text.contains("--measured FILE"), "{text}");
}

#[test]
fn threads_do_not_matter_and_seeds_do() {
    let folder = Folder::new();
    for line in [SAMPLE, INTERRUPTED] {
        let cases = |options: &str| {
            let line = format!("{line} --processes 2,7,40 --samples 300 --json {options}");
            folder.run(&line).good().json()["cases"].clone()
        };
        let expected = cases("--threads 1");
        for threads in [2, 7] {
            assert_eq!(cases(&format!("--threads {threads}")), expected);
        }
        assert_ne!(cases("--seed 2"), expected);
    }
}

#[test]
fn people_get_a_sentence() {
    let folder = Folder::new();
    let text = folder.run(&format!("{SAMPLE} --processes 2,4 --samples 3000")).good().stdout();
    assert!(text.starts_with("With 4 processors each waits "), "{text}");
    let first = text.lines().next().unwrap();
    assert!(
        first.contains(" % of the time for late partners; throughput per processor falls from "),
        "{first}"
    );
    assert!(first.ends_with(" MB/s."), "{first}");
    let text = folder.run(&format!("{SAMPLE} --processes 2")).good().stdout();
    assert!(
        text.starts_with("With 2 processors no processor waits for a late partner; throughput per"),
        "{text}"
    );
    assert!(text.contains("100,000"), "{text}");
}

#[test]
fn histograms_count_everything() {
    let folder = Folder::new();
    let line = format!("{SAMPLE} --processes 4,6 --samples 1000 --histogram h.csv -o out.json");
    folder.run(&line).good();
    let table = std::fs::read_to_string(folder.path().join("h.csv")).unwrap();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("processes,quantity,from_ps,to_ps,count"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let count = |processes: &str, quantity: &str| {
        let of = rows.iter().filter(|row| row[0] == processes && row[1] == quantity);
        of.map(|row| row[4].parse::<u64>().unwrap()).sum::<u64>()
    };
    assert_eq!(count("4", "total"), 1000);
    assert_eq!(count("4", "idle_0"), 1000);
    assert_eq!(count("6", "idle"), 6000);
    let text = std::fs::read_to_string(folder.path().join("out.json")).unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap();
    let never = number(&answer["cases"][0]["processors"][0]["never_idle_share"]);
    let zeros = rows.iter().find(|row| row[1] == "idle_0" && row[2..4] == ["0", "1"]).unwrap();
    assert_eq!(zeros[4].parse::<f64>().unwrap() / 1000.0, never);
    assert_eq!(folder.names(), ["h.csv", "out.json"]);
}

#[test]
fn equal_times_by_hand() {
    let folder = Folder::new();
    folder.write("t.txt", "10\n10\n");
    let line = "latency resample t.txt --unit us --processes 6,5 --samples 10 --size 1MB --json";
    let answer = folder.run(line).good().json();
    let (six, five) = (&answer["cases"][0], &answer["cases"][1]);
    assert_eq!(six["total_ps"]["max"], 50_000_000);
    assert_eq!(six["idle_ps"]["max"], 0);
    // 5 · 1 MB in 50 µs.
    assert_eq!(number(&six["throughput_bytes_per_second"]).round(), 1e11);
    assert_eq!(five["total_ps"]["min"], 50_000_000);
    assert_eq!(five["processors"][3]["idle_ps"]["mean"], 10e6);
    assert_eq!(five["processors"][4]["never_idle_share"], 1.0);
}

#[test]
fn usage_is_explained() {
    let folder = Folder::new();
    let fails = |options: &str, text: &str| {
        folder.run(&format!("{SAMPLE} {options}")).ends_with(2).says(text);
    };
    fails("--processes 1", "at least 2 processors");
    fails("--processes 2,,4", "separated by commas");
    fails("--processes 65537", "at most 65536 processors");
    fails("--samples 0", "at least 1");
    fails("--processes 4096 --samples 40000", "--samples 32768 or fewer");
    fails("--unit parsec", "unknown unit");
    fails("--noise perodic:rate=1Hz,duration=1us", "periodic");
    folder.run("latency resample").ends_with(2);
    folder.run(&format!("{SAMPLE} --processes 2 --samples 9 --wallclock")).good().says("no effect");
}

#[test]
fn bad_input_says_where() {
    let folder = Folder::new();
    let fails = |content: &str, text: &str| {
        folder.write("t.txt", content);
        folder.run("latency resample t.txt").ends_with(3).says(text);
    };
    fails("", "t.txt is an empty file, not a file of measured latencies");
    fails("1us\n-2us\n", "t.txt: line 2, column 1: `-2us` is negative");
    fails("1us\n12\n", "t.txt: line 2, column 1: `12` has no unit");
    fails("0us\n", "t.txt: line 1, column 1: a time of 0");
    fails("9000000s\n", "213 days");
    folder.run("latency resample absent.txt").ends_with(3).says("absent.txt cannot be read");
    folder.run(&format!("{SAMPLE} --measured absent.txt")).ends_with(3).says("absent.txt cannot be read");
    let line = format!("{SAMPLE} --processes 2 --samples 9 --histogram no/such/h.csv");
    folder.run(&line).ends_with(3).says("no/such/h.csv: cannot be written");
    let line = format!("{SAMPLE} --processes 2 --samples 9 --wallclock --noise");
    folder
        .run(&format!("{line} periodic:period=10us,duration=9us+periodic:period=10us,duration=2us"))
        .ends_with(3)
        .says("remove wallclock");
}

/// Writes a measurement with messages of 8 B, from `before.lat`, and of 1 KiB, from `after.lat`.
fn of_two_sizes(folder: &Folder) {
    let read = |name: &str| -> Value {
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let mut whole = read("fixtures/latency/before.lat");
    let mut other = read("fixtures/latency/after.lat")["measurement"]["series"][0].clone();
    other["labels"]["size"] = 1024.into();
    whole["measurement"]["series"].as_array_mut().unwrap().push(other);
    folder.write("two.lat", &whole.to_string());
}

#[test]
fn the_size_chooses_among_the_messages_of_a_measurement() {
    let folder = Folder::new();
    of_two_sizes(&folder);
    let run =
        |options: &str| folder.run(&format!("latency resample {options} --processes 2 --samples 500 --json"));
    let mean = |answer: &Value| number(&answer["one_to_one"]["measured_ps"]["mean"]);
    let small = run("two.lat --size 8").good().json();
    let large = run("two.lat --size 1KiB").good().json();
    assert_eq!(mean(&small), mean(&run("fixtures/latency/before.lat").good().json()));
    assert_eq!(mean(&large), mean(&run("fixtures/latency/after.lat").good().json()));
    assert!(mean(&large) > mean(&small));
    assert_eq!((&large["size_bytes"], &large["warnings"]), (&1024.into(), &Value::Array(Vec::new())));
    // Without --size the smallest messages are used, with a warning.
    let silent = run("two.lat").good().json();
    assert_eq!((mean(&silent), &silent["size_bytes"]), (mean(&small), &8.into()));
    let said = "two.lat: messages of 8 B, the smallest, are used; --size selects others: 1 KiB";
    assert_eq!(silent["warnings"][0], said);
    let words = folder.run("latency resample two.lat --processes 2 --samples 500").good();
    assert!(words.stderr().contains(said) && words.stdout().contains("8 B"), "{}", words.stderr());
    let fault = run("two.lat --size 64").ends_with(3).stderr();
    assert!(fault.contains("two.lat: it has no messages of 64 B, only of 8 B and 1 KiB"), "{fault}");
    // --size also selects the messages of the --measured file.
    let compared = run("fixtures/latency/after.lat --size 8 --measured two.lat").good().json();
    assert_eq!(mean(&compared), mean(&small));
}
