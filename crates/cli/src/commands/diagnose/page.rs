//! The page of a diagnosis.

use super::{Answer, group_of, words};
use crate::commands::compare::words::{quantile, time};
use crate::commands::latency_charts::{self, Named};
use crate::commands::{command_line, report};
use straggler_analysis::latency::diagnose::GroupFound;
use straggler_analysis::latency::summary::level_name;
use straggler_analysis::latency::{Distribution, Group, Mode, Ranks, Summary};
use straggler_report::numbers::{counted, grouped, percent, significant};
use straggler_report::page::{Cell, Page, Section, Table};

pub fn page(answer: &Answer, groups: &[Group]) -> Page {
    let command = command_line();
    let mut summary = vec![answer.verdict.clone()];
    summary.extend(answer.hints.iter().skip(1).map(|hint| hint.says.clone()));
    let sections =
        answer.groups.iter().map(|found| section(answer, found, group_of(found, groups), &command));
    let mut page = report::page(format!("Latencies of {}", answer.file), summary, sections.collect());
    page.warnings.clone_from(&answer.warnings);
    page
}

fn section(answer: &Answer, found: &GroupFound, group: Option<&Group>, command: &str) -> Section {
    let mut section = Section::new(&found.name);
    for hint in answer.hints.iter().filter(|hint| hint.series == found.name) {
        section.text.push(hint.says.clone());
        section.text.extend(hint.evidence.iter().cloned());
    }
    section.text.push(format!("Over time: {}.", words::steadiness(found)));
    section.text.push(format!("Trials: {}.", words::shape(&found.trials)));
    section
        .text
        .extend(found.minima.as_ref().map(|minima| format!("Minima of cycles: {}.", words::shape(minima))));
    section.text.extend(found.ranks.as_ref().map(|ranks| format!("Ranks: {}.", words::slowest(ranks))));
    if let Some(group) = group {
        charts(&mut section, answer, found, group, command);
    }
    section.add(quantiles("Quantiles", &found.trials, command));
    let minima = found.minima.as_ref().filter(|minima| !minima.quantiles.is_empty());
    let minima = minima.map(|minima| quantiles("Quantiles of the minima of cycles", minima, command));
    section.blocks.extend(minima.map(Into::into));
    section.blocks.extend(found.ranks.as_ref().map(|found| ranks(found, command).into()));
    for (name, list) in [("Modes", &found.modes), ("Modes of the minima of cycles", &found.minima_modes)] {
        if list.len() > 1 {
            section.add(modes(name, list, command));
        }
    }
    section.blocks.extend(fits(found, command).map(Into::into));
    section
}

/// Fewer minima have no density.
const LEAST_MINIMA: u64 = 30;

fn charts(section: &mut Section, answer: &Answer, found: &GroupFound, group: &Group, command: &str) {
    let trials = Distribution::of(&group.all.trials);
    let minima = Distribution::of_sorted(&group.all.minima);
    let drawn = minima.filter(|minima| minima.count() >= LEAST_MINIMA);
    if drawn.is_none() && !group.all.minima.is_empty() {
        section.text.push(format!(
            "The minima of {} are too few to draw: it takes {LEAST_MINIMA}.",
            counted(group.all.minima.len() as u64, "cycle", "cycles")
        ));
    }
    let minima = drawn;
    let named = |distribution, name: &str| Named { name: name.into(), distribution };
    let all: Vec<Named<'_>> = [
        trials.as_ref().map(|one| named(one, "all trials")),
        minima.as_ref().map(|one| named(one, "minima of cycles")),
    ]
    .into_iter()
    .flatten()
    .collect();
    section.add(latency_charts::density(&all, command, answer.synthetic));
    section.add(latency_charts::distribution(&all, command, answer.synthetic));
    section.add(latency_charts::tail(&all, found.noise.as_ref(), command, answer.synthetic));
    if let Some(pairs) = &found.pairs {
        section.add(latency_charts::heat(pairs, command, answer.synthetic));
    }
    section.blocks.extend(latency_charts::cycles(&group.cycles, command, answer.synthetic).map(Into::into));
}

fn quantiles(title: &str, of: &Summary, command: &str) -> Table {
    let mut table = Table::new(title, &["quantile", "#time", "95 % interval"]);
    table.command = command.into();
    for level in &of.quantiles {
        let interval = Cell::text(format!("{} to {}", time(level.low_ps), time(level.high_ps)));
        let text = quantile(level.value_ps, level.outside);
        let value = match level.value_ps {
            Some(ps) => Cell::number(text, ps),
            None => Cell::text(text),
        };
        table.row([Cell::text(level_name(level.q)), value, interval]);
    }
    table
}

fn ranks(found: &Ranks, command: &str) -> Table {
    let mut table = Table::new("Ranks", &["rank", "#trials", "#minimum", "#median"]);
    table.command = command.into();
    for one in &found.ranks {
        let least = Cell::number(time(one.min_ps), one.min_ps);
        let median = match one.outside {
            Some(outside) => Cell::text(outside.to_string()),
            None => Cell::number(time(one.median_ps), one.median_ps),
        };
        let trials = Cell::number(grouped(one.trials), one.trials as f64);
        table.row([Cell::text(one.rank.to_string()), trials, least, median]);
    }
    table
}

fn modes(title: &str, modes: &[Mode], command: &str) -> Table {
    let mut table = Table::new(title, &["#centre", "#weight", "#from", "#to"]);
    table.command = command.into();
    for mode in modes {
        let [centre, low, high] =
            [mode.centre_ps, mode.low_ps, mode.high_ps].map(|ps| Cell::number(time(ps), ps));
        table.row([centre, Cell::number(percent(mode.weight), mode.weight), low, high]);
    }
    table
}

fn fits(found: &GroupFound, command: &str) -> Option<Table> {
    let fits = found.fits.as_ref()?;
    let columns = ["family", "parameters", "#shift", "#distance", "verdict", "#AIC", "#p99"];
    let mut table = Table::new("Fitted distributions", &columns);
    table.command = command.into();
    table.note = format!(
        "The distance of a sample from its own distribution stays below {} in 99 of 100 cases.",
        percent(fits.chance_distance)
    );
    for fit in &fits.fits {
        let parameters: Vec<String> =
            fit.parameters.iter().map(|one| words::parameter(one.name, one.value)).collect();
        table.row([
            Cell::text(fit.family.to_string()),
            Cell::text(parameters.join(", ")),
            Cell::number(time(fit.shift_ps), fit.shift_ps),
            Cell::number(percent(fit.distance), fit.distance),
            Cell::text(words::fits_or_not(fit)),
            Cell::number(significant(fit.aic), fit.aic),
            Cell::number(time(fit.p99_ps), fit.p99_ps),
        ]);
    }
    Some(table)
}
