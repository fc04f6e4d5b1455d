//! Findings of an assessment of a cluster, each listed once. The console, the page and the JSON all read this list.

use crate::assess::nodes::Report;
use crate::kernel::pages::{Finding, FindingKind};
use crate::kernel::prelude::*;
use straggler_analysis::nodes::{Gain, Removal, Scale, Unit, outliers};
use straggler_measure::sources::names::is_program;
use straggler_model::words::list_up_to;

/// Most names in a sentence.
const NAMES: usize = 5;

/// The name of unnamed noise.
const UNNAMED: &str = "unnamed";

/// A program with this share of a node's time is a job, not system noise.
const JOB: f64 = 0.01;

pub fn findings(report: &Report) -> Vec<Finding> {
    let of = |kind: FindingKind| move |text: String| Finding { kind, text };
    // What costs time comes first.
    let mut first = [Some(worst(report)), replaced(report)];
    let any = |helps: fn(&Scale) -> bool| report.costs.scales.iter().any(helps);
    let source = any(|scale| scale.removals.first().is_some_and(|removal| removal.gain.helps()));
    if !source && any(|scale| scale.replaced.iter().any(Gain::helps)) {
        first.reverse();
    }
    let verdict = first.into_iter().chain([Some(outliers(report)), slow(report)]);
    let verdict = verdict.into_iter().chain([moments(report), compared(report), Some(measured(report))]);
    verdict
        .flatten()
        .map(of(FindingKind::Verdict))
        .chain(notes(report).into_iter().map(of(FindingKind::Note)))
        .collect()
}

/// "nodes" or "cores", as a count.
pub fn units(report: &Report, count: usize) -> String {
    match report.cluster.unit {
        Unit::Node => counted(count as u64, "node", "nodes"),
        Unit::Core => counted(count as u64, "core", "cores"),
    }
}

pub fn unit(report: &Report) -> &'static str {
    match report.cluster.unit {
        Unit::Node => "node",
        Unit::Core => "core",
    }
}

/// "node n0317"; for a core only its name, such as "core 3".
pub fn called(report: &Report, name: &str) -> String {
    match report.cluster.unit {
        Unit::Node => format!("node {name}"),
        Unit::Core => name.to_string(),
    }
}

fn at_the_beginning(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// "2.3 times as fast (2.1 to 2.5)".
pub fn times(gain: &Gain) -> String {
    format!(
        "{} times as fast ({} to {})",
        significant(gain.times),
        significant(gain.low),
        significant(gain.high)
    )
}

/// The scale of the job if something helps there, else the largest scale at which it does.
fn informative<'a, T>(report: &'a Report, found: impl Fn(&'a Scale) -> Option<T>) -> Option<(&'a Scale, T)> {
    let job = report.job_scale();
    let scales = &report.costs.scales;
    let own = scales.iter().filter(|scale| scale.processes == job);
    own.chain(scales.iter().rev()).find_map(|scale| Some((scale, found(scale)?)))
}

/// "Node n0317 loses 4.1 ms per second to kworker; without it …".
fn worst(report: &Report) -> String {
    let best = |scale: &Scale| scale.removals.first().filter(|removal| removal.gain.helps()).cloned();
    match informative(report, best) {
        Some((scale, removal)) => {
            let Removal { source, share, gain, .. } = &removal;
            let name = gain.nodes.first().map_or("", String::as_str);
            format!(
                "{} loses {} per second to {source}; without it an allreduce over {} processes is {}.",
                at_the_beginning(&called(report, name)),
                seconds(*share),
                grouped(scale.processes),
                times(gain)
            )
        }
        None => {
            let largest = report.costs.scales.last().map_or(0, |scale| scale.processes);
            format!(
                "No named source on one {} costs much: removing any one speeds up an allreduce over up to \
                 {} processes by less than 1 %, or not significantly.",
                unit(report),
                grouped(largest)
            )
        }
    }
}

fn replaced(report: &Report) -> Option<String> {
    let helps = |scale: &Scale| scale.replaced.iter().any(Gain::helps).then(|| scale.replaced.clone());
    let Some((scale, gains)) = informative(report, helps) else {
        let any = report.costs.scales.iter().any(|scale| !scale.replaced.is_empty());
        return any.then(|| {
            format!(
                "Replacing the worst by a median {} brings no gain: no {0} stands out by its cost.",
                unit(report)
            )
        });
    };
    let one = |gain: &Gain| match gain.nodes.len() {
        1 => {
            format!("the worst {} ({}) by a median one makes it {}", unit(report), gain.nodes[0], times(gain))
        }
        count => format!("the worst {}: {}", units(report, count), times(gain)),
    };
    let gains: Vec<String> = gains.iter().map(one).collect();
    Some(format!("Over {} processes, replacing {}.", grouped(scale.processes), gains.join("; ")))
}

fn outliers(report: &Report) -> String {
    let count = report.cluster.nodes.len();
    if count < 2 {
        return "Only one core was measured: finding outliers takes at least two.".into();
    }
    let found = &report.outliers;
    let of_kind = |kind| -> Vec<&str> { found.of_kind(kind).map(|node| node.name.as_str()).collect() };
    let said = |kind, what: &str| {
        let names = of_kind(kind);
        (!names.is_empty())
            .then(|| format!("{} {what}: {}", units(report, names.len()), list_up_to(NAMES, &names)))
    };
    let kinds = [
        said(outliers::Kind::Noisier, "noisier than the others"),
        said(outliers::Kind::Quieter, "quieter"),
        said(outliers::Kind::Different, "with the same amount of noise but of another kind"),
    ];
    let kinds: Vec<String> = kinds.into_iter().flatten().collect();
    let alone = match report.cluster.unit {
        Unit::Core => "Only one node took part, so its cores are compared instead. ",
        Unit::Node => "",
    };
    let found_text = if kinds.is_empty() {
        format!("The {} have similar noise.", units(report, count))
    } else {
        format!("Of {}, {}.", units(report, count), kinds.join("; "))
    };
    format!(
        "{alone}{found_text} {} were made; if there are no differences, {} false alarms are expected.",
        counted(found.tests as u64, "test", "tests"),
        found.expected_false_alarms
    )
}

fn slow(report: &Report) -> Option<String> {
    let slow = &report.speeds.slow;
    let first = slow.first()?;
    let noisy = report.outliers.of_kind(outliers::Kind::Noisier).any(|node| node.name == first.name);
    let names: Vec<&str> = slow.iter().skip(1).map(|node| node.name.as_str()).collect();
    let more =
        if names.is_empty() { String::new() } else { format!(" Also slow: {}.", list_up_to(NAMES, &names)) };
    Some(format!(
        "{} is slow{}: it runs at {} of the speed of the others ({} per undisturbed iteration against {}), \
         and a job that waits for it computes at that speed.{more}",
        at_the_beginning(&called(report, &first.name)),
        if noisy { " besides" } else { ", not noisy" },
        percent(first.speed),
        seconds(first.iteration_ps * 1e-12),
        seconds(first.median_iteration_ps * 1e-12)
    ))
}

fn moments(report: &Report) -> Option<String> {
    let moments = report.moments.as_ref()?;
    let width = moments.clearest()?;
    let error = match report.cluster.unit {
        Unit::Node => format!("clocks agree to {}", Time(moments.clock_error_ps)),
        Unit::Core => "one clock".into(),
    };
    let counts = format!(
        "in windows of {}, {} of {0}s were hit together, where independence predicts {2} (p = {3}; {error})",
        unit(report),
        counted(width.pairs, "pair", "pairs"),
        significant(width.pairs_if_independent),
        width.p
    );
    let counts = counts.replacen(unit(report), &Time(width.window_ps).to_string(), 1);
    Some(match moments.together {
        true => {
            let source = moments
                .source
                .as_deref()
                .filter(|&name| name != UNNAMED)
                .map_or_else(String::new, |name| format!(", most of it by {name}"));
            format!("Noise hits several {}s at the same moment{source}: {counts}.", unit(report))
        }
        false => {
            format!("No correlation is found between the noise of the {}s: {counts}.", unit(report))
        }
    })
}

fn compared(report: &Report) -> Option<String> {
    let (compared, baseline) = (report.compared.as_ref()?, report.baseline.as_ref()?);
    let mut text = match &compared.worse[..] {
        [] => format!("Nothing is worse than in {baseline}."),
        worse => {
            let one = |node: &straggler_analysis::nodes::baseline::Worse| {
                let mut ways = Vec::new();
                if node.noisier {
                    let [before, now] = node.lost.map(seconds);
                    let by =
                        node.source.as_ref().map_or_else(String::new, |name| format!(", most by {name}"));
                    ways.push(format!("noisier ({now} per second instead of {before}{by})"));
                }
                if node.slower {
                    ways.push(format!("slower ({})", percent(node.iteration_ps[0] / node.iteration_ps[1])));
                }
                format!("{} is {}", called(report, &node.name), ways.join(" and "))
            };
            let all: Vec<String> = worse.iter().take(NAMES).map(one).collect();
            let more = worse.len().saturating_sub(NAMES);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            format!("Worse than in {baseline}: {}{more}.", all.join("; "))
        }
    };
    text += &format!(
        " {} compared; if nothing changed, {} false alarms are expected.",
        units(report, compared.nodes),
        compared.expected_false_alarms
    );
    for (names, what) in [(&compared.gone, "Missing now"), (&compared.new, "New")] {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if !names.is_empty() {
            text += &format!(" {what}: {}.", list_up_to(NAMES, &names));
        }
    }
    Some(text)
}

/// What was measured.
fn measured(report: &Report) -> String {
    let lengths = report.cluster.nodes.iter().flat_map(|node| &node.cores).map(|core| core.length);
    let lost: f64 = report.summaries.iter().map(|node| node.lost * node.cores as f64).sum();
    format!(
        "{} of {} were measured at the same time for {}; they lose {} of their time.",
        counted(report.cores as u64, "core", "cores"),
        counted(report.hosts.len() as u64, "node", "nodes"),
        seconds(lengths.min().unwrap_or(Time::ZERO).seconds()),
        percent(lost / report.cores.max(1) as f64)
    )
}

fn notes(report: &Report) -> Vec<String> {
    let mut notes = report.notes.clone();
    notes.extend(jobs(report));
    if report.moments.as_ref().is_some_and(|moments| moments.together) {
        notes.push(
            "noise that hits several at the same moment is simulated as if it hit them at different \
             moments: its true cost is lower"
                .into(),
        );
    }
    let copies: Vec<String> = report
        .costs
        .scales
        .iter()
        .filter(|scale| scale.processes as usize > report.cores)
        .map(|scale| grouped(scale.processes))
        .collect();
    if !copies.is_empty() {
        notes.push(format!(
            "only {} were measured: at {} processes each stands for several",
            counted(report.cores as u64, "core", "cores"),
            copies.join(" and ")
        ));
    }
    if !report.speeds.alone.is_empty() {
        let names: Vec<&str> = report.speeds.alone.iter().map(String::as_str).collect();
        notes.push(format!(
            "the speed of {} is not compared: no other has the same processor",
            list_up_to(NAMES, &names)
        ));
    }
    let unnamed: f64 = report
        .summaries
        .iter()
        .flat_map(|node| {
            node.sources
                .iter()
                .filter(|source| source.name == UNNAMED)
                .map(|source| source.lost * node.cores as f64)
        })
        .sum();
    let lost: f64 = report.summaries.iter().map(|node| node.lost * node.cores as f64).sum();
    if unnamed > 0.0 && lost > 0.0 {
        notes.push(format!(
            "{} of the noise has no named source: it is simulated, but not offered for removal",
            percent(unnamed / lost)
        ));
    }
    notes
}

/// User programs on a node.
fn jobs(report: &Report) -> Option<String> {
    let of_node = |node: &straggler_analysis::nodes::Summary| {
        let job = node.sources.iter().find(|source| source.lost >= JOB && is_program(&source.name))?;
        Some(format!("{} ({} on {})", job.name, percent(job.lost), node.name))
    };
    let jobs: Vec<String> = report.summaries.iter().filter_map(of_node).collect();
    let jobs: Vec<&str> = jobs.iter().map(String::as_str).collect();
    (!jobs.is_empty()).then(|| {
        format!(
            "these are other jobs, not the system's own noise: {}; measure idle nodes",
            list_up_to(NAMES, &jobs)
        )
    })
}
