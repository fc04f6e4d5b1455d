//! Histograms as a file: one table of all of them, CSV.
//!
//! The columns are `processes`, `quantity`, `from_ps`, `to_ps` and `count`: the number of values of the
//! quantity in `[from_ps, to_ps)`. Zeros have a bin of their own, `0,1`.

use std::io::{self, Write};
use std::path::Path;
use straggler_model::replace::{ReplaceError, replace_file};
use straggler_model::stats::Bin;

const HEADER: &str = "processes,quantity,from_ps,to_ps,count";

/// One histogram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    pub processes: u32,
    /// A word without commas.
    pub quantity: &'static str,
    pub bins: Vec<Bin>,
}

/// Writes all histograms atomically.
pub fn write(path: &Path, histograms: &[Histogram]) -> Result<(), ReplaceError> {
    replace_file(path, |out| write_csv(out, histograms))
}

fn write_csv(out: &mut dyn Write, histograms: &[Histogram]) -> io::Result<()> {
    writeln!(out, "{HEADER}")?;
    for Histogram { processes, quantity, bins } in histograms {
        for Bin { from, to, count } in bins {
            writeln!(out, "{processes},{quantity},{from},{to},{count}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_a_bin() {
        let bins = vec![Bin { from: 0, to: 1, count: 7 }, Bin { from: 1, to: 10, count: 2 }];
        let mut text = Vec::new();
        write_csv(&mut text, &[Histogram { processes: 4, quantity: "idle", bins }]).unwrap();
        let expected = "processes,quantity,from_ps,to_ps,count\n4,idle,0,1,7\n4,idle,1,10,2\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
