use super::*;
use crate::assess::tests::{ask, asked, described, measured};
use crate::assess::{Noise, TimeLimit};
use std::sync::atomic::{AtomicU64, Ordering};
use straggler_model::Network;
use straggler_noise::{DRAWN, Injection, Phases};
use straggler_schedule::goal;
use straggler_sim::{Control, Simulation};

const MILLISECOND: Time = Time(1_000_000_000);

/// The share of the time in which a process is interrupted: detours that overlap count once.
fn interrupted(noise: &Noise) -> f64 {
    let stream = &noise.streams[0];
    let (mut free, mut end) = (Time::ZERO, Time::ZERO);
    for detour in &stream.detours {
        free += detour.start.since(end);
        end = end.max(detour.start + detour.duration);
    }
    1.0 - (free + stream.length.since(end)).seconds() / stream.length.seconds()
}

/// Detours of 50 ms, far longer than a cycle: the program advances only while all processes are free. With f, the share
/// of the time in which one is interrupted, that is a share (1 − f)^P of the time, e^(−Pλd) for Poisson detours. On two
/// processes, where detours hardly overlap, it is about 1 − Pf. Of 18 intervals of 95 %, one misses on average.
#[test]
fn long_detours_stop_everyone() {
    let network = Network::load("chic").unwrap();
    let noise = described("poisson:rate=0.5Hz,duration=50ms");
    let f = interrupted(&noise);
    assert!((f / 0.025 - 1.0).abs() < 0.02, "{f}");
    let stopped = |processes: u32| (1.0 - f).powi(-(processes as i32)) - 1.0;
    let apart = 2.0 * f / (1.0 - 2.0 * f);
    assert!((stopped(2) / apart - 1.0).abs() < 0.03, "{apart}");
    let scales = asked(1, &[2, 16, 64]);
    let mut missed = Vec::new();
    for seed in 1..=6 {
        let mut question = ask(&network, &noise, &scales[..1], 2);
        (question.intervals, question.effort.messages) = (&[MILLISECOND], 3_000_000);
        question.seed = seed;
        let points = question.programs(&scales[0], &noise.sources(&[]).unwrap()).unwrap();
        assert!(points.iter().all(|point| point.uncertainty() < 0.35 * point.slowdown), "{points:?}");
        let contains = |point: &ProgramPoint| (point.low..point.high).contains(&stopped(point.processes));
        missed.extend(points.into_iter().filter(|point| !contains(point)));
    }
    assert!(missed.len() <= 3, "{missed:?}");
}

/// A program of two processes with long intervals takes 1/(1 − share) times as long: it also waits for the detours that
/// strike while it is delayed. Their phases differ, so that little of the noise coincides.
#[test]
fn noise_that_takes_half_of_the_time_doubles_it() {
    let network = Network::load("chic").unwrap();
    let scales = asked(1, &[2]);
    for (duration, share) in [("1ms", 0.1), ("5ms", 0.5), ("6900us", 0.69)] {
        let noise = described(&format!("periodic:period=10ms,duration={duration}"));
        let mut question = ask(&network, &noise, &scales[..1], 2);
        (question.intervals, question.effort.messages) = (&[Time(1_000_000_000_000)], 100_000);
        let slowdown = question.answer().unwrap().programs[0].slowdown;
        let expected = share / (1.0 - share);
        assert!((slowdown / expected - 1.0).abs() < 0.02, "{slowdown} instead of {expected}");
    }
    let noise = described("periodic:period=1ms,duration=600us+periodic:period=2ms,duration=1200us");
    assert!(!noise.is_in_wallclock());
    assert!(ask(&network, &noise, &scales[..1], 2).answer().is_ok());
}

/// Without the long detours only ticks are left: 4 µs in nearly every cycle, as one of 16 processes meets one.
#[test]
fn the_source_of_long_detours_is_named() {
    let network = Network::load("chic").unwrap();
    let noise =
        described("poisson:rate=0.5Hz,duration=50ms,name=daemon+periodic:rate=250Hz,duration=4us,name=tick");
    let scales = asked(1, &[2, 16]);
    let mut question = ask(&network, &noise, &scales[..1], 2);
    (question.intervals, question.effort.messages) = (&[MILLISECOND, Time(100_000_000_000)], 3_000_000);
    let answer = question.answer().unwrap();
    let ranking = answer.program_ranking.unwrap();
    let same = answer.programs.iter().find(|point| (point.processes, point.interval) == (16, MILLISECOND));
    assert_eq!(Some(&ranking.all), same);
    let best = ranking.best().unwrap();
    assert!(best.cause.starts_with("daemon") && (0.001..0.006).contains(&best.left.slowdown), "{best:?}");
    let tick = &ranking.removals[1];
    assert!(tick.cause.starts_with("tick") && tick.left.high > ranking.all.low, "{tick:?}");
}

/// A program and a single operation have one list of sources: a rare, long detour that most operations do not meet costs
/// the program most.
#[test]
fn both_rankings_have_the_same_sources() {
    let network = Network::load("chic").unwrap();
    let ticks: Vec<String> =
        (0..4).map(|tick| format!("periodic:rate=250Hz,duration={}us,name=tick{tick}+", 4 + tick)).collect();
    let noise = described(&format!("{}poisson:rate=0.1Hz,duration=3ms,name=kdamond", ticks.concat()));
    let scales = asked(1, &[16]);
    let mut question = ask(&network, &noise, &scales[..1], 2);
    question.intervals = &[MILLISECOND];
    let answer = question.answer().unwrap();
    let program = answer.program_ranking.unwrap();
    assert!(program.best().unwrap().cause.starts_with("kdamond"), "{program:?}");
    let operation = answer.rankings.last().unwrap();
    let mut causes: Vec<&String> = program.removals.iter().map(|removal| &removal.cause).collect();
    let mut others: Vec<&String> = operation.removals.iter().map(|removal| &removal.cause).collect();
    causes.sort_unstable();
    others.sort_unstable();
    assert_eq!((causes, &program.passed_over), (others, &operation.passed_over));
}

/// Short detours that every process has often cost their share of the time, however long the interval.
#[test]
fn frequent_short_detours_are_not_passed_over() {
    let network = Network::load("chic").unwrap();
    let rare = "+poisson:rate=1Hz,duration=100us,name=";
    let sources = ["a", "b", "c", "d", "e"].map(|name| format!("{rare}{name}")).concat();
    let noise = described(&format!("periodic:rate=250Hz,duration=4us,name=tick{sources}"));
    let scales = asked(1, &[16]);
    let question = ask(&network, &noise, &scales[..1], 1);
    let first = |interval| question.name(question.costliest_causes(16, interval)[0]);
    assert_eq!(first(Time(1_000_000_000_000)), "tick");
    // In 10 ms, 16 processes lose 0.16 % to each of the rare sources, and every process 0.1 % to the tick.
    // Which of them depends on what is drawn.
    assert!(first(Time(10_000_000_000)).ends_with(DRAWN));
}

/// The same loop in one long run, by the engine alone.
#[test]
fn one_long_run_says_the_same() {
    let network = Network::load("chic").unwrap();
    let noise = described("poisson:rate=200Hz,duration=exponential(mean=100us)");
    let scales = asked(1, &[64]);
    let mut question = ask(&network, &noise, &scales[..1], 2);
    question.intervals = &[MILLISECOND];
    let point = question.answer().unwrap().programs[0];
    assert!(point.is_narrow() && point.slowdown > 0.1, "{point:?}");
    let collective = once(&scales[0].scales[0]).unwrap().clone();
    let workload = Workload::Collective { collective, cycles: 10_000, compute: MILLISECOND };
    let phases = Phases::Drawn { seed: 99, replica: 0 };
    let injection = Injection::new(noise.sources(&[]).unwrap(), phases, true).unwrap();
    let seconds = |noise| {
        let simulation = Simulation { noise, ..Simulation::new(&network) };
        let run = simulation.run(&workload, &mut Control::new(2)).unwrap();
        run.outcome.makespan().seconds()
    };
    let long = seconds(Some(&injection)) / seconds(None) - 1.0;
    assert!(point.low < long && long < point.high, "{long} {point:?}");
}

#[test]
fn the_same_on_any_number_of_threads() {
    let network = Network::load("altix").unwrap();
    let noise = Noise::of_recording(&measured(), &[]);
    let scales = asked(1, &[2, 64]);
    let programs = |threads| {
        let mut question = ask(&network, &noise, &scales[..1], threads);
        (question.intervals, question.effort.messages) = (&[MILLISECOND, Time(100_000_000_000)], 500_000);
        question.answer().unwrap().programs
    };
    let points = programs(1);
    assert_eq!(points, programs(2));
    let each: Vec<_> = points.iter().map(|point| (point.processes, point.interval.ps())).collect();
    assert_eq!(each, [(2, 1_000_000_000), (2, 100_000_000_000), (64, 1_000_000_000), (64, 100_000_000_000)]);
}

/// A budget of a few cycles does not meet detours that are minutes apart: the interval covers what they may cost.
#[test]
fn what_is_too_rare_to_meet_widens_the_interval() {
    let network = Network::load("chic").unwrap();
    let noise = described("periodic:period=100s,duration=10s");
    let scales = asked(1, &[16]);
    let mut question = ask(&network, &noise, &scales[..1], 1);
    (question.intervals, question.effort.messages) = (&[MILLISECOND], 10_000);
    let point = question.answer().unwrap().programs[0];
    assert!(point.high >= 1.6 && !point.is_narrow(), "{point:?}");
    let quiet = described("periodic:period=1ms,duration=0ns");
    let mut question = ask(&network, &quiet, &scales[..1], 1);
    question.intervals = &[MILLISECOND];
    let point = question.answer().unwrap().programs[0];
    assert_eq!((point.slowdown, point.low, point.high), (0.0, 0.0, 0.0));
}

/// A slow machine leaves out large scales; the others have the same numbers. The smallest is always there.
#[test]
fn a_slow_machine_means_fewer_scales_and_the_same_numbers() {
    let network = Network::load("chic").unwrap();
    let noise = Noise::of_recording(&measured(), &[]);
    let scales = asked(1, &[2, 16, 128, 1024]);
    let done = AtomicU64::new(0);
    let advance = |more| {
        done.fetch_add(more, Ordering::Relaxed);
    };
    let now = || done.load(Ordering::Relaxed) as f64 / 1e5;
    let programs = |limit| {
        let mut question = ask(&network, &noise, &scales[..1], 2);
        (question.intervals, question.effort.messages) = (&[MILLISECOND], 300_000);
        question.runner.advance = &advance;
        question.limit = limit;
        question.answer().unwrap().programs
    };
    let all = programs(TimeLimit::NONE);
    assert_eq!(all.len(), 4);
    done.store(0, Ordering::Relaxed);
    let some = programs(TimeLimit { seconds: 10.0, now: &now });
    assert!((1..4).contains(&some.len()) && some.iter().all(|point| all.contains(point)), "{some:?}");
    done.store(0, Ordering::Relaxed);
    assert_eq!(programs(TimeLimit { seconds: 0.0, now: &now }), all[..1]);
}

/// A schedule is a program of its own: its run time is the answer.
#[test]
fn schedules_are_not_repeated() {
    let network = Network::load("chic").unwrap();
    let noise = described("periodic:period=1ms,duration=100us");
    let text = "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}";
    let schedule = [Asked { name: "s".into(), scales: vec![goal::parse(text.as_bytes()).unwrap().into()] }];
    let mut question = ask(&network, &noise, &schedule, 1);
    question.intervals = &[MILLISECOND];
    assert!(question.answer().unwrap().programs.is_empty());
}
