//! What a program pays that repeats one collective at an interval, beside a simulation of that collective alone.

use super::programs::fewest_cost;
use super::rarity::Rarity;
use super::{AssessError, Effort, Noise, ProgramPoint, Question, TimeLimit};
use straggler_model::Time;
use straggler_noise::Source;
use straggler_schedule::collectives::Collective;
use straggler_sim::Replicas;

/// Messages that may be simulated for it: less than a second of work.
const MESSAGES: u64 = 2_000_000;

/// The mean slowdown of the program under these sources; none if it takes too long to simulate. `runner` has no noise.
pub fn cost_of_repeating(
    runner: Replicas<'_>,
    seed: u64,
    sources: &[Source],
    collective: &Collective,
    interval: Time,
) -> Result<Option<ProgramPoint>, AssessError> {
    if fewest_cost(collective) > MESSAGES {
        return Ok(None);
    }
    let noise = Noise::of_sources(sources);
    let question = Question {
        runner,
        seed,
        noise: &noise,
        asked: &[],
        intervals: &[],
        threshold: 0.0,
        effort: Effort { messages: MESSAGES, ..Effort::default() },
        limit: TimeLimit::NONE,
        begins: &|_| (),
    };
    let rarity = Rarity::new(&noise);
    let program = question.cycles(collective, interval, &rarity)?;
    Ok(Some(question.program_point(&program, &noise.sources(&[])?, &rarity)?.0))
}
