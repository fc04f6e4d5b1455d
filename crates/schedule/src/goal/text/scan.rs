//! The outer structure of a text: the number of ranks and the place of each rank's block.

use straggler_model::Rank;

use super::cursor::Cursor;
use crate::goal::error::{Parsed, TextProblem};

/// Ranks without a block take memory but no text, so the number of ranks may exceed the file's size
/// by at most this.
const RANKS_FOR_FREE: u64 = 1 << 20;

/// Range of a rank's statements, without the braces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub rank: Rank,
    /// Offset of the block's `rank` keyword.
    pub header: usize,
    pub start: usize,
    pub end: usize,
}

/// Finds the blocks in order.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    cursor: Cursor<'a>,
    length: u64,
    ranks: Option<u32>,
    seen: Vec<u64>,
}

impl<'a> Scanner<'a> {
    pub fn new(bytes: &'a [u8]) -> Scanner<'a> {
        Scanner {
            cursor: Cursor::new(bytes, 0, None),
            length: bytes.len() as u64,
            ranks: None,
            seen: Vec::new(),
        }
    }

    /// Number of ranks, 0 before it has been read.
    pub fn ranks(&self) -> u32 {
        self.ranks.unwrap_or(0)
    }

    /// The next block, or `None` at the end of the text.
    pub fn next_block(&mut self) -> Parsed<Option<Block>> {
        loop {
            self.cursor.skip_separators()?;
            let start = self.cursor.at;
            if self.cursor.at_end() {
                return match self.ranks {
                    Some(_) => Ok(None),
                    None => self.cursor.fault(start, TextProblem::MissingNumRanks),
                };
            }
            match self.cursor.word() {
                b"num_ranks" => self.num_ranks(start)?,
                b"rank" => return self.block(start).map(Some),
                _ => return self.cursor.unexpected_at(start, "`num_ranks` or `rank`"),
            }
        }
    }

    fn num_ranks(&mut self, start: usize) -> Parsed<()> {
        if self.ranks.is_some() {
            return self.cursor.fault(start, TextProblem::RepeatedNumRanks);
        }
        self.cursor.skip_blank()?;
        let ranks = self.cursor.number("a number of ranks", u64::MAX)?;
        // The largest rank number is reserved for the wildcard.
        let limit = (RANKS_FOR_FREE + self.length).min(u64::from(u32::MAX));
        if ranks == 0 {
            return self.cursor.fault(start, TextProblem::NoRanks);
        }
        if ranks > limit {
            let problem = TextProblem::TooManyRanks { ranks, bytes: self.length, limit };
            return self.cursor.fault(start, problem);
        }
        self.ranks = Some(ranks as u32);
        self.seen = vec![0; (ranks as usize).div_ceil(64)];
        Ok(())
    }

    fn block(&mut self, header: usize) -> Parsed<Block> {
        let rank = self.rank_number(header)?;
        self.cursor.skip_space()?;
        if self.cursor.peek() != b'{' {
            return self.cursor.unexpected("`{`");
        }
        self.cursor.at += 1;
        let start = self.cursor.at;
        self.cursor.rank = Some(rank);
        self.cursor.skip_block(header)?;
        self.cursor.rank = None;
        let end = self.cursor.at;
        self.cursor.at += 1;
        Ok(Block { rank, header, start, end })
    }

    fn rank_number(&mut self, header: usize) -> Parsed<Rank> {
        let Some(ranks) = self.ranks else {
            return self.cursor.fault(header, TextProblem::MissingNumRanks);
        };
        self.cursor.skip_blank()?;
        let at = self.cursor.at;
        let rank = self.cursor.number("a rank number", u64::MAX)?;
        if rank >= u64::from(ranks) {
            return self.cursor.fault(at, TextProblem::RankOutOfRange { rank, ranks });
        }
        let (word, bit) = (rank as usize / 64, 1u64 << (rank % 64));
        if self.seen[word] & bit != 0 {
            return self.cursor.fault(header, TextProblem::RepeatedRank { rank: rank as Rank });
        }
        self.seen[word] |= bit;
        Ok(rank as Rank)
    }
}
