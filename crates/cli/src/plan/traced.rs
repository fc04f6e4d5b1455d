//! The replay of a trace, validated.

use crate::args::collective::DataOptions;
use crate::args::predict::{Predict, ReplayOptions};
use crate::args::workload::{WorkloadOptions, only};
use std::path::PathBuf;
use straggler_model::network::PerByte;
use straggler_schedule::traced::Options;
use straggler_trace::format::directory;
use straggler_trace::import;

/// The replay as requested, before the trace is read.
#[derive(Clone, Debug)]
pub struct TraceRequest {
    pub path: PathBuf,
    pub options: Options,
    pub copies: u32,
    /// The table that selects the algorithms of its collectives.
    pub algorithms: Option<String>,
    pub idempotent: bool,
    pub reduction: PerByte,
}

impl TraceRequest {
    /// A request to replay the trace at a path, or the path if it holds no trace.
    pub fn new(
        path: PathBuf,
        replay: ReplayOptions,
        workload: &WorkloadOptions,
        data: &DataOptions,
    ) -> Result<TraceRequest, PathBuf> {
        let is_trace = path.is_dir()
            || directory::is_trace(&path)
            || import::detect(&path).is_some()
            || straggler_training::holds_job(&path);
        if !is_trace {
            return Err(path);
        }
        Ok(TraceRequest {
            path,
            options: replay.reading.options(workload.only()),
            copies: replay.copies(),
            algorithms: data.algorithms.clone(),
            idempotent: data.idempotent,
            reduction: data.reduction_cost.unwrap_or(PerByte::ZERO),
        })
    }

    /// One copy without changes, with the default table of algorithms.
    pub fn plain(path: PathBuf, options: Options) -> TraceRequest {
        let (algorithms, idempotent, reduction) = (None, false, PerByte::ZERO);
        TraceRequest { path, options, copies: 1, algorithms, idempotent, reduction }
    }

    pub fn of_predict(typed: &Predict) -> TraceRequest {
        TraceRequest {
            path: typed.trace.clone(),
            options: typed.replay.reading.options(only(typed.only)),
            copies: typed.replay.copies(),
            algorithms: typed.algorithms.clone(),
            idempotent: typed.idempotent,
            reduction: typed.reduction_cost.unwrap_or(PerByte::ZERO),
        }
    }
}
