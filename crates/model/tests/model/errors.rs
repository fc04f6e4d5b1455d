//! Error messages as users see them. They are part of the interface.

use straggler_model::{Network, units};

fn said<T, E: std::fmt::Display>(result: Result<T, E>) -> String {
    match result {
        Ok(_) => "accepted".into(),
        Err(fault) => fault.to_string(),
    }
}

#[test]
fn units_say() {
    let cases = [
        (
            said(units::time("5")),
            "`5` has no unit: write it like 5ms or 5s (known: ps, ns, us (or µs), ms, s, min)",
        ),
        (said(units::time("5h")), "`5h` has the unknown unit `h` (known: ps, ns, us (or µs), ms, s, min)"),
        (
            said(units::time("fast")),
            "`fast` is not a time: it does not start with a number; write it like 5.33us",
        ),
        (said(units::time("-5us")), "`-5us` is negative: a time is 0 or more"),
        (said(units::time("99999999s")), "`99999999s` is too large: a time is at most 213 days (2^64 ps)"),
        (
            said(units::time("1.2.3s")),
            "`1.2.3s` is not a time: it does not start with a number; write it like 5.33us",
        ),
        (
            said(units::time("0.1234567890123456789012345s")),
            "`0.1234567890123456789012345s` has more than 24 digits: round it",
        ),
        (said(units::bytes("0.5B")), "`0.5B` is not a whole number of bytes"),
        (
            said(units::bytes("1Mib")),
            "`1Mib` has the unknown unit `Mib` (known: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB); did you mean `MiB`?",
        ),
        (
            said(units::time("1msec")),
            "`1msec` has the unknown unit `msec` (known: ps, ns, us (or µs), ms, s, min); did you mean `ms`?",
        ),
        (said(units::time("1xs")), "`1xs` has the unknown unit `xs` (known: ps, ns, us (or µs), ms, s, min)"),
        (
            said(units::period("1khz")),
            "`1khz` has the unknown unit `khz` (known: Hz, kHz, MHz, GHz); did you mean `kHz`?",
        ),
        (said(units::period("0Hz")), "`0Hz` is zero: remove the source or use `none`"),
        (said(units::period("10")), "`10` has no unit: write it like 10Hz (known: Hz, kHz, MHz, GHz)"),
        (said(units::per_byte("0GB/s")), "`0GB/s` is zero: write 0 for bytes that take no time"),
        (
            said(units::per_byte("1s")),
            "`1s` is too large: a time per byte is at most 4.29 ms per byte (2^32 ps)",
        ),
        (
            said(units::per_byte("6")),
            "`6` has no unit: write it like 6ns (known: a time per byte (6ns, 1.1ps, 0.6ns/B) or a bandwidth (kB/s, \
             MB/s, GB/s, TB/s, MiB/s, GiB/s, Mb/s, Gb/s, Tb/s))",
        ),
    ];
    for (said, expected) in cases {
        assert_eq!(said, expected);
    }
}

#[test]
fn networks_say() {
    let cases = [
        (
            "L=2500,o=1us,g=1us,G=6ns",
            "network parameter L: `2500` has no unit: write it like 2500ms or 2500s (known: ps, ns, us (or µs), ms, s, min)",
        ),
        (
            "l=2500ns",
            "unknown network parameter `l` (known: L, o, os, or, g, G, O, S, overlap); did you mean `L`?",
        ),
        ("L=1us,os=1us,g=1us", "the network lacks or, G: L, o (or os and or), g and G are required"),
        ("L=1us,o=1us,os=1us,g=1us,G=1ns", "network parameter os is given twice"),
        ("L=1us,G", "`G` is not KEY=VALUE, like L=2500ns"),
        ("L=2000min,o=0,g=0,G=0", "network parameter L is 120,000 s, longer than a day: check the unit"),
        ("", "the network is empty: give a preset, L=…,o=…,g=…,G=… or a .toml file"),
    ];
    for (text, expected) in cases {
        assert_eq!(said(Network::parse(text)), expected);
    }
    assert_eq!(Network::parse("xt4").unwrap(), Network::parse("XT-4").unwrap());
    let fault = said(Network::parse("chick"));
    assert!(fault.starts_with("unknown network `chick` (presets: chic, altix,"), "{fault}");
    assert!(fault.ends_with("or a .toml file); did you mean `chic`?"), "{fault}");
    let fault = said(Network::load("/nowhere/n.toml"));
    assert!(fault.starts_with("/nowhere/n.toml cannot be read: "), "{fault}");
}

#[test]
fn network_files_say() {
    let base = "name = \"n\"\nL = \"1us\"\no = \"1us\"\ng = \"1us\"\n";
    let fault = said(Network::from_toml(&format!("{base}G = \"6\"\n")));
    assert!(fault.contains("line 5, column 5") && fault.contains("`6` has no unit"), "{fault}");
    let fault = said(Network::from_toml(&format!("{base}G = \"6ns\"\nlatency = 1\n")));
    assert!(fault.contains("line 6, column 1") && fault.contains("unknown key `latency`"), "{fault}");
    assert_eq!(
        said(Network::from_toml(base)),
        "the network lacks G: L, o (or os and or), g and G are required"
    );
    let level = format!("{base}G = 0\n[[level]]\nname = \"node\"\n");
    assert_eq!(
        said(Network::from_toml(&level)),
        "level `node`: give either ranks_per_group = 8 or groups = [0, 0, 1, 1]"
    );
    assert_eq!(
        said(Network::from_toml(&format!("{level}ranks_per_group = 8\nL = 0\n"))),
        "the network's level `node` lacks o, g, G: L, o (or os and or), g and G are required"
    );
    let fault = said(Network::from_toml(&format!("version = 2\n{base}G = 0")));
    assert_eq!(fault, "the network file has version 2, but this program reads version 1");
}
