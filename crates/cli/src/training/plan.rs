//! `straggler training`, validated.

use crate::kernel::{Check, Failure, Outcome, refuse_missing_folder, refuse_unwritable};
use crate::training::args::{Convert, Generate, JobFormat, Method, Show, TrainingCommand};
use std::path::Path;

impl Check for TrainingCommand {
    fn check(&self) -> Outcome<()> {
        match self {
            TrainingCommand::Show(typed) => show(typed),
            TrainingCommand::Convert(typed) => convert(typed),
            TrainingCommand::Generate(typed) => generate(typed),
        }
    }
}

fn show(typed: &Show) -> Outcome<()> {
    let exact = typed.report.report.is_some() || typed.nodes.is_some() || typed.cost.is_some();
    if typed.method == Method::Published && (exact || !typed.layers.is_empty()) {
        return Err(Failure::usage("--report, --layers, --nodes and --cost need --method exact"));
    }
    typed.report.report.iter().try_for_each(|path| refuse_missing_folder(path))
}

fn convert(typed: &Convert) -> Outcome<()> {
    refuse_unwritable(&typed.output)?;
    if typed.output.exists() {
        let name = typed.output.display();
        return Err(Failure::bad_input(format!("{name} already exists: use another -o")));
    }
    Ok(())
}

fn generate(typed: &Generate) -> Outcome<()> {
    refuse_unwritable(&typed.output)?;
    match typed.to {
        JobFormat::Table => TableFormat::from_path(&typed.output).map(drop),
        JobFormat::Kineto | JobFormat::KinetoGz => Ok(()),
    }
}

/// Format of a written table, by file extension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableFormat {
    Csv,
    Parquet,
}

impl TableFormat {
    pub fn from_path(path: &Path) -> Outcome<TableFormat> {
        let ends = |end: &str| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(end));
        match (ends("csv"), ends("parquet")) {
            (true, _) => Ok(TableFormat::Csv),
            (_, true) => Ok(TableFormat::Parquet),
            _ => Err(Failure::usage(format!(
                "{}: tables are written as .csv or .parquet: use one of these extensions",
                path.display()
            ))),
        }
    }
}
