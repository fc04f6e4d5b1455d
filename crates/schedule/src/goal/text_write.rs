//! Writes GOAL text: labels `l1`, `l2`, … in the order of the operations, dependencies after them.

use std::io::{self, Write};

use straggler_model::Rank;

use super::Written;
use super::rounding::nearest_ns;
use crate::graph::ANY;
use crate::{Graph, Operation, OperationKind, RankView};

/// Writes a whole schedule.
pub fn write<W: Write>(graph: &Graph, out: W) -> io::Result<Written> {
    let mut writer = TextWriter::new(out, graph.processes())?;
    for rank in 0..graph.processes() {
        writer.rank(rank, &graph.rank(rank))?;
    }
    writer.finish()
}

/// Writes rank by rank, so that a schedule never needs to be in memory as a whole.
#[derive(Debug)]
pub struct TextWriter<W: Write> {
    out: W,
    buffer: Vec<u8>,
    written: Written,
}

impl<W: Write> TextWriter<W> {
    const FULL: usize = 64 << 10;

    pub fn new(out: W, processes: u32) -> io::Result<TextWriter<W>> {
        let mut writer = TextWriter::inside(out);
        writeln!(writer.buffer, "num_ranks {processes}")?;
        Ok(writer)
    }

    /// Writes only blocks of ranks, without the beginning of a file.
    pub(super) fn inside(out: W) -> TextWriter<W> {
        TextWriter { out, buffer: Vec::with_capacity(2 * Self::FULL), written: Written::default() }
    }

    /// Writes the block of one rank. Ranks may be omitted and come in any order.
    pub fn rank(&mut self, rank: Rank, operations: &RankView<'_>) -> io::Result<()> {
        writeln!(self.buffer, "\nrank {rank} {{")?;
        for (index, operation) in (0..).zip(operations.operations()) {
            self.operation(index, operation);
            self.flush_full()?;
        }
        for before in 0..operations.len() {
            for edge in operations.dependents(before) {
                let word: &[u8] = if edge.on_start() { b" irequires " } else { b" requires " };
                self.label(edge.dependent());
                self.buffer.extend_from_slice(word);
                self.label(before);
                self.buffer.push(b'\n');
            }
            self.flush_full()?;
        }
        self.buffer.extend_from_slice(b"}\n");
        self.flush_full()
    }

    /// Passes everything on to the underlying writer.
    pub fn finish(mut self) -> io::Result<Written> {
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.written)
    }

    fn operation(&mut self, index: u32, operation: Operation) {
        self.label(index);
        match operation.kind {
            OperationKind::Calc => {
                let (ns, rounded) = nearest_ns(operation.amount);
                self.written.rounded += u64::from(rounded);
                self.field(b": calc ", ns);
            }
            OperationKind::Send => {
                self.field(b": send ", operation.amount);
                self.field(b"b to ", u64::from(operation.peer));
                self.field(b" tag ", u64::from(operation.tag));
            }
            OperationKind::Recv => {
                self.field(b": recv ", operation.amount);
                self.field_or_wildcard(b"b from ", operation.peer);
                self.field_or_wildcard(b" tag ", operation.tag);
            }
        }
        if operation.cpu != 0 {
            self.field(b" cpu ", u64::from(operation.cpu));
        }
        if operation.nic != 0 {
            self.field(b" nic ", u64::from(operation.nic));
        }
        self.buffer.push(b'\n');
    }

    fn label(&mut self, index: u32) {
        self.field(b"l", u64::from(index) + 1);
    }

    fn field_or_wildcard(&mut self, before: &[u8], value: u32) {
        if value == ANY {
            self.buffer.extend_from_slice(before);
            self.buffer.extend_from_slice(b"-1");
        } else {
            self.field(before, u64::from(value));
        }
    }

    fn field(&mut self, before: &[u8], mut value: u64) {
        self.buffer.extend_from_slice(before);
        let mut digits = [0u8; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        self.buffer.extend_from_slice(&digits[first..]);
    }

    fn flush_full(&mut self) -> io::Result<()> {
        if self.buffer.len() >= Self::FULL {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}
