//! What is written for Perfetto, read back by a protobuf decoder that shares no code with the writer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use straggler_formats::perfetto;
use straggler_model::Time;
use straggler_trace::format::directory;
use straggler_trace::messages::Messages;
use straggler_trace::{Call, Details, Function, RankTrace, Trace};

fn halo() -> Trace {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/traces/halo"));
    directory::open(&folder).unwrap().0
}

/// A field's value: a number, or the bytes of a text or message.
#[derive(Clone, Debug)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

type Message<'a> = Vec<(u64, Field<'a>)>;

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (&byte, rest) = bytes.split_first().expect("a varint ends");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn decode(mut bytes: &[u8]) -> Message<'_> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (value, rest) = bytes.split_first_chunk().expect("eight bytes");
                bytes = rest;
                Field::Number(u64::from_le_bytes(*value))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(value)
            }
            other => panic!("wire type {other}"),
        };
        fields.push((key >> 3, value));
    }
    fields
}

fn numbers(message: &Message<'_>, field: u64) -> Vec<u64> {
    let of = message.iter().filter(|(number, _)| *number == field);
    of.map(|(_, value)| match value {
        Field::Number(value) => *value,
        Field::Bytes(_) => panic!("field {field} is no number"),
    })
    .collect()
}

fn messages<'a>(message: &Message<'a>, field: u64) -> Vec<&'a [u8]> {
    let of = message.iter().filter(|(number, _)| *number == field);
    of.map(|(_, value)| match value {
        Field::Bytes(bytes) => *bytes,
        Field::Number(_) => panic!("field {field} is a number"),
    })
    .collect()
}

fn text(message: &Message<'_>, field: u64) -> String {
    String::from_utf8(messages(message, field)[0].into()).unwrap()
}

#[test]
fn slices_tracks_and_flows_are_those_of_the_trace() {
    let trace = halo();
    let mut bytes = Vec::new();
    perfetto::write(&trace, &mut bytes).unwrap();
    let file = decode(&bytes);
    let mut threads: BTreeMap<u64, String> = BTreeMap::new();
    let mut depth: BTreeMap<u64, i64> = BTreeMap::new();
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut begun, mut ended): (BTreeSet<u64>, BTreeSet<u64>) = Default::default();
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    for packet in messages(&file, 1) {
        let packet = decode(packet);
        if let [track] = messages(&packet, 60)[..] {
            let track = decode(track);
            if let [process] = messages(&track, 3)[..] {
                threads.insert(numbers(&track, 1)[0], text(&decode(process), 6));
            }
            continue;
        }
        let event = decode(messages(&packet, 11)[0]);
        let (kind, track, time) = (numbers(&event, 9)[0], numbers(&event, 11)[0], numbers(&packet, 8)[0]);
        assert!(last.insert(track, time).unwrap_or(0) <= time, "time goes back on track {track}");
        match kind {
            1 => {
                *depth.entry(track).or_default() += 1;
                *names.entry(text(&event, 23)).or_default() += 1;
                begun.extend(numbers(&event, 47));
            }
            2 => *depth.entry(track).or_default() -= 1,
            3 => ended.extend(numbers(&event, 48)),
            other => panic!("event {other}"),
        }
        assert!(depth[&track] >= 0);
    }
    assert_eq!(threads[&1], "rank 0 on node0");
    assert_eq!(threads.len(), 4);
    assert!(depth.values().all(|&open| open == 0), "{depth:?}");
    assert_eq!(names.values().sum::<u64>(), trace.calls());
    assert_eq!(names["MPI_Isend"], 48);
    let flows = Messages::of_trace(&trace).matched.len();
    assert_eq!((begun.len(), &begun), (flows, &ended));
}

#[test]
fn regions_are_slices_around_their_calls() {
    let mut rank = RankTrace::default();
    for (function, nanoseconds) in
        [(Function::RegionEnter, 5), (Function::Barrier, 6), (Function::RegionLeave, 9)]
    {
        let time = Time::from_ns(nanoseconds);
        match function {
            Function::Barrier => rank.push(Call::new(function, time, time)),
            _ => rank.push_with(Call::new(function, time, time), Details::named("solve")),
        }
    }
    let mut bytes = Vec::new();
    perfetto::write(&Trace { ranks: vec![rank], ..Trace::default() }, &mut bytes).unwrap();
    let packets: Vec<_> = messages(&decode(&bytes), 1).into_iter().map(decode).collect();
    let events = packets.iter().filter(|packet| !messages(packet, 11).is_empty());
    let events: Vec<(u64, u64, String)> = events
        .map(|packet| {
            let event = decode(messages(packet, 11)[0]);
            let name = if messages(&event, 23).is_empty() { String::new() } else { text(&event, 23) };
            (numbers(packet, 8)[0], numbers(&event, 9)[0], name)
        })
        .collect();
    let named = |time, kind, name: &str| (time, kind, name.to_owned());
    let expected = [named(5, 1, "solve"), named(6, 1, "MPI_Barrier"), named(6, 2, ""), named(9, 2, "")];
    assert_eq!(events, expected);
}

#[test]
fn annotations_name_peer_tag_and_bytes() {
    let mut bytes = Vec::new();
    perfetto::write(&halo(), &mut bytes).unwrap();
    let file = decode(&bytes);
    let packets = messages(&file, 1).into_iter().map(decode);
    let mut events = packets.filter(|packet| !messages(packet, 11).is_empty()).map(|packet| {
        let event = messages(&packet, 11)[0];
        decode(event)
    });
    let receive =
        events.find(|event| !messages(event, 23).is_empty() && text(event, 23) == "MPI_Recv").unwrap();
    let annotations: Vec<Message<'_>> = messages(&receive, 4).into_iter().map(decode).collect();
    let value = |name: &str| annotations.iter().find(|one| text(one, 10) == name).unwrap();
    assert_eq!(text(value("peer"), 6), "any");
    assert_eq!(numbers(value("tag"), 4), [9]);
    assert_eq!(numbers(value("received_bytes"), 3), [256]);
    assert_eq!(numbers(value("comm"), 3), [0]);
}
