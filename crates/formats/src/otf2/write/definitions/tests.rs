//! The definitions that readers of Score-P's archives look for.

use super::*;
use crate::otf2::bytes::{Record, Records};
use crate::otf2::ids::{PARADIGM_MEASUREMENT, PARADIGM_USER};
use straggler_trace::{Function, RankTrace};

/// A region as it stands in the file.
#[derive(PartialEq, Eq, Debug)]
struct Found {
    shown: String,
    canonical: String,
    file: Option<String>,
    role: u8,
    paradigm: u8,
}

fn records(names: Names) -> Vec<(u8, Vec<u32>, Vec<String>)> {
    let rank = RankTrace { host: "node1".into(), ..RankTrace::default() };
    let trace = Trace { ranks: vec![rank], communicators: vec![Communicator::world(1)], ..Trace::default() };
    let locations = [LocationSummary { location: 0, rank: 0, thread: 0, events: 0 }];
    let written = encode(&trace, &[0], &Windows::default(), &locations, names).unwrap();
    let mut records = Records::of_definitions(&written.bytes, written.chunk as u64).unwrap();
    let mut found = Vec::new();
    let mut strings = Vec::new();
    while let Some(Record { id, mut body, .. }) = records.next().unwrap() {
        let mut values = Vec::new();
        match id {
            definition::STRING => {
                body.u32().unwrap();
                strings.push(body.text().unwrap().to_owned());
            }
            definition::REGION => {
                (0..3).for_each(|_| values.push(body.u32().unwrap()));
                body.u8().unwrap();
                (0..4).for_each(|_| values.push(body.u32().unwrap()));
                (0..2).for_each(|_| values.push(body.u8().unwrap().into()));
            }
            definition::SYSTEM_TREE_NODE_DOMAIN => {
                values.push(body.u32().unwrap());
                values.push(body.u8().unwrap().into());
            }
            _ => {}
        }
        found.push((id, values, Vec::new()));
    }
    found.iter_mut().for_each(|(_, _, names)| names.clone_from(&strings));
    found
}

fn regions(names: Names) -> Vec<Found> {
    let region = |values: &[u32], strings: &[String]| {
        let text = |number: u32| strings.get(number as usize).cloned();
        let &[_, shown, _, file, _, _, canonical, role, paradigm] = values else { panic!("{values:?}") };
        let (shown, canonical) = (text(shown).unwrap(), text(canonical).unwrap());
        Found { shown, canonical, file: text(file), role: role as u8, paradigm: paradigm as u8 }
    };
    let all = records(names);
    let regions = all.iter().filter(|(id, ..)| *id == definition::REGION);
    regions.map(|(_, values, strings)| region(values, strings)).collect()
}

#[test]
fn regions_are_told_apart_by_file_role_and_paradigm() {
    let mut names = Names::default();
    names.program("/opt/bin/solve -n 5 /data/in");
    names.region("MPI_Send", Owner::Mpi(Function::Send));
    names.region("MPI_Send", Owner::User);
    names.region("?", Owner::Mpi(Function::Unknown));
    let found = |shown: &str, canonical: &str, file: Option<&str>, role, paradigm| {
        let file = file.map(str::to_owned);
        Found { shown: shown.into(), canonical: canonical.into(), file, role, paradigm }
    };
    let expected = [
        found("solve", "/opt/bin/solve -n 5 /data/in", None, 31, PARADIGM_MEASUREMENT),
        found("MPI_Send", "MPI_Send", Some("MPI"), 28, PARADIGM_MPI),
        found("MPI_Send", "MPI_Send", None, 4, PARADIGM_USER),
        // Shorter than the four letters that Scalasca drops.
        found("?", "?", None, 1, PARADIGM_MPI),
    ];
    assert_eq!(regions(names), expected);
}

#[test]
fn nodes_say_what_they_share() {
    let found = records(Names::default());
    let domains = found.iter().filter(|(id, ..)| *id == definition::SYSTEM_TREE_NODE_DOMAIN);
    let domains: Vec<&[u32]> = domains.map(|(_, values, _)| values.as_slice()).collect();
    assert_eq!(domains, [[0, u32::from(MACHINE)], [1, u32::from(SHARED_MEMORY)]]);
}
