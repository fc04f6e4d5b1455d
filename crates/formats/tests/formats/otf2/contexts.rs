//! The archive of fixtures/traces/otf2/contexts.c: parameters of regions become marks, calling contexts call sites.

use std::path::PathBuf;
use straggler_formats::otf2;
use straggler_trace::format::{directory, save};
use straggler_trace::{Function, RankTrace, Trace};

fn read() -> Trace {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces/otf2");
    otf2::read(&fixtures.join("contexts/contexts.otf2")).unwrap()
}

/// The calls of a rank, with the names of regions and the sites of MPI calls.
fn shown(trace: &Trace, rank: &RankTrace) -> Vec<String> {
    let call = |(number, call): (usize, &straggler_trace::Call)| {
        let text = rank.details(call).and_then(|details| details.text.as_deref()).unwrap_or_default();
        let us = call.enter.ps() / 1_000_000;
        match call.function {
            Function::RegionEnter => format!("{us} enter {text}"),
            Function::RegionLeave => format!("{us} leave {text}"),
            function => {
                let site = rank.site(number).and_then(|site| trace.call_sites.get(site));
                let (module, line) = site.unwrap();
                let caller = module.function.as_deref().unwrap_or_default();
                format!("{us} {} from {caller} {}:{line}", function.name(), module.path)
            }
        }
    };
    rank.calls.iter().enumerate().map(call).collect()
}

const EXPECTED: [&str; 20] = [
    "0 enter main",
    "10 enter solve",
    "10 enter solve:level:-7",
    "10 enter solve:size:300",
    "10 enter solve:kind:coarse",
    "20 MPI_Send from solve src/solver.c:42",
    "50 leave solve:kind:coarse",
    "50 leave solve:size:300",
    "50 leave solve:level:-7",
    "50 leave solve",
    "60 enter assemble",
    "60 enter assemble:level:12",
    "60 enter assemble:size:1",
    "65 leave assemble:size:1",
    "65 leave assemble:level:12",
    "65 enter assemble:level:13",
    "70 MPI_Barrier from assemble src/solver.c:0",
    "295 leave assemble:level:13",
    "295 leave assemble",
    "305 leave main",
];

#[test]
fn parameters_become_marks_and_contexts_call_sites() {
    let trace = read();
    assert_eq!(shown(&trace, &trace.ranks[0]), EXPECTED);
    let of_second = EXPECTED.map(|line| line.replace("MPI_Send", "MPI_Recv").replace("c:42", "c:43"));
    assert_eq!(shown(&trace, &trace.ranks[1]), of_second);
}

#[test]
fn call_sites_survive_our_own_format() {
    let (trace, folder) = (read(), tempfile::tempdir().unwrap());
    let path = folder.path().join("saved");
    save::save(&trace, &path).unwrap();
    let (again, _) = directory::open(&path).unwrap();
    assert_eq!(shown(&again, &again.ranks[1]), shown(&trace, &trace.ranks[1]));
}
