//! Traced runs, changed and simulated again.

use crate::outside::program::Folder;
use straggler_model::Time;
use straggler_trace::format::{directory, save};
use straggler_trace::{Call, Communicator, Details, Function, RankTrace, Trace, WORLD};

#[test]
fn the_contract_holds() {
    let folder = Folder::new();
    for mode in ["redecide", "recorded"] {
        let command = format!("whatif fixtures/traces/halo --scale all=0.5 --mode {mode} --json");
        let answer = folder.run(&command).good().json();
        let ps = |name: &str| answer[name].as_u64().unwrap();
        assert!(ps("measured_ps") > 0 && ps("identity_ps") > ps("hypothesis_ps"), "{answer:#}");
        assert_eq!(answer["mode"], mode);
        let changed = answer["decisions_changed"].as_u64().unwrap();
        assert!(mode == "redecide" || changed == 0, "{answer:#}");
        for run in ["measured", "identity", "hypothesis"] {
            let waits = &answer["waits"][run];
            let names: Vec<&str> = waits["patterns"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["pattern"].as_str().unwrap())
                .collect();
            for name in
                ["late_sender", "late_sender_wrong_order", "late_receiver", "wait_at_barrier", "early_scan"]
            {
                assert!(names.contains(&name), "{names:?}");
            }
            assert_eq!(waits["ranks"].as_array().unwrap().len(), 4);
        }
    }
}

#[test]
fn nothing_different_is_the_identity() {
    let folder = Folder::new();
    let answer = folder.run("whatif fixtures/traces/halo --scale all=1 --json").good().json();
    assert_eq!(answer["hypothesis_ps"], answer["identity_ps"]);
    assert_eq!(answer["waits"]["hypothesis"], answer["waits"]["identity"]);
    folder.run("whatif fixtures/traces/halo").ends_with(2);
}

#[test]
fn the_identity_is_what_predict_says() {
    let folder = Folder::new();
    let predicted = folder.run("predict fixtures/traces/halo --network chic --json").good().json();
    let command = "whatif fixtures/traces/halo --base-network chic --mode recorded --scale all=1 --json";
    let answer = folder.run(command).good().json();
    let seconds = answer["identity_ps"].as_u64().unwrap() as f64 * 1e-12;
    assert!((seconds - predicted["predicted_seconds"].as_f64().unwrap()).abs() < 1e-12);
}

/// Options for the other kind of input are named.
#[test]
fn what_a_file_holds_decides_what_can_be_changed() {
    let folder = Folder::new();
    let (trace, job) = ("fixtures/traces/halo", "fixtures/training/slow-worker.csv");
    for (options, says) in [
        (format!("{trace} --scale all=2 --slow 3:1.5"), "--slow changes a training job"),
        (format!("{trace} --noise chic --copies 4"), "--copies changes a training job"),
        (format!("{job} --fix 6 --scale all=0.5"), "--scale changes a trace"),
        (format!("{job} --fix 6 --begin together"), "--begin changes a trace"),
        (format!("{trace} {trace} --scale all=2"), "is one file too many"),
    ] {
        folder.run(&format!("whatif {options}")).ends_with(2).says(says);
    }
    folder.run("whatif absent.csv --slow 3:1.5").ends_with(3).says("absent.csv cannot be read");
    let old = folder.run(&format!("training whatif {job} --fix 6")).good();
    let old = old.says("`straggler training whatif` is now `straggler whatif`");
    assert_eq!(old.stdout(), folder.run(&format!("whatif {job} --fix 6")).good().stdout());
}

#[test]
fn what_matches_nothing_says_what_there_is() {
    let folder = Folder::new();
    let says = |command: &str, code: i32, text: &str| {
        let stderr = folder.run(command).ends_with(code).stderr();
        assert!(stderr.contains(text), "{command}: {stderr}");
    };
    says("whatif fixtures/traces/regions --scale nothing=0.5", 3, "The program marks:");
    says("whatif fixtures/traces/halo --scale solve=0.5", 3, "the program marks none");
    says("whatif fixtures/traces/halo --remove-messages tag=12345", 3, "no message matches tag=12345");
    says("whatif fixtures/traces/halo --delete scan", 3, "It calls MPI_");
    says("whatif fixtures/traces/halo --delete send", 2, "not a blocking collective");
    says("whatif fixtures/traces/halo --scale all@9=2", 3, "there is no rank 9: ranks are 0 to 3");
    says("whatif fixtures/traces/halo --nonblocking send=5ms", 2, "a send takes no time");
    says("whatif fixtures/traces/halo --scale all=-1", 2, "not between 0");
    says("whatif fixtures/traces/halo --balance all=1,2", 3, "2 weights for 4 ranks");
    says("whatif fixtures/traces/halo --nonblocking waitany", 2, "nonblocking counterpart");
    says("whatif fixtures/traces/halo --merge-messages all:1000", 4, "the program would hang");
}

#[test]
fn hypotheses_come_from_files_too() {
    let folder = Folder::new();
    let write = |text: &str| std::fs::write(folder.path().join("ideas.toml"), text).unwrap();
    write("[[hypothesis]]\nscale = [\"all=2\"]\n[[hypothesis]]\nname = \"faster\"\nscale = [\"all=0.5\"]\n");
    let text = folder.run("whatif fixtures/traces/halo --file ideas.toml").good().stdout();
    assert!(text.starts_with("Largest gain: faster. With it, the run would take "), "{text}");
    assert!(text.find("faster").unwrap() < text.find("hypothesis 1").unwrap(), "{text}");
    for (wrong, says) in [
        ("[[hypothesis]]\nscale = [\"all\"]\n", "write PLACE=FACTOR"),
        ("[[hypothesis]]\nname = \"none\"\n", "none changes nothing"),
        ("[[hypothesis]]\nscales = [\"all=2\"]\n", "unknown key"),
        ("", "no hypothesis"),
        ("[[hypothesis]]\nscale = [\"nothing=2\"]\n", "ideas.toml: hypothesis 1: "),
        ("[[hypothesis]]\nname = \"slow\"\nnetwork = \"no.toml\"\n", "ideas.toml: slow: "),
        ("[[hypothesis]]\nname = \"noisy\"\nnoise = [\"no.noise\"]\n", "ideas.toml: noisy: "),
    ] {
        write(wrong);
        let stderr = folder.run("whatif fixtures/traces/halo --file ideas.toml").ends_with(3).stderr();
        assert!(stderr.contains("ideas.toml") && stderr.contains(says), "{stderr}");
    }
}

#[test]
fn a_search_ranks_what_it_tries() {
    let folder = Folder::new();
    let command = "whatif fixtures/traces/halo --search --report page.html --json";
    let answer = folder.run(command).good().json();
    let tried = answer["hypotheses"].as_array().unwrap();
    assert!(tried.len() >= 4, "{answer:#}");
    let factors = &answer["efficiency"];
    let factor = |name: &str| factors[name].as_f64().unwrap();
    assert!(
        (factor("serialisation") * factor("transfer") - factor("communication")).abs() < 1e-3,
        "{factors:#}"
    );
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("<html"), "{}", &page[..200]);
    let text = folder.run("whatif fixtures/traces/halo --search").good().stdout();
    // What an ideal network would gain is a limit, not a change: it has its own line, and comes last.
    assert!(text.contains("\nOn an ideal network it would take "), "{text}");
    assert!(text.starts_with("Largest gain: computation on rank 3 "), "{text}");
}

/// Rounds of computation and a barrier; `milliseconds` are those of a rank in a round.
fn rounds(ranks: u32, milliseconds: impl Fn(u32, u64) -> u64) -> Trace {
    let of_rank = |rank: u32| {
        let (mut own, mut now) = (RankTrace::default(), Time::from_ns(1_000));
        own.push(Call::new(Function::Init, Time::ZERO, now));
        for round in 0..24 {
            let mark = |function, when| Call { comm: WORLD, ..Call::new(function, when, when) };
            own.push_with(mark(Function::RegionEnter, now), Details::named("solve"));
            let enter = now + Time::from_ns(1_000_000 * milliseconds(rank, round));
            own.push_with(mark(Function::RegionLeave, enter), Details::named("solve"));
            let longest = (0..ranks).map(|rank| milliseconds(rank, round)).max().unwrap();
            now += Time::from_ns(1_000_000 * longest + 5_000);
            own.push(Call { comm: WORLD, ..Call::new(Function::Barrier, enter, now) });
        }
        own.push(Call::new(Function::Finalize, now, now));
        own
    };
    let ranks: Vec<RankTrace> = (0..ranks).map(of_rank).collect();
    let communicators = vec![Communicator::world(ranks.len() as u32)];
    Trace { ranks, communicators, ..Trace::default() }
}

/// Half the time of a region would gain more, but nothing says that it can be had; rank 2 is slower than its peers.
#[test]
fn a_search_leads_with_what_can_be_repaired() {
    let folder = Folder::new();
    let slow = rounds(4, |rank, _| if rank == 2 { 13 } else { 10 });
    save::save(&slow, &folder.path().join("run")).unwrap();
    let ended = folder.run("whatif run --search").good();
    let text = ended.stdout();
    assert!(text.starts_with("Largest gain: computation on rank 2 × 0.769. With it, "), "{text}");
    let faster =
        "With computation in solve × 0.5 (hypothetical), it would be 50 % shorter, but nothing shows that";
    assert!(text.contains(faster), "{text}");
    let answer = folder.run("whatif run --search --json").good().json();
    let tried = answer["hypotheses"].as_array().unwrap();
    let hypothetical = tried.iter().filter(|one| one["hypothetical"] == true);
    let names: Vec<&str> = hypothetical.map(|one| one["hypothesis"].as_str().unwrap()).collect();
    assert_eq!(names, ["computation in solve × 0.5 (hypothetical)"]);
    // Nothing to repair.
    save::save(&rounds(4, |_, _| 10), &folder.path().join("even")).unwrap();
    let text = folder.run("whatif even --search").good().stdout();
    let first = "No change that was tried gains 1 %. With computation in solve × 0.5 (hypothetical), the run would take";
    assert!(text.starts_with(first), "{text}");
}

/// Rank r is slow in every fourth round: none is to blame, and balancing whole ranks changes nothing.
#[test]
fn computation_that_varies_is_balanced_between_synchronisations() {
    let folder = Folder::new();
    let turns = rounds(4, |rank, round| if round % 4 == u64::from(rank) { 30 } else { 10 });
    let mut unmarked = turns;
    for rank in &mut unmarked.ranks {
        rank.calls.retain(|call| call.details == Call::NO_DETAILS);
    }
    save::save(&unmarked, &folder.path().join("run")).unwrap();
    let text = folder.run("trace waits run").good().stdout();
    let why =
        "because the ranks' computation varies from iteration to iteration, and none is always the slowest.";
    assert!(text.lines().next().unwrap().contains(why), "{text}");
    assert!(text.contains("straggler whatif run --balance all=steps"), "{text}");
    assert_eq!(folder.run("trace waits run --json").good().json()["computation_varies"], true);
    let gain = |balance: &str| {
        let command = format!("whatif run --balance {balance} --base-network slingshot-11 --json");
        folder.run(&command).good().json()["hypotheses"][0]["gain"].as_f64().unwrap()
    };
    assert!(gain("all").abs() < 1e-3, "{}", gain("all"));
    // 15 ms a round instead of 30.
    assert!((gain("all=steps") - 0.5).abs() < 2e-3, "{}", gain("all=steps"));
    let answer = folder.run("whatif run --search --json").good().json();
    let tried = answer["hypotheses"].as_array().unwrap();
    let each = tried.iter().find(|one| one["hypothesis"] == "computation balanced between synchronisations");
    assert!((each.unwrap()["gain"].as_f64().unwrap() - 0.5).abs() < 2e-3, "{answer:#}");
    folder.run("whatif fixtures/traces/regions --balance all=step").ends_with(2).says("or steps");
}

#[test]
fn a_simulated_run_is_a_trace() {
    let folder = Folder::new();
    let command = "whatif fixtures/traces/halo --balance all --save-trace run --json";
    let answer = folder.run(command).good().json();
    let (trace, findings) = directory::open(&folder.path().join("run")).unwrap();
    assert_eq!((trace.processes(), findings.len()), (4, 0));
    folder.run("trace check run").good();
    let waits = folder.run("trace waits run --json").good().json();
    let seconds = |list: &serde_json::Value| -> Vec<f64> {
        list.as_array().unwrap().iter().map(|one| one["seconds"].as_f64().unwrap()).collect()
    };
    let expected = seconds(&answer["waits"]["hypothesis"]["patterns"]);
    // Traces count in nanoseconds.
    let sum = |seconds: Vec<f64>| seconds.iter().sum::<f64>();
    assert!((sum(seconds(&waits["patterns"])) - sum(expected)).abs() < 1e-6);
}

/// Reports with the file name of another format are refused.
#[test]
fn a_report_is_a_page() {
    let folder = Folder::new();
    for line in ["whatif fixtures/traces/halo --search --report", "report fixtures/noise -o"] {
        let refused = folder.run(&format!("{line} x.pdf")).ends_with(2);
        refused.says("a report is written as .html or .page, not as .pdf");
        assert!(!folder.path().join("x.pdf").exists());
    }
}

#[test]
fn a_run_with_real_messages_stands_beside_the_simulated_one() {
    let folder = Folder::new();
    folder.run("whatif fixtures/traces/halo --scale all=0.5 --save-trace half").good();
    // A simulated trace of the same hypothesis stands in for a replayed one.
    let with = "whatif fixtures/traces/halo --scale all=0.5 --replayed half";
    let answer = folder.run(&format!("{with} --json")).good().json();
    let replayed = &answer["replayed"];
    assert_eq!(replayed["replayed_ps"], answer["hypothesis_ps"]);
    assert_eq!(replayed["error"], 0.0);
    assert_eq!(replayed["waits"], answer["waits"]["hypothesis"]);
    let text = folder.run(with).good().stdout();
    assert!(text.contains("  replayed") && text.contains("hypothesis  replayed"), "{text}");
    // Without a hypothesis, the comparison is with the original run.
    let answer = folder.run("whatif fixtures/traces/halo --replayed half --json").good().json();
    assert_eq!(answer["hypothesis_ps"], answer["identity_ps"]);
    assert!(answer["replayed"]["error"].as_f64().unwrap() < -0.1, "{answer:#}");
    let command = "whatif fixtures/traces/regions --scale all=1 --replayed half";
    let stderr = folder.run(command).ends_with(3).stderr();
    assert!(stderr.contains("half: 4 ranks, but the trace has 2"), "{stderr}");
}

/// Messages that arrived long before tell nothing about the network, so that of a usual cluster is assumed, and said to be.
#[test]
fn a_network_that_cannot_be_fitted_is_assumed() {
    let folder = Folder::new();
    let rank = |late: u64, function| {
        let mut own = RankTrace::default();
        own.push(Call::new(Function::Init, Time::ZERO, Time::from_ns(10)));
        for round in 1..=3 {
            let enter = Time::from_ns(round * 100_000 + late);
            let call = Call::new(function, enter, enter + Time::from_ns(200));
            own.push(Call { comm: WORLD, peer: i32::from(late == 0), tag: 1, sent: 8, received: 8, ..call });
        }
        own.push(Call::new(Function::Finalize, Time::from_ns(400_000), Time::from_ns(400_010)));
        own
    };
    let ranks = vec![rank(0, Function::Send), rank(40_000, Function::Recv)];
    let trace = Trace { ranks, communicators: vec![Communicator::world(2)], ..Trace::default() };
    save::save(&trace, &folder.path().join("run")).unwrap();
    let ended = folder.run("whatif run --scale all@1=0.5 --json").good();
    let warnings = ended.json()["warnings"].to_string();
    assert!(warnings.contains("slingshot-11 is assumed"), "{warnings}");
    assert!(warnings.contains("--base-network"), "{warnings}");
}
