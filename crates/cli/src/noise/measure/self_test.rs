//! `straggler noise measure --self-test`: the measurement must find injected detours.

use crate::kernel::{Exit, Failure, Outcome, interrupt};
use crate::noise::measure::work::Session;
use serde::Serialize;
use straggler_measure::noise::MeasureError;
use straggler_measure::self_test;
use straggler_measure::self_test::{Priority, SelfTest, Verdict};
use straggler_model::Time;
use straggler_report::Table;
use straggler_report::numbers::{grouped, percent};

#[derive(Serialize)]
struct SelfTestAnswer {
    core: u32,
    priority: &'static str,
    injected: u64,
    found: u64,
    found_share: f64,
    switch_cost_ps: u64,
    switch_cost_range_ps: [u64; 2],
    median_error_ps: u64,
    p95_error_ps: u64,
    /// The 95th percentile of error / tolerance; the tolerance is 2 µs or 5 %, whichever is larger.
    p95_of_tolerance: Option<f64>,
    other_noise: f64,
    too_busy: bool,
    passed: bool,
}

pub fn run(session: &Session<'_>) -> Outcome<()> {
    // The last core, because the first one handles most interrupts.
    let core = *session.cores.last().ok_or(MeasureError::NoCores)?;
    let test = self_test::run(&session.options(&[core]), &session.timer, interrupt::flag())?;
    interrupt::check()?;
    let answer = SelfTestAnswer::new(core, &test);
    if session.console.json {
        session.console.print_json(&answer)?;
    } else {
        session.console.print(&summary(&answer, &test.verdict))?;
    }
    if answer.passed { Ok(()) } else { Err(Failure::new(Exit::CheckFailed, failed(&answer))) }
}

impl SelfTestAnswer {
    fn new(core: u32, test: &SelfTest) -> SelfTestAnswer {
        let verdict = &test.verdict;
        SelfTestAnswer {
            core,
            priority: match test.priority {
                Priority::RealTime => "real time",
                Priority::Nice => "nice",
                Priority::Ordinary => "ordinary",
            },
            injected: verdict.injected,
            found: verdict.found,
            found_share: verdict.found_share(),
            switch_cost_ps: verdict.switch_cost.ps(),
            switch_cost_range_ps: verdict.switch_cost_range.map(Time::ps),
            median_error_ps: verdict.median_error.ps(),
            p95_error_ps: verdict.p95_error.ps(),
            p95_of_tolerance: verdict.p95_of_tolerance.is_finite().then_some(verdict.p95_of_tolerance),
            other_noise: verdict.other_noise,
            too_busy: verdict.is_busy(),
            passed: verdict.passed(),
        }
    }
}

fn failed(answer: &SelfTestAnswer) -> anyhow::Error {
    if answer.injected == 0 {
        return anyhow::Error::msg("the self-test injected nothing: use a longer --time");
    }
    let what = if answer.found_share < 0.95 { "too few detours were found" } else { "durations are off" };
    let busy = match answer.too_busy {
        true => format!(
            ": other noise took {} of core {}: the machine is too busy for this test; run it on an idle \
             machine",
            percent(answer.other_noise),
            answer.core
        ),
        false if answer.priority == "ordinary" => {
            ": without permission to raise its priority (root, CAP_SYS_NICE) the injecting thread may be \
             late"
                .to_string()
        }
        false => String::new(),
    };
    anyhow::Error::msg(format!("the self-test failed, {what}{busy}"))
}

fn summary(answer: &SelfTestAnswer, verdict: &Verdict) -> String {
    let mut table = Table::new("", &["", "#"]);
    table.row(["injected detours of 20 µs and more", &grouped(answer.injected)]);
    table.row(["found", &format!("{} ({})", grouped(answer.found), percent(answer.found_share))]);
    let [low, high] = verdict.switch_cost_range;
    let cost = format!("{} ({low} to {high})", verdict.switch_cost);
    table.row(["cost of interrupt and context switches, 90th percentile", &cost]);
    table.row(["error of durations beyond it, median", &verdict.median_error.to_string()]);
    table.row(["error of durations beyond it, 95th percentile", &verdict.p95_error.to_string()]);
    if let Some(part) = answer.p95_of_tolerance {
        table.row(["the same, relative", &format!("{part:.2} of the tolerance (2 µs or 5 %)")]);
    }
    table.row(["other noise", &percent(answer.other_noise)]);
    table.row(["priority of the injecting thread", answer.priority]);
    let (verdict, lengths) = match answer {
        SelfTestAnswer { passed: true, .. } => ("Passed", ", with the right lengths"),
        SelfTestAnswer { found_share, .. } if *found_share < 0.95 => ("Failed", ""),
        _ => ("Failed", ", but too many of them with a wrong length"),
    };
    format!(
        "{verdict}: {} of the injected detours were found on core {}{lengths}.\n\n{table}",
        percent(answer.found_share),
        answer.core
    )
}
