//! Lists of KEY=VALUE that report unused keys.

use super::SpecError;
use straggler_model::Time;
use straggler_model::spelling::nearest;
use straggler_model::units;

/// The arguments of one source or distribution. Keys are removed as they are read; any left at the end are
/// unknown.
pub(super) struct Arguments {
    place: String,
    pairs: Vec<(String, String)>,
    asked: Vec<&'static str>,
}

impl Arguments {
    /// Parses pairs. Values without a key get the keys of `positions`, in order.
    pub(super) fn parse(place: &str, list: &str, positions: &[&str]) -> Result<Arguments, SpecError> {
        let mut arguments = Arguments { place: place.into(), pairs: Vec::new(), asked: Vec::new() };
        if list.trim().is_empty() {
            return Ok(arguments);
        }
        for (index, part) in split_outside_parentheses(list, ',')?.into_iter().enumerate() {
            let part = part.trim();
            // An equals sign inside parentheses belongs to the value.
            let before_parenthesis = part.split('(').next().unwrap_or_default();
            let (key, value) = match (before_parenthesis.contains('='), positions.get(index)) {
                (true, _) => part.split_once('=').unwrap_or((part, "")),
                (false, Some(key)) => (*key, part),
                (false, None) => {
                    return Err(SpecError::NotAPair { place: place.into(), text: part.into() });
                }
            };
            let key = key.trim().to_string();
            if arguments.pairs.iter().any(|(other, _)| *other == key) {
                return Err(SpecError::Repeated { place: place.into(), key });
            }
            arguments.pairs.push((key, value.trim().into()));
        }
        Ok(arguments)
    }

    pub(super) fn take(&mut self, key: &'static str) -> Option<String> {
        self.asked.push(key);
        let index = self.pairs.iter().position(|(other, _)| other == key)?;
        Some(self.pairs.remove(index).1)
    }

    /// Takes every remaining pair, for lists whose keys are numbers.
    pub(super) fn take_all(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.pairs)
    }

    pub(super) fn time(&mut self, key: &'static str) -> Result<Option<Time>, SpecError> {
        let Some(text) = self.take(key) else { return Ok(None) };
        units::time(&text).map(Some).map_err(|fault| self.unit(key, fault))
    }

    pub(super) fn require_time(&mut self, key: &'static str) -> Result<Time, SpecError> {
        self.time(key)?.ok_or_else(|| self.missing(key))
    }

    /// Takes a number above 0, without a unit.
    pub(super) fn require_positive(&mut self, key: &'static str) -> Result<f64, SpecError> {
        let text = self.take(key).ok_or_else(|| self.missing(key))?;
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
            _ => Err(self.bad(key, &text, "a number above 0")),
        }
    }

    /// Takes `period=1ms` or the equivalent `rate=1kHz`.
    pub(super) fn period_or_rate(&mut self) -> Result<Time, SpecError> {
        match (self.time("period")?, self.take("rate")) {
            (Some(Time::ZERO), None) => Err(self.bad("period", "0", "a time above 0")),
            (Some(period), None) => Ok(period),
            (None, Some(rate)) => units::period(&rate).map_err(|fault| self.unit("rate", fault)),
            (Some(_), Some(_)) => Err(self.both("period", "rate")),
            (None, None) => Err(self.missing("period=TIME or rate=FREQUENCY")),
        }
    }

    /// Refuses unknown keys. Done before missing keys are reported, since a misspelt key causes both errors.
    pub(super) fn refuse_others(&self, known: &[&str]) -> Result<(), SpecError> {
        let other = self.pairs.iter().find(|(key, _)| !known.contains(&key.as_str()));
        other.map_or(Ok(()), |(key, _)| Err(self.unknown(key, known)))
    }

    /// Refuses keys that were never taken.
    pub(super) fn finish(self) -> Result<(), SpecError> {
        self.pairs.first().map_or(Ok(()), |(key, _)| Err(self.unknown(key, &self.asked)))
    }

    fn unknown(&self, key: &str, known: &[&str]) -> SpecError {
        SpecError::UnknownKey {
            place: self.place.clone(),
            key: key.into(),
            known: known.join(", "),
            nearest: nearest(key, known.iter().copied()).map(str::to_string),
        }
    }

    fn unit(&self, key: &str, fault: units::UnitError) -> SpecError {
        SpecError::Unit { place: self.place.clone(), key: key.into(), fault }
    }

    pub(super) fn missing(&self, missing: &'static str) -> SpecError {
        SpecError::Missing { place: self.place.clone(), missing }
    }

    pub(super) fn bad(&self, key: &str, text: &str, expected: &'static str) -> SpecError {
        SpecError::Bad { place: self.place.clone(), key: key.into(), text: text.into(), expected }
    }

    pub(super) fn both(&self, one: &'static str, other: &'static str) -> SpecError {
        SpecError::Both { place: self.place.clone(), one, other }
    }
}

/// Splits at separators outside parentheses.
fn split_outside_parentheses(text: &str, separator: char) -> Result<Vec<&str>, SpecError> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for index in outside_parentheses(text, separator)? {
        parts.push(&text[start..index]);
        start = index + separator.len_utf8();
    }
    parts.push(&text[start..]);
    Ok(parts)
}

/// Positions of a character outside parentheses.
pub(super) fn outside_parentheses(text: &str, wanted: char) -> Result<Vec<usize>, SpecError> {
    let (mut places, mut depth) = (Vec::new(), 0usize);
    for (index, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if c == wanted && depth == 0 => places.push(index),
            _ => {}
        }
    }
    if depth > 0 {
        return Err(SpecError::Unclosed { text: text.into() });
    }
    Ok(places)
}
