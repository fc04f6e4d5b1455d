//! Tables as CSV.

use crate::Row;
use std::io::{self, Write};

/// Writes rows as the table that [`crate::read_table`] reads. Times have twelve digits. A synthetic table has a column more that
/// says so.
pub fn write_csv(rows: &[Row], synthetic: bool, out: &mut impl Write) -> io::Result<()> {
    let (name, value) = if synthetic { (",synthetic", ",1") } else { ("", "") };
    writeln!(out, "step,rank,dp_rank,stage,optype,start_ts,duration,seq_id,mc,gmc,mb_id{name}")?;
    for row in rows {
        writeln!(
            out,
            "{},{},{},{},{},{:.12},{:.12},{},{},{},{}{value}",
            row.step,
            row.rank,
            row.dp_rank,
            row.stage,
            row.kind.name(),
            row.start,
            row.duration,
            row.seq,
            row.chunk,
            row.model_chunk,
            row.microbatch
        )?;
    }
    Ok(())
}
