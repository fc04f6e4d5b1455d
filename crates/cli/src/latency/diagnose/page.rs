//! The tables of a diagnosis, for the terminal and for the page.

use crate::kernel::prelude::*;
use crate::latency::diagnose::{DiagnosisAnswer, words};
use crate::latency::words::{quantile_cell, time, time_cell as ps};
use crate::latency::{file, page as latency_page, page::Named};
use straggler_analysis::latency::fits::{Fit, Fits};
use straggler_analysis::latency::{Diagnosis, Distribution, Group, Mode, Ranks, Summary};
use straggler_analysis::{latency::diagnose::GroupFound, latency::summary::level_name};

/// A row of the summary table.
#[derive(Clone, Copy)]
enum Row {
    Count,
    Minimum,
    Quantile(f64),
    Maximum,
    Mean,
}

impl Row {
    fn name(self) -> String {
        match self {
            Row::Count => "count".into(),
            Row::Minimum => "minimum".into(),
            Row::Quantile(q) => level_name(q),
            Row::Maximum => "maximum".into(),
            Row::Mean => "mean".into(),
        }
    }

    fn value(self, of: &Summary) -> Option<Cell> {
        Some(match self {
            Row::Count => Cell::count(of.count),
            Row::Minimum => of.min_outside.map_or_else(|| ps(of.min_ps), |bound| bound.to_string().into()),
            Row::Quantile(q) => {
                let level = of.at(q)?;
                quantile_cell(level.value_ps, level.outside)
            }
            Row::Maximum => ps(of.max_ps),
            Row::Mean => ps(of.mean_ps),
        })
    }

    fn interval(self, of: &Summary) -> Option<String> {
        let Row::Quantile(q) = self else { return None };
        let level = of.at(q)?;
        Some(format!("{} to {}", time(level.low_ps), time(level.high_ps)))
    }
}

pub fn summary(trials: &Summary, minima: Option<&Summary>) -> Table {
    let quantiles = trials.quantiles.iter().map(|level| Row::Quantile(level.q));
    let rows = [Row::Count, Row::Minimum].into_iter().chain(quantiles).chain([Row::Maximum, Row::Mean]);
    let minima = minima.map(|minima| ("minima of cycles", minima));
    Columns::over(rows)
        .text("", Row::name)
        .on_page_called("quantile")
        .each([("trials", trials)].into_iter().chain(minima), |columns, (name, of)| {
            let values = columns.number(name, |row| row.value(of));
            values.number("95 % interval", |row| row.interval(of))
        })
        .build()
}

fn ranks(found: &Ranks) -> Table {
    Columns::over(&found.ranks)
        .number("rank", |row| Cell::id(row.rank))
        .number("trials", |row| Cell::count(row.trials))
        .number("minimum", |row| ps(row.min_ps))
        .number("median", |row| {
            row.outside.map_or_else(|| ps(row.median_ps), |bound| bound.to_string().into())
        })
        .build()
}

pub fn modes(name: &str, modes: &[Mode]) -> Table {
    Columns::over(modes)
        .number(name, |row| ps(row.centre_ps))
        .number("weight", |row| Cell::share(row.weight))
        .number("from", |row| ps(row.low_ps))
        .number("to", |row| ps(row.high_ps))
        .build()
}

pub fn fits(fits: &Fits) -> Table {
    let best = fits.fits.first().map_or(0.0, |best| best.bic);
    let bic = |fit: &Fit| match fit.bic - best {
        0.0 => Cell::number("best", fit.bic),
        above => Cell::number(format!("+{}", significant(above)), fit.bic),
    };
    Columns::over(&fits.fits)
        .text("fit", |row| row.family.to_string())
        .text("parameters", parameters)
        .number("shift", |row| ps(row.shift_ps))
        .number("distance", |row| Cell::share(row.distance))
        .number("by chance", |row| Cell::share(row.chance_distance))
        .text("verdict", |row| if row.fits { "fits" } else { "does not fit" })
        .number("BIC", bic)
        .number("p99", |row| ps(row.p99_ps))
        .build()
}

/// "median 1.2 µs, sigma 0.50", "freedom₁ 2.55, freedom₂ 10,000, scale 929.9 ns".
fn parameters(fit: &Fit) -> String {
    let indexed = |name: &str| name.replace("_1", "₁").replace("_2", "₂");
    let parameter = |name: &str, value: f64| match name.strip_suffix("_ps") {
        Some(name) => format!("{} {}", indexed(name), time(value)),
        None => format!("{} {}", indexed(name), significant(value)),
    };
    let all: Vec<String> = fit.parameters.iter().map(|one| parameter(one.name, one.value)).collect();
    all.join(", ")
}

/// The page of one latency file, for a report on several results.
pub fn page_of_file(path: &Path) -> Outcome<Page> {
    let file = file::read(path, None)?;
    let groups = file::groups(&file, None)?;
    let answer = DiagnosisAnswer::new(&file, Diagnosis::new(&file.measurement, &groups, None), false);
    let mut page = page(&answer, &groups);
    page.title = format!("Latencies of {}", file.name);
    Ok(page)
}

pub fn page(answer: &DiagnosisAnswer, groups: &[Group]) -> Page {
    let command = command_line();
    let mut summary = vec![answer.verdict.clone()];
    summary.extend(answer.hints.iter().skip(1).map(|hint| hint.summary.clone()));
    let sections =
        answer.groups.iter().map(|found| section(answer, found, group_of(found, groups), &command));
    let mut page = pages::page(format!("Latencies of {}", answer.file), summary, sections.collect());
    page.warnings.clone_from(&answer.warnings);
    page
}

fn section(answer: &DiagnosisAnswer, found: &GroupFound, group: Option<&Group>, command: &str) -> Section {
    let mut section = Section::new(&found.name);
    for hint in answer.hints.iter().filter(|hint| hint.series == found.name) {
        section.text.push(hint.summary.clone());
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
    section.add(summary(&found.trials, found.minima.as_ref()).titled("Quantiles", command));
    section.blocks.extend(found.ranks.as_ref().map(|found| ranks(found).titled("Ranks", command).into()));
    for (title, list) in [("Modes", &found.modes), ("Modes of the minima of cycles", &found.minima_modes)] {
        if list.len() > 1 {
            section.add(modes("centre", list).titled(title, command));
        }
    }
    if let Some(found) = &found.fits {
        let note = "The distance of a sample of the family from its own fit stays below the one by chance in 99 of \
                    100 cases.";
        section.add(fits(found).titled("Fitted distributions", command).with_note(note));
    }
    section
}

/// Fewer minima are too few for a density.
const LEAST_MINIMA: u64 = 30;

fn charts(section: &mut Section, answer: &DiagnosisAnswer, found: &GroupFound, group: &Group, command: &str) {
    let trials = Distribution::from_histogram(&group.all.trials);
    let minima = Distribution::of_sorted(&group.all.minima);
    let drawn = minima.filter(|minima| minima.count() >= LEAST_MINIMA);
    if drawn.is_none() && !group.all.minima.is_empty() {
        section.text.push(format!(
            "The minima of {} are too few to draw: {LEAST_MINIMA} are needed.",
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
    section.add(latency_page::density(&all, command, answer.synthetic));
    section.add(latency_page::distribution(&all, command, answer.synthetic));
    section.add(latency_page::tail(&all, found.noise.as_ref(), command, answer.synthetic));
    if let Some(pairs) = &found.pairs {
        section.add(latency_page::heat(pairs, command, answer.synthetic));
    }
    section.blocks.extend(latency_page::cycles(&group.cycles, command, answer.synthetic).map(Into::into));
}

/// The group that a result belongs to.
fn group_of<'a>(found: &GroupFound, groups: &'a [Group]) -> Option<&'a Group> {
    groups.iter().find(|group| group.labels == found.labels)
}
