//! The signature file: TOML, version 1.
//!
//! ```toml
//! version = 1
//! name = "cluster"
//! made_from = "what it was made from"
//!
//! [[source]]           # strikes regularly
//! name = "timer tick"
//! period = "4ms"
//! jitter = "10us"      # standard deviation of each strike; may be left out
//! duration = "lognormal(median=5us,sigma=0.3)"
//!
//! [[source]]           # strikes at random
//! name = "daemon"
//! rate = "0.1Hz"       # or mean_gap = "10s"
//! duration = "quantiles(0=100us,0.9=2ms,1=20ms)"
//! ```

use super::{Arrivals, Signature, SignatureError, SignatureSource};
use crate::generate::Durations;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use straggler_model::Time;
use straggler_model::{toml_file, units};

const VERSION: u32 = 1;

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct FileSignature {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    name: String,
    made_from: String,
    #[serde(default, rename = "source", skip_serializing_if = "Vec::is_empty")]
    sources: Vec<FileSource>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct FileSource {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<Text<Time>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter: Option<Text<Time>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<Text<Rate>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_gap: Option<Text<Time>>,
    duration: Text<Durations>,
}

/// A value stored as a string. Parsed during deserialisation, so that errors have a line and
/// column.
struct Text<T>(T);

trait Written: Sized {
    const EXPECTED: &'static str;
    fn read(text: &str) -> Result<Self, String>;
    fn write(&self) -> String;
}

impl Written for Time {
    const EXPECTED: &'static str = "a time such as \"4ms\"";
    fn read(text: &str) -> Result<Time, String> {
        units::time(text).map_err(|fault| fault.to_string())
    }
    fn write(&self) -> String {
        units::write_time(*self)
    }
}

/// A rate, stored as the mean gap.
struct Rate(Time);

impl Written for Rate {
    const EXPECTED: &'static str = "a rate such as \"10Hz\"";
    fn read(text: &str) -> Result<Rate, String> {
        units::period(text).map(Rate).map_err(|fault| fault.to_string())
    }
    /// The fewest digits that read back as the same gap.
    fn write(&self) -> String {
        let rate = 1e12 / self.0.ps() as f64;
        let rounded = |digits: usize| format!("{rate:.digits$e}").parse::<f64>().unwrap_or(rate);
        let texts = (0..16).map(|digits| format!("{}Hz", rounded(digits)));
        let same = |text: &String| Rate::read(text).is_ok_and(|read| read.0 == self.0);
        texts.into_iter().find(same).unwrap_or_else(|| format!("{rate}Hz"))
    }
}

impl Written for Durations {
    const EXPECTED: &'static str = "a duration such as \"5us\" or \"lognormal(median=5us,sigma=0.3)\"";
    fn read(text: &str) -> Result<Durations, String> {
        text.parse().map_err(|fault: crate::SpecError| fault.to_string())
    }
    fn write(&self) -> String {
        self.to_string()
    }
}

impl<T: Written> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.write())
    }
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: Written> Visitor<'_> for TextVisitor<T> {
    type Value = Text<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<T>, E> {
        T::read(text).map(Text).map_err(E::custom)
    }
}

impl<'de, T: Written> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text<T>, D::Error> {
        deserializer.deserialize_any(TextVisitor(PhantomData))
    }
}

impl FileSource {
    fn source(self) -> Result<SignatureSource, SignatureError> {
        let jitter = self.jitter.map(|text| text.0);
        let arrivals = match (self.period, self.rate, self.mean_gap) {
            (Some(Text(period)), None, None) => {
                Arrivals::Periodic { period, jitter: jitter.unwrap_or(Time::ZERO) }
            }
            (None, Some(_), None) | (None, None, Some(_)) if jitter.is_some() => {
                return Err(SignatureError::Jitter { name: self.name });
            }
            (None, Some(Text(Rate(mean_gap))), None) | (None, None, Some(Text(mean_gap))) => {
                Arrivals::Random { mean_gap }
            }
            _ => return Err(SignatureError::Arrivals { name: self.name }),
        };
        Ok(SignatureSource { name: self.name, arrivals, durations: self.duration.0 })
    }

    fn new(source: &SignatureSource) -> Result<FileSource, SignatureError> {
        let SignatureSource { name, arrivals, durations } = source.clone();
        let fault = match Durations::read(&durations.write()) {
            Ok(read) if read == durations => None,
            Ok(read) => Some(format!("it reads back as {read}")),
            Err(fault) => Some(fault),
        };
        if let Some(fault) = fault {
            return Err(SignatureError::Unwritable { name, durations: durations.to_string(), fault });
        }
        let (mut period, mut jitter, mut rate, mut mean_gap) = (None, None, None, None);
        match arrivals {
            Arrivals::Periodic { period: every, jitter: off } => {
                period = Some(Text(every));
                jitter = (off > Time::ZERO).then_some(Text(off));
            }
            // Rates are more natural to read, but used only if they parse back to the same
            // picosecond, and if the gap is not shorter to write: 4.8ms instead of 208.3333333Hz.
            Arrivals::Random { mean_gap: gap } => {
                let text = Rate(gap).write();
                match Rate::read(&text) {
                    Ok(Rate(read)) if read == gap && text.len() <= gap.write().len() => {
                        rate = Some(Text(Rate(gap)));
                    }
                    _ => mean_gap = Some(Text(gap)),
                }
            }
        }
        Ok(FileSource { name, period, jitter, rate, mean_gap, duration: Text(durations) })
    }
}

impl Signature {
    /// Parses the text of a signature file.
    pub fn from_toml(text: &str) -> Result<Signature, SignatureError> {
        let file: FileSignature = toml_file::read(text)?;
        match file.version {
            None | Some(VERSION) => {}
            Some(found) => return Err(SignatureError::Version { found }),
        }
        let sources = file.sources.into_iter().map(FileSource::source).collect::<Result<_, _>>()?;
        let signature = Signature { name: file.name, made_from: file.made_from, sources };
        signature.check()?;
        Ok(signature)
    }

    /// Like [`Signature::from_toml`], from the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Signature, SignatureError> {
        Signature::from_toml(std::str::from_utf8(bytes).map_err(|_| SignatureError::NotText)?)
    }

    /// Writes a signature file that parses back to this signature.
    pub fn to_toml(&self) -> Result<String, SignatureError> {
        self.check()?;
        let sources = self.sources.iter().map(FileSource::new).collect::<Result<_, _>>()?;
        let (name, made_from) = (self.name.clone(), self.made_from.clone());
        Ok(toml::to_string(&FileSignature { version: Some(VERSION), name, made_from, sources })?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use crate::generate::Quantiles;
    use proptest::prelude::*;

    fn durations() -> impl Strategy<Value = Durations> {
        let time = || (0u64..1_000_000).prop_map(Time);
        let sigma = || 1e-3f64..2.0;
        prop_oneof![
            time().prop_map(Durations::Constant),
            time().prop_map(|mean| Durations::Exponential { mean }),
            (time(), sigma()).prop_map(|(median, sigma)| Durations::LogNormal { median, sigma }),
            (time(), sigma()).prop_map(|(min, alpha)| Durations::Pareto { min, alpha: alpha + 1.1 }),
            (time(), 1e-9f64..0.999).prop_map(|(end, share)| {
                let points = vec![(0.0, Time::ZERO), (share, end), (1.0, end)];
                Durations::Quantiles(Quantiles::new(points).unwrap())
            }),
        ]
    }

    fn arrivals() -> impl Strategy<Value = Arrivals> {
        let gap = || (1u64 << 30..1 << 60).prop_map(Time);
        prop_oneof![
            (gap(), gap()).prop_map(|(period, jitter)| Arrivals::Periodic { period, jitter }),
            gap().prop_map(|mean_gap| Arrivals::Random { mean_gap }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            name in ".*",
            made_from in ".*",
            sources in prop::collection::vec((".{0,3}", arrivals(), durations()), 0..5),
        ) {
            let sources = sources.into_iter().enumerate().map(|(index, (name, arrivals, durations))| {
                SignatureSource { name: format!("{name}{index}"), arrivals, durations }
            });
            let signature = Signature { name, made_from, sources: sources.collect() };
            let text = signature.to_toml().unwrap();
            prop_assert_eq!(&Signature::from_toml(&text).unwrap(), &signature, "{}", text);
        }

        #[test]
        fn no_text_breaks_it(text in ".*", key in "[a-z_]*", value in "[ -~]*") {
            let _ = Signature::from_toml(&text);
            let _ = Signature::from_toml(&format!("name='a'\nmade_from='b'\n[[source]]\nname='c'\n{key}='{value}'"));
        }
    }

    #[test]
    fn rates_are_written_as_such() {
        let text = sample().to_toml().unwrap();
        assert!(text.contains("rate = \"10Hz\"") && text.contains("jitter = \"20us\""), "{text}");
        let random = |gap: Time| {
            let mut signature = sample();
            signature.sources[0].arrivals = Arrivals::Random { mean_gap: gap };
            signature.to_toml().unwrap()
        };
        let text = random(Time(4_800_000_000));
        assert!(text.contains("mean_gap = \"4.8ms\""), "{text}");
        let text = random(Time(1_000_000_000_000 / 3_000));
        assert!(text.contains("rate = \"3000Hz\""), "{text}");
    }

    #[test]
    fn errors_say_where_and_what_was_meant() {
        let source = |lines: &str| format!("name = 'a'\nmade_from = 'b'\n[[source]]\nname = 'c'\n{lines}");
        let both = "period = '1ms'\nrate = '1Hz'\nduration = '1us'";
        for (lines, complaints) in [
            ("perod = '1ms'\nduration = '1us'", &["line 5, column 1", "did you mean `period`?"][..]),
            ("period = '1xs'\nduration = '1us'", &["line 5, column 10", "unknown unit `xs`"]),
            ("period = '1ms'\nduration = 'norm(1us)'", &["line 6, column 12", "lognormal"]),
            ("period = '1ms'\nduration = 'quantiles(0=1us)'", &["line 6", "at least two"]),
            ("period = 4\nduration = '1us'", &["line 5", "a time such as \"4ms\""]),
            ("period = '0ms'\nduration = '1us'", &["`c`", "above 0"]),
            ("period = '1ms'\nduration = '1ms'", &["100.0 %"]),
            ("rate = '1Hz'\nduration = 'pareto(min=1us,alpha=1)'", &["inf"]),
            ("rate = '1Hz'\njitter = '1ms'\nduration = '1us'", &["`c`", "jitter"]),
            ("duration = '1us'", &["`c`", "period", "rate"]),
            (both, &["`c`", "give one of"]),
            ("period = '1ms'", &["duration"]),
        ] {
            let fault = Signature::from_toml(&source(lines)).unwrap_err().to_string();
            assert!(complaints.iter().all(|part| fault.contains(part)), "{lines}\n{fault}");
        }
        let mut twice = sample();
        twice.sources[1].name = "tick".into();
        assert!(matches!(twice.to_toml(), Err(SignatureError::Twice { .. })));
        let mut flat = sample();
        flat.sources[0].durations = Durations::LogNormal { median: Time(5), sigma: 0.0 };
        assert!(matches!(flat.to_toml(), Err(SignatureError::Unwritable { .. })));
        assert!(matches!(Signature::from_bytes(b"\xff"), Err(SignatureError::NotText)));
        let fault = Signature::from_toml("version = 2\nname = 'a'\nmade_from = 'b'").unwrap_err();
        assert!(matches!(fault, SignatureError::Version { found: 2 }), "{fault}");
    }
}
