//! Limits on results, and metrics for monitoring, as typed.

use crate::kernel::typed::path;
use clap::Args;
use std::path::PathBuf;
use straggler_analysis::limit::Limit;

/// What a limit is, for the `--help` of every command with `--fail-if`.
macro_rules! limits_help {
    () => {
        "\
LIMITS   METRIC[LABEL]@PROCESSES, > or <, and a number, a percentage (50%), a
         factor (1.5x) or a time (50us). [LABEL] and @PROCESSES are optional.
         With a sign (+5%, +1us) a limit is relative to the first file, where a
         command compares files. A metric that is true or false has no limit.
         The exit code is 5 if the whole 95 % interval, where there is one, is
         beyond the limit. If only the value is, a warning says so"
    };
}
pub(crate) use limits_help;

/// When a result counts as failed.
#[derive(Clone, Debug, Default, Args)]
pub struct LimitsOption {
    /// Exit with code 5 if a metric of the result is beyond a limit, as in 'METRIC>LIMIT'; METRICS and LIMITS below say
    /// what to write; repeatable
    #[arg(long, value_name = "CONDITION", help_heading = "Monitoring")]
    pub fail_if: Vec<Limit>,
}

/// What to do with the metrics of a result besides printing them.
#[derive(Clone, Debug, Default, Args)]
pub struct ChecksOption {
    #[command(flatten)]
    pub limits: LimitsOption,
    /// Also write the metrics in the Prometheus text format, for the textfile collector of node_exporter
    #[arg(long, value_name = "FILE.prom", help_heading = "Monitoring", value_parser = path(prom_name))]
    pub prometheus: Option<PathBuf>,
}

impl ChecksOption {
    pub fn is_given(&self) -> bool {
        !self.limits.fail_if.is_empty() || self.prometheus.is_some()
    }
}

/// The textfile collector reads only files with this extension.
fn prom_name(path: PathBuf) -> Result<PathBuf, String> {
    match path.extension().is_some_and(|end| end == "prom") {
        true => Ok(path),
        false => Err("node_exporter reads only files that end in .prom: use such a name".into()),
    }
}
