//! What the lost time of a job costs: GPU-hours per day, and money.

use crate::kernel::prelude::*;
use straggler_training::Meta;
use straggler_training::exact::{Answers, Cause};

/// A smaller part of the steps is not worth a line.
const LEAST: f64 = 0.005;

#[derive(Serialize)]
pub struct Cost {
    gpus: u64,
    /// Lost to everything that makes steps longer than with typical workers.
    gpu_hours_a_day: f64,
    /// Lost to each cause, in their order; to one that is hidden, together with those that hide it.
    causes: Vec<f64>,
    /// Whether these are the hours of the cause together with others.
    with_others: Vec<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    price_of_gpu_hour: Option<f64>,
}

impl Cost {
    /// A description also counts the GPUs of tensor-parallel groups, of which only one is recorded.
    pub fn new(answers: &Answers, meta: Option<&Meta>, price_of_gpu_hour: Option<f64>) -> Cost {
        let workers = (answers.workers_recorded + answers.workers_missing) as u64;
        let gpus = meta.map_or(workers, |meta| u64::from(meta.world).max(workers));
        let hours = |share: f64| 24.0 * gpus as f64 * share.clamp(0.0, 1.0);
        let saved = |cause: &Cause| hours(cause.with_others.map_or(cause.gain, |(gain, _)| gain));
        let s = answers.s_at_least.unwrap_or(answers.s);
        Cost {
            gpus,
            gpu_hours_a_day: hours(1.0 - 1.0 / s.max(1.0)),
            causes: answers.causes.iter().map(saved).collect(),
            with_others: answers.causes.iter().map(|cause| cause.with_others.is_some()).collect(),
            price_of_gpu_hour,
        }
    }

    fn words(&self, hours: f64) -> String {
        let price =
            self.price_of_gpu_hour.map(|price| format!(", which cost {}", significant(hours * price)));
        format!("{} GPU-hours a day{}", significant(hours), price.unwrap_or_default())
    }

    /// What all lost time costs, as a line.
    pub fn all(&self) -> Option<String> {
        let worth = self.gpu_hours_a_day >= LEAST * 24.0 * self.gpus as f64;
        worth.then(|| {
            let gpus = counted(self.gpus, "GPU", "GPUs");
            format!("On {gpus}, this loses {}.", self.words(self.gpu_hours_a_day))
        })
    }

    /// What the cause with this index costs.
    pub fn of_cause(&self, cause: usize) -> String {
        let hours = self.words(self.causes.get(cause).copied().unwrap_or(0.0));
        match self.with_others.get(cause) {
            Some(true) => format!("Together with what hides it, costs {hours}."),
            _ => format!("Costs {hours}."),
        }
    }
}
