//! Hints as text: a possible cause of the shape, and the evidence.

use crate::kernel::prelude::*;
use crate::{latency::diagnose::apart, latency::words::time};
use straggler_analysis::latency::diagnose::{
    AbovePeers, BusyHost, GroupFound, Hint, Oversubscribed, PairSplit, SharedCore, SplitKind,
};
use straggler_analysis::latency::noise::NoiseTail;
use straggler_analysis::latency::pairs::{Cluster, Explanation, Pairs, Property, PropertyValue};
use straggler_analysis::latency::stationarity::{Stationarity, Steadiness};

/// A hint as text.
#[derive(Serialize)]
pub struct HintAnswer {
    pub hint: &'static str,
    pub series: String,
    pub summary: String,
    pub evidence: Vec<String>,
}

/// A mode whose ends are within this factor shows an event of constant length.
const ONE_LENGTH: f64 = 1.25;

/// `with_noise`: whether a noise recording was given.
pub fn phrase(hint: &Hint, groups: &[GroupFound], with_noise: bool) -> HintAnswer {
    let (number, name, summary, evidence) = match hint {
        Hint::AbovePeers(found) => return above_peers(found),
        Hint::Busy(busy) => return busy_host(busy),
        Hint::Oversubscribed(crowd) => return oversubscribed(crowd),
        Hint::SameCore(shared) => return same_core(shared),
        Hint::SmallMode { group, centre_ps, weight, low_ps, high_ps } => {
            let of_one_length = *high_ps < ONE_LENGTH * *low_ps;
            let summary = format!(
                "{} of the trials form a separate mode at {}: a rare event{}.",
                percent(*weight),
                time(*centre_ps),
                if of_one_length { " of constant length" } else { "" }
            );
            let spread = format!("The mode reaches from {} to {}.", time(*low_ps), time(*high_ps));
            (*group, "small-mode", summary, if of_one_length { Vec::new() } else { vec![spread] })
        }
        Hint::NarrowPeak { group, centre_ps, weight } => (
            *group,
            "narrow-peak",
            format!(
                "{} of the trials form a narrow peak at {} on top of widely spread times: an event of \
                 constant length.",
                percent(*weight),
                time(*centre_ps)
            ),
            Vec::new(),
        ),
        Hint::HeavyTail { group, share } => (
            *group,
            "heavy-tail",
            format!(
                "The tail is heavy: the slowest 1 % of the trials take {} of the total time.",
                percent(*share)
            ),
            vec![format!("The maximum is {}.", time(groups[*group].trials.max_ps))],
        ),
        Hint::ModesByPair { group } => {
            let (summary, evidence) = by_pair(&groups[*group]);
            (*group, "modes-by-pair", summary, evidence)
        }
        Hint::SeveralModes { group } => {
            (*group, "several-modes", several_modes(&groups[*group]).into(), vec![modes(&groups[*group])])
        }
        Hint::CoarseTimer { group } => {
            let (summary, evidence) = coarse(&groups[*group]);
            (*group, "coarse-timer", summary, evidence)
        }
        Hint::TimerCost { group, share } => (
            *group,
            "timer-cost",
            format!(
                "Reading the timer costs {} of the measured time: time several operations at once.",
                percent(*share)
            ),
            vec![format!("A pair of readings takes {}.", time(groups[*group].timer_ps.unwrap_or(0.0)))],
        ),
        Hint::TickSteps { group } => {
            let (summary, evidence) = ticks(&groups[*group], with_noise);
            (*group, "tick-steps", summary, evidence)
        }
        Hint::NotSteady { group } => {
            let (summary, evidence) = unsteady(&groups[*group].stationarity);
            (*group, "not-steady", summary, evidence)
        }
        Hint::SlowProcess { group, process } => (
            *group,
            "slow-process",
            format!("Process {} is slow with every peer: check its node, core and neighbours.", process.rank),
            vec![format!(
                "Its {} typically take {}{} times as long as others of their kind.",
                counted(process.pairs as u64, "pair", "pairs"),
                at_least(process.at_least),
                significant(process.ratio)
            )],
        ),
        Hint::SlowPair { group, pair } => (
            *group,
            "slow-pair",
            format!(
                "The pair {}–{} is slow, but neither of its processes is: check the link between them.",
                pair.from, pair.to
            ),
            vec![format!(
                "It takes {}{} times as long as others of its kind.",
                at_least(pair.at_least),
                significant(pair.ratio)
            )],
        ),
        Hint::Noise { group } => {
            let (summary, evidence) = groups[*group].noise.as_ref().map(noise).unwrap_or_default();
            (*group, "noise", summary, evidence)
        }
    };
    HintAnswer { hint: name, series: groups[number].name.clone(), summary, evidence }
}

/// Marks a median that lies beyond the bins.
fn at_least(is_bound: bool) -> &'static str {
    if is_bound { "at least " } else { "" }
}

/// Without a recording of each pair, nothing tells whether pairs or trials differ.
fn several_modes(group: &GroupFound) -> &'static str {
    if group.labels.pair.is_none() && group.labels.peers.is_some_and(|peers| peers > 1) {
        "The times have several modes. Record each pair separately to see whether pairs or trials differ."
    } else {
        "The times have several modes."
    }
}

/// "4.60 µs (60 %) and 5.70 µs (40 %)".
fn modes(group: &GroupFound) -> String {
    let one = |centre: f64, weight: f64| format!("{} ({})", time(centre), percent(weight));
    let list: Vec<String> = group.weighty_modes().map(|mode| one(mode.centre_ps, mode.weight)).collect();
    format!("Modes: {}.", list.join(", "))
}

fn busy_host(busy: &BusyHost) -> HintAnswer {
    let host = busy.host.as_deref().unwrap_or("The machine");
    HintAnswer {
        hint: "busy-machine",
        series: "all series".into(),
        summary: format!(
            "{host} was busy with other programs: the times show the scheduler too. Measure on an idle machine; \
             `straggler assess` names the programs that take the cores.",
        ),
        evidence: vec![format!(
            "When the measurement began, the load average was {} on {}.",
            significant(busy.load),
            cores(busy.cores)
        )],
    }
}

fn oversubscribed(crowd: &Oversubscribed) -> HintAnswer {
    HintAnswer {
        hint: "oversubscribed",
        series: "all series".into(),
        summary: format!(
            "{} has more processes than cores: they wait for each other, and the times show the scheduler \
             rather than communication. Use fewer processes.",
            crowd.host
        ),
        evidence: vec![format!("There are {} processes for {}.", crowd.processes, cores(crowd.cores))],
    }
}

/// "2 cores"; a cgroup limit may be a fraction of a core.
fn cores(number: f64) -> String {
    match number.fract() == 0.0 {
        true => counted(number as u64, "core", "cores"),
        false => format!("{} cores", significant(number)),
    }
}

fn same_core(shared: &SharedCore) -> HintAnswer {
    let ranks: Vec<String> = shared.ranks.iter().map(u32::to_string).collect();
    HintAnswer {
        hint: "same-core",
        series: "all series".into(),
        summary: format!(
            "Several processes ran on core {} of {}: they wait for each other, and the times show the \
             scheduler rather than communication. Bind each process to its own core.",
            shared.core, shared.host
        ),
        evidence: vec![format!("Ranks on this core: {}.", ranks.join(", "))],
    }
}

fn above_peers(found: &AbovePeers) -> HintAnswer {
    let AbovePeers { without, with, centre_ps, at, .. } = found;
    let fast: Vec<f64> = at.iter().map(|at| at.fast_peers).collect();
    let mean = fast.iter().sum::<f64>() / fast.len().max(1) as f64;
    let constant = fast.len() > 1 && fast.iter().all(|fast| (fast / mean - 1.0).abs() < 0.1);
    let few = counted(u64::from(*without), "peer", "peers");
    let mut evidence = vec![format!("Up to {few} there is no mode near {}.", time(*centre_ps))];
    evidence.extend(at.iter().map(|at| {
        format!(
            "With {} peers it holds {} of the trials: {} not show it.",
            at.peers,
            percent(at.weight),
            counted(at.fast_peers.round() as u64, "peer does", "peers do")
        )
    }));
    if constant {
        evidence.push(format!(
            "About {} fast at any number of peers, as if resources were reserved for that many.",
            counted(mean.round() as u64, "peer stays", "peers stay")
        ));
    }
    HintAnswer {
        hint: "above-peers",
        series: found.name.clone(),
        summary: format!(
            "A mode at {} appears above {few} (seen with {with}): per-peer resources run out, such as \
             eager buffers or connections of the MPI library. Look up its limit on peers.",
            time(*centre_ps)
        ),
        evidence,
    }
}

fn by_pair(group: &GroupFound) -> (String, Vec<String>) {
    let Some(split) = group.split else { return Default::default() };
    let PairSplit { kind, centres_ps: [low, high], fast, slow, both, .. } = split;
    let (low, high) = (time(low), time(high));
    let explained = group.pairs.as_ref().and_then(Pairs::explanation);
    let unknown_switches = group.pairs.as_ref().and_then(unknown_switches);
    let number = group.weighty_modes().count();
    let clusters = group.pairs.as_ref().map_or(&[][..], |pairs| pairs.clusters.as_slice());
    let shares = if kind == SplitKind::ByPair && number > 2 && clusters.len() > 2 {
        let near = |(place, cluster): (usize, &Cluster)| {
            let are = if place == 0 { " pairs are" } else { "" };
            format!("{}{are} near {}", cluster.pairs, time(cluster.median_ps))
        };
        format!("{}.", clusters.iter().enumerate().map(near).collect::<Vec<_>>().join(", "))
    } else {
        format!("{fast} pairs are near {low}, {slow} near {high}, {both} are in both.")
    };
    let mut evidence = vec![modes(group), shares];
    let split_by_pair = match number {
        3 => "Three modes split by pair".to_string(),
        4.. => format!("{number} modes split by pair"),
        _ => "Two modes split by pair".into(),
    };
    let slow_ones = group.pairs.as_ref().is_some_and(Pairs::slow_ones_are_a_cluster);
    let summary = match (kind, explained) {
        (SplitKind::ByPair, None) if slow_ones => {
            format!("{split_by_pair}: the slow pairs are those of the slow process or pair above.")
        }
        (SplitKind::ByPair, best)
            if unknown_switches.is_some() && !best.is_some_and(Explanation::is_exact) =>
        {
            format!("{split_by_pair}, and the switches of the nodes are unknown: name them with --topology.")
        }
        (SplitKind::ByPair, Some(best)) => {
            let groups = match number {
                3 => "three".to_string(),
                4.. => number.to_string(),
                _ => "two".into(),
            };
            format!("The pairs fall into {groups} groups, by {}: the cause is the topology.", best.property)
        }
        (SplitKind::ByPair, None) => format!(
            "{split_by_pair}, and no known placement of the processes explains which: the cause is an \
             unknown part of the network, or a protocol that depends on the peer."
        ),
        (SplitKind::WithinPairs, _) => {
            "Every pair has trials in both modes: the cause is not the topology but affects every pair, \
             such as two protocols, a path chosen per message, or interrupts."
                .into()
        }
        (SplitKind::Mixed, _) => {
            "Some pairs are in one mode, some in both: the pairs differ, but that is not the only cause."
                .into()
        }
    };
    if let Some(pairs) = &group.pairs {
        evidence.extend(pairs.explanations.first().map(agreement));
    }
    evidence.extend(unknown_switches);
    (summary, evidence)
}

/// What nodes explain, if pairs between nodes differ and the switches are unknown.
fn unknown_switches(pairs: &Pairs) -> Option<String> {
    let of = |property| pairs.explanations.iter().find(|found| found.property == property);
    let are_known = of(Property::Switch).or(of(Property::SwitchLevel)).is_some();
    let advice = "give their switches with --topology FILE, in the format of Slurm's topology.conf";
    match of(Property::Node).map(|node| &node.values[..]) {
        _ if are_known => None,
        Some([near, far]) if near.is_alike() && !far.is_alike() && pairs.clusters.len() > 2 => Some(format!(
            "The node explains which pairs are near {}. The {} pairs of different nodes still take from {} to {}: {advice}.",
            time(near.median_ps),
            far.pairs,
            time(far.low_ps),
            time(far.high_ps)
        )),
        None if pairs.all_are == Some("different nodes") => {
            Some(format!("All pairs are on different nodes: {advice}."))
        }
        _ => None,
    }
}

fn agreement(best: &Explanation) -> String {
    let value = |value: &PropertyValue| {
        let pairs = counted(value.pairs as u64, "pair", "pairs");
        match value.is_alike() {
            true => format!("{}: {pairs} near {}", value.name, time(value.median_ps)),
            false => {
                format!("{}: {pairs} from {} to {}", value.name, time(value.low_ps), time(value.high_ps))
            }
        }
    };
    let values: Vec<String> = best.values.iter().map(value).collect();
    let agree = match best.is_exact() {
        true => "form exactly the clusters".into(),
        false => format!(
            "agree with the clusters to {} (adjusted mutual information)",
            percent(best.agreement.max(0.0))
        ),
    };
    format!("Grouped by {} ({}), the pairs {agree}.", best.property, values.join("; "))
}

fn coarse(group: &GroupFound) -> (String, Vec<String>) {
    let Some(steps) = group.steps else { return Default::default() };
    let summary = format!(
        "The timer steps by {}, a median trial is {} steps: use a finer timer, or time several operations at once.",
        time(steps.step_ps),
        significant(steps.median_steps)
    );
    (
        summary,
        vec![format!(
            "The middle 98 % of the trials have only {} distinct values, evenly spaced.",
            steps.values
        )],
    )
}

fn ticks(group: &GroupFound, with_noise: bool) -> (String, Vec<String>) {
    let Some(ticks) = group.ticks else { return Default::default() };
    let tick = time(ticks.tick_ps);
    let summary = format!(
        "The tail comes in steps of {tick}, {}: the operating system ran other processes on the core.{}",
        if ticks.known { "the timer tick of this kernel" } else { "like the timer ticks of the kernel" },
        if with_noise {
            ""
        } else {
            " Record the noise with `straggler noise measure` and pass the file to --with-noise."
        }
    );
    let evidence = format!(
        "Of {} more than half a tick above the median, {} lie on whole ticks, at {}; 25 % are expected by \
         chance.",
        counted(ticks.trials, "trial", "trials"),
        percent(ticks.share),
        counted(ticks.teeth as u64, "multiple", "different multiples")
    );
    (summary, vec![evidence])
}

fn unsteady(found: &Stationarity) -> (String, Vec<String>) {
    let mut evidence = Vec::new();
    let sentence = |text: String| {
        let mut letters = text.chars();
        letters
            .next()
            .map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
    };
    evidence.extend(found.warm_up.map(|first| sentence(apart(first, "first "))));
    evidence.extend(found.bursts.map(|slow| sentence(apart(slow, ""))));
    if let Some(trend) = found.trend {
        evidence.push(format!(
            "Over {} cycles, the medians change by {} (Mann–Kendall: p-value {}).",
            grouped(found.cycles as u64),
            crate::latency::words::signed_percent(trend.change),
            crate::latency::words::p_value(trend.p)
        ));
    }
    if let Some(runs) = found.runs {
        evidence.push(format!(
            "The medians form {} runs above or below their own median; {} are expected (Wald–Wolfowitz: \
             p-value {}).",
            runs.runs,
            significant(runs.expected),
            crate::latency::words::p_value(runs.p)
        ));
    }
    let summary = match found.verdict {
        Steadiness::TooFew | Steadiness::WarmsUp if found.warm_up.is_some() => {
            "The run begins with a warm-up: its first cycles differ from all others. Remove them, or warm \
             up longer."
        }
        Steadiness::Drifts => "The times drift over the run: the quantiles mix different levels.",
        Steadiness::Jumps => {
            "The times jump between lasting levels: another program ran, or the clock speed changed."
        }
        Steadiness::Alternates => {
            "The times alternate between levels from cycle to cycle: something changes with every cycle, such as a core, a \
             buffer or a path."
        }
        Steadiness::Bursts => "A few cycles are far slower than the others: another program ran for a while.",
        Steadiness::SpreadChanges => "Cycles vary more in one half of the run than in the other.",
        Steadiness::Steady | Steadiness::TooFew | Steadiness::OutsideBins | Steadiness::WarmsUp => "",
    };
    (summary.into(), evidence)
}

fn noise(tail: &NoiseTail) -> (String, Vec<String>) {
    let (trials, from) = (percent(tail.explained), time(tail.from_ps));
    let shares = match tail.explained_time {
        Some(longer) => format!(
            "{trials} of the trials beyond {from}, and {} of the extra time they take.",
            percent(longer)
        ),
        None => format!(
            "{trials} of the trials beyond {from}; the share of their time is unknown, because some lie \
             beyond the last bin."
        ),
    };
    let summary = match tail.explained_time.unwrap_or(tail.explained) {
        _ if tail.overpredicts => format!(
            "The noise recording does not match: it predicts {} of the trials beyond {from}, and only {} \
             were measured. The effect of the noise is unknown: record it on the same cores at the same \
             time.",
            percent(tail.predicted),
            percent(tail.measured)
        ),
        share if share >= 0.7 => format!("The noise explains the tail: {shares}"),
        share if share >= 0.3 => format!("The noise explains part of the tail: {shares}"),
        _ => format!("The noise explains only {shares}"),
    };
    let evidence = vec![format!(
        "{} of the trials are longer than {from}; {} detours per second, hitting {} in each trial, predict \
         {}.",
        percent(tail.measured),
        significant(tail.rate_hz),
        counted(u64::from(tail.processes), "process", "processes"),
        percent(tail.predicted)
    )];
    (summary, evidence)
}
