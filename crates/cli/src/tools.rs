//! `straggler tools`: benchmarks, pictures, job scripts; and here what is generated from the definition of the command
//! line, and the files that the examples of the help and the guide read.

pub mod bench;
pub mod plot;
pub mod slurm_script;

use crate::kernel::prelude::*;
use crate::{args::definition, kernel::pages::make_folder};
use clap_complete::Shell;

const EXAMPLES: &str = "\
EXAMPLES
  straggler tools bench --quick --repeat 1
  straggler tools examples demo";

/// Benchmarks, figures, job scripts, examples, completions and manual pages
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Tools {
    #[command(subcommand)]
    pub command: ToolsCommand,
}

#[derive(Debug, Subcommand)]
pub enum ToolsCommand {
    /// Measure the speed and the memory use of the simulator on this machine
    Bench(bench::Bench),
    /// One measurement of `bench`, in a process of its own
    #[command(hide = true)]
    BenchCase(bench::BenchCase),
    /// Draw figures for papers as SVG, PDF or PNG
    Plot(plot::PlotArgs),
    /// Write a job script that runs straggler on the nodes of a Slurm cluster
    SlurmScript(slurm_script::SlurmScript),
    /// Write the files that the examples of the help and the guide read
    Examples(Examples),
    /// Print shell completions to stdout
    Completions(Completions),
    /// Write the manual pages
    Man(Man),
}

/// Print shell completions to stdout
#[derive(Debug, Args)]
#[command(
    after_help = "EXAMPLES\n  straggler tools completions bash > straggler.bash\n  straggler tools completions zsh > _straggler"
)]
pub struct Completions {
    pub shell: Shell,
}

/// Write the files that the examples of the help and the guide read
///
/// Every example of the help and of the guide works as pasted in this folder. Most of the files are synthetic, and those
/// that are say so.
#[derive(Debug, Args)]
#[command(
    after_help = "EXAMPLES\n  straggler tools examples demo\n  straggler noise show demo/fixtures/noise/selfish.0"
)]
pub struct Examples {
    /// Folder for the files; created if missing
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

impl Check for Examples {
    fn check(&self) -> Outcome<()> {
        refuse_unwritable(&self.directory.join("fixtures"))
    }
}

/// Write the manual pages
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES\n  straggler tools man man1")]
pub struct Man {
    /// Folder for the pages; created if missing
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

pub fn completions(shell: Shell, console: &Console) -> Outcome<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut definition(), "straggler", &mut text);
    console.print_verbatim(&String::from_utf8_lossy(&text))
}

pub fn man(directory: &Path, console: &Console) -> Outcome<()> {
    let problem = |error: std::io::Error| {
        Failure::bad_input(format!("{}: cannot be written: {error}", directory.display()))
    };
    std::fs::create_dir_all(directory).map_err(problem)?;
    clap_mangen::generate_to(definition(), directory).map_err(problem)?;
    console.note(&format!("manual pages are in {}", directory.display()));
    Ok(())
}

/// Small inputs of every kind, most of them synthetic and saying so, and study files: names and contents, listed by
/// the build script.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

#[derive(Serialize)]
struct ExamplesAnswer {
    folder: String,
    files: u64,
    bytes: u64,
}

pub fn write_examples(typed: &Valid<Examples>, console: &Console) -> Outcome<()> {
    let _orderly = Orderly::begin();
    let folder = &typed.directory;
    let mut answer = ExamplesAnswer { folder: folder.display().to_string(), files: 0, bytes: 0 };
    for (name, bytes) in FILES {
        interrupt::check()?;
        put(&folder.join(name), bytes)?;
        answer.files += 1;
        answer.bytes += bytes.len() as u64;
    }
    if console.json {
        return console.print_json(&answer);
    }
    console.print(&format!(
        "{}, {}, in `{}`: change to that folder and paste any example of --help or the guide.\n",
        counted(answer.files, "file", "files"),
        memory(answer.bytes),
        answer.folder
    ))
}

/// A file with different content is not ours and is not overwritten.
fn put(path: &Path, bytes: &[u8]) -> Outcome<()> {
    match std::fs::read(path) {
        Ok(there) if there == bytes => return Ok(()),
        Ok(_) => {
            let name = path.display();
            return Err(Failure::bad_input(format!(
                "{name} already exists with different content: use another folder"
            )));
        }
        Err(_) => {}
    }
    path.parent().map_or(Ok(()), make_folder)?;
    interrupt::or_interrupted(replace_file(path, |out| out.write_all(bytes)))
}
