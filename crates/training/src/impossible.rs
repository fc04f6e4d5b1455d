//! Steps with an operation that ends long after the next one of its worker began: a duration or a start is wrong.

use crate::{Job, Kind, words};
use straggler_model::parallel;
use straggler_model::stats::{lower_median, median};

/// An overlap is impossible if it exceeds this share of a typical step, and is this many times as long as in a typical step. Where
/// operations usually overlap, the program is simply different from the model.
const SHARE: f64 = 0.02;
const TIMES: i64 = 10;
/// If more than one step in this many is impossible, no step is left out.
const EXCEPTION: usize = 4;

/// The longest overlap of a step.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Overlap {
    picoseconds: i64,
    /// The worker, the operation that ends late, and the one that begins early.
    worker: usize,
    ends: usize,
    begins: usize,
}

/// Leaves impossible steps out and adds a note.
pub fn leave_out(job: &mut Job) {
    let overlaps: Vec<Overlap> = parallel::map(job.steps.len(), |step| longest(job, step));
    let takes = |step: usize| {
        let all = || job.instances(step);
        let begin = all().map(|instance| job.start[instance]).min().unwrap_or(0);
        let end = all().map(|instance| job.start[instance].saturating_add(job.duration[instance])).max();
        end.unwrap_or(begin).saturating_sub(begin)
    };
    let mut steps: Vec<i64> = parallel::map(job.steps.len(), takes);
    let typical_step = median(&mut steps);
    let typical = lower_median(&mut overlaps.iter().map(|overlap| overlap.picoseconds).collect::<Vec<i64>>());
    let least = (SHARE * typical_step as f64) as i64;
    let is_impossible = |overlap: &Overlap| overlap.picoseconds > least.max(typical.saturating_mul(TIMES));
    let wrong: Vec<usize> = (0..overlaps.len()).filter(|&step| is_impossible(&overlaps[step])).collect();
    if wrong.is_empty() || wrong.len() * EXCEPTION > overlaps.len().max(EXCEPTION) {
        return;
    }
    let told = wrong.iter().map(|&step| note(job, step, &overlaps[step]));
    let told = words::listed(told);
    job.notes.push(format!(
        "{} left out, with impossible times: {told}",
        words::plural(wrong.len(), "a step was", "some steps were")
    ));
    job.steps_left_out += wrong.len();
    let mut step = 0;
    job.steps.retain(|_| {
        step += 1;
        wrong.binary_search(&(step - 1)).is_err()
    });
}

fn longest(job: &Job, step: usize) -> Overlap {
    let (shape, columns) = (job.shape(step), job.steps[step].columns as usize);
    let is_host = |op: usize| matches!(Kind::ALL[shape.ops[op].kind as usize], Kind::Gc | Kind::DataLoad);
    let is_send =
        |op: usize| matches!(Kind::ALL[shape.ops[op].kind as usize], Kind::ForwardSend | Kind::BackwardSend);
    let mut longest = Overlap::default();
    for (begins, op) in shape.ops.iter().enumerate().filter(|(_, op)| !job.kinds[op.kind as usize].posted) {
        for &ends in shape.graph.before.get(begins) {
            let ends = ends as usize;
            // The GPU may run ahead of its host, and a send lasts until the receiver takes the message.
            if is_host(begins) || is_host(ends) || is_send(ends) {
                continue;
            }
            for column in 0..columns {
                let (early, late) = (job.instance(step, column, begins), job.instance(step, column, ends));
                let end = job.start[late].saturating_add(job.duration[late]);
                let picoseconds = end.saturating_sub(job.start[early]);
                if picoseconds > longest.picoseconds && shape.ops[ends].worker == op.worker {
                    longest = Overlap { picoseconds, worker: job.worker(step, column, begins), ends, begins };
                }
            }
        }
    }
    longest
}

/// `in step 7, forward-compute of rank 3 ends 4.2 s after the next operation, forward-send, begins`.
fn note(job: &Job, step: usize, overlap: &Overlap) -> String {
    let name = |op: usize| &job.kinds[job.shape(step).ops[op].kind as usize].name;
    format!(
        "in step {}, {} of rank {} ends {} after the next operation, {}, begins",
        job.steps[step].number,
        name(overlap.ends),
        job.workers[overlap.worker].rank,
        words::time(overlap.picoseconds),
        name(overlap.begins)
    )
}
