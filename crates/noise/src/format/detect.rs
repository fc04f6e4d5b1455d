//! Detects which program wrote a file, by text that only that program writes.

use super::{Format, straggler, sysjitter, text};
use straggler_model::columns::{Line, lines};

/// Bytes examined: headers are short.
const SAMPLE: usize = 64 << 10;

/// Detects the format of a file; `None` if it matches none.
///
/// Two columns without a header are taken for detours: an ftq file that has lost its header cannot be told
/// from a periodic trace, so its format must be given.
pub fn detect(bytes: &[u8]) -> Option<Format> {
    if bytes.starts_with(straggler::MAGIC) {
        return Some(Format::Straggler);
    }
    let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
    if sample.contains(&0) {
        return None;
    }
    let text = text::decode(sample);
    // The sample may end in the middle of a line.
    let whole =
        if bytes.len() > SAMPLE { text.rsplit_once('\n').map_or(&*text, |(head, _)| head) } else { &text };
    let mut by_shape = None;
    for (_, line) in lines(whole) {
        match line {
            Line::Comment(comment) => match by_comment(comment) {
                Some(format) => return Some(format),
                None => continue,
            },
            Line::Fields(fields) if by_shape.is_none() => {
                let words: Vec<&str> = fields.iter().map(|field| field.1).collect();
                by_shape = Some(of_row(&words));
            }
            Line::Fields(_) => {}
        }
    }
    by_shape.flatten()
}

fn by_comment(comment: &str) -> Option<Format> {
    let heading: Vec<&str> = comment.split_whitespace().collect();
    match heading.as_slice() {
        ["Selfish", "Benchmark"] | ["Benchmark", "Method:", "selfish"] => Some(Format::Selfish),
        ["cycle", "number", "duration", ..] => Some(Format::NetgaugeFwq),
        ["cycle", "number", "workload", ..] => Some(Format::NetgaugeFtq),
        ["Ticks", "per", "ns:", ..] => Some(Format::Ftq),
        words if sysjitter::is_heading(words) => Some(Format::Sysjitter),
        _ => None,
    }
}

fn of_row(words: &[&str]) -> Option<Format> {
    match words {
        ["Speed:", ..] | [_] => Some(Format::LlnlFwq),
        [_, _] => Some(Format::Columns),
        [_, _, _, _] => Some(Format::Sysjitter),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_heading_or_by_shape() {
        let cases = [
            ("straggler noise\n....", Some(Format::Straggler)),
            ("# Benchmark Method: selfish\n0 1\n", Some(Format::Selfish)),
            ("# cycle number    duration [us]\n0 101", Some(Format::NetgaugeFwq)),
            ("# cycle number    workload iterations\n 0 986", Some(Format::NetgaugeFtq)),
            ("# Frequency 10000.0\n# Ticks per ns: 2.1\n0 2086", Some(Format::Ftq)),
            ("#   Timestamp   delta   <== interruption =>\n1 2 3 4", Some(Format::Sysjitter)),
            ("1 2 3 4", Some(Format::Sysjitter)),
            ("Speed: process 0, cycles 1, seconds 1, GHz 2\n5", Some(Format::LlnlFwq)),
            ("454280578\n", Some(Format::LlnlFwq)),
            ("# hello\n1 2\n# Selfish Benchmark", Some(Format::Selfish)),
            ("1\t2", Some(Format::Columns)),
            ("a b c", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(detect(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(detect(b"GIF89a\0\0 1"), None);
    }
}
