//! `straggler noise convert`: converts noise files from one format to another.

use crate::kernel::prelude::*;
use crate::noise::file::{self, NoiseFile};
use straggler_noise::format::{self, Format, FormatOptions, Repairs, Written};

pub const EXAMPLES: &str = "\
EXAMPLES
  straggler noise convert fixtures/noise/selfish.0 -o node.noise
  straggler noise convert fixtures/noise/sysjitter.0 --to columns -o two.txt
  straggler noise convert fixtures/noise/llnl-fwq-serial.dat --ghz 2.1 \\
      --from llnl-fwq -o fwq.noise
  straggler noise convert fixtures/noise/selfish.0 fixtures/noise/columns.txt \\
      --to selfish -o core --json

FORMATS
    straggler     a whole node, with sources and metadata
    selfish       Netgauge: detours of one core
    columns       LogGOPSim: start and duration in ns
    sysjitter     raw output of sysjitter: detours of one core
    netgauge-fwq  times of fixed work
    llnl-fwq      cycles of fixed work
    netgauge-ftq  work done in fixed time
    ftq           work done in fixed time, with start times

All but the first hold one core per file: several cores are written to
OUT.<core>.";

#[derive(Debug, Args)]
pub struct Convert {
    /// Noise files; several are the cores of one node, numbered by their extensions (trace.7)
    #[arg(value_name = "IN", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Output file
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Format of the input [default: detected]
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<Format>,
    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value_t = Format::Straggler)]
    pub to: Format,
    /// Clock rate in GHz, for files that count cycles without stating it
    #[arg(long, value_name = "X")]
    pub ghz: Option<f64>,
    /// Length of a fixed-time quantum, if the file does not state it
    #[arg(long, value_name = "TIME")]
    pub interval: Option<Time>,
    /// Loss above which a quantum of fixed work or time counts as disturbed [default: a thousandth of the quantum]
    #[arg(long, value_name = "TIME")]
    pub threshold: Option<Time>,
    /// Length of the measurement, if the file does not state it
    #[arg(long, value_name = "TIME")]
    pub length: Option<Time>,
}

pub fn run(typed: &Convert, console: &Console) -> Outcome<()> {
    let read: Vec<Read> = (0..)
        .zip(&typed.inputs)
        .map(|(position, path)| read(path, position, typed))
        .collect::<Outcome<_>>()?;
    let mut warnings: Vec<String> = read.iter().flat_map(|read| read.file.warnings.clone()).collect();
    let inputs = read.iter().map(InputAnswer::new).collect();
    let recording = format::join(read.into_iter().map(|read| read.file.recording).collect())?;
    let written = format::write(&recording, typed.to)?;
    warnings.extend(written.dropped.iter().map(|what| format!("{} cannot store {what}", typed.to)));
    let answer = ConvertNoiseAnswer {
        format: typed.to.name(),
        cores: recording.cores.len(),
        detours: recording.cores.iter().map(|core| core.detours.len() as u64).sum(),
        quanta: recording.cores.iter().map(|core| core.quanta.len() as u64).sum(),
        inputs,
        outputs: write(&typed.output, &written)?,
        warnings,
    };
    if console.json {
        return console.print_json(&answer);
    }
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    console.print(&summary(&answer))
}

/// An input file.
struct Read {
    path: PathBuf,
    file: NoiseFile,
}

fn read(path: &Path, position: u32, typed: &Convert) -> Outcome<Read> {
    let options = FormatOptions {
        core: number_in(path).unwrap_or(position),
        length: typed.length,
        ghz: typed.ghz,
        interval: typed.interval,
        threshold: typed.threshold,
        ..FormatOptions::default()
    };
    Ok(Read { path: path.into(), file: file::read(path, typed.from, &options)? })
}

/// The core in a name like `trace.7` or `ftq_7.dat`.
fn number_in(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".dat").unwrap_or(name);
    stem.rsplit(['.', '_']).next()?.parse().ok()
}

/// A single file gets the given name; several get the core number appended.
fn write(output: &Path, written: &Written) -> Outcome<Vec<OutputAnswer>> {
    let several = written.files.len() > 1;
    let mut outputs = Vec::new();
    for file in &written.files {
        let path = match file.core {
            Some(core) if several => {
                let mut name = output.as_os_str().to_owned();
                name.push(format!(".{core}"));
                PathBuf::from(name)
            }
            _ => output.to_path_buf(),
        };
        replace_file(&path, |out| out.write_all(&file.bytes))?;
        let bytes = file.bytes.len() as u64;
        outputs.push(OutputAnswer { file: path.display().to_string(), core: file.core, bytes });
    }
    Ok(outputs)
}

#[derive(Serialize)]
struct ConvertNoiseAnswer {
    format: &'static str,
    cores: usize,
    detours: u64,
    quanta: u64,
    inputs: Vec<InputAnswer>,
    outputs: Vec<OutputAnswer>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct InputAnswer {
    file: String,
    format: &'static str,
    repairs: Repairs,
}

impl InputAnswer {
    fn new(read: &Read) -> InputAnswer {
        InputAnswer {
            file: read.path.display().to_string(),
            format: read.file.format.map_or("rtla", Format::name),
            repairs: read.file.repairs,
        }
    }
}

#[derive(Serialize)]
struct OutputAnswer {
    file: String,
    /// None for a file of the whole node.
    core: Option<u32>,
    bytes: u64,
}

fn summary(answer: &ConvertNoiseAnswer) -> String {
    let samples = match answer.quanta {
        0 => String::new(),
        quanta => format!(" and {}", counted(quanta, "sample", "samples")),
    };
    let (detours, cores) =
        (counted(answer.detours, "detour", "detours"), counted(answer.cores as u64, "core", "cores"));
    let table = Columns::over(&answer.outputs)
        .text("file", |row| &row.file)
        .number("core", |row| row.core.map_or_else(|| "all".into(), Cell::count))
        .number("size", |row| Cell::bytes(row.bytes))
        .build();
    format!("{detours}{samples} of {cores}, written as {}.\n\n{table}", answer.format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_core() {
        let cases = [
            ("a/P.12", Some(12)),
            ("ftq_3.dat", Some(3)),
            ("trace.txt", None),
            ("x.4294967296", None),
            ("7", Some(7)),
        ];
        for (name, core) in cases {
            assert_eq!(number_in(Path::new(name)), core, "{name}");
        }
    }
}
