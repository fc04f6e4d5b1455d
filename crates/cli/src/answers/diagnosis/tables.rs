//! The tables of a diagnosis, for the terminal and for the page.

use crate::answers::latency::{quantile_cell, time, time_cell as ps};
use straggler_analysis::latency::fits::{Fit, Fits};
use straggler_analysis::latency::summary::level_name;
use straggler_analysis::latency::{Mode, Ranks, Summary};
use straggler_report::numbers::significant;
use straggler_report::{Cell, Columns, Table};

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

pub fn ranks(found: &Ranks) -> Table {
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
