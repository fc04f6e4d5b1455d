//! Calls and messages as counted in the paper, and errors for wrong parameters.

use super::*;
use crate::{Script, Steps};

fn build(text: &str, processes: u32) -> Result<Application, WorkloadError> {
    text.parse::<Workload>()?.build(processes, Only::All, &choose_default)
}

fn fault(text: &str, processes: u32) -> String {
    build(text, processes).map(|application| application.describe().to_string()).unwrap_err().to_string()
}

/// Collectives as (messages of one call, number of calls).
fn calls(application: &Application) -> Vec<(u64, u64)> {
    let collectives = application.parts().filter_map(|(part, count)| match part {
        Part::Collective(collective) => Some((collective.messages(), count)),
        _ => None,
    });
    collectives.collect()
}

#[test]
fn pop_has_the_calls_of_the_paper() {
    let application = build("pop", 32_768).unwrap();
    // Fifteen rounds of all ranks, twice, and a tree.
    assert_eq!(calls(&application), [(15 * 32_768, 608), (15 * 32_768, 575), (32_767, 703)]);
    assert_eq!(application.messages(), 625_131_841);
}

#[test]
fn sweep3d_has_the_calls_of_the_paper() {
    let application = build("sweep3d", 16_000).unwrap();
    assert_eq!(calls(&application), [(15_999, 4), (14 * 16_000, 3), (14 * 16_000, 32)]);
    let sweeps = (127 * 125 + 128 * 124) * 32 * 8 * 35;
    assert_eq!(application.messages(), sweeps + 35 * 14 * 16_000 + 4 * 15_999);
    assert!(application.messages() > 289_000_000);
}

#[test]
fn amg_has_the_calls_of_the_paper() {
    let application = build("amg", 16_000).unwrap();
    let everybody = 14 * 16_000;
    let scan = 2 * (0..16_000u64).map(|rank| u64::from(rank.count_ones())).sum::<u64>();
    let calls = calls(&application);
    assert_eq!(calls, [(everybody, 24), (scan, 8), (15_999, 23), (everybody, 1), (everybody, 356)]);
    let halos = 119 * (12 * 92_120 + 2 * (11_484 + 1_418 + 208 + 24));
    assert_eq!(application.messages(), halos + 381 * everybody + 8 * scan + 23 * 15_999);
    assert!(application.messages() > 222_000_000);
}

#[test]
fn only_one_kind_of_communication() {
    for text in ["pop", "sweep3d", "halo3d,reduce=3", "training,tp=4,pp=4", "master-worker", "overlap"] {
        let workload: Workload = text.parse().unwrap();
        let of = |only| workload.build(64, only, &choose_default).unwrap();
        let (all, p2p, collectives) = (of(Only::All), of(Only::P2p), of(Only::Collectives));
        assert_eq!(p2p.messages() + collectives.messages(), all.messages(), "{text}");
        assert_eq!((p2p.phases(), collectives.phases()), (all.phases(), all.phases()));
        // Computation is kept.
        let computed = |application: &Application, rank| {
            let phases = 0..application.phases();
            let stages = phases.flat_map(|phase| {
                (0..application.stages(rank, phase)).map(move |stage| application.step(rank, phase, stage))
            });
            stages.map(|step| step.calc.unwrap_or_default().ps() + step.after.ps()).sum::<u64>()
        };
        for rank in [0, 1, 63] {
            assert_eq!(computed(&p2p, rank), computed(&all, rank), "{text} {rank}");
            assert_eq!(computed(&collectives, rank), computed(&all, rank), "{text} {rank}");
        }
    }
}

#[test]
fn defaults_are_values_of_their_parameters() {
    for kind in KINDS {
        let given = kind.parameters.iter().map(|parameter| (parameter.name, parameter.default.to_string()));
        let workload = Workload { kind, given: given.collect() };
        let written: Workload = workload.to_string().parse().unwrap();
        assert_eq!(written.given, workload.given);
        let with = workload.build(64, Only::All, &choose_default).unwrap();
        let without = Workload { kind, given: Vec::new() }.build(64, Only::All, &choose_default).unwrap();
        assert_eq!(with.messages(), without.messages(), "{}", kind.name);
    }
}

#[test]
fn wrong_words_are_told_with_the_mend() {
    for (text, processes, expected) in [
        ("pip", 4, "unknown workload `pip` (known: amg, cycles,"),
        (
            "pop,halo=3",
            4,
            "`halo=3` is not a parameter of pop: write NAME=VALUE with one of iterations=1, allreduces=608",
        ),
        ("pop,halos", 4, "`halos` is not a parameter"),
        ("pop,halos=3,halos=4", 4, "pop: halos is given twice"),
        ("halo2d,iterations=0", 4, "halo2d: iterations=0: give at least 1"),
        (
            "halo2d,grid=3x2",
            8,
            "grid=3x2: the product of the extents must be 8 processes, for example grid=4x2",
        ),
        ("halo2d,grid=2x2x2", 8, "write two extents"),
        ("halo2d,grid=0x0", 8, "must be 8 processes"),
        ("halo3d,calls=blocking,overlap=0.5", 8, "blocking calls cannot overlap"),
        ("halo3d,overlap=2", 8, "a number from 0 to 1"),
        ("halo3d,bytes=1x", 8, "halo3d: bytes=1x: "),
        ("sweep3d,compute=3", 8, "sweep3d: compute=3: "),
        (
            "training,tp=3",
            8,
            "training cannot run on 8 processes: tp=3 times pp=1 is 3: use a multiple of it",
        ),
        ("training,tp=2,dp=3", 8, "tp · pp · dp must be 8: write dp=4"),
        ("training,pp=8,layers=12", 8, "layers=12: give a multiple of pp=8"),
        ("training,order=zigzag", 8, "write 1f1b or gpipe"),
        ("master-worker", 1, "a master needs at least one worker"),
        ("master-worker,tasks=4000000000", 2, "the master can hand out at most 134217727"),
        ("cycles,operation=foo", 2, "unknown collective operation `foo`"),
        ("cycles,algorithm=foo", 2, "unknown algorithm `foo` for allreduce"),
        ("cycles,root=1", 2, "allreduce has no root"),
        ("cycles,operation=bcast,root=2", 2, "root 2 is out of range"),
        ("cycles,cycles=4000000000", 2, "cycles has more than 16777216 phases"),
        ("sweep3d,iterations=4000000000,blocks=4000000000", 2, "fewer iterations"),
        ("pop,iterations=4000000000,allreduces=4000000000", 2, "fewer iterations"),
        ("pop", 0, "give at least 1"),
    ] {
        let told = fault(text, processes);
        assert!(told.contains(expected), "{text}: {told}");
    }
}

#[test]
fn no_number_is_too_large_to_be_refused() {
    let huge = u32::MAX.to_string();
    for kind in KINDS {
        for parameter in kind.parameters {
            for value in ["0", "1", huge.as_str(), "18446744073709551615", "-1", "", "1e400", "100000s"] {
                let text = format!("{},{}={value}", kind.name, parameter.name);
                for processes in [1, 2, 64, 1 << 31, u32::MAX] {
                    if let Ok(application) = build(&text, processes) {
                        let last = processes - 1;
                        let phase = application.phases().saturating_sub(1);
                        (0..application.stages(last, phase).min(9)).for_each(|stage| {
                            application.step(last, phase, stage);
                        });
                        application.messages();
                        application.operations();
                    }
                }
            }
        }
    }
}

#[test]
fn the_guide_tells_every_parameter() {
    let guide = include_str!("../../../../docs/guide/workloads.md");
    for kind in KINDS {
        assert!(guide.contains(&format!("### {}", kind.name)) || kind.name == "halo3d", "{}", kind.name);
        for Parameter { name, default, meaning } in kind.parameters {
            let row = format!("| `{name}` | `{default}` | {meaning} |");
            assert!(guide.contains(&row), "{}: {row}", kind.name);
        }
    }
}
