//! Results that Beckman and colleagues found by injecting noise of a fixed frequency on Blue Gene/L, and Hoefler,
//! Schneider and Lumsdaine by simulation (SC10, section IV-B): the largest slowdown of collectives grows linearly
//! with the detour and with the logarithm of the number of processes, and short detours hardly matter.

use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use straggler_analysis::growth::straight_line;
use straggler_analysis::study::{Batch, Plan, Series, Study, StudyRunner, Tracks, series};

const COLLECTIVES: [&str; 3] = ["barrier:dissemination", "allreduce:dissemination", "alltoall:bruck"];

/// All series of a study on the network that the paper used.
fn run(lines: &str) -> Vec<Series> {
    let text = format!("name = 'grid'\nnetwork = 'cnl'\nsize = 1\nidempotent = true\n{lines}");
    let plan = Plan::new(&Study::parse(&text).unwrap(), Path::new("")).unwrap();
    let stop = AtomicBool::new(false);
    let runner = StudyRunner {
        plan: &plan,
        threads: 2,
        accelerator: None,
        memory: None,
        stop: &stop,
        advance: &|_| (),
    };
    let mut keep = |_: &Batch| Ok::<(), Infallible>(());
    let results = runner.run(Tracks::new(&plan), &mut keep).1.unwrap();
    series(&results, 0.1)
}

#[test]
fn linear_in_the_detour() {
    for collective in COLLECTIVES {
        let detours = [16u32, 50, 100, 200];
        let noise: Vec<String> =
            detours.iter().map(|detour| format!("'periodic:period=1ms,duration={detour}us'")).collect();
        let all = run(&format!(
            "collective = '{collective}'\nprocesses = 1024\nreplicas = 40\nnoise = [{}]",
            noise.join(", ")
        ));
        let largest: Vec<f64> = all.iter().map(|series| series.points[0].largest_slowdown).collect();
        let points: Vec<(f64, f64)> =
            detours.iter().map(|&detour| detour.into()).zip(largest.clone()).collect();
        let fit = straight_line(&points).unwrap();
        assert!(fit.explained > 0.98 && fit.slope > 0.0, "{collective}: {fit:?} of {points:?}");
        // Detours that are twelve times shorter cost at most a seventh.
        assert!(largest[0] < largest[3] / 7.0, "{collective}: {largest:?}");
    }
}

#[test]
fn logarithmic_in_the_processes() {
    for collective in COLLECTIVES {
        let all = run(&format!(
            "collective = '{collective}'\nprocesses = '16..4096 x4'\nreplicas = 40\n\
             noise = 'periodic:period=1ms,duration=100us'"
        ));
        // Slowdowns are relative to a time that itself grows logarithmically, so this fits the lost time.
        let lost = |point: &straggler_analysis::study::Summary| point.largest_loss().ps() as f64;
        let points: Vec<(f64, f64)> = all[0]
            .points
            .iter()
            .map(|point| (f64::from(point.point.processes).log2(), lost(point)))
            .collect();
        let fit = straight_line(&points).unwrap();
        assert!(fit.explained > 0.95 && fit.slope > 0.0, "{collective}: {fit:?} of {points:?}");
        // A power law would multiply the loss by a constant factor at each step; here each step adds about the same
        // amount.
        let linear =
            straight_line(&points.iter().map(|&(power, lost)| (power.exp2(), lost)).collect::<Vec<_>>())
                .unwrap();
        assert!(linear.explained < fit.explained, "{collective}: {linear:?}, {fit:?}");
    }
}
