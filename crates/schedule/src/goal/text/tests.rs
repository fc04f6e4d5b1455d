use super::*;
use crate::Operation;
use crate::graph::ANY;
use straggler_model::Time;

fn error(text: &str) -> String {
    parse(text.as_bytes()).unwrap_err().to_string()
}

/// The error message for a line of statements, which is line 3 of the file.
fn statement_error(statement: &str) -> String {
    error(&format!("num_ranks 4\nrank 2 {{\n{statement}\n}}\n"))
}

fn operations(statements: &str) -> Vec<Operation> {
    let graph = parse(format!("num_ranks 4\nrank 0 {{ {statements} }}").as_bytes()).unwrap();
    graph.rank(0).operations().collect()
}

/// All edges, as (before, dependent, on start).
fn edges(graph: &Graph, rank: Rank) -> Vec<(u32, u32, bool)> {
    let view = graph.rank(rank);
    let of = |before| view.dependents(before).map(move |edge| (before, edge.dependent(), edge.on_start()));
    (0..view.len()).flat_map(of).collect()
}

#[test]
fn the_example_of_the_model() {
    let text = "num_ranks 2\n\nrank 0 {\nl1: calc 1000 cpu 0\nl2: send 8b to 1 tag 5 cpu 0 nic 0\nl2 requires l1\n}\n\n\
                rank 1 {\nl1: recv 8b from 0 tag 5\n}\n";
    let graph = parse(text.as_bytes()).unwrap();
    assert_eq!(graph.processes(), 2);
    let expected = [Operation::calc(Time::from_ns(1_000)), Operation::send(8, 1, 5)];
    assert!(graph.rank(0).operations().eq(expected));
    assert!(graph.rank(1).operations().eq([Operation::recv(8, 0, 5)]));
    assert_eq!(edges(&graph, 0), [(0, 1, false)]);
    assert_eq!(edges(&graph, 1), []);
}

#[test]
fn options_come_in_any_order() {
    let expected = Operation { cpu: 3, nic: 255, ..Operation::send(7, 2, 9) };
    for options in ["tag 9 cpu 3 nic 255", "nic 255 tag 9 cpu 3", "cpu 3\tnic 255  tag 9"] {
        assert_eq!(operations(&format!("send 7b to 2 {options}")), [expected]);
    }
    assert_eq!(
        operations("calc 5 nic 1 cpu 2"),
        [Operation { cpu: 2, nic: 1, ..Operation::calc(Time::from_ns(5)) }]
    );
}

#[test]
fn wildcards_have_two_spellings() {
    let expected = Operation::recv(7, ANY, ANY);
    assert_eq!(operations("recv 7b from -1 tag -1"), [expected]);
    assert_eq!(operations("recv 7b from 4294967295 tag 4294967295"), [expected]);
}

#[test]
fn comments_stand_anywhere() {
    let text = "// num_ranks 9\n/* } */ num_ranks /* two */ 2 // ranks\nrank /**/ 1 // }\n{ // rank 0 { }\n\
                a /* } */ : /* \n */ calc /* 1 */ 7 // 8 }\n/* a: calc 9\n}*/ b : calc 8 ; b /* x */ requires a }// end";
    let graph = parse(text.as_bytes()).unwrap();
    assert_eq!((graph.processes(), graph.operations()), (2, 2));
    assert_eq!(edges(&graph, 1), [(0, 1, false)]);
}

#[test]
fn ranks_come_in_any_order_or_not_at_all() {
    let sorted = "num_ranks 5 rank 1 {a: calc 1 cpu 1; b: calc 2; b requires a} rank 3 {calc 3}";
    let shuffled = "num_ranks 5 rank 3 {calc 3} rank 1 {a: calc 1 cpu 1; b: calc 2; b requires a}";
    let graph = parse(sorted.as_bytes()).unwrap();
    assert_eq!(graph, parse(shuffled.as_bytes()).unwrap());
    let lengths: Vec<u32> = (0..5).map(|rank| graph.rank(rank).len()).collect();
    assert_eq!(lengths, [0, 2, 0, 1, 0]);
    assert_eq!(edges(&graph, 1), [(0, 1, false)]);
}

#[test]
fn labels_of_every_form_resolve_in_any_order() {
    let text = "num_ranks 1 rank 0 {
        z9 requires l1
        l1: calc 1\n l01: calc 2\n _: calc 3\n z9: calc 4\n l4000000000: calc 5\n calc: calc 6
        a_b2c: calc 7\n abcdefghi1: calc 8\n l1000000: calc 9
        l01 requires l1\n _ irequires l01\n l4000000000 requires _\n calc requires l4000000000
        a_b2c requires calc\n abcdefghi1 requires a_b2c\n l1000000 requires abcdefghi1
    }";
    let graph = parse(text.as_bytes()).unwrap();
    let expected = [(0, 1), (0, 3), (1, 2), (2, 4), (4, 5), (5, 6), (6, 7), (7, 8)];
    let expected: Vec<_> =
        expected.iter().map(|&(before, dependent)| (before, dependent, before == 1)).collect();
    assert_eq!(edges(&graph, 0), expected);
}

#[test]
fn many_series_of_labels() {
    let mut text = String::from("num_ranks 2\n");
    for rank in 0..2 {
        text += &format!("rank {rank} {{\n");
        for number in 0..30 {
            for series in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] {
                text += &format!("{series}{number}: calc {number}\n");
            }
        }
        text += "j29 requires a0\nj29 requires i28\n}\n";
    }
    let graph = parse(text.as_bytes()).unwrap();
    assert_eq!(edges(&graph, 1), [(0, 299, false), (288, 299, false)]);
}

#[test]
fn the_structure_is_checked() {
    assert_eq!(error(""), "line 1, column 1: `num_ranks N` is missing: put it before the first rank");
    assert_eq!(
        error("\nrank 0 {}"),
        "line 2, column 1: `num_ranks N` is missing: put it before the first rank"
    );
    assert_eq!(
        error("num_ranks 1\n num_ranks 1"),
        "line 2, column 2: `num_ranks` is given twice: keep one of them"
    );
    assert_eq!(error("num_ranks 0"), "line 1, column 1: `num_ranks` is 0: a schedule has at least one rank");
    assert_eq!(
        error("num_ranks 4000000000"),
        "line 1, column 1: num_ranks 4000000000 is too large for a file of 20 bytes, at most 1048596 are accepted: \
         give the number of ranks that take part"
    );
    assert_eq!(
        error("num_ranks 2\nrank 2 {}"),
        "line 2, column 6: rank 2 is out of range: num_ranks is 2, so ranks go from 0 to 1"
    );
    assert_eq!(
        error("num_ranks 2\nrank 1 {}\nrank 1 {}"),
        "line 3, column 1: rank 1 has a second block: merge it into the first"
    );
    assert_eq!(error("num_ranks 2\nfoo"), "line 2, column 1: expected `num_ranks` or `rank`, found `foo`");
    assert_eq!(error("num_ranks x"), "line 1, column 11: expected a number of ranks, found `x`");
    assert_eq!(error("num_ranks 2\nrank 0 calc"), "line 2, column 8: expected `{`, found `calc`");
    assert_eq!(error("num_ranks 2\nrank {"), "line 2, column 6: expected a rank number, found `{`");
    assert_eq!(
        error("num_ranks 2\nrank 0 {\ncalc 1\n"),
        "line 2, column 1, rank 0: the block of this rank is not closed: add `}` after its last operation"
    );
    assert_eq!(
        error("num_ranks 2\nrank 0 { /* }"),
        "line 2, column 10, rank 0: this comment is not closed: add `*/` where it ends"
    );
    assert_eq!(
        error("/* num_ranks 2"),
        "line 1, column 1: this comment is not closed: add `*/` where it ends"
    );
    assert_eq!(
        error("num_ranks 2 \u{e9}"),
        "line 1, column 13: expected `num_ranks` or `rank`, found the byte 0xc3"
    );
}

#[test]
fn statements_are_checked() {
    let cases = [
        ("calc", "column 5, rank 2: expected a length in nanoseconds, found the end of the line"),
        ("calc -5", "column 6, rank 2: expected a length in nanoseconds, found `-5`"),
        ("calc 5 tag 1", "column 8, rank 2: expected the end of the line, found `tag`"),
        ("calc 5 calc 6", "column 8, rank 2: expected the end of the line, found `calc`"),
        (
            "calc 18446744073709552",
            "column 6, rank 2: the length in nanoseconds is too large: at most 18446744073709551",
        ),
        (
            "send 99999999999999999999b to 1",
            "column 6, rank 2: the size in bytes is too large: at most 18446744073709551615",
        ),
        ("send 8 to 1", "column 7, rank 2: expected `b` after the number of bytes, found a blank"),
        ("send 8b from 1", "column 9, rank 2: expected `to`, found `from`"),
        ("recv 8b to 1", "column 9, rank 2: expected `from`, found `to`"),
        (
            "send 8b to 4",
            "column 12, rank 2: peer 4 is out of range: num_ranks is 4, so ranks go from 0 to 3",
        ),
        ("recv 8b from -2", "column 14, rank 2: expected a rank, found `-2`"),
        (
            "send 8b to -1",
            "column 12, rank 2: a send needs a definite destination: only a receive may have the wildcard -1",
        ),
        (
            "send 8b to 1 tag -1",
            "column 18, rank 2: a send needs a definite tag: only a receive may have the wildcard -1",
        ),
        ("send 8b to 1 tag 4294967296", "column 18, rank 2: the tag is too large: at most 4294967295"),
        ("send 8b to 1 cpu 256", "column 18, rank 2: the CPU number is too large: at most 255"),
        ("send 8b to 1 nic 256", "column 18, rank 2: the NIC number is too large: at most 255"),
        (
            "send 8b to 1 tag 1 tag 1",
            "column 20, rank 2: `tag` is given twice for one operation: keep one of them",
        ),
        ("5: calc 1", "column 1, rank 2: expected an operation, a label or `}`, found `5`"),
        ("a: foo", "column 4, rank 2: expected `calc`, `send` or `recv`, found `foo`"),
        ("a b", "column 3, rank 2: expected `:`, `requires` or `irequires` after a label, found `b`"),
        ("a requires", "column 11, rank 2: expected the label of an operation, found the end of the line"),
        ("calc 1 / 2", "column 8, rank 2: expected a comment, `//` or `/*`, found `/`"),
        (
            "a: calc 1; a: calc 2",
            "column 12, rank 2: label `a` is defined twice in this rank: rename one of the operations",
        ),
        (
            "a1: calc 1; a1: calc 2",
            "column 13, rank 2: label `a1` is defined twice in this rank: rename one of the operations",
        ),
        ("a: calc 1; a requires a", "column 12, rank 2: `a` depends on itself: remove this dependency"),
    ];
    for (statement, message) in cases {
        assert_eq!(statement_error(statement), format!("line 3, {message}"), "{statement}");
    }
}

#[test]
fn unknown_labels_come_with_a_guess() {
    assert_eq!(
        statement_error("post: calc 1; pots requires post"),
        "line 3, column 15, rank 2: unknown label `pots`: did you mean `post`?"
    );
    assert_eq!(
        statement_error("l1: calc 1; l40: calc 1; l1 irequires l41"),
        "line 3, column 39, rank 2: unknown label `l41`: did you mean `l40`?"
    );
    assert_eq!(
        statement_error("a: calc 1; a requires elsewhere"),
        "line 3, column 23, rank 2: unknown label `elsewhere`: define it in this rank; labels are local to a rank"
    );
}

#[test]
fn cycles_name_their_operations() {
    assert_eq!(
        statement_error("a: calc 1; b2: calc 2; c: calc 3; b2 requires a; c irequires b2; a requires c"),
        "line 2, column 1, rank 2: operations form a dependency cycle: a → b2 → c → a; remove one of these \
         dependencies"
    );
    let mut long = String::from("l0: calc 0; l0 requires l9;");
    (1..10).for_each(|n| long += &format!("l{n}: calc 0; l{n} requires l{};", n - 1));
    assert_eq!(
        statement_error(&long),
        "line 2, column 1, rank 2: operations form a dependency cycle: l0 → l1 → l2 → l3 → l4 → l5 → l6 → l7 → … (10 \
         in all) → l0; remove one of these dependencies"
    );
}

#[test]
fn a_rank_has_limits() {
    let text = b"num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\nb requires a\nb requires a\n}";
    let message = |operations, dependencies| {
        let fault = read(text, Limits { operations, dependencies }, &mut |_| ()).unwrap_err();
        fault.locate(text).to_string()
    };
    assert_eq!(
        message(1, 9),
        "line 4, column 1, rank 0: this rank has more than 1 operations: split the schedule over more ranks"
    );
    assert_eq!(
        message(9, 1),
        "line 6, column 1, rank 0: this rank has more than 1 dependencies: remove those that follow from others"
    );
}

#[test]
fn the_first_error_of_the_text_is_told() {
    let mut text = String::from("num_ranks 3000\n");
    (0..3000).for_each(|rank| text += &format!("rank {rank} {{\n{}calc x\n}}\n", "calc 1\n".repeat(200)));
    text += "rank";
    assert_eq!(error(&text), "line 203, column 6, rank 0: expected a length in nanoseconds, found `x`");
}

#[test]
fn what_was_consumed_is_told_once() {
    let mut text = String::from("num_ranks 6000\n");
    (0..6000).for_each(|rank| text += &format!("rank {rank} {{\n{}}}\n", "calc 1\n".repeat(300)));
    let mut end = 0;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let ranges: Vec<Range<usize>> = pool.install(|| {
        let mut ranges = Vec::new();
        parse_with(text.as_bytes(), &mut |range| ranges.push(range)).unwrap();
        ranges
    });
    assert!(!ranges.is_empty());
    for range in ranges {
        assert_eq!(range.start, end);
        end = range.end;
    }
    assert!(end < text.len());
}
