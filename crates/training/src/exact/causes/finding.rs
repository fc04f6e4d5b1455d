//! What is known about a cause, as data. [`crate::phrases`] makes sentences of it.

use super::CauseKind;
use serde::Serialize;

/// What a cause consists of. Its ranks and steps are in [`super::Cause`].
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Finding {
    /// A worker computes longer than others of its stage, by this factor.
    Worker {
        factor: f64,
        period: Period,
        /// Its stage, if the job has several.
        stage: Option<u32>,
        /// Whether it is slow only now and then.
        occasional: bool,
    },
    /// Several workers do; the factor is that of the slowest.
    Workers {
        factor: f64,
        order: Order,
        of_workers: usize,
        occasional: bool,
    },
    /// All workers of some stages compute longer from some step on. `otherwise_alike`: in the other steps they are as fast as
    /// other stages.
    Stages {
        stages: Vec<usize>,
        otherwise_alike: bool,
    },
    /// Any worker takes longer now and then.
    RandomStalls {
        stalls: usize,
        mean_stall_seconds: f64,
        workers_hit: usize,
        of_workers: usize,
    },
    /// A stage has more work than the mean of all stages, by this factor.
    Partition {
        stage: usize,
        factor: f64,
        /// The best split of the layers and the mean step with it, if their number is given.
        layers: Vec<u32>,
        step_seconds: Option<f64>,
    },
    SequenceLengths {},
    /// `passes_known`: forward and backward passes are recorded or annotated.
    Variation {
        passes_known: bool,
    },
    LaunchDelay {},
    /// GPUs wait for their hosts during this share of a step. Hosts wait for the GPU during a share of that time.
    HostBound {
        gpus: usize,
        idle_share: f64,
        host_waits_share: f64,
    },
    DataLoading {
        change: Option<Change>,
    },
    GarbageCollection {
        change: Option<Change>,
    },
    /// Slow links, each as the ranks of its members. `in_common`: all of them include the ranks of the cause.
    Links {
        in_common: bool,
        links: Vec<Vec<u32>>,
        classes: Vec<String>,
        /// Steps in which the slowest link became even slower.
        slower_from: Vec<i64>,
    },
    /// Transfers take longer on all links.
    Transfers {
        classes: Vec<String>,
    },
    /// The first steps take longer: so many, with these numbers.
    StartUp {
        steps: usize,
        first_step: i64,
        last_step: i64,
    },
    /// All workers compute longer in some steps, and steps typically take `[longer, otherwise]`: `None` if other delays make
    /// up for it. `waits_in_computing`: they may only wait for one that is slower.
    WholeJob {
        typical_step_seconds: Option<[f64; 2]>,
        waits_in_computing: bool,
    },
    /// Operations that took absurdly long, and the longest of them.
    OneOff {
        operations: usize,
        operation: String,
        rank: u32,
        step: i64,
        takes_seconds: f64,
    },
}

/// When several workers are slow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    Together,
    /// Each in consecutive steps.
    OneAfterAnother,
    /// Each in some of the steps.
    InTurn,
}

/// The steps in which something is slow, by number.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Period {
    /// The first and the last step; `None` if it always was slow, or still is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_step: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_step: Option<i64>,
    /// Steps in which it became even slower.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slower_from: Vec<i64>,
    /// How many steps are slow, and of how many, if they are not consecutive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scattered: Option<[usize; 2]>,
    /// Whether a recording ends with the last step, so that it may still be slow.
    pub recording_ends: bool,
}

/// A mean time per step or operation that rises at a step, and in the other steps.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Change {
    pub since_step: i64,
    /// The last step, if the time falls back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_step: Option<i64>,
    pub seconds: f64,
    pub otherwise_seconds: f64,
}

/// An operation, and how long it takes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct OperationTime {
    pub operation: String,
    pub seconds: f64,
    pub usual_seconds: f64,
}

/// An operation of a table, or a kernel, whose name contains its number.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OperationName {
    pub operation: String,
    pub number: Option<u32>,
}

/// Code of the host, and its share of the time in which the GPU waits.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HostActivity {
    /// Empty for code outside of recorded operations.
    pub name: String,
    pub share: f64,
}

/// The mean wait of a step for the longest stall.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StallCost {
    pub workers: usize,
    pub seconds: f64,
}

/// What supports a cause.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Evidence {
    /// The computing time of a worker per slow step, and that of others. `stage`: if the job has several.
    SlowWorker {
        rank: u32,
        dp_rank: u32,
        stage: Option<u32>,
        factor: f64,
        period: Period,
        seconds: f64,
        usual_seconds: f64,
    },
    /// Only some operations of a worker are slow.
    SlowOperations {
        slow: Vec<OperationTime>,
        usual: Vec<String>,
    },
    /// A worker of a stage that became slow computes so long per step.
    SlowStage {
        stage: usize,
        change: Change,
    },
    NotThePartition,
    /// The computing time of a microbatch, by stage.
    WorkOfStages {
        seconds: Vec<f64>,
    },
    WorkOfStage {
        stage: usize,
        factor: f64,
    },
    OneWorkerPerStage,
    /// A worker stalls in one of so many steps.
    StallRate {
        worker_steps: f64,
        longest_seconds: f64,
    },
    StallCosts {
        costs: Vec<StallCost>,
    },
    /// The stalls as noise: stalls per second and worker, and quantiles of their durations.
    StallNoise {
        rate_hertz: f64,
        quantiles: Vec<(f64, f64)>,
    },
    /// The correlation of forward and backward times; without known passes, of the halves of a step.
    Correlation {
        coefficient: f64,
        is_high: bool,
        samples: u64,
        of_microbatches: bool,
        passes_known: bool,
    },
    /// The standard deviation of the times of a worker, as a share of their mean.
    Deviation {
        share: f64,
        between_steps: bool,
        passes_known: bool,
    },
    PassesUnknown,
    /// The rank with the most delays, and the operation behind most delays.
    MostDelays {
        rank: u32,
        share_of_rank: f64,
        operation: String,
        share_of_operation: f64,
    },
    LongestDelay {
        rank: u32,
        step: i64,
        seconds: f64,
        #[serde(flatten)]
        before: OperationName,
    },
    DelaysAtBeginning {
        share: f64,
    },
    /// The delays per step of the named ranks, or of all.
    DelaysOfRanks {
        ranks: usize,
        change: Change,
    },
    /// The mean time per step on the worst rank and on a typical one. No rank is named if all are alike.
    TimePerStep {
        rank: Option<u32>,
        seconds: f64,
        typical_seconds: f64,
    },
    /// The idle time per step on a typical GPU, and on the worst if there are several.
    Idle {
        typical_seconds: f64,
        rank: Option<u32>,
        seconds: f64,
    },
    Kernels {
        per_step: f64,
        mean_seconds: f64,
        host_seconds: f64,
    },
    /// What the host does while the GPU waits.
    HostActivities {
        activities: Vec<HostActivity>,
    },
    /// Half or a quarter of the transfers of a link take at least so long.
    SlowLink {
        ranks: Vec<u32>,
        class: String,
        share: f64,
        seconds: f64,
        usual_seconds: f64,
        period: Period,
    },
    MoreLinks {
        count: usize,
    },
    CollectivesEndTogether,
    LinksAlike {
        typical_seconds: f64,
        longest_seconds: f64,
    },
    /// No link stands out; these ranks are the members of the slowest.
    LinksDiffer {
        typical_seconds: f64,
        slowest: Vec<u32>,
        slowest_seconds: f64,
        longest_seconds: f64,
    },
    SlowTransfers {
        operation: String,
        change: Change,
    },
    StartUp {
        steps: usize,
        longest_seconds: f64,
        median_seconds: f64,
    },
    LongOperation {
        #[serde(flatten)]
        of: OperationName,
        rank: u32,
        step: i64,
        seconds: f64,
        usual_seconds: f64,
    },
    MoreOperations {
        count: usize,
    },
}

impl Finding {
    pub fn kind(&self) -> CauseKind {
        match self {
            Finding::Worker { .. } | Finding::Workers { .. } | Finding::Stages { .. } => CauseKind::Workers,
            Finding::RandomStalls { .. } => CauseKind::RandomStalls,
            Finding::Partition { .. } => CauseKind::Partition,
            Finding::SequenceLengths {} => CauseKind::SequenceLengths,
            Finding::Variation { .. } => CauseKind::Variation,
            Finding::LaunchDelay {} => CauseKind::LaunchDelay,
            Finding::HostBound { .. } => CauseKind::HostBound,
            Finding::DataLoading { .. } => CauseKind::DataLoading,
            Finding::GarbageCollection { .. } => CauseKind::GarbageCollection,
            Finding::Links { .. } | Finding::Transfers { .. } => CauseKind::Communication,
            Finding::StartUp { .. } => CauseKind::StartUp,
            Finding::WholeJob { .. } => CauseKind::WholeJob,
            Finding::OneOff { .. } => CauseKind::OneOff,
        }
    }
}
