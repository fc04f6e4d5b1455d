//! The page of a cluster: map, ranking, and what replacing the worst gives.

use super::Report;
use super::findings::{unit, units};
use super::words::{order, remark, replaced};
use crate::commands::assess::{Finding, FindingKind as Kind};
use crate::commands::{command_line, report};
use straggler_analysis::nodes::{Scale as Processes, Unit};
use straggler_model::Time;
use straggler_report::numbers::{grouped, seconds, significant};
use straggler_report::page::{Axis, Bar, Bars, Cell, Chart, Heat, Page, Section, Table, Unit as Of};

/// Bars of a chart at most.
const MOST_BARS: usize = 20;

pub fn page(report: &Report, findings: &[Finding]) -> Page {
    let command = command_line();
    let mut sections = vec![map(report, &command), ranking(report, &command), gains(report, &command)];
    sections.extend(moments(report, &command));
    let nodes = crate::commands::nodes::findings::units(report, report.cluster.nodes.len());
    let mut page = report::page(
        format!("Which {} holds up the job: {nodes}", unit(report)),
        Kind::Verdict.of(findings),
        sections,
    );
    page.facts.add("Nodes", report.hosts.len().to_string());
    page.facts.add("Measured cores", grouped(report.cores as u64));
    page.facts.add("Clocks agree to", report.clock_error.to_string());
    page.facts.add("Network", &report.network.name);
    page.facts.add("Allreduce", format!("{} bytes", report.bytes));
    page.facts.add("Seed", report.seed.to_string());
    page.warnings = Kind::Note.of(findings);
    page
}

/// Every core of every node, and every node over time.
fn map(report: &Report, command: &str) -> Section {
    let mut section = Section::new("Map");
    section
        .text
        .push(format!("Time lost per second. Rows are {}s, numbered as in the table below.", unit(report)));
    let rows: Vec<f64> = (0..report.cluster.nodes.len()).map(|row| row as f64).collect();
    if report.cluster.unit == Unit::Node {
        section.add(Chart::new("Nodes and their cores", command, by_core(report, rows.clone())));
    }
    let windows = report.summaries.iter().map(|node| node.lost_by_window.len()).min().unwrap_or(0);
    if windows > 0 {
        let length = report.cluster.nodes.iter().flat_map(|node| &node.cores).map(|core| core.length).min();
        let step = length.unwrap_or(Time::ZERO).seconds() / windows as f64;
        let values = order(report).iter().filter_map(|&node| report.summaries.get(node));
        let plot = Heat {
            x: Axis::linear("time since the beginning", Of::Seconds),
            y: Axis::linear(unit(report), Of::Count),
            value: Axis::linear("lost per second", Of::Seconds),
            xs: (0..windows).map(|window| window as f64 * step).collect(),
            ys: rows,
            values: values.flat_map(|node| node.lost_by_window.iter().take(windows).copied()).collect(),
        };
        let note = "Noise that hits all at the same moment is an upright stripe.";
        section.add(Chart::new("Over time", command, plot).with_note(note));
    }
    section
}

fn by_core(report: &Report, rows: Vec<f64>) -> Heat {
    let nodes = || order(report).iter().filter_map(|&node| report.cluster.nodes.get(node));
    let most = nodes().map(|node| node.cores.len()).max().unwrap_or(0);
    let mut values = Vec::with_capacity(rows.len() * most);
    for node in nodes() {
        let lost = node.cores.iter().map(|core| {
            let noise: f64 = core.detours.iter().map(|detour| detour.duration.seconds()).sum();
            noise / core.length.seconds()
        });
        // A node with fewer cores has a gap.
        values.extend(lost.chain(std::iter::repeat(f64::NAN)).take(most));
    }
    Heat {
        x: Axis::linear("core", Of::Count),
        y: Axis::linear("node", Of::Count),
        value: Axis::linear("lost per second", Of::Seconds),
        xs: (0..most).map(|core| core as f64).collect(),
        ys: rows,
        values,
    }
}

fn ranking(report: &Report, command: &str) -> Section {
    let mut section = Section::new("Ranking");
    let Some(scale) = report.costs.scales.last() else { return section };
    section.text.push(format!(
        "How long an allreduce would wait for each {} if all others were without noise. One may hide behind another: what \
         replacing them gives is simulated below.",
        unit(report)
    ));
    let bar = |&node: &usize| Bar {
        name: report.cluster.name(node).into(),
        value: scale.waits_ps.get(node).copied().unwrap_or(0.0) * 1e-12,
        low: None,
        high: None,
        note: remark(report, node),
    };
    let plot = Bars {
        x: Axis::linear("expected wait", Of::Seconds),
        bars: scale.order.iter().take(MOST_BARS).map(bar).collect(),
    };
    let title = format!("Waits at {} processes", grouped(scale.processes));
    section.add(Chart::new(title, command, plot));
    section.add(table(report, command));
    section
}

fn table(report: &Report, command: &str) -> Table {
    let waits: Vec<String> =
        report.costs.scales.iter().map(|scale| format!("#wait at {}", grouped(scale.processes))).collect();
    let mut columns = vec!["#row", unit(report), "#cores", "#lost per second", "most to", "#that takes"];
    columns.extend(waits.iter().map(String::as_str));
    columns.extend(["#iteration", "remark"]);
    let mut table = Table::new(units(report, report.cluster.nodes.len()), &columns);
    table.command = command.into();
    for (row, &node) in order(report).iter().enumerate() {
        let Some(summary) = report.summaries.get(node) else { continue };
        let time = |value: f64| Cell::number(seconds(value), value);
        let most = summary.largest_source();
        let count = |count: usize| Cell::number(grouped(count as u64), count as f64);
        let first = [count(row), Cell::text(&summary.name), count(summary.cores), time(summary.lost)];
        let source = [
            Cell::text(most.map_or("", |source| &source.name)),
            most.map_or_else(Cell::default, |source| time(source.lost)),
        ];
        let wait = |scale: &Processes| time(scale.waits_ps.get(node).copied().unwrap_or(0.0) * 1e-12);
        let last = [time(summary.iteration_ps * 1e-12), Cell::text(remark(report, node))];
        table.row(first.into_iter().chain(source).chain(report.costs.scales.iter().map(wait)).chain(last));
    }
    table
}

fn gains(report: &Report, command: &str) -> Section {
    let mut section = Section::new("What to replace, what to remove");
    section.text.push(format!(
        "Simulated: the median over pairs of runs that meet the same draws, and its interval. A {} is replaced by the one in \
         the middle of the ranking.",
        unit(report)
    ));
    for scale in &report.costs.scales {
        let bar = |name: String, gain: &straggler_analysis::nodes::Gain| Bar {
            name,
            value: gain.times,
            low: Some(gain.low),
            high: Some(gain.high),
            note: format!("leaves T / T0 = {}", significant(1.0 + gain.slowdown.median)),
        };
        let worst = scale.replaced.iter().map(|gain| bar(replaced(report, gain), gain));
        let removals = scale.removals.iter().map(|removal| {
            bar(format!("{} without {}", removal.gain.nodes.join(""), removal.source), &removal.gain)
        });
        let bars: Vec<Bar> = worst.chain(removals).collect();
        if bars.is_empty() {
            continue;
        }
        let plot = Bars { x: Axis::linear("times as fast", Of::Factor), bars };
        let all = significant(1.0 + scale.slowdown.median);
        let title = format!("An allreduce over {} processes", grouped(scale.processes));
        let note = format!("With all noise, T / T0 = {all}, in {} replicas.", scale.replicas);
        section.add(Chart::new(title, command, plot).with_note(note));
    }
    section
}

fn moments(report: &Report, command: &str) -> Option<Section> {
    let moments = report.moments.as_ref()?;
    let mut section = Section::new("Noise at the same moment");
    section.text.push(format!(
        "Pairs of {}s that lose much in the same window, and how many there would be if they had nothing to do with each other. \
         No window is shorter than twice the error of the clocks.",
        unit(report)
    ));
    let columns = ["#window", "#windows", "#pairs", "#if independent", "#most at once", "#p"];
    let mut table = Table::new("Coincidences", &columns);
    table.command = command.into();
    for width in &moments.widths {
        let window = Time(width.window_ps);
        table.row([
            Cell::number(window.to_string(), window.seconds()),
            Cell::number(grouped(width.windows as u64), width.windows as f64),
            Cell::number(grouped(width.pairs), width.pairs as f64),
            Cell::number(significant(width.pairs_if_independent), width.pairs_if_independent),
            Cell::number(grouped(width.most), width.most.into()),
            Cell::number(format!("{}", width.p), width.p),
        ]);
    }
    section.add(table);
    Some(section)
}
