//! Reads GOAL text.
//!
//! ```text
//! file       = { "num_ranks" N | "rank" R "{" { statement } "}" }      num_ranks comes first
//! statement  = [ label ":" ] operation | label ( "requires" | "irequires" ) label
//! operation  = "calc" N { lane } | "send" N "b" "to" R { tag | lane } | "recv" N "b" "from" R { tag | lane }
//! tag        = "tag" T          lane = "cpu" C | "nic" N
//! ```
//!
//! Statements end at the line's end or at `;`. Comments are `//` and `/* */`. A label belongs to its
//! rank and may be used before its definition. The source and the tag of a receive may be the
//! wildcard -1. A rank without a block does nothing.

mod cursor;
mod labels;
mod scan;
mod statements;
#[cfg(test)]
mod tests;

use std::ops::Range;

use straggler_model::{Rank, parallel};

use self::scan::{Block, Scanner};
use self::statements::{BlockReader, Limits};
use super::error::{Fault, GoalError, Parsed};
use crate::graph::{Edge, MAX_DEPENDENCIES};
use crate::{Graph, GraphBuilder};

/// Bytes of text that one thread reads at a time.
const PIECE: usize = 256 << 10;
/// Pieces per thread in a batch. More balance the load better but take more memory besides the graph.
const PIECES_A_THREAD: usize = 8;

const LIMITS: Limits = Limits { operations: Edge::MAX_OPERATIONS, dependencies: MAX_DEPENDENCIES as u32 };

/// Reads a schedule.
pub fn parse(bytes: &[u8]) -> Result<Graph, GoalError> {
    parse_with(bytes, &mut |_| ())
}

/// Like [`parse`]; calls `consumed` with ranges of the input that will not be read again, unless
/// there is an error to locate.
pub fn parse_with(bytes: &[u8], consumed: &mut dyn FnMut(Range<usize>)) -> Result<Graph, GoalError> {
    read(bytes, LIMITS, consumed).map_err(|fault: Box<Fault>| fault.locate(bytes))
}

fn read(bytes: &[u8], limits: Limits, consumed: &mut dyn FnMut(Range<usize>)) -> Parsed<Graph> {
    let mut scanner = Scanner::new(bytes);
    let mut graph = GraphBuilder::default();
    let mut ranks: Vec<Rank> = Vec::new();
    let mut done = 0;
    loop {
        let batch = Batch::gather(&mut scanner);
        let read = |blocks: &[Block]| read_piece(bytes, blocks, scanner.ranks(), limits);
        let pieces: Vec<Parsed<Graph>> = parallel::map_list(&batch.pieces, |blocks| read(blocks));
        // Reports the first fault of the text, whichever thread was faster.
        let pieces = pieces.into_iter().collect::<Parsed<Vec<Graph>>>()?;
        graph.append_all(&pieces);
        ranks.extend(batch.pieces.iter().flatten().map(|block| block.rank));
        if batch.end?.is_none() {
            return Ok(graph.finish_arranged(&ranks, scanner.ranks()));
        }
        let end = batch.pieces.last().and_then(|blocks| blocks.last()).map_or(done, |block| block.end);
        consumed(done..end);
        done = end;
    }
}

/// Blocks that are read together, in pieces for one thread each.
struct Batch {
    pieces: Vec<Vec<Block>>,
    /// Why the batch ends: it is full, the text is at its end, or its structure is broken.
    end: Parsed<Option<()>>,
}

impl Batch {
    fn gather(scanner: &mut Scanner<'_>) -> Batch {
        let full = PIECES_A_THREAD * rayon::current_num_threads();
        let mut pieces: Vec<Vec<Block>> = Vec::new();
        let mut room = 0;
        loop {
            match scanner.next_block() {
                Ok(Some(block)) => {
                    if room == 0 {
                        pieces.push(Vec::new());
                        room = PIECE;
                    }
                    room = room.saturating_sub(block.end - block.header);
                    pieces.last_mut().expect("a piece was begun").push(block);
                    if room == 0 && pieces.len() == full {
                        return Batch { pieces, end: Ok(Some(())) };
                    }
                }
                Ok(None) => return Batch { pieces, end: Ok(None) },
                Err(fault) => return Batch { pieces, end: Err(fault) },
            }
        }
    }
}

fn read_piece(bytes: &[u8], blocks: &[Block], ranks: u32, limits: Limits) -> Parsed<Graph> {
    let mut graph = GraphBuilder::default();
    let mut reader = BlockReader::new(bytes, ranks, limits);
    for &block in blocks {
        reader.read(block, &mut graph)?;
    }
    Ok(graph.finish_loose())
}
