//! The analysis of a training job as text.

use crate::training::cost::Cost;
use crate::training::page::{self, FEW, excess};
use straggler_report::numbers::{counted, longer, longer_than, percent, seconds, slowdown_interval};
use straggler_training::exact::{Answers, Cause, CauseKind, Distrust, Split};
use straggler_training::{Job, phrases};

/// Waits for unrecorded events and overlaps are reported if they exceed this share of a step.
const UNEXPLAINED: f64 = 0.02;
/// A step is uneven if its slowdown is this many times that of all steps.
const UNEVEN: f64 = 1.1;
/// If fixing workers saves more than this share of the lost time, the others are faster than the ideal.
const MORE_THAN_ALL: f64 = 1.005;
/// Below this S, some steps are faster than typical.
const FASTER: f64 = 0.995;
/// A larger relative error of the replay is reported.
const FAR_OFF: f64 = 0.05;

/// The number of further causes named in the verdict.
const FURTHER: usize = 3;

pub const DO_NOT_ADD_UP: &str = "Gains do not add up: one cause may hide another.";

/// A hidden cause with at least this gain of its own is reported with that gain.
const WORTH_TELLING: f64 = 0.01;

/// The first sentences: how much time is lost, and the causes.
pub fn verdict(answers: &Answers) -> String {
    if answers.replayed_seconds <= 0.0 {
        return "The recording has no times: only the order of operations is known, so no cause is named."
            .into();
    }
    let only = only(answers);
    if let Some(distrust) = answers.distrust {
        return format!("{only}{}", distrusted(distrust, answers));
    }
    let mut text = only;
    text.push_str(&match answers.s_at_least {
        Some(times) => format!(
            "The steps take at least {} they should. Compared with the typical worker they take {}{}, but {}.",
            longer_than(excess(times)),
            longer(excess(answers.s)),
            interval(answers),
            match answers.causes.first().map(|cause| cause.kind) {
                Some(CauseKind::StartUp) => "the slow first steps count as typical, too",
                _ => "so much of the job is slow that the typical worker is slow as well",
            }
        ),
        None if answers.workers_recorded == 1 => alone(answers),
        None => format!(
            "The steps take {} they would if all workers were typical{}.",
            longer_than(excess(answers.s)),
            interval(answers)
        ),
    });
    match answers.causes.first() {
        // Causes that hide each other.
        Some(first) if first.with_others.is_some() => {
            let (gain, saved) = first.with_others.unwrap_or_default();
            let all = first_ones(answers);
            let all: Vec<String> = all.iter().map(|&at| phrases::summary(&answers.causes[at])).collect();
            text.push_str(&format!(
                " Several causes hide each other: {}. Without all of them, a step would take {} instead of {}, {} \
                 less; removing one saves little.",
                all.join("; "),
                seconds(answers.replayed_seconds - saved),
                seconds(answers.replayed_seconds),
                percent(gain)
            ));
        }
        Some(cause) => text.push_str(&format!(
            " {}: without that, {} would take {} instead of {}, {} less{}.",
            phrases::summary(cause),
            if cause.kind == CauseKind::StartUp { "the mean step" } else { "a step" },
            seconds(answers.replayed_seconds - cause.seconds),
            seconds(answers.replayed_seconds),
            percent(cause.gain),
            while_it_lasts(cause).map(|words| format!(" ({words})")).unwrap_or_default()
        )),
        None if is_incomparable(answers) => {}
        None if (FASTER..1.05).contains(&answers.s) => text.push_str(&no_single_cause(answers)),
        None if answers.workers_missing > 0 => text.push_str(&format!(
            " The cause is unknown: {} not recorded, and what {} did appears as waiting of the others.",
            counted(answers.workers_missing as u64, "worker was", "workers were"),
            if answers.workers_missing == 1 { "it" } else { "they" }
        )),
        None if answers.s < FASTER => {
            text.push_str(" Some steps are faster than is typical in this job.");
        }
        None => text.push_str(" No known cause explains it: check the workers and operations below."),
    }
    text.push_str(&hidden(answers));
    text.push_str(&further(answers));
    if !answers.transfers_timed {
        text.push_str(
            " Transfers have no durations in the recording: it is unknown whether communication is slow.",
        );
    }
    text
}

/// The causes that the verdict names first, by index: the first, and those that hide it if it is hidden.
fn first_ones(answers: &Answers) -> Vec<usize> {
    let behind = answers.causes.first().map_or(&[][..], |first| &first.hidden_behind);
    let first = (!answers.causes.is_empty()).then_some(0);
    first.into_iter().chain(behind.iter().copied()).collect()
}

/// The causes behind the first ones, in the order of their removal, each with the step that is left.
fn hidden(answers: &Answers) -> String {
    let causes = &answers.causes;
    let mut named = first_ones(answers);
    let is_hidden = |&at: &usize| causes[at].with_others.is_some() && !named.contains(&at);
    let mut hidden: Vec<usize> = (0..causes.len()).filter(is_hidden).collect();
    hidden.sort_by_key(|&at| causes[at].hidden_behind.len());
    let mut told: Vec<String> = Vec::new();
    // Causes that hide each other are removed together.
    for together in hidden.chunk_by(|&one, &other| causes[one].with_others == causes[other].with_others) {
        let (gain, saved) = causes[together[0]].with_others.unwrap_or_default();
        named.extend(together);
        let left = seconds(answers.replayed_seconds - saved);
        let without = without_all(answers, together, &named);
        let summaries: Vec<String> = together.iter().map(|&at| phrases::summary(&causes[at])).collect();
        told.push(format!(
            "{} (without {without}, a step would take {left}, {} less)",
            summaries.join("; "),
            percent(gain)
        ));
    }
    match hidden.len() {
        0 => String::new(),
        1 => format!(" It hides another cause: {}.", told[0]),
        count => format!(" It hides {count} others: {}.", told.join("; ")),
    }
}

/// "both", "all three", or the names of what is removed with these causes, if some of it was not named before.
fn without_all(answers: &Answers, causes: &[usize], named: &[usize]) -> String {
    let behind = answers.causes[causes[0]].hidden_behind.iter().copied();
    let others: Vec<usize> = behind.filter(|at| !causes.contains(at)).collect();
    let all = others.len() + causes.len();
    if all == named.len() && others.iter().all(|at| named.contains(at)) {
        return match all {
            2 => "both".into(),
            3 => "all three".into(),
            all => format!("all {all}"),
        };
    }
    let quoted: Vec<String> = others.iter().map(|&at| quoted(&answers.causes[at])).collect();
    format!("{} and {}", if causes.len() == 1 { "this" } else { "these" }, quoted.join(" and "))
}

fn quoted(cause: &Cause) -> String {
    format!("\u{201c}{}\u{201d}", phrases::summary(cause))
}

/// Whether there is neither another worker nor another step to compare with.
fn is_incomparable(answers: &Answers) -> bool {
    answers.workers_recorded == 1 && answers.steps == 1
}

/// The first sentences about a job of which one worker was recorded.
fn alone(answers: &Answers) -> String {
    if is_incomparable(answers) {
        return format!(
            "One step of one worker was recorded, and takes {}: there is no other worker or step to compare it with.",
            seconds(answers.replayed_seconds)
        );
    }
    format!(
        "One worker was recorded: there is no other to compare it with. Its steps take {} they would if all were \
         typical{}.",
        longer_than(excess(answers.s)),
        interval(answers)
    )
}

/// The verdict on a job without a significant cause, and what that leaves open.
fn no_single_cause(answers: &Answers) -> String {
    let (of_whom, missing) = match answers.workers_missing {
        0 => ("", String::new()),
        count => {
            let were = counted(count as u64, "worker that was", "workers that were");
            (" among the recorded workers", format!(" What the {were} not recorded cost is unknown."))
        }
    };
    let longest = answers.by_step.iter().max_by(|a, b| a.1.total_cmp(b.1));
    let longest = longest.filter(|(_, slowdown)| **slowdown >= UNEVEN * answers.s);
    let uneven = longest.map_or(String::new(), |(step, slowdown)| {
        format!(" But steps differ: step {step} takes {} a typical one.", longer_than(excess(*slowdown)))
    });
    format!(
        " No single cause{of_whom} is worth more than 1 % of a step, which takes {}.{uneven}{missing}",
        seconds(answers.replayed_seconds)
    )
}

/// Causes that are neither the first nor hidden, each with its gain.
fn further(answers: &Answers) -> String {
    let others: Vec<&Cause> =
        answers.causes.iter().skip(1).filter(|cause| cause.with_others.is_none()).collect();
    let mut named: Vec<String> = others
        .iter()
        .take(FURTHER)
        .map(|cause| format!("{} ({})", phrases::summary(cause), percent(cause.gain)))
        .collect();
    if others.len() > FURTHER {
        named.push(format!("{} more below", others.len() - FURTHER));
    }
    match named.is_empty() {
        true => String::new(),
        false => format!(" Further causes, and what each costs: {}.", named.join("; ")),
    }
}

/// The step time while a cause lasts, with and without it.
fn while_it_lasts(cause: &Cause) -> Option<String> {
    let (real, without) = cause.step_since?;
    let when = match (cause.since_step, cause.until_step) {
        (Some(first), Some(last)) if first == last => format!("in step {first}"),
        (Some(first), Some(last)) => format!("in steps {first} to {last}"),
        (Some(first), None) => format!("from step {first} on"),
        (None, Some(last)) => format!("up to step {last}"),
        (None, None) => return None,
    };
    Some(format!("{when}, {} instead of {}", seconds(without), seconds(real)))
}

/// Why no cause is named.
fn distrusted(distrust: Distrust, answers: &Answers) -> String {
    let off = percent(answers.replay_error.abs());
    match distrust {
        Distrust::Clocks => format!(
            "The times of the workers contradict each other by up to {} in a step of {}, so no cause is named: \
             the files belong to different jobs, clocks differ, or operations were matched wrongly.",
            seconds(answers.early_end_seconds),
            seconds(answers.step_seconds)
        ),
        Distrust::Rows => "Too many rows are missing: the rest is inconsistent, the numbers below cannot \
            be trusted, and no cause is named."
            .into(),
        Distrust::Durations => {
            "No computation has a duration in the recording: only the order of operations \
            is known. The numbers below cannot be trusted, and no cause is named."
                .into()
        }
        Distrust::Operations => "The table does not say what computes: it has unknown operations, and no \
            forward-compute or no backward-compute. The numbers below cannot be trusted, and no cause is \
            named. Rename the operations as the note says."
            .into(),
        Distrust::Replay if answers.workers_missing > 0 => format!(
            "The replay differs from the recorded steps by {off}, because {} not recorded: the numbers \
             below cannot be trusted, and no cause is named.",
            counted(answers.workers_missing as u64, "worker was", "workers were")
        ),
        Distrust::Kernels => "The recording does not show which kernel waits for which: with typical \
            times, the steps would take longer than they did. The numbers below cannot be trusted, and no \
            cause is named. Annotate microbatches for the PyTorch profiler, as the guide says; if they are \
            annotated, the notes say why they were not used."
            .into(),
        Distrust::Replay => format!(
            "The replay differs from the recorded steps by {off}: something that determines their length \
             was not recorded, the numbers below cannot be trusted, and no cause is named."
        ),
    }
}

/// The steps covered by the verdict, unless it covers all.
fn only(answers: &Answers) -> String {
    if answers.steps_left_out == 0 {
        return String::new();
    }
    let steps: Vec<i64> = answers.by_step.keys().copied().collect();
    let ranges = steps.chunk_by(|one, next| one.checked_add(1) == Some(*next));
    let named = ranges.map(|range| match range {
        [one] => one.to_string(),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    });
    let all = answers.steps + answers.steps_left_out;
    format!("Of {all} steps only {} could be analysed. ", named.collect::<Vec<String>>().join(", "))
}

/// The interval of S over the steps; empty if there are too few steps.
fn interval(answers: &Answers) -> String {
    let [low, high] = slowdown_interval(excess(answers.s), answers.s_interval.map(excess));
    if answers.steps < FEW {
        String::new()
    } else {
        format!(" (95 % interval over the steps: {low} to {high})")
    }
}

/// Warns if the replay does not match the recorded steps.
pub fn far_off(replay_error: f64) -> Option<String> {
    (replay_error.abs() > FAR_OFF).then(|| {
        format!(
            "the replay differs from the recorded steps by {}: something that determines their length was \
             not recorded",
            percent(replay_error.abs())
        )
    })
}

/// Reasons to doubt the numbers.
pub fn doubts(answers: &Answers) -> Vec<String> {
    let mut list = answers.notes.clone();
    list.extend(far_off(answers.replay_error));
    // Else the verdict says so.
    if answers.workers_recorded == 1 && (answers.distrust.is_some() || answers.s_at_least.is_some()) {
        list.push("one worker was recorded: there is no other to compare it with".into());
    }
    if answers.unexplained_seconds > UNEXPLAINED * answers.step_seconds
        && answers.replay_error.abs() > UNEXPLAINED
    {
        let before = answers.unexplained_before.as_ref();
        list.push(format!(
            "a worker waits {} per step for something that was not recorded, such as an all-reduce of the \
             loss{}; this delay is attributed to no one",
            seconds(answers.unexplained_seconds),
            before.map(|name| format!(", mostly before {name}")).unwrap_or_default()
        ));
    }
    if answers.overlaps > 0 && answers.overlap_seconds > UNEXPLAINED * answers.step_seconds {
        list.push(format!(
            "{} before their predecessors on the same worker end, by up to {}: the graph may not match \
             this program",
            counted(answers.overlaps, "operation starts", "operations start"),
            seconds(answers.overlap_seconds)
        ));
    }
    if answers.early_ends > 0 && answers.early_end_seconds > 1e-3 {
        let why = match answers.distrust {
            Some(Distrust::Rows) => "operations were matched wrongly, because rows are missing",
            _ => "clocks differ, or operations were matched wrongly",
        };
        list.push(format!(
            "{} below zero, by up to {}, and counted as 0: {why}",
            counted(answers.early_ends, "time was", "times were"),
            seconds(answers.early_end_seconds)
        ));
    }
    if answers.steps < FEW {
        list.push(format!(
            "{} recorded, which is too few for an interval",
            counted(answers.steps as u64, "step was", "steps were")
        ));
    }
    list
}

/// Without `details`, what fits on a screen.
pub fn summary(job: &Job, answers: &Answers, cost: &Cost, details: bool) -> String {
    let mut text = format!("{}\n", verdict(answers));
    if job.synthetic {
        text.push_str("The job is synthetic: generated or changed, not recorded.\n");
    }
    text.push_str(&format!(
        "{}: {}, {}, {}.\n",
        job.source,
        counted(answers.workers_recorded as u64, "worker", "workers"),
        counted(answers.steps as u64, "step", "steps"),
        counted(answers.operations as u64, "operation", "operations"),
    ));
    if let Some(all) = cost.all().filter(|_| answers.distrust.is_none()) {
        text.push_str(&format!("{all}\n"));
    }
    for number in 0..answers.causes.len() {
        text.push_str(&format!("\n{}. {}", number + 1, paragraph(answers, number, &cost.of_cause(number))));
    }
    if answers.causes.len() > 1 {
        text.push_str(&format!("\n{DO_NOT_ADD_UP}\n"));
    }
    text.push_str(&format!("\n{}", page::parts(answers, true)));
    text.push_str(&format!("\n{}", page::workers(answers, page::SHOWN)));
    if details {
        text.push_str(&format!("\n{}", page::breakdown(answers, page::SHOWN)));
        text.push_str(&format!("\n{}", page::curve(&answers.curve)));
        if answers.curve.iter().any(|point| point.share_saved.is_some_and(|saved| saved > MORE_THAN_ALL)) {
            text.push_str(
                "More than 100 %: workers that are not fixed are faster than the ideal, which divides work \
                 evenly over all stages.\n",
            );
        }
    }
    if let Some(split) = &answers.split {
        text.push_str(&format!("\n{}\n", self::split(split)));
    }
    if !details {
        text.push_str("\nWith -v: what each worker does in a step, and what fixing several workers saves.\n");
    }
    text
}

/// The best split of the layers, as a sentence.
pub fn split(split: &Split) -> String {
    let layers: Vec<String> = split.layers.iter().map(u32::to_string).collect();
    format!(
        "The best split of the layers is {}: the longest stage would take {} for a microbatch instead of {}.",
        layers.join(", "),
        seconds(split.then_seconds),
        seconds(split.now_seconds)
    )
}

/// A cause and its cost; for a hidden cause, the cost together with the causes that hide it.
pub fn costs(cause: &Cause, all: &[Cause]) -> String {
    let (gain, saved) = cause.with_others.unwrap_or((cause.gain, cause.seconds));
    let since = match cause.with_others {
        Some(_) if cause.gain >= WORTH_TELLING => Some(format!("this one alone {}", percent(cause.gain))),
        Some(_) => Some("this one alone almost nothing".into()),
        None => while_it_lasts(cause),
    };
    let since = since.map(|words| format!("; {words}")).unwrap_or_default();
    let behind = cause.hidden_behind.iter().map(|&place| quoted(&all[place]));
    let hidden = match behind.collect::<Vec<String>>().as_slice() {
        [] => ":".into(),
        [one] => format!(", hidden behind {one}: removing both saves"),
        several => format!(", hidden behind {}: removing all of these saves", several.join(" and ")),
    };
    let summary = phrases::summary(cause);
    format!("{summary}{hidden} {} of a step, {}{since}", percent(gain), seconds(saved))
}

fn paragraph(answers: &Answers, number: usize, cost: &str) -> String {
    let cause = &answers.causes[number];
    let mut text = format!("{}\n   {cost}\n", costs(cause, &answers.causes));
    phrases::evidence(cause).iter().for_each(|line| text.push_str(&format!("   {line}\n")));
    text.push_str(&format!("   Fix: {}\n", phrases::fix(cause)));
    text
}
