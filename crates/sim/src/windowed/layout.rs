//! Assigns blocks: the members of a cluster share the blocks of a run, and the threads of a member share its blocks.

use std::ops::Range;
use straggler_model::Rank;

/// Marks a block of another member.
const ELSEWHERE: u32 = u32::MAX;

/// Which member and part runs each block.
#[derive(Debug)]
pub(super) struct Layout {
    processes: u32,
    shift: u32,
    /// By block: the member of the cluster that runs it.
    members: Vec<u32>,
    shared: bool,
    /// By block: the part of this member that runs it, and the place of the block there.
    parts: Vec<(u32, u32)>,
    /// By part: its blocks, in order.
    blocks: Vec<Vec<u32>>,
}

/// Divides `count` items into `parts` ranges. Returns the start of each, and the end.
pub(super) fn edges(count: u32, parts: u32) -> Vec<u32> {
    let edge = |part| (u64::from(count) * u64::from(part) / u64::from(parts)) as u32;
    (0..=parts).map(edge).collect()
}

impl Layout {
    /// Blocks of 2^`shift` processes, where `members` is the member that runs each block and `own` is this member.
    /// All its blocks are in one part.
    pub fn new(processes: u32, shift: u32, members: Vec<u32>, own: u32) -> Layout {
        let mine =
            (0..).zip(&members).filter(|&(_, &member)| member == own).map(|(block, _)| block).collect();
        let parts = vec![(ELSEWHERE, 0); members.len()];
        let shared = members.iter().any(|&member| member != own);
        Layout { processes, shift, members, shared, parts, blocks: vec![mine] }.in_parts(1)
    }

    /// Divides the blocks of this member into this many parts.
    pub fn in_parts(self, parts: u32) -> Layout {
        let mine = self.blocks.concat();
        let edges = edges(mine.len() as u32, parts);
        let blocks: Vec<Vec<u32>> =
            edges.windows(2).map(|edge| mine[edge[0] as usize..edge[1] as usize].to_vec()).collect();
        let mut places = self.parts;
        for (part, blocks) in (0..).zip(&blocks) {
            for (place, &block) in (0..).zip(blocks) {
                places[block as usize] = (part, place);
            }
        }
        Layout { parts: places, blocks, ..self }
    }

    /// Blocks of one item each, with the member that runs each block and, if it is this one, the part.
    pub fn in_given_parts(members: Vec<u32>, own: u32, parts: &[u32], count: u32) -> Layout {
        let mut layout = Layout::new(members.len() as u32, 0, members, own);
        let mine = layout.blocks.concat();
        let of_part = |part| mine.iter().copied().filter(|&block| parts[block as usize] == part).collect();
        layout.blocks = (0..count).map(of_part).collect();
        for (part, blocks) in (0..).zip(&layout.blocks) {
            for (place, &block) in (0..).zip(blocks) {
                layout.parts[block as usize] = (part, place);
            }
        }
        layout
    }

    /// Gives each member a range of neighbouring blocks, as equal as possible.
    pub fn neighbours(blocks: u32, members: u32) -> Vec<u32> {
        let edges = edges(blocks, members);
        let of_member = |(member, edge): (u32, &[u32])| (edge[0]..edge[1]).map(move |_| member);
        (0..).zip(edges.windows(2)).flat_map(of_member).collect()
    }

    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// The number of blocks of the whole run.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// Whether another member runs any of the blocks.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// The number of parts of this member.
    pub fn parts(&self) -> usize {
        self.blocks.len()
    }

    pub fn blocks(&self, part: usize) -> &[u32] {
        &self.blocks[part]
    }

    /// The part of this member that runs a block, or else the member that does.
    pub fn part(&self, block: u32) -> Result<usize, u32> {
        match self.parts[block as usize].0 {
            ELSEWHERE => Err(self.members[block as usize]),
            part => Ok(part as usize),
        }
    }

    /// The place of a block in its part.
    pub fn place(&self, block: u32) -> u32 {
        self.parts[block as usize].1
    }

    pub fn ranks(&self, block: u32) -> Range<Rank> {
        let edge = |block: u64| (block << self.shift).min(u64::from(self.processes)) as Rank;
        edge(block.into())..edge(u64::from(block) + 1)
    }

    /// How many processes a part has.
    pub fn processes_of(&self, part: usize) -> usize {
        self.blocks[part].iter().map(|&block| self.ranks(block).len()).sum()
    }

    /// The range from the first to the last rank of a part.
    pub fn span(&self, part: usize) -> Range<Rank> {
        let edge = |block: Option<&u32>| block.map_or(0..0, |&block| self.ranks(block));
        edge(self.blocks[part].first()).start..edge(self.blocks[part].last()).end
    }

    /// The ranks of this member, as ranges.
    pub fn own_ranks(&self) -> Vec<Range<Rank>> {
        let mut ranks: Vec<Range<Rank>> = Vec::new();
        for block in self.blocks.iter().flatten() {
            let more = self.ranks(*block);
            match ranks.last_mut() {
                Some(last) if last.end == more.start => last.end = more.end,
                _ => ranks.push(more),
            }
        }
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_somewhere() {
        for (processes, shift, members, parts) in [(10, 0, 3, 2), (1, 0, 5, 1), (1000, 4, 4, 3), (0, 2, 2, 2)]
        {
            let blocks = u32::div_ceil(processes, 1 << shift);
            let of_blocks = Layout::neighbours(blocks, members);
            let mut seen = Vec::new();
            for own in 0..members {
                let layout = Layout::new(processes, shift, of_blocks.clone(), own).in_parts(parts);
                for part in 0..parts as usize {
                    for (place, &block) in layout.blocks(part).iter().enumerate() {
                        assert_eq!((layout.part(block), layout.place(block)), (Ok(part), place as u32));
                    }
                    let ranks = layout.blocks(part).iter().flat_map(|&block| layout.ranks(block));
                    assert_eq!(ranks.count(), layout.processes_of(part));
                }
                seen.extend(layout.own_ranks().into_iter().flatten());
                let elsewhere = (0..blocks).filter(|&block| layout.part(block).is_err());
                elsewhere.for_each(|block| assert_eq!(layout.part(block), Err(of_blocks[block as usize])));
            }
            assert_eq!(seen, (0..processes).collect::<Vec<_>>());
        }
    }

    #[test]
    fn blocks_may_lie_anywhere() {
        let layout = Layout::new(7, 1, vec![1, 0, 1, 1], 1).in_parts(2);
        assert_eq!((layout.blocks(0), layout.blocks(1)), (&[0][..], &[2, 3][..]));
        assert_eq!(layout.own_ranks(), [0..2, 4..7]);
        assert_eq!((layout.part(1), layout.part(3), layout.place(3)), (Err(0), Ok(1), 1));
        assert_eq!(layout.processes_of(1), 3);
    }
}
