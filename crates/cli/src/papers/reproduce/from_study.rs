//! Reproductions defined as studies.

use crate::kernel::exit::Outcome;
use crate::papers::reproduce::comparison::Comparison;
use crate::papers::reproduce::definition::{Definition, Published, Statistic};
use crate::papers::reproduce::{Findings, Setting, laws};
use crate::study::answer::verdict;
use crate::study::file::About;
use crate::study::{page, work};
use straggler_analysis::inflection::THRESHOLD;
use straggler_analysis::study::{Series, Summary, series};
use straggler_report::page::{Block, Section};

pub fn run(text: &str, setting: &Setting<'_>) -> Outcome<Findings> {
    let definition = Definition::parse(text)?;
    let study = definition.study(setting.size, setting.seed)?;
    let options = work::Options {
        threads: setting.threads,
        device: setting.device,
        fresh: setting.fresh,
        ..work::Options::default()
    };
    let results = work::run_in(&setting.folder, &study, &options, setting.console)?;
    let all = series(&results, THRESHOLD);
    let mut findings = Findings {
        comparisons: definition.published.iter().flat_map(|published| compare(published, &all)).collect(),
        section: pictures(&all, &setting.command),
        synthesised: definition.synthesised,
        ..Findings::default()
    };
    if let Some(meaning) = &definition.paper_means {
        findings.remarks.push(format!(
            "The paper's slowdown here is {meaning}, not T/T0 − 1; the table uses the paper's definition."
        ));
    }
    if definition.laws {
        laws::add(&all, &mut findings, &setting.command);
    }
    // The paper has no numbers to compare with: tell what was simulated.
    if findings.comparisons.is_empty() {
        findings.remarks.extend(verdict(&all, &About::default(), THRESHOLD));
    }
    Ok(findings)
}

/// The charts and tables of the study's page, under one title.
fn pictures(all: &[Series], command: &str) -> Section {
    let parts = page::page("", "", all, &About::default(), THRESHOLD, command).sections;
    let several = parts.len() > 1;
    let mut section = Section::default();
    for part in parts {
        for mut block in part.blocks {
            let title = match &mut block {
                Block::Chart(chart) => &mut chart.title,
                Block::Table(table) => &mut table.title,
            };
            if several {
                *title = format!("{}: {title}", part.title);
            }
            section.add(block);
        }
    }
    section
}

/// A published number next to that of every series it refers to.
fn compare(published: &Published, all: &[Series]) -> Vec<Comparison> {
    let fits = |series: &&Series| {
        series.coordinates().is_some_and(|at| {
            published.sweep.as_ref().is_none_or(|sweep| *sweep == at.sweep)
                && published.workload.as_ref().is_none_or(|workload| *workload == at.workload)
                && published.cosched.is_none_or(|cosched| cosched == at.cosched)
        })
    };
    all.iter().filter(fits).filter_map(|series| beside(published, series)).collect()
}

fn beside(published: &Published, series: &Series) -> Option<Comparison> {
    let largest = series.largest()?.point.processes;
    let wanted = published.processes.unwrap_or(largest);
    let point = series.points.iter().rfind(|point| point.point.processes <= wanted)?;
    let inflection = published.statistic == Statistic::Inflection;
    let simulated = match published.statistic {
        Statistic::Inflection => series.inflection.map(f64::from),
        Statistic::LargestMedian => series.points.iter().map(|point| point.median_slowdown).reduce(f64::max),
        _ => Some(statistic(published, point)),
    };
    // A missing inflection point may lie beyond the simulated scales.
    let smaller = if inflection { simulated.is_none() } else { point.point.processes < wanted };
    Some(Comparison {
        what: published.text.clone(),
        quantity: published.statistic.quantity(),
        published: published.value,
        meaning: published.meaning,
        basis: published.basis.clone(),
        simulated,
        only_up_to: smaller.then_some(largest),
        largest_of: published.statistic.is_largest().then_some(point.times.count as u64),
    })
}

fn statistic(published: &Published, point: &Summary) -> f64 {
    match published.statistic {
        Statistic::MedianSlowdown | Statistic::LargestMedian | Statistic::Inflection => point.median_slowdown,
        Statistic::LargestSlowdown => point.largest_slowdown,
        Statistic::MedianRatio => point.median_slowdown + 1.0,
        Statistic::LargestRatio => point.largest_slowdown + 1.0,
    }
}
