use super::*;
use crate::goal::text;
use crate::{GraphBuilder, Operation, RankBuilder};

fn findings(goal: &str) -> Vec<Finding> {
    validate(&text::parse(goal.as_bytes()).unwrap())
}

fn messages(goal: &str) -> Vec<String> {
    findings(goal).iter().map(ToString::to_string).collect()
}

/// One rank with operations and dependencies, as (dependent, before).
fn graph_of(operations: &[Operation], requires: &[(u32, u32)]) -> Graph {
    let mut rank = RankBuilder::default();
    for &operation in operations {
        rank.push(operation);
    }
    for &(dependent, before) in requires {
        rank.requires(dependent, before);
    }
    let mut graph = GraphBuilder::default();
    graph.push_rank(&rank);
    graph.finish()
}

#[test]
fn a_good_schedule_has_none() {
    assert_eq!(findings("num_ranks 2\nrank 0 { send 8b to 1 tag 3 }\nrank 1 { recv 8b from 0 tag 3 }"), []);
    assert_eq!(findings("num_ranks 2\nrank 0 { send 8b to 1 tag 3 }\nrank 1 { recv 8b from -1 tag -1 }"), []);
}

#[test]
fn what_a_file_cannot_hold_is_found_in_a_graph() {
    let bad = [
        Operation::send(1, 7, 0),
        Operation::recv(1, 9, 0),
        Operation::send(1, 0, 0),
        Operation::recv(1, 0, 0),
    ];
    let graph = graph_of(&bad, &[(0, 0), (1, 2), (2, 3), (3, 1)]);
    let text: Vec<String> = validate(&graph).iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "rank 0, operation 0: peer 7 is out of range, the schedule has 1 rank",
            "rank 0, operation 1: peer 9 is out of range, the schedule has 1 rank",
            "rank 0, operation 2: sends to itself",
            "rank 0, operation 0: depends on itself",
            "rank 0: operations form a dependency cycle: operation 1 → operation 3 → operation 2 → operation 1",
            "rank 0, operation 1: 1 receive from rank 9 with tag 0 never gets a message",
        ]
    );
}

#[test]
fn severities() {
    let found = findings("num_ranks 1\nrank 0 { send 8b to 0; recv 4b from 0; send 1b to 0 tag 1 }");
    let severities: Vec<Severity> = found.iter().map(Finding::severity).collect();
    assert_eq!(severities, [Severity::Warning, Severity::Warning, Severity::Warning, Severity::Error]);
    assert!(found.iter().all(|finding| finding.rank() == 0));
}

#[test]
fn leftovers_are_counted_by_source_and_tag() {
    let goal = "num_ranks 3
        rank 0 { send 8b to 1 tag 3; send 8b to 1 tag 3; send 8b to 1 tag 4 }
        rank 1 { recv 8b from 0 tag 3; recv 8b from 2 tag 3; recv 8b from 2 tag 3 }";
    assert_eq!(
        messages(goal),
        [
            "rank 0, operation 1: 1 message to rank 1 with tag 3 is never received",
            "rank 0, operation 2: 1 message to rank 1 with tag 4 is never received",
            "rank 1, operation 1: 2 receives from rank 2 with tag 3 never get a message",
        ]
    );
}

#[test]
fn a_wildcard_may_take_what_it_matches() {
    let of = |receives: &str| {
        messages(&format!(
            "num_ranks 3\nrank 0 {{ send 8b to 2 tag 1; send 8b to 2 tag 1 }}\nrank 1 {{ send 8b to 2 tag 5 }}\nrank 2 {{ {receives} }}"
        ))
    };
    assert_eq!(of("recv 8b from -1 tag 1; recv 8b from 0 tag -1; recv 8b from -1 tag -1"), [""; 0]);
    assert_eq!(
        of("recv 8b from -1 tag 5; recv 8b from -1 tag 5; recv 8b from 0 tag 1; recv 8b from 0 tag 1"),
        ["rank 2, operation 1: 1 receive from any rank with tag 5 never gets a message"]
    );
    assert_eq!(
        of("recv 8b from 1 tag -1"),
        ["rank 0, operation 0: 2 messages to rank 2 with tag 1 are never received"]
    );
    assert_eq!(
        of("recv 8b from -1 tag 1; recv 8b from -1 tag 1; recv 8b from 0 tag 1; recv 8b from 1 tag 5"),
        ["rank 2: 3 messages are sent to it, but it receives 4"]
    );
}

#[test]
fn small_receives_are_found_in_order() {
    let goal = "num_ranks 2
        rank 0 { send 8b to 1; send 9b to 1; send 10b to 1 }
        rank 1 { recv 8b from 0; recv 8b from 0; recv 1b from 0 }";
    let first = SizeMismatch { send: 1, recv: 1, message_bytes: 9, receive_bytes: 8 };
    assert_eq!(findings(goal), [Finding::ReceiveTooSmall { from: 0, rank: 1, tag: 0, count: 2, first }]);
    assert_eq!(
        messages(goal),
        [
            "rank 1, operation 1: 2 receives from rank 0 with tag 0 are smaller than the message, this one 8 of 9 bytes"
        ]
    );
    assert_eq!(
        messages("num_ranks 2\nrank 0 { send 8b to 1 }\nrank 1 { recv 4b from 0 }"),
        [
            "rank 1, operation 0: 1 receive from rank 0 with tag 0 is smaller than the message, this one 4 of 8 bytes"
        ]
    );
}
