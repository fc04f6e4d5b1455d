//! The analysis of a training job as text.

use straggler_report::Table;
use straggler_report::numbers::{counted, percent, seconds, significant};
use straggler_training::Job;
use straggler_training::exact::{Answers, Cause, Distrust, Slowdowns, Split};

/// Rows of a table that are shown.
const SHOWN: usize = 8;
/// Waits for what was not recorded are told from this share of a step on.
const UNEXPLAINED: f64 = 0.02;
/// Fewer steps have no interval.
const FEW: usize = 5;
/// More of the lost time than this is saved only where the ideal is slower than what others do.
const MORE_THAN_ALL: f64 = 1.005;
/// An S below this is explained.
const FASTER: f64 = 0.995;
/// A replay that is farther off than this is doubtful.
const FAR_OFF: f64 = 0.05;

/// A hidden cause that wins so much alone is told with that.
const WORTH_TELLING: f64 = 0.01;

/// The first sentences.
pub fn verdict(answers: &Answers) -> String {
    if answers.replayed_seconds <= 0.0 {
        return "The recording has no times: only the order of operations is known, and nobody can be blamed.".into();
    }
    let only = only(answers);
    if let Some(distrust) = answers.distrust {
        return format!("{only}{}", distrusted(distrust, answers));
    }
    let mut text = only;
    text.push_str(&match answers.s_at_least {
        Some(times) => format!(
            "The steps take at least {} times as long as they should. Compared with what is typical in this job it is {} \
             times{}, which is too little: so much is slow that what is typical is slow, too.",
            significant(times),
            significant(answers.s),
            interval(answers)
        ),
        None => format!(
            "The steps take {} times as long as they would if all workers were typical{}.",
            significant(answers.s),
            interval(answers)
        ),
    });
    match answers.causes.first() {
        Some(cause) => text.push_str(&format!(
            " {}: without that, a step would take {} instead of {}, {} less{}.",
            cause.says,
            seconds(answers.replayed_seconds - cause.seconds),
            seconds(answers.replayed_seconds),
            percent(cause.gain),
            from_then_on(cause).map(|words| format!(" ({words})")).unwrap_or_default()
        )),
        None if answers.s < FASTER => {
            text.push_str(" This is less than 1: some steps are faster than what is typical in this job.");
        }
        None if answers.s < 1.05 => text.push_str(&format!(
            " No single cause is worth more than 1 % of a step, which takes {}.",
            seconds(answers.replayed_seconds)
        )),
        None if answers.workers_missing > 0 => text.push_str(&format!(
            " No cause is known: {} not recorded, and what {} did shows as waiting of the others.",
            counted(answers.workers_missing as u64, "worker was", "workers were"),
            if answers.workers_missing == 1 { "it" } else { "they" }
        )),
        None => text.push_str(" No known cause explains it: look at the workers and operations below."),
    }
    for hidden in &answers.causes {
        if let Some((gain, seconds_won)) = hidden.with_others {
            text.push_str(&format!(
                " Another cause hides behind it. {}. Without {}, a step would take {}, {} less.",
                hidden.says,
                if hidden.hidden_behind.len() == 1 { "both" } else { "all of these" },
                seconds(answers.replayed_seconds - seconds_won),
                percent(gain)
            ));
        }
    }
    if !answers.transfers_timed {
        text.push_str(
            " Transfers have no durations in the recording: whether communication is slow is not known.",
        );
    }
    text
}

/// What a step takes from the one on that a cause began with, and without it.
fn from_then_on(cause: &Cause) -> Option<String> {
    let (step, (real, without)) = cause.since_step.zip(cause.step_since)?;
    Some(format!("from step {step} on, {} instead of {}", seconds(without), seconds(real)))
}

/// Why nobody is blamed.
fn distrusted(distrust: Distrust, answers: &Answers) -> String {
    let off = percent(answers.replay_error.abs());
    match distrust {
        Distrust::Clocks => format!(
            "The times of the workers contradict each other by up to {} in a step of {}: nothing can be said before their clocks are \
             aligned.",
            seconds(answers.cut_seconds),
            seconds(answers.step_seconds)
        ),
        Distrust::Rows => "Too many rows are missing: what is left does not fit together, the numbers below cannot be trusted, and \
                           nobody can be blamed."
            .into(),
        Distrust::Replay if answers.workers_missing > 0 => format!(
            "The replay is {off} off the recorded steps, as {} not recorded: the numbers below cannot be trusted, and nobody can be \
             blamed.",
            counted(answers.workers_missing as u64, "worker was", "workers were")
        ),
        Distrust::Kernels => "The recording does not tell which kernel waits for which: with typical times, the steps would take longer \
                              than they did. The numbers below cannot be trusted, and nobody can be blamed. Annotate microbatches, \
                              as the guide says."
            .into(),
        Distrust::Replay => format!(
            "The replay is {off} off the recorded steps: something that decides how long they take was not recorded, the numbers below \
             cannot be trusted, and nobody can be blamed."
        ),
    }
}

/// Which steps the verdict is about, where it is not about all.
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

/// The interval of S over the steps, where there are enough of them.
fn interval(answers: &Answers) -> String {
    let [low, high] = answers.s_interval.map(significant);
    if answers.steps < FEW {
        String::new()
    } else {
        format!(" (95 % interval over the steps: {low} to {high})")
    }
}

/// A replay that does not explain the recorded steps.
pub fn far_off(replay_error: f64) -> Option<String> {
    (replay_error.abs() > FAR_OFF).then(|| {
        format!(
            "the replay is {} off the recorded steps: something that decides how long they take was not recorded",
            percent(replay_error.abs())
        )
    })
}

/// What makes the numbers doubtful.
pub fn doubts(answers: &Answers) -> Vec<String> {
    let mut list = answers.notes.clone();
    list.extend(far_off(answers.replay_error));
    if answers.unexplained_seconds > UNEXPLAINED * answers.step_seconds
        && answers.replay_error.abs() > UNEXPLAINED
    {
        let before = answers.unexplained_before.as_ref();
        list.push(format!(
            "a worker waits {} a step for something that was not recorded, such as an all-reduce of the loss{}; this counts as \
             nobody's delay",
            seconds(answers.unexplained_seconds),
            before.map(|name| format!(", mostly before {name}")).unwrap_or_default()
        ));
    }
    if answers.overlaps > 0 && answers.overlap_seconds > UNEXPLAINED * answers.step_seconds {
        list.push(format!(
            "{} before what they should wait for on the same worker has ended, by up to {}: the graph may not be that of this \
             program",
            counted(answers.overlaps, "operation starts", "operations start"),
            seconds(answers.overlap_seconds)
        ));
    }
    if answers.cut > 0 && answers.cut_seconds > 1e-3 {
        let why = match answers.distrust {
            Some(Distrust::Rows) => "what meets was matched wrongly, as rows are missing",
            _ => "clocks differ by that much",
        };
        list.push(format!(
            "{} below zero, by up to {}, and counted as 0: {why}",
            counted(answers.cut, "time was", "times were"),
            seconds(answers.cut_seconds)
        ));
    }
    if answers.workers_recorded == 1 {
        list.push("one worker was recorded: there is nobody to compare it with".into());
    }
    if answers.steps < FEW {
        list.push(format!(
            "{} recorded, which is too few for an interval",
            counted(answers.steps as u64, "step was", "steps were")
        ));
    }
    list
}

pub fn say(job: &Job, answers: &Answers) -> String {
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
    for (number, cause) in (1..).zip(&answers.causes) {
        text.push_str(&format!("\n{number}. {}", told(cause)));
    }
    if answers.causes.len() > 1 {
        text.push_str("\nGains do not add up: one cause may hide another.\n");
    }
    text.push_str(&format!("\n{}", parts(answers)));
    text.push_str(&format!("\n{}", slowest(answers)));
    text.push_str(&format!("\n{}", curve(answers)));
    if answers.curve.iter().any(|point| point.rem.is_some_and(|rem| rem > MORE_THAN_ALL)) {
        text.push_str(
            "More than 100 %: workers that are not mended are faster than the ideal, which divides work evenly over all stages.\n",
        );
    }
    if let Some(split) = &answers.split {
        text.push_str(&format!("\n{}\n", self::split(split)));
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

/// A cause and what it costs; of one that is hidden, what it costs together with those that hide it.
pub fn costs(cause: &Cause) -> String {
    let (gain, saved) = cause.with_others.unwrap_or((cause.gain, cause.seconds));
    let since = match cause.with_others {
        Some(_) if cause.gain >= WORTH_TELLING => Some(format!("this one alone {}", percent(cause.gain))),
        Some(_) => None,
        None => from_then_on(cause),
    };
    let since = since.map(|words| format!("; {words}")).unwrap_or_default();
    let behind = cause.hidden_behind.iter().map(|says| format!("\u{201c}{says}\u{201d}"));
    let hidden = match behind.collect::<Vec<String>>().as_slice() {
        [] => ":".into(),
        [one] => format!(", hidden behind {one}: removing both saves"),
        all => format!(", hidden behind {}: removing all of these saves", all.join(" and ")),
    };
    format!("{}{hidden} {} of a step, {}{since}", cause.says, percent(gain), seconds(saved))
}

fn told(cause: &Cause) -> String {
    let mut text = format!("{}\n", costs(cause));
    cause.evidence.iter().for_each(|line| text.push_str(&format!("   {line}\n")));
    text.push_str(&format!("   Fix: {}\n", cause.fix));
    text
}

/// Slowdowns of stages and operations, where they are worth a line.
fn parts(answers: &Answers) -> Table {
    let mut table = Table::with_header(["ideal except", "slowdown"]);
    let mut rows = |what: &str, list: &Slowdowns| {
        let mut sorted: Vec<(&String, &f64)> = list.iter().collect();
        sorted.sort_by(|a, b| b.1.total_cmp(a.1));
        for (name, value) in sorted.into_iter().take(SHOWN).filter(|(_, value)| **value >= 1.001) {
            table.row([format!("{what}{name}"), format!("{value:.3}")]);
        }
    };
    if answers.stages > 1 {
        rows("stage ", &answers.by_stage);
    }
    if answers.dp_ranks > 1 {
        rows("data-parallel rank ", &answers.by_dp_rank);
    }
    rows("", &answers.by_type);
    table.row(["all".to_string(), format!("{:.3}", answers.s)]);
    if answers.stages > 1 {
        table.row([
            "all, compared with workers of the same stage".to_string(),
            format!("{:.3}", answers.s_stage_pooled),
        ]);
    }
    table
}

fn slowest(answers: &Answers) -> Table {
    let mut table = Table::with_header(["worker", "data-parallel rank", "stage", "slowdown alone"]);
    for worker in answers.workers.iter().take(SHOWN) {
        let host = worker.host.as_ref().map(|host| format!(" ({host})")).unwrap_or_default();
        table.row([
            format!("rank {}{host}", worker.rank),
            worker.dp_rank.to_string(),
            worker.stage.to_string(),
            format!("{:.3}", worker.s_w),
        ]);
    }
    table
}

fn curve(answers: &Answers) -> Table {
    let mut table = Table::with_header(["workers mended", "of all", "lost time saved", "step"]);
    for point in &answers.curve {
        table.row([
            point.workers.to_string(),
            percent(point.share),
            point.rem.map(percent).unwrap_or_default(),
            seconds(point.seconds),
        ]);
    }
    table
}
