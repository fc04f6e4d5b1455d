//! Textual descriptions of noise.

use super::signature::SYNTHESISED;
use super::{Injection, Phases, Source, Waveform, Who};
use std::fmt;
use straggler_model::units::{counted, grouped};

/// A share in percent with two significant digits, without trailing zeros.
fn percent(share: f64) -> String {
    let value = share * 100.0;
    let decimals = if value > 0.0 { (1 - value.log10().floor() as i32).clamp(0, 6) } else { 0 };
    let text = format!("{value:.*}", decimals as usize);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// "every rank", "rank 4", "ranks 0 to 7".
impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Everyone => f.write_str("every rank"),
            Who::Ranks(first, last) if first == last => write!(f, "rank {}", grouped(*first)),
            Who::Ranks(first, last) => write!(f, "ranks {} to {}", grouped(*first), grouped(*last)),
            Who::Residue { modulus, remainder } => write!(f, "ranks r with r mod {modulus} = {remainder}"),
        }
    }
}

/// "100 µs every 1 ms (10 %) on every rank".
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.waveform {
            Waveform::Once { at, duration } => write!(f, "{duration} once at {at} on {}", self.who),
            Waveform::Trace(detours) => match (detours.len(), detours.iter().next()) {
                (1, Some((_, duration))) => {
                    let (length, share) = (detours.length(), percent(self.share()));
                    write!(f, "{duration} every {length} ({share}) on {}", self.who)?;
                    // A source of a signature needs its name; a periodic one is fully described
                    // already.
                    if self.name.ends_with(SYNTHESISED) { write!(f, " from {}", self.name) } else { Ok(()) }
                }
                (count, _) => {
                    let count = counted(count as u64, "detour", "detours");
                    let (length, share) = (detours.length(), percent(self.share()));
                    write!(f, "{count} in {length} ({share}) on {} from {}", self.who, self.name)
                }
            },
        }
    }
}

impl Injection {
    /// Describes the sources, joining those that take turns among the ranks into one phrase.
    fn phrases(&self) -> Vec<String> {
        let mut phrases = Vec::new();
        let mut rest = self.sources.as_slice();
        while let Some(source) = rest.first() {
            let turns = turns(rest);
            if turns > 1 {
                let (group, others) = rest.split_at(turns);
                phrases.push(in_turn(group));
                rest = others;
            } else {
                phrases.push(source.to_string());
                rest = &rest[1..];
            }
        }
        phrases
    }
}

/// Counts the leading sources that take turns: residues 0, 1, … of one modulus.
fn turns(sources: &[Source]) -> usize {
    let Some(Who::Residue { modulus, .. }) = sources.first().map(|source| &source.who) else { return 0 };
    let expected = (0..*modulus).map(|remainder| Who::Residue { modulus: *modulus, remainder });
    sources.iter().zip(expected).take_while(|(source, who)| source.who == *who).count()
}

fn in_turn(group: &[Source]) -> String {
    let shares = group.iter().map(Source::share);
    let (least, most) =
        shares.fold((f64::MAX, 0.0f64), |(low, high), share| (low.min(share), high.max(share)));
    let (count, first, last) = (group.len(), &group[0].name, &group[group.len() - 1].name);
    format!(
        "{} traces in turn over the ranks ({} to {}), {first} to {last}",
        grouped(count as u64),
        percent(least),
        percent(most)
    )
}

/// All sources, and any unusual injection settings.
impl fmt::Display for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sources.is_empty() {
            return f.write_str("no noise");
        }
        f.write_str(&self.phrases().join(" + "))?;
        match &self.phases {
            Phases::Drawn { .. } => {}
            Phases::Together { .. } => f.write_str(", at the same time on all of them")?,
            Phases::Given(offsets) => {
                write!(f, ", with {}", counted(offsets.len() as u64, "given offset", "given offsets"))?
            }
        }
        if self.wallclock { f.write_str(", in wall-clock time") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseSpec;

    fn describe(text: &str, phases: Phases, wallclock: bool) -> String {
        let spec: NoiseSpec = text.parse().unwrap();
        let loaded = spec.load_with(0, &mut |_| Ok(b"0 10\n5000 10".to_vec())).unwrap();
        Injection::new(loaded.sources, phases, wallclock).unwrap().to_string()
    }

    #[test]
    fn says_what_a_person_would() {
        let drawn = Phases::Drawn { seed: 0, replica: 0 };
        let together = Phases::Together { seed: 0, replica: 0 };
        assert_eq!(describe("none", drawn.clone(), false), "no noise");
        assert_eq!(
            describe("periodic:period=1ms,duration=100us", drawn.clone(), false),
            "100 µs every 1 ms (10 %) on every rank"
        );
        assert_eq!(
            describe(
                "periodic:rate=10Hz,duration=25us,ranks=0-7 + delay:rank=4,at=10us,duration=50us",
                together,
                true
            ),
            "25 µs every 100 ms (0.025 %) on ranks 0 to 7 + 50 µs once at 10 µs on rank 4, \
             at the same time on all of them, in wall-clock time"
        );
        assert_eq!(
            describe("t.txt", drawn.clone(), false),
            "2 detours in 5.010 µs (0.4 %) on every rank from t.txt"
        );
        assert_eq!(
            describe("trace:files=t.{rank},count=3", drawn, false),
            "3 traces in turn over the ranks (0.4 % to 0.4 %), t.0 to t.2"
        );
    }
}
