use super::*;
use std::sync::atomic::AtomicBool;
use straggler_model::Network;
use straggler_noise::recording::{Core, Detour, Evidence, NoiseRecording};
use straggler_noise::{Injection, NoiseSpec, Phases};
use straggler_schedule::collectives::{Job, Operation};
use straggler_schedule::goal;
use straggler_schedule::workloads::choose_default;
use straggler_sim::{Control, Simulation};

pub(super) fn asked(bytes: u64, scales: &[u32]) -> Vec<Asked> {
    let operations = [Operation::Allreduce, Operation::Barrier, Operation::Bcast];
    operations.iter().map(|&operation| Asked::collective(operation, bytes, scales).unwrap()).collect()
}

pub(super) fn ask<'a>(
    network: &'a Network,
    noise: &'a Noise,
    asked: &'a [Asked],
    threads: usize,
) -> Question<'a> {
    Question {
        runner: Replicas::new(Simulation::new(network), threads),
        seed: 3,
        noise,
        asked,
        intervals: &[],
        threshold: 0.1,
        effort: Effort::default(),
        limit: TimeLimit::NONE,
        begins: &|_| (),
    }
}

pub(super) fn described(text: &str) -> Noise {
    let spec: NoiseSpec = text.parse().unwrap();
    Noise::of_sources(&spec.load(1).unwrap().sources)
}

/// Two cores of 10 s: a tick of 3 µs every 4 ms, and a daemon that takes 2 ms ten times a second.
pub(super) fn measured() -> NoiseRecording {
    let mut recording = NoiseRecording { sources: NoiseRecording::unnamed(), ..NoiseRecording::default() };
    let tick = recording.source_id("timer tick", Evidence::Traced);
    let daemon = recording.source_id("daemon", Evidence::Traced);
    let length = Time::from_ns(10_000_000_000);
    for core in 0..2 {
        let mut detours: Vec<Detour> = (0..2500u64)
            .map(|i| Detour {
                start: Time::from_ns(i * 4_000_000 + core * 1000),
                duration: Time::from_ns(3000),
                source: tick,
            })
            .collect();
        detours.extend((0..100u64).map(|i| Detour {
            start: Time::from_ns(i * 100_000_000 + 1_000_000),
            duration: Time::from_ns(2_000_000),
            source: daemon,
        }));
        detours.sort_by_key(|detour| detour.start);
        recording.cores.push(Core { core: core as u32, length, detours, ..Core::default() });
    }
    recording.check().unwrap();
    recording
}

#[test]
fn the_daemon_is_to_blame() {
    let network = Network::load("chic").unwrap();
    let noise = Noise::of_recording(&measured(), &[]);
    let answer = ask(&network, &noise, &asked(1, &[2, 64, 1024, 16384]), 2).answer().unwrap();
    let allreduce = &answer.curves[0];
    assert!(allreduce.points[3].slowdown.median > 10.0, "{:?}", allreduce.points[3]);
    assert!(allreduce.points[0].slowdown.median < 0.1, "{:?}", allreduce.points[0]);
    let inflection = allreduce.inflection.unwrap();
    assert!(inflection > 2, "{inflection}");
    assert_eq!(answer.rankings.len(), if inflection == 16384 { 1 } else { 2 });
    let largest = answer.rankings.last().unwrap();
    assert_eq!(largest.processes, 16384);
    assert_eq!(largest.removals[0].cause, "daemon");
    assert!(largest.removals[0].helps());
    assert!(largest.removals[0].slowdown.median < 1.0);
    assert!(largest.removals[1].gain < 0.1 * largest.removals[0].gain);
    // With both removed, no noise is left.
    assert_eq!(largest.one_after_another[1].largest, 0.0);
    // A broadcast waits for fewer processes.
    assert!(answer.curves[2].points[3].slowdown.median < allreduce.points[3].slowdown.median);
}

#[test]
fn causes_that_hide_each_other_come_out_one_after_another() {
    let network = Network::load("chic").unwrap();
    let noise =
        described("periodic:period=10ms,duration=1ms,name=a+periodic:period=10.1ms,duration=1ms,name=b");
    let answer = ask(&network, &noise, &asked(1, &[4096]), 2).answer().unwrap();
    let ranking = &answer.rankings[0];
    assert_eq!(ranking.removals.len(), 2);
    let left = ranking.removals[0].slowdown.median / ranking.slowdown.median;
    assert!(left > 0.3, "one alone leaves much: {left}");
    assert_eq!(ranking.one_after_another[1].largest, 0.0);
}

#[test]
fn the_same_on_any_number_of_threads_and_as_simulate_says() {
    let network = Network::load("altix").unwrap();
    let noise = Noise::of_recording(&measured(), &[]);
    let one = ask(&network, &noise, &asked(1, &[8, 512]), 1).answer().unwrap();
    assert_eq!(one, ask(&network, &noise, &asked(1, &[8, 512]), 2).answer().unwrap());
    // The same number computed independently, by calling the engine directly.
    let phases = Phases::Drawn { seed: 3, replica: 4 };
    let injection = Injection::new(noise.sources(&[]).unwrap(), phases, true).unwrap();
    let simulation = Simulation { noise: Some(&injection), ..Simulation::new(&network) };
    let job = Job::new(512, 1);
    let collective = choose_default(Operation::Allreduce, &job).build(Operation::Allreduce, &job).unwrap();
    let mut control = Control::new(1);
    let run = simulation.run(&Workload::once(collective), &mut control).unwrap();
    assert_eq!(one.curves[0].points[1].makespans[4], run.outcome.makespan());
}

#[test]
fn equal_schedules_are_run_once() {
    let network = Network::load("chic").unwrap();
    let noise = described("periodic:period=1ms,duration=100us");
    let small = asked(1, &[2, 16]);
    let question = ask(&network, &noise, &small, 1);
    let answer = question.answer().unwrap();
    assert_eq!(answer.curves[1].same_as, Some("allreduce".into()));
    assert_eq!(answer.curves[1].points, answer.curves[0].points);
    assert_eq!(answer.curves[2].same_as, None);
    let large = asked(8, &[2, 16]);
    let other = ask(&network, &noise, &large, 1);
    assert_eq!(other.answer().unwrap().curves[1].same_as, None);
}

#[test]
fn no_noise_no_ranking() {
    let network = Network::load("chic").unwrap();
    let quiet = NoiseRecording {
        sources: NoiseRecording::unnamed(),
        cores: vec![Core { length: Time::from_ns(1_000_000), ..Core::default() }],
        ..NoiseRecording::default()
    };
    let answer = ask(&network, &Noise::of_recording(&quiet, &[]), &asked(1, &[2, 64]), 1).answer().unwrap();
    assert_eq!(answer.curves[0].inflection, None);
    assert!(answer.rankings[0].removals.is_empty());
    assert_eq!(answer.curves[0].points[1].slowdown.largest, 0.0);
}

/// Unnamed noise is simulated, but cannot be removed.
#[test]
fn what_has_no_name_is_not_ranked() {
    let network = Network::load("chic").unwrap();
    let mut recording = measured();
    for detour in recording.cores.iter_mut().flat_map(|core| &mut core.detours) {
        detour.source = if detour.duration > Time::from_ns(10_000) { 0 } else { detour.source };
    }
    let answer =
        ask(&network, &Noise::of_recording(&recording, &[]), &asked(1, &[2, 1024]), 2).answer().unwrap();
    let names: Vec<_> = answer.rankings[0].removals.iter().map(|removal| removal.cause.as_str()).collect();
    assert_eq!(names, ["timer tick"]);
}

#[test]
fn programs_that_belong_together_are_one_cause() {
    let mut noise = Noise::of_recording(&measured(), &[]);
    let before = noise.share();
    noise.join(&[1, 2], "other jobs".into());
    assert_eq!((noise.causes[1].name.as_str(), noise.durations(2).len()), ("other jobs", 0));
    assert!((noise.share_of(1) / before - 1.0).abs() < 1e-9);
}

/// A daemon that runs in the second half of the measurement only.
#[test]
fn parts_of_a_measurement_differ() {
    let network = Network::load("chic").unwrap();
    let mut recording = measured();
    let half = Time::from_ns(5_000_000_000);
    for core in &mut recording.cores {
        core.detours.retain(|detour| detour.start > half || detour.duration < Time::from_ns(10_000));
    }
    let noise = Noise::of_recording(&recording, &[]);
    let answer = ask(&network, &noise, &asked(1, &[2, 1024, 4096]), 2).answer().unwrap();
    let variation = answer.variation.unwrap();
    let (least, most) = variation.range();
    assert_eq!((variation.processes, variation.parts.len()), (1024, 5));
    assert!(most > 5.0 && least < 0.5, "{variation:?}");
    assert_eq!(variation.varies_most.as_deref(), Some("daemon"));
    assert!((variation.part_seconds - 2.0).abs() < 1e-9);
    assert!(variation.relative_error(5.0) > 0.2 && variation.relative_error(500.0) < 0.2, "{variation:?}");
    let steady = Noise::of_recording(&measured(), &[]);
    let answer = ask(&network, &steady, &asked(1, &[2, 1024]), 2).answer().unwrap();
    assert!(answer.variation.unwrap().relative_error(5.0) < 0.2);
    let drawn = described("periodic:period=1ms,duration=100us");
    assert_eq!(ask(&network, &drawn, &asked(1, &[4]), 1).answer().unwrap().variation, None);
}

/// The work is bounded for any slowdown: the curve ends earlier.
#[test]
fn heavy_noise_means_less_scale_not_more_time() {
    let network = Network::load("chic").unwrap();
    let noise = described("periodic:period=10ms,duration=7ms");
    let small = asked(1, &[2, 64, 1024]);
    let mut question = ask(&network, &noise, &small[..1], 2);
    question.effort.curve_work = 100_000;
    let curve = |question: &Question<'_>| question.answer().unwrap().curves[0].clone();
    let early = curve(&question);
    // The left-out scales report their cost: 6 replicas of 10 rounds, slowed down a little or more.
    let left_out = early.left_out.unwrap();
    assert_eq!((early.points.len(), left_out.processes), (2, 1024));
    assert!((61_440..=11 * 61_440).contains(&left_out.messages), "{left_out:?}");
    question.effort.curve_work = u64::MAX;
    let whole = curve(&question);
    assert_eq!((whole.points.len(), whole.left_out), (3, None));
}

/// A clock that advances with every message: a machine ten times as slow takes ten times as long. The curve ends
/// earlier, the simulated points have the same numbers, and the total stays close to the limit.
#[test]
fn a_slow_machine_means_less_scale_and_the_same_numbers() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let network = Network::load("chic").unwrap();
    let noise = Noise::of_recording(&measured(), &[]);
    let all = asked(1, &[2, 16, 128, 1024, 4096, 16384]);
    let whole = ask(&network, &noise, &all, 2).answer().unwrap();
    let done = AtomicU64::new(0);
    let advance = |more| {
        done.fetch_add(more, Ordering::Relaxed);
    };
    let now = || done.load(Ordering::Relaxed) as f64 / 1e5;
    let mut question = ask(&network, &noise, &all, 2);
    question.runner.advance = &advance;
    question.limit = TimeLimit { seconds: 20.0, now: &now };
    let slow = question.answer().unwrap();
    assert!(now() < 30.0, "{}", now());
    for (slow, whole) in slow.curves.iter().zip(&whole.curves) {
        assert_eq!(
            slow.points.iter().zip(&whole.points).find(|(one, other)| one.makespans != other.makespans),
            None
        );
    }
    let left_out = slow.curves[0].left_out.unwrap();
    assert_eq!((left_out.why, left_out.processes), (Why::Time, 16384));
    assert!((2..6).contains(&slow.curves[0].points.len()), "{:?}", slow.curves[0]);
    let ranked = slow.rankings.last().unwrap().processes;
    assert!(ranked >= 16 && ranked <= slow.curves[0].points.last().unwrap().processes, "{ranked}");
    assert!(slow.variation.is_some());
}

/// With no time at all, the smallest scale is still simulated, and an interruption is still an error.
#[test]
fn without_time_there_is_the_smallest_answer() {
    let network = Network::load("chic").unwrap();
    let noise = Noise::of_recording(&measured(), &[]);
    let all = asked(1, &[2, 1024]);
    let mut question = ask(&network, &noise, &all, 1);
    question.limit = TimeLimit { seconds: 0.0, now: &|| 1.0 };
    let answer = question.answer().unwrap();
    assert!(answer.curves.iter().all(|curve| curve.points.len() == 1 && curve.left_out.is_some()));
    let stop = AtomicBool::new(true);
    question.runner.stop = &stop;
    let error = question.answer().unwrap_err();
    assert!(matches!(error, AssessError::Run(RunError::Interrupted)), "{error:?}");
}

#[test]
fn what_the_measurement_did_itself_is_left_out() {
    let noise = Noise::of_recording(&measured(), &["daemon"]);
    assert!(noise.streams.iter().all(|stream| stream.detours.len() == 2500));
    assert_eq!(noise.measured, Some(Time::from_ns(20_000_000_000)));
}

/// A program works like a collective, with any number of processes; one that cannot finish is an error.
#[test]
fn programs_are_assessed() {
    let network = Network::load("chic").unwrap();
    let noise = Noise::of_recording(&measured(), &[]);
    let program = |text: &str| {
        let scales = vec![goal::parse(text.as_bytes()).unwrap().into()];
        vec![Asked { name: "ring.goal".into(), scales }]
    };
    let text = "num_ranks 2\nrank 0 {\na: calc 900000000\nb: send 1b to 1\nb requires a\n}\n\
                rank 1 {\na: calc 800000000\nb: recv 1b from 0\nb requires a\n}";
    let answer = ask(&network, &noise, &program(text), 2).answer().unwrap();
    let point = &answer.curves[0].points[0];
    // It computes for 0.9 s, of which the daemon takes 9 or 10 times 2 ms and the tick 225 times 3 us.
    assert_eq!((point.processes, answer.curves[0].name.as_str()), (2, "ring.goal"));
    assert!((0.0195..0.0245).contains(&point.slowdown.median), "{point:?}");
    assert_eq!(answer.rankings[0].removals[0].cause, "daemon");
    let stuck = "num_ranks 2\nrank 0 {\nrecv 1b from 1\n}\nrank 1 {\nrecv 1b from 0\n}";
    let error = ask(&network, &noise, &program(stuck), 2).answer().unwrap_err();
    assert!(matches!(error, AssessError::Stuck { stuck, .. } if stuck.unfinished == 2));
}

/// The estimate of remaining messages falls, and is never far off.
#[test]
fn what_is_ahead_is_known() {
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicU64, Ordering};
    let network = Network::load("chic").unwrap();
    let noise = Noise::of_recording(&measured(), &[]);
    let asked = asked(1, &[2, 16, 128, 1024, 8192]);
    let (done, told) = (AtomicU64::new(0), RefCell::new(Vec::new()));
    let advance = |more| {
        done.fetch_add(more, Ordering::Relaxed);
    };
    let begins = |stage: Stage<'_>| told.borrow_mut().push((done.load(Ordering::Relaxed), stage.ahead));
    let mut question = ask(&network, &noise, &asked, 2);
    (question.runner.advance, question.begins) = (&advance, &begins);
    question.answer().unwrap();
    let all = done.into_inner();
    for (before, ahead) in told.into_inner() {
        let came = all - before;
        assert!(ahead > came / 5 && ahead < came * 5, "{ahead} were said to come, {came} did, of {all}");
    }
}
