//! Results as CSV and JSON.

use super::COLUMNS;
use std::io::{self, Write};
use straggler_model::stats::slowdown;
use straggler_model::study::{Coordinates, Results};

pub(super) fn write_csv(out: &mut dyn Write, results: &Results) -> io::Result<()> {
    writeln!(out, "{}", COLUMNS.join(","))?;
    for point in &results.points {
        let place = csv_place(&point.point);
        for (replica, &makespan) in point.makespans.iter().enumerate() {
            let (quiet, share) = (point.quiet.ps(), slowdown(makespan, point.quiet));
            writeln!(out, "{place},{replica},{},{quiet},{share}", makespan.ps())?;
        }
    }
    Ok(())
}

/// The coordinates of a point, as the first columns of every table of a study.
pub fn csv_place(at: &Coordinates) -> String {
    let size = at.size.map_or_else(String::new, |size| size.to_string());
    [
        csv_text(&at.sweep),
        csv_text(&at.workload),
        size,
        at.processes.to_string(),
        csv_text(&at.network),
        at.network_scale.to_string(),
        csv_text(&at.noise),
        at.cosched.to_string(),
        at.seed.to_string(),
    ]
    .join(",")
}

/// Quotes a text according to RFC 4180 if it contains a comma, a quote or a line break.
fn csv_text(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

pub(super) fn write_json(out: &mut dyn Write, results: &Results) -> io::Result<()> {
    write!(out, "[")?;
    let mut between = "\n";
    for point in &results.points {
        let at = &point.point;
        let size = at.size.map_or_else(|| "null".into(), |size| size.to_string());
        let place = format!(
            "\"sweep\":{},\"workload\":{},\"size\":{size},\"processes\":{},\"network\":{},\"network_scale\":{},\
             \"noise\":{},\"cosched\":{},\"seed\":{}",
            json_text(&at.sweep),
            json_text(&at.workload),
            at.processes,
            json_text(&at.network),
            at.network_scale,
            json_text(&at.noise),
            at.cosched,
            at.seed
        );
        for (replica, &makespan) in point.makespans.iter().enumerate() {
            let (quiet, share) = (point.quiet.ps(), slowdown(makespan, point.quiet));
            write!(
                out,
                "{between}{{{place},\"replica\":{replica},\"makespan_ps\":{},\"quiet_ps\":{quiet},\"slowdown\":{share}}}",
                makespan.ps()
            )?;
            between = ",\n";
        }
    }
    writeln!(out, "\n]")
}

fn json_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            letter if u32::from(letter) < 0x20 => quoted.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
