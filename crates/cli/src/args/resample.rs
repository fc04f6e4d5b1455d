//! `straggler resample` as typed.

use super::report::ReportOption;
use crate::args::typed_text::noise;
use clap::Args;
use std::path::PathBuf;
use straggler_model::noise::NoiseSpec;
use straggler_model::units::{self, Bytes, TimeUnit};
use straggler_sim::resampling::MOST_PROCESSORS;

const EXAMPLES: &str = "\
EXAMPLES
  straggler resample fixtures/resampling/exchanges.txt --size 1KiB

  straggler resample fixtures/resampling/exchanges.txt --size 1KiB \\
      --processes 4,32 --samples 10000 --histogram histogram.csv --json

  straggler resample fixtures/resampling/uninterrupted.txt --size 1KiB \\
      --noise periodic:period=10ms,duration=60us \\
      --noise periodic:period=6025us,duration=45us \\
      --noise 'poisson:rate=8Hz,duration=lognormal(median=400us,sigma=0.5)' \\
      --measured fixtures/resampling/exchanges.txt --processes 2,8,32

TIMES       one per line: 173us or 173.2 us; plain numbers with --unit us or
            after a line `# unit: us`; comments start with #
ALL-TO-ALL  in each step every processor exchanges messages with one other, in
            the order of a round-robin tournament. An exchange starts when both
            are ready, takes a random time and ends for both
IDLE        time in which a processor is ready and waits for its partner
NOISE       as in `simulate`; TIMES are then times without interrupts. Each
            processor has its own random offset into the noise, drawn anew for
            each sample. An exchange is extended by the larger noise of its two
            partners
THROUGHPUT  of a processor: (P - 1) times the size, over the mean total time;
            1 MB is 10^6 bytes";

/// Resample measured exchange times to all-to-alls on more processors
///
/// Draws the times of pairwise exchanges from a sample, combines them to all-to-alls, and reports how
/// long these take and how long processors wait for each other. After Tabe, Hardwick and Stout,
/// "Statistical Analysis of Communication Time on the IBM SP2".
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Resample {
    /// Times of a pairwise exchange, one per line, or a .lat file
    pub times: PathBuf,

    /// Numbers of processors
    #[arg(long, value_name = "P,P,…", value_delimiter = ',', value_parser = processors)]
    #[arg(default_values_t = [2, 4, 8, 16, 32])]
    pub processes: Vec<u32>,
    /// Bytes that two processors send each other in an exchange, for the throughput; also the message size to take from a
    /// .lat file [default: the smallest]
    #[arg(long, value_name = "BYTES")]
    pub size: Option<Bytes>,
    /// Samples for each number of processors [default: 100,000, or fewer if that takes more than 500 million
    /// exchanges]
    #[arg(long, value_name = "N", value_parser = samples)]
    pub samples: Option<u32>,
    /// Unit of plain numbers in TIMES and --measured: ns, us, ms, …
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<TimeUnit>,

    /// Interrupts on every processor; repeat the option or join sources with + to superpose them
    #[arg(long, value_name = "FILE|SPEC", value_parser = noise(), help_heading = "Noise")]
    pub noise: Vec<NoiseSpec>,
    /// Let interrupts during the extension of an exchange extend it further
    #[arg(long, help_heading = "Noise")]
    pub wallclock: bool,
    /// Measured times of an exchange with interrupts, for comparison with the resampled ones
    #[arg(long, value_name = "FILE", help_heading = "Noise")]
    pub measured: Option<PathBuf>,

    /// Write the distributions of total and idle time as CSV
    #[arg(long, value_name = "OUT.csv", help_heading = "Output")]
    pub histogram: Option<PathBuf>,
    /// Write the JSON object to a file
    #[arg(short, long, value_name = "OUT.json", help_heading = "Output")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub report: ReportOption,
}

fn processors(text: &str) -> Result<u32, String> {
    let too_many = || {
        format!("at most {MOST_PROCESSORS} processors: one sample on more takes over two billion exchanges")
    };
    match units::count(text) {
        Some(0 | 1) => Err("an exchange needs at least 2 processors".into()),
        Some(count) => {
            let count = u32::try_from(count).ok().filter(|&count| count <= MOST_PROCESSORS);
            count.ok_or_else(too_many)
        }
        None => Err("give numbers of processors separated by commas, for example 2,4,8".into()),
    }
}

fn samples(text: &str) -> Result<u32, String> {
    let count = units::count(text).and_then(|count| u32::try_from(count).ok()).filter(|&count| count > 0);
    count.ok_or_else(|| "give a number of samples, at least 1".into())
}
