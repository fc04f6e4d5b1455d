//! `straggler tools plot page`: one chart of a report as a picture.

use crate::kernel::console::Console;
use crate::kernel::exit::{Failure, Outcome};
use crate::report::search::Search;
use crate::tools::plot::args::PlotPage;
use serde::Serialize;
use straggler_model::spelling;
use straggler_report::charts::{Heading, save};
use straggler_report::page::{Chart, Page, Plot, Section};
use straggler_report::{Cell, Columns};

pub fn run(typed: &PlotPage, seed: u64, console: &Console) -> Outcome<()> {
    let (page, _) = Search::new(&typed.inputs)?.page(None, seed)?;
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
    let synthetic = if answer.synthetic { " The data is synthetic." } else { "" };
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
    let sections =
        page.bodies().into_iter().flat_map(|body| body.sections.iter().map(move |section| (body, section)));
    let charts =
        sections.flat_map(|(body, section)| section.charts().map(move |chart| (body, section, chart)));
    let listed = |(index, (body, section, chart)): (usize, (&Page, &Section, &Chart))| Listed {
        number: index + 1,
        section: match page.parts.is_empty() {
            true => section.title.clone(),
            false => format!("{}: {}", body.title, section.title),
        },
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
    let table = Columns::over(&charts)
        .number("chart", |row| Cell::id(row.number))
        .text("title", |row| &row.title)
        .text("kind", |row| row.plot)
        .text("section", |row| &row.section)
        .build();
    console.print(&table.to_string())
}

/// Finds a chart by its number, or the first whose title begins with the text.
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
        // The beginning of a title is enough to find it, so it is what may be misspelt.
        let length = wanted.chars().count() + 1;
        let starts: Vec<String> =
            page.charts().map(|chart| chart.title.chars().take(length).collect()).collect();
        let hint = spelling::hint(spelling::nearest(wanted, starts.iter().map(|start| start.trim_end())));
        Failure::usage(format!("--chart {wanted}: no such chart; the charts are: {}{hint}", known.join("; ")))
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
