//! The all-to-all of the IBM SP2, resampled from exchange times (Tabe, Hardwick and Stout).

use crate::kernel::prelude::*;
use crate::papers::reproduce::comparison::{Comparison, Quantity};
use crate::papers::reproduce::{Findings, Setting, Size, Work};
use crate::{latency::file::Exchanges, papers::reproduce::studies::Description};
use straggler_model::stats::{histogram, mean};
use straggler_model::{philox::Stream, samples};
use straggler_noise::{Injection, NoiseSpec, Phases};
use straggler_report::page::{Histogram, HistogramSeries, Line, Lines, Role};
use straggler_sim::resampling::{Distributions, Model, Watch, exchanges, throughput as throughput_of};

fn samples_of(size: Size) -> u32 {
    match size {
        Size::Quick => 10_000,
        Size::Full => 100_000,
    }
}

fn work(size: Size, processors: &[u32]) -> Work {
    let samples = u64::from(samples_of(size));
    let each: u64 = processors.iter().map(|&count| exchanges(count)).sum();
    Work { runs: samples * processors.len() as u64, messages: samples * each }
}

fn resample(
    times: &[Time],
    noise: Option<&Injection>,
    processors: &[u32],
    setting: &Setting<'_>,
) -> Outcome<Vec<Distributions>> {
    let meter = Meter::new(setting.console, work(setting.size, processors).messages);
    let progress = |more| meter.advance(more);
    let watch = Watch { stop: interrupt::flag(), progress: &progress };
    let model = Model { times, noise, seed: setting.seed };
    let of =
        |&count: &u32| Ok(model.all_to_all(count, samples_of(setting.size), watch)?.into_distributions());
    processors.iter().map(of).collect()
}

/// Table 1.
pub mod throughput {
    use super::*;

    const PROCESSORS: [u32; 5] = [2, 4, 8, 16, 32];
    /// MB/s per processor, for messages of 1 MB.
    const PUBLISHED: [f64; 5] = [40.991, 40.928, 40.533, 39.436, 38.970];
    const BYTES: u64 = 1_000_000;
    /// Relative spread of uninterrupted exchanges: a guess.
    const SPREAD: f64 = 0.005;

    pub fn describe() -> Description {
        Description {
            figure: "Tabe, Hardwick and Stout, Table 1".into(),
            title: "Throughput of an all-to-all on the IBM SP2 falls with the number of processors".into(),
            about: "Every step of the all-to-all should take as long as any other, yet the throughput of a processor \
                    falls from 40.99 to 38.97 MB/s between 2 and 32 processors: each exchange waits for the slower of \
                    two before it."
                .into(),
            input: "The measured times are not public. Uninterrupted exchanges of 1 MB are synthesised \
                around one length, which is chosen so that 2 processors reach the published throughput; \
                interrupts come from the synthesised signature of the SP2 (a dispatcher every 10 ms, a \
                second timer every 6,025 µs, the swapper, page faults). The times of more processors are \
                predicted."
                .into(),
        }
    }

    pub fn work(size: Size) -> Work {
        super::work(size, &PROCESSORS)
    }

    /// The same with measured exchanges: they already include interrupts, and the published numbers are from another
    /// machine.
    fn measured(exchanges: &Exchanges, setting: &Setting<'_>) -> Outcome<Findings> {
        let found = resample(&exchanges.times, None, &PROCESSORS, setting)?;
        let mut findings = Findings { synthesised: exchanges.synthetic, ..Findings::default() };
        let throughput = |(&count, found): (&u32, &Distributions)| {
            throughput_of(count, exchanges.bytes, found.mean_own_ps) / 1e6
        };
        let simulated: Vec<f64> = PROCESSORS.iter().zip(&found).map(throughput).collect();
        for (&count, &simulated) in PROCESSORS.iter().zip(&simulated) {
            let what = format!("{count} processors");
            findings.comparisons.push(Comparison::new(what, Quantity::Throughput, None, simulated));
        }
        let title = format!(
            "Throughput of an all-to-all of {}, from exchanges measured here",
            Bytes(exchanges.bytes)
        );
        let series = vec![line("resampled", Role::Simulated, &simulated)];
        findings.section.add(chart(&title, series, setting).synthetic(exchanges.synthetic));
        Ok(findings)
    }

    pub fn run(setting: &Setting<'_>) -> Outcome<Findings> {
        if let Some(exchanges) = &setting.exchanges {
            return measured(exchanges, setting);
        }
        let spec: NoiseSpec =
            "sp2".parse().map_err(|fault| Failure::usage(format!("the signature of the SP2: {fault}")))?;
        let phases = Phases::Drawn { seed: setting.seed, replica: 0 };
        let noise = Injection::new(spec.load(setting.seed)?.sources, phases, true)?;
        // Two runs find the length, because the share of interrupts hardly depends on it.
        let wanted = BYTES as f64 / (PUBLISHED[0] * 1e6);
        let first = synthesised(wanted, setting.seed);
        let longer = own_of(&resample(&first, Some(&noise), &PROCESSORS[..1], setting)?[0]);
        let times = synthesised(wanted * wanted / longer, setting.seed);
        let found = resample(&times, Some(&noise), &PROCESSORS, setting)?;
        let simulated: Vec<f64> = PROCESSORS
            .iter()
            .zip(&found)
            .map(|(&count, found)| throughput_of(count, BYTES, found.mean_own_ps) / 1e6)
            .collect();
        let mut findings = Findings { synthesised: true, ..Findings::default() };
        for ((&count, published), &simulated) in PROCESSORS.iter().zip(PUBLISHED).zip(&simulated) {
            let input = if count == 2 { " (input)" } else { "" };
            let what = format!("{count} processors{input}");
            findings.comparisons.push(Comparison::new(
                what,
                Quantity::Throughput,
                Some(published),
                simulated,
            ));
        }
        let series = vec![
            line("resampled", Role::Simulated, &simulated),
            line("published", Role::Published, &PUBLISHED),
        ];
        findings.section.add(chart("Throughput of an all-to-all of 1 MB", series, setting).synthetic(true));
        Ok(findings)
    }

    /// The mean time of one processor, in seconds: the paper gives the throughput of a given processor.
    fn own_of(found: &Distributions) -> f64 {
        found.mean_own_ps / 1e12
    }

    /// Exchange times in a narrow bell curve around a length: the mean of four uniform numbers.
    fn synthesised(seconds: f64, seed: u64) -> Vec<Time> {
        let mut random = Stream::new(seed, u32::MAX, 0, 0);
        let mut uniform = || random.below(1 << 53) as f64 / (1u64 << 53) as f64 - 0.5;
        let mut bell = || (uniform() + uniform() + uniform() + uniform()) * 3f64.sqrt();
        (0..2_000).map(|_| Time((seconds * (1.0 + SPREAD * bell()) * 1e12) as u64)).collect()
    }

    fn line(name: &str, role: Role, megabytes: &[f64]) -> Line {
        Line {
            name: name.into(),
            role,
            x: PROCESSORS.iter().map(|&count| count.into()).collect(),
            y: megabytes.iter().map(|megabytes| megabytes * 1e6).collect(),
            low: None,
            high: None,
        }
    }

    fn chart(title: &str, series: Vec<Line>, setting: &Setting<'_>) -> Chart {
        let plot = Lines {
            x: Axis { label: "processors".into(), ..Axis::processes() },
            y: Axis::linear("throughput of a processor", Unit::BytesPerSecond),
            series,
            marks: Vec::new(),
        };
        Chart::new(title, &setting.command, plot)
    }
}

/// Figures 3, 5 and 6.
pub mod idle {
    use super::*;

    const PROCESSORS: [u32; 2] = [4, 32];
    const BINS: u64 = 60;
    /// 2,000 times with the mean and the standard deviation that the paper gives for 1,024 bytes.
    const TIMES: &str = include_str!("../../../../../fixtures/resampling/exchanges.txt");

    pub fn describe() -> Description {
        Description {
            figure: "Tabe, Hardwick and Stout, Figures 3, 5 and 6".into(),
            title: "How long processor 0 waits in an all-to-all of 4 and of 32 processors".into(),
            about: "With more processors hardly any all-to-all passes without idle time, and mean and maximum of the idle \
                    time grow. The paper shows histograms without numbers."
                .into(),
            input: "The measured times are not public: they are synthesised with the published mean of 173 µs and \
                    standard deviation of 58 µs, skewed to the right."
                .into(),
        }
    }

    pub fn work(size: Size) -> Work {
        super::work(size, &PROCESSORS)
    }

    pub fn run(setting: &Setting<'_>) -> Outcome<Findings> {
        let made_up =
            || samples::parse(TIMES.as_bytes(), None).map_err(|fault| Failure::bad_input(fault.to_string()));
        let times = setting.exchanges.as_ref().map_or_else(made_up, |measured| Ok(measured.times.clone()))?;
        let synthesised = setting.exchanges.as_ref().is_none_or(|measured| measured.synthetic);
        let found = resample(&times, None, &PROCESSORS, setting)?;
        let mut findings = Findings { synthesised, ..Findings::default() };
        findings.section.add(exchange_times(&times, setting).synthetic(synthesised));
        let mut series = Vec::new();
        for (count, found) in PROCESSORS.iter().zip(&found) {
            let idle = &found.first_idle_ps;
            let never = idle.partition_point(|&idle| idle == 0) as f64 / idle.len().max(1) as f64;
            let micro = |ps: f64| ps / 1e6;
            let mut add = |what: &str, quantity, value| {
                let what = format!("{count} processors: {what}");
                findings.comparisons.push(Comparison::new(what, quantity, None, value));
            };
            add("all-to-alls in which processor 0 never waits", Quantity::Share, never);
            add("mean idle time", Quantity::Microseconds, micro(mean(idle).unwrap_or(0.0)));
            add("longest idle time", Quantity::Microseconds, micro(idle.last().map_or(0.0, |&ps| ps as f64)));
            series.push(bars(format!("{count} processors"), idle));
        }
        let plot = Histogram {
            x: Axis::linear("idle time of processor 0", Unit::Seconds),
            y: Axis::linear("all-to-alls", Unit::Count),
            series,
        };
        let idle = Chart::new("Idle time of processor 0", &setting.command, plot);
        findings.section.add(idle.synthetic(synthesised));
        Ok(findings)
    }

    /// Figure 3, without the longest 1 %, which would compress the rest.
    fn exchange_times(times: &[Time], setting: &Setting<'_>) -> Chart {
        let mut sorted: Vec<u64> = times.iter().map(|time| time.ps()).collect();
        sorted.sort_unstable();
        sorted.truncate((sorted.len() * 99).div_ceil(100));
        let plot = Histogram {
            x: Axis::linear("time of an exchange", Unit::Seconds),
            y: Axis::linear("exchanges", Unit::Count),
            series: vec![bars("exchanges, without the longest 1 %".into(), &sorted)],
        };
        Chart::new("Exchanges of two processors", &setting.command, plot)
    }

    fn bars(name: String, sorted_ps: &[u64]) -> HistogramSeries {
        let bins = histogram(sorted_ps, BINS);
        let mut edges: Vec<f64> = bins.iter().map(|bin| bin.from as f64 / 1e12).collect();
        edges.extend(bins.last().map(|bin| bin.to as f64 / 1e12));
        HistogramSeries { name, edges, counts: bins.iter().map(|bin| bin.count as f64).collect(), sum: false }
    }
}
