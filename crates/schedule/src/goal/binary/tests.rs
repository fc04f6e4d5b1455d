use super::*;
use crate::goal::text;

/// Two ranks: a computation, then a send and a receive that require it and each other's start.
const GOAL: &str = "num_ranks 2
    rank 0 { a: calc 5 cpu 1; b: send 8b to 1 nic 2; c: recv 9b from -1 tag -1; b requires a; c irequires b }
    rank 1 { recv 8b from 0; send 9b to 0 }";

/// Offset of rank 0's schedule in the file, after magic number, header and table.
const SCHEDULE: usize = 8 + HEADER + 2 * EXTENT;
/// Offset of its nodes: it has one root.
const NODES: usize = SCHEDULE + COUNTS + INDEX;
const APPENDIX: usize = NODES + 3 * NODE;

fn file() -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&text::parse(GOAL.as_bytes()).unwrap(), &mut bytes).unwrap();
    bytes
}

/// The error message if the bytes at `at` are replaced.
fn error(at: usize, bytes: &[u8]) -> String {
    let mut file = file();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    parse(&file).unwrap_err().to_string()
}

fn error_u32(at: usize, value: u32) -> String {
    error(at, &value.to_le_bytes())
}

#[test]
fn reads_what_it_writes() {
    assert_eq!(parse(&file()).unwrap(), text::parse(GOAL.as_bytes()).unwrap());
}

#[test]
fn counts_many_dependencies() {
    for count in [254, 255, 256, 600] {
        let mut goal = "num_ranks 1\nrank 0 {\nlast: calc 1\n".to_string();
        (0..count).for_each(|number| goal += &format!("a{number}: calc 1\nlast requires a{number}\n"));
        let graph = text::parse((goal + "}").as_bytes()).unwrap();
        assert_eq!(graph.rank(0).dependency_counts()[0], count);
        let mut bytes = Vec::new();
        write(&graph, &mut bytes).unwrap();
        assert_eq!(parse(&bytes).unwrap(), graph, "{count}");
    }
}

#[test]
fn the_header_is_checked() {
    assert_eq!(
        error(0, &DESTROYED.to_le_bytes()),
        "magic: 2342 marks a file that another simulator used as its memory and destroyed: convert the schedule again"
    );
    assert_eq!(
        error_u32(0, 7),
        "magic: 7 is not the number 4223 of a GOAL binary file: convert the schedule again"
    );
    assert_eq!(error_u32(8, 0), "number of ranks: a schedule has at least one rank");
    assert_eq!(
        error_u32(8, u32::MAX),
        "table of schedules: the file is truncated: 68719476726 bytes are needed, 269 are left"
    );
    assert_eq!(
        parse(&file()[..7]).unwrap_err().to_string(),
        "magic: the file is truncated: 8 bytes are needed, 7 are left"
    );
    assert_eq!(
        parse(&file()[..12]).unwrap_err().to_string(),
        "header: the file is truncated: 6 bytes are needed, 4 are left"
    );
}

#[test]
fn the_table_is_checked() {
    let table = 8 + HEADER;
    assert_eq!(error_u32(table + 8, 270), "rank 0, end of the schedule: 270 is out of range: at most 269");
    assert_eq!(
        error(table + 4, &[1]),
        "rank 0, start of the schedule: 4294967334 is out of range: at most 175"
    );
    assert_eq!(
        error_u32(table + EXTENT, 0),
        "rank 1, end of the schedule: the schedules of all ranks are longer than the file, so some overlap: convert the \
         schedule again"
    );
    assert_eq!(
        error_u32(table, 170),
        "rank 0, numbers of nodes and roots: the file is truncated: 8 bytes are needed, 5 are left"
    );
}

#[test]
fn the_counts_are_checked() {
    assert_eq!(
        error_u32(SCHEDULE, 4),
        "rank 0, nodes: the file is truncated: 168 bytes are needed, 137 are left"
    );
    assert_eq!(
        error_u32(SCHEDULE + 4, u32::MAX),
        "rank 0, roots: the file is truncated: 17179869188 bytes are needed, 137 are left"
    );
    assert_eq!(
        error_u32(8 + HEADER + 8, 174),
        "rank 0, appendix: the file is truncated: 136 bytes are needed, 136 are left"
    );
    assert_eq!(error_u32(NODES - 4, 9), "rank 0, roots: 9 is out of range: at most 2");
    assert_eq!(
        error_u32(NODES - 4, 1),
        "rank 0, roots: node 1 states 0, but the correct value is 1: convert the schedule again"
    );
}

#[test]
fn nodes_are_checked() {
    let node = |index: usize, field: usize| NODES + index * NODE + field;
    assert_eq!(
        error_u32(node(1, 0), 2),
        "rank 0, dependency count: node 1 states 2, but the correct value is 1: convert the schedule again"
    );
    assert_eq!(
        error(node(1, 4), &[7]),
        "rank 0, type: node 1 has 7, which is none of 1 (send), 2 (receive) and 3 (computation)"
    );
    assert_eq!(error_u32(node(1, 5), 2), "rank 0, peer: node 1 has 2, but at most 1 is possible");
    assert_eq!(
        error_u32(node(1, 5), u32::MAX),
        "rank 0, peer: node 1 is a send with a wildcard: only a receive may have one"
    );
    assert_eq!(
        error_u32(node(1, 17), u32::MAX),
        "rank 0, tag: node 1 is a send with a wildcard: only a receive may have one"
    );
    assert_eq!(
        error(node(0, 9), &u64::MAX.to_le_bytes()),
        "rank 0, size: node 0 computes 18446744073709551615 ns, which exceeds the range of simulated time (at most \
         18446744073709551 ns)"
    );
    assert_eq!(error(node(0, 21), &[2]), "rank 0, CPU: node 0 has 2, but at most 1 is possible");
    assert_eq!(error(node(0, 22), &[3]), "rank 0, NIC: node 0 has 3, but at most 2 is possible");
}

#[test]
fn edges_are_checked() {
    let node = |index: usize, field: usize| NODES + index * NODE + field;
    assert_eq!(error_u32(node(0, 23), 3), "rank 0, requires: node 0 has 3, but at most 2 is possible");
    assert_eq!(
        error_u32(node(0, 27), u32::MAX),
        "rank 0, requires: node 0 has 4294967296, but at most 2 is possible"
    );
    assert_eq!(error_u32(node(0, 23), 2), "rank 0, irequires: node 1 has 3, but at most 2 is possible");
    assert_eq!(error_u32(node(1, 35), 2), "rank 0, irequires: node 1 has 3, but at most 2 is possible");
    assert_eq!(error_u32(APPENDIX, 3), "rank 0, appendix: node 0 has 3, but at most 2 is possible");
    assert_eq!(error_u32(APPENDIX, 0), "rank 0, appendix: node 0 depends on itself: remove this dependency");
}

#[test]
fn the_number_of_roots_is_checked() {
    let mut bytes = file();
    // No node waits for node 0 any more, and the count of node 1 agrees.
    bytes[NODES + 23] = 0;
    bytes[NODES + NODE] = 0;
    assert_eq!(
        parse(&bytes).unwrap_err().to_string(),
        "rank 0, number of roots: the file states 1, but the correct value is 2: convert the schedule again"
    );
}

#[test]
fn a_circle_of_two_is_named() {
    let goal =
        "num_ranks 1 rank 0 { a: calc 1; b: calc 2; c: calc 3; b requires a; c requires b; b requires a }";
    let mut bytes = Vec::new();
    write(&text::parse(goal.as_bytes()).unwrap(), &mut bytes).unwrap();
    let appendix = bytes.len() - 3 * INDEX;
    let node = |index: usize| appendix - (3 - index) * NODE;
    // The second of a's edges to b becomes an edge from c to b.
    bytes[node(0) + 23] = 1;
    bytes[node(1) + 27] = 2;
    bytes[node(2) + 23] = 1;
    bytes[node(2) + 27] = 1;
    assert_eq!(
        parse(&bytes).unwrap_err().to_string(),
        "rank 0, appendix: nodes form a dependency cycle: operation 1 → operation 2 → operation 1; remove one of \
         these dependencies"
    );
}
