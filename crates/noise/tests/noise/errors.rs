//! Error messages as users see them. They are part of the interface.

use straggler_noise::{NoiseSpec, format, offsets};

fn said<T, E: std::fmt::Display>(result: Result<T, E>) -> String {
    match result {
        Ok(_) => "accepted".into(),
        Err(fault) => fault.to_string(),
    }
}

#[test]
fn noise_says() {
    let cases = [
        (
            "",
            "the noise is empty: write `none`, a trace file, or a source such as periodic:rate=1kHz,duration=100us",
        ),
        (
            "perodic:rate=1kHz",
            "unknown kind of noise `perodic` (known: none, periodic, poisson, delay, trace, signature); did you mean `periodic`?",
        ),
        ("periodic", "periodic lacks period=TIME or rate=FREQUENCY"),
        ("periodic:rate=1kHz", "periodic lacks duration"),
        (
            "periodic:rate=1kHz,duration=1ms",
            "periodic: a duration of 1 ms every 1 ms leaves no time for the process: make it shorter than the period",
        ),
        ("periodic:rate=0Hz,duration=1us", "periodic: rate: `0Hz` is zero: remove the source or use `none`"),
        ("periodic:period=0,duration=1us", "periodic: period: `0` is not a time above 0"),
        ("periodic:period=1ms,rate=1kHz,duration=1us", "periodic: give either period or rate, not both"),
        (
            "periodic:rate=1kHz,duraton=1ms,duration=1us",
            "periodic: unknown key `duraton` (known: name, period, rate, duration, phase, ranks); did you mean `duration`?",
        ),
        (
            "periodic:perod=1ms,duration=1us",
            "periodic: unknown key `perod` (known: name, period, rate, duration, phase, ranks); did you mean `period`?",
        ),
        (
            "poisson:rate=1kHz,duration=pareto(min=5us,alfa=2)",
            "pareto: unknown key `alfa` (known: min, alpha); did you mean `alpha`?",
        ),
        (
            "poisson:rate=1kHz,duration=gamma(1)",
            "poisson: duration: `gamma(1)` is not a time or one of exponential(…), lognormal(…), uniform(…), pareto(…), quantiles(…)",
        ),
        (
            "poisson:rate=1kHz,duration=lognorml(median=5us,sigma=1)",
            "poisson: duration: `lognorml(median=5us,sigma=1)` is not a time or one of exponential(…), lognormal(…), \
             uniform(…), pareto(…), quantiles(…); did you mean `lognormal`?",
        ),
        (
            "poisson:rate=1kHz,duration=exponential(mean=5)",
            "exponential: mean: `5` has no unit: write it like 5ms or 5s (known: ps, ns, us (or µs), ms, s, min)",
        ),
        (
            "poisson:rate=1kHz,duration=exponential(mean=5us",
            "`poisson:rate=1kHz,duration=exponential(mean=5us` has an unclosed parenthesis",
        ),
        (
            "poisson:rate=1kHz,duration=lognormal(median=5us,sigma=-1)",
            "lognormal: sigma: `-1` is not a number above 0",
        ),
        (
            "poisson:rate=1kHz,duration=5us,events=0",
            "poisson: events: `0` is not a number from 1 to 100,000,000",
        ),
        ("delay:at=10us,duration=1us", "delay lacks rank=RANK or ranks=FIRST-LAST"),
        ("delay:rank=a,at=10us,duration=1us", "delay: rank: `a` is not a rank"),
        ("trace:file=a,ranks=7-3", "trace: ranks: `7-3` is not a rank or FIRST-LAST"),
        ("trace:files=a,count=3", "trace: files: `a` is not a path with {rank} in it"),
        ("trace:length=1s", "trace lacks file=PATH or files=PREFIX.{rank}"),
        ("trace:files=a.{rank},count=2,ranks=1", "trace: give either files or ranks, not both"),
        ("signature:ranks=1", "signature lacks name=SYSTEM or file=PATH"),
        ("signature:name=chic,file=a.toml", "signature: give either name or file, not both"),
        (
            "signature:name=chick",
            "there is no built-in signature `chick` (known: chic, altix, jugene, zeptoos, jaguar, sp2; for a file \
             write signature:file=PATH); did you mean `chic`?",
        ),
        (
            "none+",
            "the noise is empty: write `none`, a trace file, or a source such as periodic:rate=1kHz,duration=100us",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(said(text.parse::<NoiseSpec>()), expected, "{text}");
    }
}

#[test]
fn noise_files_say() {
    let cases = [
        ("", "the trace holds no detours: use `none` for no noise"),
        ("# only a comment", "the trace holds no detours: use `none` for no noise"),
        ("1 2\n  x 4\n", "line 2, column 3: `x` is not a number of nanoseconds"),
        ("1 2\n1\n", "line 2, column 1: expected two columns, start and duration in ns, found 1"),
        (
            "1\n",
            "the file holds cycle counts without a clock rate: give --ghz, for example straggler noise convert FILE \
             --ghz 2.1 -o OUT",
        ),
        ("1 2 3\n", "line 1, column 5: expected two columns, start and duration in ns, found 3"),
        ("5 1e30\n", "line 1, column 3: `1e30` ns exceeds the range of simulated time (213 days)"),
        (
            "# cycle number    duration [us]\n0             1x\n",
            "line 2, column 15: `1x` is not a number of microseconds",
        ),
        ("# cycle number    duration [us]\n", "the file holds no samples"),
        (
            "# cycle number    workload iterations\n 0 9.5\n",
            "line 2, column 4: `9.5` is not a whole number of iterations",
        ),
        (
            "# cycle number    workload iterations\n 0 986\n",
            "the file does not state the length of its quanta: give --interval, for example --interval 1ms",
        ),
        ("1 2 3 4 5\n1 2\n", "line 1, column 5: expected two columns, start and duration in ns, found 5"),
        ("\0\u{1}\u{2}", "this is neither a text file of numbers nor a noise file of straggler"),
        (
            "# Measurement period: 1.00 s\n1100000000 5\n",
            "line 2, column 1: this detour starts after the end of the trace at 1 s: correct its `# Measurement \
             period` or give length=TIME",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(said(format::read(text.as_bytes(), None, &Default::default())), expected, "{text}");
    }
    assert_eq!(
        said(offsets::parse(b"1\n-2\n")),
        "line 2, column 1: `-2` is negative; times are 0 ns or more"
    );
}
