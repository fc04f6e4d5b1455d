//! `straggler plot page`: one chart of a report as a picture.

use crate::args::plot::PlotPage;
use crate::commands::report::Search;
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use serde::Serialize;
use straggler_report::Table;
use straggler_report::charts::{Heading, save};
use straggler_report::page::{Chart, Page, Plot};

pub fn run(typed: &PlotPage, seed: u64, console: &Console) -> Outcome<()> {
    let (page, _) = Search::of(&typed.inputs)?.page(None, seed)?;
    let (Some(wanted), Some(output)) = (&typed.chart, &typed.output) else { return list(&page, console) };
    let (number, chart) = find(&page, wanted)?;
    let own = chart.heading();
    let heading = Heading { title: typed.title.clone().unwrap_or(own.title), ..own };
    save(output, &chart.draw(&heading))?;
    let answer = Drawn {
        picture: output.display().to_string(),
        number,
        title: chart.title.clone(),
        plot: kind(chart),
        synthetic: chart.synthetic,
    };
    if console.json {
        return console.print_json(&answer);
    }
    let synthetic = if answer.synthetic { " The data are synthetic." } else { "" };
    console.print(&format!("{}: {}, {}.{synthetic}\n", answer.picture, answer.title, answer.plot))
}

#[derive(Serialize)]
struct Drawn {
    picture: String,
    number: usize,
    title: String,
    plot: &'static str,
    synthetic: bool,
}

#[derive(Serialize)]
struct Listed {
    /// Counted from 1.
    number: usize,
    section: String,
    title: String,
    plot: &'static str,
}

/// Every chart with its number and its section.
fn listed(page: &Page) -> Vec<Listed> {
    let charts = page.sections.iter().flat_map(|section| section.charts().map(move |chart| (section, chart)));
    let listed = |(index, (section, chart)): (usize, (&straggler_report::page::Section, &Chart))| Listed {
        number: index + 1,
        section: section.title.clone(),
        title: chart.title.clone(),
        plot: kind(chart),
    };
    charts.enumerate().map(listed).collect()
}

fn list(page: &Page, console: &Console) -> Outcome<()> {
    let charts = listed(page);
    if console.json {
        return console.print_json(&charts);
    }
    let mut table = Table::with_header(["chart", "title", "kind", "section"]).text(1).text(2).text(3);
    for chart in charts {
        table.row([chart.number.to_string(), chart.title, chart.plot.into(), chart.section]);
    }
    console.print(&table.to_string())
}

/// By its number, or by the beginning of its title; the first that fits.
fn find<'a>(page: &'a Page, wanted: &str) -> Outcome<(usize, &'a Chart)> {
    let begins = |title: &str| title.to_lowercase().starts_with(&wanted.to_lowercase());
    let found = match wanted.parse::<usize>() {
        Ok(number) => {
            number.checked_sub(1).and_then(|index| page.charts().nth(index)).map(|chart| (number, chart))
        }
        Err(_) => (1..).zip(page.charts()).find(|(_, chart)| begins(&chart.title)),
    };
    found.ok_or_else(|| {
        let known: Vec<String> =
            listed(page).iter().map(|chart| format!("{} {}", chart.number, chart.title)).collect();
        Failure::usage(format!("--chart {wanted}: there is no such chart, only: {}", known.join("; ")))
    })
}

fn kind(chart: &Chart) -> &'static str {
    match chart.plot {
        Plot::Boxes(_) => "box plots",
        Plot::Lines(_) => "lines",
        Plot::Distribution(_) => "distribution",
        Plot::Histogram(_) => "histogram",
        Plot::Scatter(_) => "scatter",
        Plot::Bars(_) => "bars",
        Plot::Heat(_) => "heat map",
        Plot::Timeline(_) => "timeline",
    }
}
