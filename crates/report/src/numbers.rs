//! Formatting of numbers for people.

pub(crate) use straggler_model::units::group_whole_part;
pub use straggler_model::units::{counted, grouped};

/// A share that rounds to 0.
pub const NOTHING: &str = "0 %";

/// A slowdown that rounds to 0, in a sentence.
pub const NO_LONGER: &str = "no longer";

/// A share in percent: two significant digits below 10 %, whole percents from there on. From ten wholes on it is a
/// factor: 49,310× and not 4,931,000 %. Slowdowns have a spelling of their own: [`slowdown`].
pub fn percent(share: f64) -> String {
    if share.abs() >= 9.995 {
        return format!("{}×", significant(share));
    }
    // Avoid "-0".
    let value = share * 100.0 + 0.0;
    let size = value.abs();
    let decimals = match size {
        _ if size >= 10.0 || size == 0.0 => 0,
        _ if size >= 1.0 => 1,
        _ => (1 - size.log10().floor() as i32).clamp(0, 6) as usize,
    };
    let text = format!("{value:.decimals$}");
    let trimmed = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    let trimmed = if trimmed == "-0" { "0" } else { trimmed };
    format!("{} %", group_whole_part(trimmed))
}

/// How to read slowdowns in a table.
pub const SLOWDOWN_LEGEND: &str =
    "A slowdown of +17 % is 17 % longer than without noise; 3.4× is 3.4 times as long.";

/// Whether a slowdown is written as a factor: from twice the time on, including what rounds to 100 %.
pub fn is_factor(more: f64) -> bool {
    more >= 0.995
}

/// A slowdown T/T0 − 1 in a table: `+17 %`, and from twice the time on the factor T/T0: `3.40×`.
pub fn slowdown(more: f64) -> String {
    on_scale(is_factor(more), more)
}

/// The ends of the interval of a slowdown, on its scale: `+70 %` and `+112 %` around `+92 %`, `1.90×` and `2.31×` around
/// `2.08×`.
pub fn slowdown_interval(more: f64, ends: [f64; 2]) -> [String; 2] {
    ends.map(|end| on_scale(is_factor(more), end))
}

fn on_scale(as_factor: bool, more: f64) -> String {
    let text = percent(more);
    match more > 0.0 && text != NOTHING {
        _ if as_factor => format!("{}×", significant(more + 1.0)),
        true => format!("+{text}"),
        false => text,
    }
}

/// A slowdown T/T0 − 1 in a sentence: `17 % longer`, `3.40 times as long`, `no longer`, `5 % less`.
pub fn longer(more: f64) -> String {
    let share = percent(more.abs());
    match more > 0.0 {
        _ if is_factor(more) => format!("{} times as long", significant(more + 1.0)),
        _ if share == NOTHING => NO_LONGER.into(),
        true => format!("{share} longer"),
        false => format!("{share} less"),
    }
}

/// A mean slowdown in a table with the digits that its interval supports: `+3.2 %`, `120×`; `8.1 % to 16 %` if the
/// interval is too wide for a single number.
pub fn slowdown_within(more: f64, ends: [f64; 2], is_narrow: bool) -> String {
    slowdown_on(is_factor(more), more, ends, is_narrow)
}

/// The same as a factor or not, for two slowdowns that are compared.
pub fn slowdown_on(as_factor: bool, more: f64, [low, high]: [f64; 2], is_narrow: bool) -> String {
    let (zero, scale, unit) = if as_factor { (1.0, 1.0, "×") } else { (0.0, 100.0, " %") };
    let on_scale = |more: f64| zero + more * scale;
    if !is_narrow {
        let digit = on_scale(high) - on_scale(low);
        let end = |more: f64| rounded_to(on_scale(more), digit.min(on_scale(more) / 10.0));
        return format!("{}{unit} to {}{unit}", end(low), end(high));
    }
    let text = rounded_to(on_scale(more), scale * (high - more).max(more - low));
    let is_more = zero == 0.0 && text.contains(|digit: char| ('1'..='9').contains(&digit));
    match is_more {
        true => format!("+{text}{unit}"),
        false => format!("{text}{unit}"),
    }
}

/// A share in percent with the digits that its uncertainty supports, and the uncertainty: `3.2 % (±0.4)`.
pub fn percent_within(share: f64, uncertainty: f64) -> String {
    let (value, around) = (100.0 * share, 100.0 * uncertainty);
    let text = rounded_to(value, around);
    match rounded_to(around, around).as_str() {
        "0" => format!("{text} %"),
        around => format!("{text} % (±{around})"),
    }
}

/// Rounds to the first digit that is uncertain, to at most three digits, and to hundredths.
fn rounded_to(value: f64, uncertainty: f64) -> String {
    let digit = |value: f64| value.abs().log10().floor();
    let last = digit(uncertainty).max(digit(value) - 2.0).max(-2.0);
    let step = 10f64.powf(last);
    let rounded = (value / step).round() * step;
    if rounded == 0.0 {
        return "0".into();
    }
    let decimals = (-last).max(0.0) as usize;
    group_whole_part(&format!("{rounded:.decimals$}"))
}

/// Like [`longer`], followed by the word of comparison: `17 % longer than`, `3.40 times as long as`.
pub fn longer_than(more: f64) -> String {
    format!("{} {}", longer(more), if is_factor(more) { "as" } else { "than" })
}

/// Slowdowns from `low` to `high` in a sentence: `5 % to 17 % longer`, `up to 17 % longer`, `5 % to 17 % less`,
/// `between 5 % longer and 3.40 times as long`.
pub fn longer_range(low: f64, high: f64) -> String {
    let (least, most) = (longer(low), longer(high));
    match () {
        () if least == most => most,
        () if least == NO_LONGER => format!("up to {most}"),
        () if most == NO_LONGER => format!("up to {least}"),
        () if is_factor(low) => format!("{} to {most}", significant(low + 1.0)),
        () if high < 0.0 => format!("{} to {least}", percent(-high)),
        () if low < 0.0 || is_factor(high) => format!("between {least} and {most}"),
        () => format!("{} to {most}", percent(low)),
    }
}

/// Three significant digits and a word for the power: `22.8 million`, `950`, `1.20 billion`.
pub fn rounded(value: f64) -> String {
    const WORDS: [(f64, &str); 3] = [(1e9, " billion"), (1e6, " million"), (1e3, " thousand")];
    // Four digits are read as easily as a word.
    let (scale, word) = if value >= 1e4 { unit_of(value, &WORDS, (1.0, "")) } else { (1.0, "") };
    format!("{}{word}", significant(value / scale))
}

/// Formats wall-clock seconds in a suitable unit: `1.23 s`, `45.6 ms`, `789 µs`.
pub fn seconds(value: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    let (scale, unit) = unit_of(value, &UNITS, (1e-9, "ns"));
    format!("{} {unit}", significant(value / scale))
}

/// The largest unit in which [`significant`] writes at least 1: 999.6 ms are 1.00 s, not 1,000 ms.
fn unit_of<'a>(value: f64, units: &[(f64, &'a str)], smallest: (f64, &'a str)) -> (f64, &'a str) {
    units.iter().copied().find(|(scale, _)| value / scale >= 0.9995).unwrap_or(smallest)
}

/// Three significant digits, or all digits of the whole part.
pub fn significant(value: f64) -> String {
    // What rounds to 10.0 and to 100 has their digits.
    let decimals = match value.abs() {
        size if size >= 99.95 || size == 0.0 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    group_whole_part(&format!("{value:.decimals$}"))
}

/// Bytes in three significant digits: `149 MiB`. For memory, where the last byte does not matter.
pub fn memory(bytes: u64) -> String {
    const UNITS: [(f64, &str); 3] = [(1073741824.0, "GiB"), (1048576.0, "MiB"), (1024.0, "KiB")];
    let value = bytes as f64;
    match unit_of(value, &UNITS, (1.0, "B")) {
        (_, "B") => format!("{} B", grouped(bytes)),
        (scale, unit) => format!("{} {unit}", significant(value / scale)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_keep_what_matters() {
        for (share, text) in [
            (0.0, "0 %"),
            (0.1747, "17 %"),
            (0.0123, "1.2 %"),
            (0.00025, "0.025 %"),
            (-0.05, "-5 %"),
            (9.99, "999 %"),
            (10.0, "10.0×"),
            (12.345, "12.3×"),
            (-49310.2, "-49,310×"),
            (0.02, "2 %"),
            (-1e-12, "0 %"),
        ] {
            assert_eq!(percent(share), text, "{share}");
        }
    }

    #[test]
    fn slowdowns_are_percentages_below_twice_the_time_and_factors_from_there_on() {
        for (more, cell, sentence) in [
            (0.0, "0 %", "no longer"),
            (0.0123, "+1.2 %", "1.2 % longer"),
            (0.384, "+38 %", "38 % longer"),
            (-0.05, "-5 %", "5 % less"),
            (0.994, "+99 %", "99 % longer"),
            (0.996, "2.00×", "2.00 times as long"),
            (1.0, "2.00×", "2.00 times as long"),
            (2.4, "3.40×", "3.40 times as long"),
            (319.0, "320×", "320 times as long"),
        ] {
            assert_eq!((slowdown(more).as_str(), longer(more).as_str()), (cell, sentence), "{more}");
        }
        assert_eq!(slowdown_interval(0.1, [0.05, 0.17]), ["+5 %", "+17 %"]);
        assert_eq!(slowdown_interval(0.92, [0.7, 1.12]), ["+70 %", "+112 %"]);
        assert_eq!(slowdown_interval(1.3, [0.17, 5.74]), ["1.17×", "6.74×"]);
        for (low, high, sentence) in [
            (0.05, 0.17, "5 % to 17 % longer"),
            (0.05, 2.4, "between 5 % longer and 3.40 times as long"),
            (1.5, 2.4, "2.50 to 3.40 times as long"),
            (0.0, 1.11, "up to 2.11 times as long"),
            (0.0, 0.17, "up to 17 % longer"),
            (-0.16, 0.0, "up to 16 % less"),
            (-0.16, -0.05, "5 % to 16 % less"),
            (-0.16, 0.05, "between 16 % less and 5 % longer"),
            (0.0951, 0.0953, "9.5 % longer"),
            (0.0, 1e-12, "no longer"),
        ] {
            assert_eq!(longer_range(low, high), sentence, "{low} to {high}");
        }
        assert_eq!(longer_than(0.26), "26 % longer than");
        assert_eq!(longer_than(1.13), "2.13 times as long as");
    }

    #[test]
    fn means_have_the_digits_of_their_intervals() {
        for (more, ends, is_narrow, text) in [
            (0.0324, [0.029, 0.036], true, "+3.2 %"),
            (0.0324, [0.0323, 0.0325], true, "+3.24 %"),
            (0.117, [0.08, 0.157], true, "+12 %"),
            (0.543, [0.541, 0.545], true, "+54.3 %"),
            (0.0004, [0.0, 0.002], true, "0 %"),
            (0.0, [0.0, 0.0], true, "0 %"),
            (630.2, [590.0, 670.0], true, "630×"),
            (0.117, [0.081, 0.157], false, "8.1 % to 16 %"),
            (0.002, [0.0, 0.005], false, "0 % to 0.50 %"),
            (60_000.0, [2199.0, 108_900.0], false, "2,200× to 110,000×"),
        ] {
            assert_eq!(slowdown_within(more, ends, is_narrow), text, "{more}");
        }
        assert_eq!(percent_within(0.0324, 0.0041), "3.2 % (±0.4)");
        assert_eq!(percent_within(0.0324, 0.0), "3.24 %");
        assert_eq!(percent_within(0.0324, 0.012), "3 % (±1)");
    }

    #[test]
    fn magnitudes_have_words() {
        assert_eq!(rounded(22_812_345.0), "22.8 million");
        assert_eq!(rounded(950.4), "950");
        assert_eq!(rounded(1000.0), "1,000");
        assert_eq!(rounded(12_345.0), "12.3 thousand");
        assert_eq!(rounded(1.2e9), "1.20 billion");
        assert_eq!(memory(156_696_576), "149 MiB");
        assert_eq!(seconds(0.0456), "45.6 ms");
        assert_eq!(seconds(1.234), "1.23 s");
        assert_eq!(seconds(2e-9), "2.00 ns");
    }

    #[test]
    fn digits_and_units_are_those_of_the_rounded_number() {
        assert_eq!(seconds(0.9996), "1.00 s");
        assert_eq!(seconds(0.9994), "999 ms");
        assert_eq!(seconds(12_522.4), "12,522 s");
        assert_eq!(rounded(999_700.0), "1.00 million");
        assert_eq!(memory((1 << 20) - 1), "1.00 MiB");
        assert_eq!(memory(80), "80 B");
        assert_eq!(significant(9.996), "10.0");
        assert_eq!(significant(99.96), "100");
    }
}
