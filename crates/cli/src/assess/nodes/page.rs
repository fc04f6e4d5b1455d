//! The page of a cluster: map, ranking, and the gain from replacing the worst nodes.

use crate::assess::nodes::Report;
use crate::assess::nodes::findings::{unit, units};
use crate::kernel::pages::{Finding, FindingKind};
use crate::kernel::prelude::*;
use straggler_analysis::nodes::{Gain, Unit, outliers::Kind};
use straggler_report::numbers::{longer, slowdown};
use straggler_report::page::{Bar, Bars, Heat, Unit as Of};

/// Most bars of a chart.
const MOST_BARS: usize = 20;

pub fn page(report: &Report, findings: &[Finding]) -> Page {
    let command = command_line();
    let mut sections =
        vec![map(report, &command), ranking_chart(report, &command), gains_chart(report, &command)];
    sections.extend(moments(report, &command));
    let nodes = units(report, report.cluster.nodes.len());
    let mut page = pages::page(
        format!("Which {} slows down the job: {nodes}", unit(report)),
        FindingKind::Verdict.select(findings),
        sections,
    );
    page.facts.add("Nodes", report.hosts.len().to_string());
    page.facts.add("Measured cores", grouped(report.cores as u64));
    page.facts.add("Clocks agree to", report.clock_error.to_string());
    page.facts.add("Network", &report.network.name);
    page.facts.add("Allreduce", format!("{} bytes", report.bytes));
    page.facts.add("Seed", report.seed.to_string());
    page.notes = FindingKind::Note.select(findings);
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
            x: Axis::linear("time since the start", Of::Seconds),
            y: Axis::linear(unit(report), Of::Count),
            value: Axis::linear("lost per second", Of::Seconds),
            xs: (0..windows).map(|window| window as f64 * step).collect(),
            ys: rows,
            values: values.flat_map(|node| node.lost_by_window.iter().take(windows).copied()).collect(),
        };
        let note = "A vertical stripe is noise that hits all at the same moment.";
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
        // A node with fewer cores has gaps.
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

fn ranking_chart(report: &Report, command: &str) -> Section {
    let mut section = Section::new("Ranking");
    let Some(scale) = report.costs.scales.last() else { return section };
    section.text.push(format!(
        "How long an allreduce would wait for each {} if all others had no noise. One may hide another: \
         the gain from replacing them is simulated below.",
        unit(report)
    ));
    let bar = |&node: &usize| Bar {
        name: report.cluster.name(node).into(),
        value: scale.waits_ps.get(node).copied().unwrap_or(0.0) * 1e-12,
        note: remark(report, node),
        ..Bar::default()
    };
    let plot = Bars {
        x: Axis::linear("expected wait", Of::Seconds),
        bars: scale.order.iter().take(MOST_BARS).map(bar).collect(),
    };
    let title = format!("Waits at {} processes", grouped(scale.processes));
    section.add(Chart::new(title, command, plot));
    let ranking = ranking(report, usize::MAX);
    section.add(ranking.titled(units(report, report.cluster.nodes.len()), command));
    section
}

fn gains_chart(report: &Report, command: &str) -> Section {
    let mut section = Section::new("What to replace, what to remove");
    section.text.push(format!(
        "Simulated: the median over pairs of runs with the same random draws, and its interval. A {} is \
         replaced by the median one of the ranking.",
        unit(report)
    ));
    for scale in &report.costs.scales {
        let bar = |name: String, gain: &straggler_analysis::nodes::Gain| Bar {
            name,
            value: gain.times,
            low: Some(gain.low),
            high: Some(gain.high),
            note: format!("leaves a slowdown of {}", slowdown(gain.slowdown.median)),
            ..Bar::default()
        };
        let worst = scale.replaced.iter().map(|gain| bar(replaced(report, gain), gain));
        let removals = scale.removals.iter().map(|removal| {
            bar(format!("{} without {}", removal.gain.nodes.join(""), removal.source), &removal.gain)
        });
        let bars: Vec<Bar> = worst.chain(removals).collect();
        if bars.is_empty() {
            continue;
        }
        let plot = Bars { x: Axis::linear("speedup", Of::Factor), bars };
        let all = longer(scale.slowdown.median);
        let title = format!("An allreduce over {} processes", grouped(scale.processes));
        let note = format!("With all noise it takes {all}, in the median of {} replicas.", scale.replicas);
        section.add(Chart::new(title, command, plot).with_note(note));
    }
    section
}

fn moments(report: &Report, command: &str) -> Option<Section> {
    let moments = report.moments.as_ref()?;
    let mut section = Section::new("Noise at the same moment");
    section.text.push(format!(
        "Pairs of {}s that lose much time in the same window, and the number expected if their noise were \
         independent. No window is shorter than twice the clock error.",
        unit(report)
    ));
    let table = Columns::over(&moments.widths)
        .number("window", |row| Cell::ps(row.window_ps))
        .number("windows", |row| Cell::count(row.windows))
        .number("pairs", |row| Cell::count(row.pairs))
        .number("if independent", |row| Cell::significant(row.pairs_if_independent))
        .number("most at once", |row| Cell::count(row.most))
        .number("p", |row| Cell::number(row.p.to_string(), row.p))
        .build();
    section.add(table.titled("Coincidences", command));
    Some(section)
}

/// The nodes, or the cores of one node, in the order of the largest scale.
fn ranking(report: &Report, most: usize) -> Table {
    let order = order(report).iter().enumerate().take(most);
    let rows = order.filter_map(|(row, &node)| Some((row, node, report.summaries.get(node)?)));
    Columns::over(rows)
        .number("row", |(row, _, _)| Cell::count(row))
        .page_only()
        .text(unit(report), |(_, _, node)| &node.name)
        .number("cores", |(_, _, node)| Cell::count(node.cores))
        .number("lost per second", |(_, _, node)| Cell::seconds(node.lost))
        .text("most to", |(_, _, node)| node.largest_source().map(|source| &source.name))
        .number("time taken", |(_, _, node)| node.largest_source().map(|source| Cell::seconds(source.lost)))
        .page_only()
        .each(&report.costs.scales, |columns, scale| {
            columns.number(format!("wait at {}", grouped(scale.processes)), |(_, node, _)| {
                Cell::seconds(scale.waits_ps.get(node).copied().unwrap_or(0.0) * 1e-12)
            })
        })
        .number("iteration", |(_, _, node)| Cell::seconds(node.iteration_ps * 1e-12))
        .text("", |(_, node, _)| remark(report, node))
        .on_page_called("remark")
        .build()
}

/// The gains from replacing and removing at each scale.
pub fn gains(report: &Report) -> Table {
    let mut table = Table::new("", &["", "#processes", "#speedup", "#remaining slowdown"]);
    for scale in &report.costs.scales {
        let processes = || Cell::count(scale.processes);
        table.row([
            "(with all noise)".into(),
            processes(),
            Cell::default(),
            Cell::slowdown(scale.slowdown.median),
        ]);
        let mut row = |what: String, gain: &Gain| {
            let [times, low, high] = [gain.times, gain.low, gain.high].map(significant);
            let times = Cell::number(format!("{times} [{low}, {high}]"), gain.times);
            table.row([what.into(), processes(), times, Cell::slowdown(gain.slowdown.median)]);
        };
        scale.replaced.iter().for_each(|gain| row(replaced(report, gain), gain));
        for removal in &scale.removals {
            row(format!("{} without {}", removal.gain.nodes.join(""), removal.source), &removal.gain);
        }
    }
    table
}

/// The ranking at the largest scale.
fn order(report: &Report) -> &[usize] {
    report.costs.scales.last().map_or(&[], |scale| &scale.order)
}

/// The remark on a node next to its numbers.
fn remark(report: &Report, node: usize) -> String {
    let outlier =
        report.outliers.nodes.iter().find(|outlier| outlier.node == node).map(|outlier| match outlier.kind {
            Kind::Noisier => "noisier",
            Kind::Quieter => "quieter",
            Kind::Different => "different",
        });
    let slow = report.speeds.slow.iter().any(|slow| slow.node == node).then_some("slow");
    outlier.into_iter().chain(slow).collect::<Vec<_>>().join(", ")
}

/// "the worst 2 nodes replaced".
fn replaced(report: &Report, gain: &Gain) -> String {
    match (gain.nodes.len(), report.cluster.unit) {
        (1, _) => format!("{} replaced", gain.nodes.join("")),
        (count, Unit::Node) => format!("the worst {count} nodes replaced"),
        (count, Unit::Core) => format!("the worst {count} cores replaced"),
    }
}

/// Most nodes in the table on the console; the page has all.
const MOST_NODES: usize = 20;

pub fn summary(report: &Report, findings: &[Finding]) -> String {
    let mut text = FindingKind::Verdict.select(findings).join("\n");
    text += &format!(
        "\n\nThe {}s, sorted by how long an allreduce waits for them\n\n{}",
        unit(report),
        ranking(report, MOST_NODES)
    );
    let left = report.cluster.nodes.len().saturating_sub(MOST_NODES);
    if left > 0 {
        text += &format!("  {left} more are in assess.json and in report.html\n");
    }
    text += &format!("\nGain from replacing and removing\n\n{}", gains(report));
    let notes = FindingKind::Note.select(findings);
    if !notes.is_empty() {
        text += "\nNotes\n";
        notes.iter().for_each(|note| text += &format!("  - {note}\n"));
    }
    text
}
