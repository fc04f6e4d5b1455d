//! Synthetic nodes with known noise.

use super::outliers::{FALSE_ALARMS, Kind};
use super::*;
use straggler_model::philox::Stream;
use straggler_model::provenance::Machine;
use straggler_model::{Network, Time};
use straggler_noise::NoiseRecording;
use straggler_noise::recording::{Core, Detour, Evidence, Phase};
use straggler_sim::{Replicas, Simulation};

const MS: u64 = 1_000_000_000;
const US: u64 = 1_000_000;
const LENGTH: u64 = 10_000 * MS;

/// The properties of a synthetic node.
#[derive(Clone, Copy)]
struct Made {
    /// Rate of a daemon's detours, in addition to interrupts of 1 to 5 µs at 250 random times a second.
    daemon_hz: u64,
    daemon_ps: u64,
    iteration_ps: f64,
}

const PLAIN: Made = Made { daemon_hz: 0, daemon_ps: 0, iteration_ps: 20_000.0 };

/// A node of two cores. The same seed gives the same times.
fn part(name: &str, seed: u64, made: Made) -> Part {
    let mut recording = NoiseRecording { sources: NoiseRecording::unnamed(), ..NoiseRecording::default() };
    let tick = recording.source_id("timer tick", Evidence::Traced);
    let daemon = recording.source_id("kworker", Evidence::Traced);
    recording.machine = Machine { processor: Some("a processor".into()), ..Machine::default() };
    for core in 0..2u32 {
        let mut stream = Stream::new(seed, 0, core, 7);
        let mut draw = |hz: u64, least: u64, most: u64, source| -> Vec<Detour> {
            let one = |_| {
                let start = Time(stream.below(LENGTH));
                Detour { start, duration: Time(least + stream.below(most - least + 1)), source }
            };
            (0..hz * 10).map(one).collect()
        };
        let mut detours = draw(250, US, 5 * US, tick);
        detours.extend(draw(made.daemon_hz, made.daemon_ps, made.daemon_ps, daemon));
        detours.sort_by_key(|detour| detour.start);
        // Detours on one core do not overlap.
        let mut free = Time::ZERO;
        detours.retain(|detour| {
            let kept = detour.start >= free;
            free = if kept { detour.end() } else { free };
            kept
        });
        recording.cores.push(Core { core, length: Time(LENGTH), detours, ..Core::default() });
    }
    recording.check().unwrap();
    let place = CoreClock { began_ps: 0, rate: 1.0, iteration_ps: made.iteration_ps };
    Part { host: name.into(), recording, places: vec![place; 2], ..Part::default() }
}

fn plain(count: u64) -> Vec<Part> {
    (0..count).map(|node| part(&format!("n{node:04}"), node, PLAIN)).collect()
}

fn costs(cluster: &Cluster, scales: &[u32], threads: usize) -> Costs {
    let network = Network::load("chic").unwrap();
    let runner = Replicas::new(Simulation::new(&network), threads);
    Question { runner, seed: 3, cluster, scales, bytes: 8, begins: &|_, _, _| () }.answer().unwrap()
}

#[test]
fn the_node_with_the_daemon_is_found_by_every_means() {
    let mut parts = plain(12);
    parts[7] = part("n0007", 7, Made { daemon_hz: 200, daemon_ps: MS / 10, ..PLAIN });
    let cluster = Cluster::of_parts(&parts, &[]);
    let costs = costs(&cluster, &[24, 1536], 2);
    for scale in &costs.scales {
        assert_eq!(cluster.name(scale.order[0]), "n0007");
        assert_eq!(scale.replaced.len(), 3);
        assert_eq!(scale.replaced[0].nodes, ["n0007"]);
    }
    let large = &costs.scales[1];
    assert!(large.replaced[0].helps() && large.replaced[0].low > 1.5, "{:?}", large.replaced[0]);
    // The other nodes are alike: replacing more of them gains nothing.
    assert!(large.replaced[2].times < 1.1 * large.replaced[0].times, "{:?}", large.replaced);
    let first = &large.removals[0];
    assert_eq!((first.source.as_str(), &first.gain.nodes[..]), ("kworker", &["n0007".to_string()][..]));
    assert!((first.share - 0.02).abs() < 0.001, "{}", first.share);
    assert!(first.gain.helps());
    assert!(large.removals[1..].iter().all(|other| other.gain.times < 1.05), "{:?}", large.removals);

    let outliers = Outliers::new(&cluster);
    assert_eq!(outliers.tests, 12 * 6);
    let noisier: Vec<&str> = outliers.of_kind(Kind::Noisier).map(|node| node.name.as_str()).collect();
    assert_eq!(noisier, ["n0007"]);
    assert_eq!(outliers.nodes.len(), 1);
    let times = outliers.nodes[0].times_lost.unwrap();
    // 250 × 3 µs and 200 × 100 µs against 250 × 3 µs.
    assert!((times - 20.75 / 0.75).abs() < 1.0, "{times}");
    assert!(Speeds::new(&cluster).slow.is_empty());
}

#[test]
fn threads_and_repetition_change_nothing() {
    let mut parts = plain(4);
    parts[1] = part("n0001", 1, Made { daemon_hz: 20, daemon_ps: MS, ..PLAIN });
    let cluster = Cluster::of_parts(&parts, &[]);
    let once = costs(&cluster, &[64], 1);
    assert_eq!(once, costs(&cluster, &[64], 1));
    assert_eq!(once, costs(&cluster, &[64], 3));
}

#[test]
fn without_its_only_noise_a_cluster_is_quiet() {
    let mut parts = plain(2);
    for part in &mut parts {
        part.recording.cores.iter_mut().for_each(|core| core.detours.clear());
    }
    parts[0].recording.cores[0].detours =
        (0..1000).map(|i| Detour { start: Time(i * 10 * MS), duration: Time(5 * MS), source: 2 }).collect();
    let cluster = Cluster::of_parts(&parts, &[]);
    let scale = costs(&cluster, &[64], 1).scales.remove(0);
    // A quarter of the processes is in a detour half of the time, so there always is one.
    assert!(scale.slowdown.low > 10.0, "{:?}", scale.slowdown);
    assert_eq!(scale.removals.len(), 1);
    assert_eq!(scale.removals[0].gain.slowdown.largest, 0.0);
    assert_eq!(scale.replaced[0].slowdown.largest, 0.0);
    assert_eq!(scale.waits_ps[1], 0.0);
    // The longest wait for any process is nearly a whole detour.
    assert!((4.0..5.0).contains(&(scale.waits_ps[0] / MS as f64)), "{:?}", scale.waits_ps);
}

#[test]
fn what_the_formula_says_a_simulation_shows() {
    // Rare enough that delays do not overlap.
    let parts = [part("a", 1, Made { daemon_hz: 5, daemon_ps: MS, ..PLAIN })];
    let cluster = Cluster::of_parts(&parts, &[]);
    let scale = costs(&cluster, &[32], 1).scales.remove(0);
    let network = Network::load("chic").unwrap();
    let runner = Replicas::new(Simulation::new(&network), 2);
    let layout = layout::Layout::new(&cluster, None, Time(1000 * MS)).unwrap();
    let job = straggler_schedule::collectives::Job::new(32, 8);
    let operation = straggler_schedule::collectives::Operation::Allreduce;
    let built =
        straggler_schedule::workloads::choose_default(operation, &job).build(operation, &job).unwrap();
    let workload = straggler_sim::Workload::once(built);
    let delay = |replica| {
        let noise = layout.injection(32, &[], 0, (5, replica));
        runner.run(&workload, Some(&noise), 1).unwrap().outcome.makespan().since(Time(scale.quiet_ps)).ps()
    };
    let mean = (0..5000).map(|replica| delay(replica) as f64).sum::<f64>() / 5000.0;
    let ratio = scale.waits_ps[0] / mean;
    assert!((0.8..1.2).contains(&ratio), "{} ps by the formula, {mean} ps simulated", scale.waits_ps[0]);
}

/// Noisy nodes do not cast suspicion on the others.
#[test]
fn few_nodes_of_which_some_are_noisy() {
    let noisy = Made { daemon_hz: 400, daemon_ps: MS / 10, ..PLAIN };
    for count in [1, 2] {
        let mut parts = plain(5);
        for (node, place) in (0..count).zip([3usize, 1]) {
            parts[place] = part(&format!("n{place:04}"), 70 + node, noisy);
        }
        let outliers = Outliers::new(&Cluster::of_parts(&parts, &[]));
        let mut names: Vec<(&str, Kind)> =
            outliers.nodes.iter().map(|node| (node.name.as_str(), node.kind)).collect();
        names.sort_by_key(|(name, _)| *name);
        let expected = [("n0001", Kind::Noisier), ("n0003", Kind::Noisier)];
        assert_eq!(names, expected[2 - count as usize..]);
    }
    // Of two nodes, the noisier is the outlier.
    let two = [part("a", 1, noisy), part("b", 2, PLAIN)];
    let outliers = Outliers::new(&Cluster::of_parts(&two, &[]));
    assert_eq!((outliers.nodes.len(), outliers.nodes[0].name.as_str()), (1, "a"));
}

#[test]
fn among_nodes_alike_alarms_are_as_rare_as_stated() {
    let mut alarms = 0;
    for cluster in 0..10 {
        let parts: Vec<Part> =
            (0..20).map(|node| part(&format!("n{node}"), 1000 + cluster * 20 + node, PLAIN)).collect();
        let outliers = Outliers::new(&Cluster::of_parts(&parts, &[]));
        assert_eq!(outliers.expected_false_alarms, FALSE_ALARMS);
        alarms += outliers.nodes.len();
    }
    // 0.5 alarms are expected in ten clusters; 4 or more have a probability of 0.2 %.
    assert!(alarms < 4, "{alarms}");
}

#[test]
fn a_slow_node_is_not_a_noisy_one() {
    let mut parts = plain(8);
    parts[3] = part("n0003", 3, Made { iteration_ps: 25_000.0, ..PLAIN });
    // Slow for half of the time: 20 ns and 40 ns make 26.7 ns on average.
    for core in &mut parts[5].recording.cores {
        core.phases = vec![Phase { start: Time(0), duration: Time(LENGTH / 2), slowdown: 2.0 }];
    }
    // A node with another processor is not compared with the others.
    parts[6].recording.machine.processor = Some("another".into());
    parts[6].places.iter_mut().for_each(|place| place.iteration_ps = 90_000.0);
    let cluster = Cluster::of_parts(&parts, &[]);
    let speeds = Speeds::new(&cluster);
    let slow: Vec<(&str, f64)> = speeds.slow.iter().map(|node| (node.name.as_str(), node.speed)).collect();
    assert_eq!(slow.len(), 2, "{slow:?}");
    assert_eq!(slow[0].0, "n0005");
    assert!((slow[0].1 - 0.75).abs() < 1e-6 && (slow[1].1 - 0.8).abs() < 1e-6, "{slow:?}");
    assert_eq!((slow[1].0, &speeds.alone[..]), ("n0003", &["n0006".to_string()][..]));
    assert!(Outliers::new(&cluster).nodes.is_empty());
}

/// The same daemon on all nodes, at the same times on the common clock, although the nodes began at different times.
#[test]
fn noise_at_the_same_moment_is_told_from_independent_noise() {
    let daemon = |moments: u64, shift: u64| -> Vec<Detour> {
        let mut stream = Stream::new(moments, 1, 1, 1);
        let mut starts: Vec<u64> = (0..60).map(|_| 100 * MS + stream.below(9 * LENGTH / 10)).collect();
        starts.sort_unstable();
        starts.dedup_by_key(|start| *start / (20 * MS));
        starts
            .into_iter()
            .map(|start| Detour { start: Time(start - shift), duration: Time(2 * MS), source: 2 })
            .collect()
    };
    let cluster = |moments: &dyn Fn(u64) -> u64| {
        let mut parts = plain(6);
        for (node, part) in (0..).zip(&mut parts) {
            let shift = node * 7 * MS;
            part.places.iter_mut().for_each(|place| place.began_ps = 1000 * MS + shift);
            let core = &mut part.recording.cores[1];
            core.detours = daemon(moments(node), shift);
        }
        Cluster::of_parts(&parts, &[])
    };
    let together = Moments::new(&cluster(&|_| 9), Time(3 * US), 1).unwrap();
    assert!(together.together, "{together:?}");
    assert_eq!(together.source.as_deref(), Some("kworker"));
    let width = together.clearest().unwrap();
    assert!(width.pairs as f64 > 3.0 * width.pairs_if_independent && width.most == 6, "{width:?}");
    let apart = Moments::new(&cluster(&|node| 50 + node), Time(3 * US), 1).unwrap();
    assert!(!apart.together && apart.source.is_none(), "{apart:?}");
    // If clocks differ by more than all windows, nothing can be said.
    assert_eq!(Moments::new(&cluster(&|_| 9), Time(LENGTH), 1), None);
    let widths: Vec<u64> = together.widths.iter().map(|width| width.window_ps).collect();
    assert_eq!(widths, [100 * US, MS, 10 * MS]);
    let coarse = Moments::new(&cluster(&|_| 9), Time(MS), 1).unwrap();
    assert_eq!(coarse.widths[0].window_ps, 2 * MS);
}

#[test]
fn chance_is_rarely_called_common() {
    let called = |seed: u64| {
        let parts: Vec<Part> =
            (0..4).map(|node| part(&format!("n{node}"), 90 + 4 * seed + node, PLAIN)).collect();
        Moments::new(&Cluster::of_parts(&parts, &[]), Time(US), seed).unwrap().together
    };
    assert!((0..10).filter(|&seed| called(seed)).count() <= 1);
}

#[test]
fn a_node_that_has_become_worse_is_named() {
    let summaries = |parts: &[Part]| -> Vec<Summary> {
        let cluster = Cluster::of_parts(parts, &[]);
        let speeds = Speeds::new(&cluster);
        (0..cluster.nodes.len()).filter_map(|node| Summary::new(&cluster, node, &speeds)).collect()
    };
    let before = summaries(&plain(6));
    let mut parts: Vec<Part> = (0..6).map(|node| part(&format!("n{node:04}"), 40 + node, PLAIN)).collect();
    let alike = baseline::Compare::new(&before, &summaries(&parts));
    assert_eq!((alike.nodes, alike.worse.len()), (6, 0), "{alike:?}");
    parts[2] = part("n0002", 42, Made { daemon_hz: 100, daemon_ps: 20 * US, ..PLAIN });
    parts[4] = part("n0004", 44, Made { iteration_ps: 22_000.0, ..PLAIN });
    parts[5].host = "n0009".into();
    let found = baseline::Compare::new(&before, &summaries(&parts));
    let worse: Vec<(&str, bool, bool)> =
        found.worse.iter().map(|node| (node.name.as_str(), node.noisier, node.slower)).collect();
    assert_eq!(worse, [("n0002", true, false), ("n0004", false, true)]);
    assert_eq!(found.worse[0].source.as_deref(), Some("kworker"));
    assert_eq!((&found.gone[..], &found.new[..]), (&["n0005".to_string()][..], &["n0009".to_string()][..]));
}

#[test]
fn processes_of_a_node_are_one_node_and_their_own_noise_is_left_out() {
    let mut first = part("a", 1, Made { daemon_hz: 10, daemon_ps: MS, ..PLAIN });
    let mut second = first.clone();
    second.recording.cores.iter_mut().for_each(|core| core.core += 2);
    first.places.iter_mut().for_each(|place| place.began_ps = 5 * MS);
    second.places.iter_mut().for_each(|place| (place.began_ps, place.rate) = (3 * MS, 1.00001));
    let mut apart = [first.clone(), second.clone()];
    let parts = Part::join(vec![first, second]);
    assert_eq!(parts.len(), 1);
    let cluster = Cluster::of_parts(&parts, &["kworker"]);
    apart[1].recording.sources.swap(1, 2);
    for detour in apart[1].recording.cores.iter_mut().flat_map(|core| &mut core.detours) {
        detour.source = 3 - detour.source;
    }
    assert_eq!(Cluster::of_parts(&Part::join(apart.to_vec()), &["kworker"]), cluster);
    assert_eq!((cluster.nodes.len(), cluster.cores()), (1, 4));
    assert!(cluster.nodes[0].cores.iter().flat_map(|core| &core.detours).all(|detour| detour.source == 1));
    let began: Vec<u64> = cluster.nodes[0].cores.iter().map(|core| core.began.ps()).collect();
    assert_eq!(began, [2 * MS, 2 * MS, 0, 0]);
    // 10 µs per second faster, over ten seconds.
    assert_eq!(cluster.nodes[0].cores[2].length, Time(LENGTH + 100 * US + 1));
    let by_core = cluster.by_core();
    assert_eq!((by_core.nodes.len(), by_core.name(3), by_core.unit), (4, "core 3", Unit::Core));
    assert_eq!(Outliers::new(&by_core).nodes, []);
}

#[test]
fn nothing_is_found_where_nothing_was_measured() {
    let empty = Cluster::of_parts(&[], &[]);
    assert_eq!(Outliers::new(&empty).nodes, []);
    assert_eq!(Moments::new(&empty, Time(1), 1), None);
    assert!(Speeds::new(&empty).slow.is_empty());
    let silent = Part { host: "a".into(), ..Part::default() };
    assert_eq!(Cluster::of_parts(&[silent], &[]).nodes, []);
}

#[test]
fn the_longest_detours_are_kept() {
    let mut part = part("a", 1, Made { daemon_hz: 3, daemon_ps: MS, ..PLAIN });
    let all: Vec<u64> = part.recording.cores.iter().map(|core| core.noise().ps()).collect();
    part.keep_longest(100);
    assert_eq!(part.recording.check(), Ok(()));
    for core in &part.recording.cores {
        assert_eq!(core.detours.len(), 100);
        assert_eq!(core.detours.iter().filter(|detour| detour.source == 2).count(), 30);
    }
    let kept: u64 = part.recording.cores.iter().map(|core| core.noise().ps()).sum();
    assert_eq!(kept + part.left_out_time.ps(), all.iter().sum::<u64>());
    assert!(part.left_out > 4000, "{}", part.left_out);
}
