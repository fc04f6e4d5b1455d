//! Writes implicit schedules as GOAL without holding a whole one: batches of ranks are materialised
//! in parallel and written in order. The bytes are the same as those written for a whole graph.
//!
//! A binary file begins with the offsets of all schedules. A first pass over all ranks, as parallel
//! as the second, counts their lengths and keeps nothing else.

use std::io::{self, Write};
use std::ops::Range;

use straggler_model::{Rank, parallel};

use super::Written;
use super::binary::write as binary_write;
use super::file::Format;
use super::text_write::TextWriter;
use crate::graph::{Edge, MAX_DEPENDENCIES};
use crate::script::{Extent, materialise_rank};
use crate::{Graph, GraphBuilder, RankBuilder, Script};

/// What was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Streamed {
    pub written: Written,
    pub operations: u64,
}

/// Writes a script in a format. If the writer fails, writing stops between two batches of ranks.
pub fn write<W: Write>(script: &dyn Script, format: Format, mut out: W) -> io::Result<Streamed> {
    let groups = Groups::new(script);
    match format {
        Format::Text => writeln!(out, "num_ranks {}", script.processes())?,
        Format::Binary => write_header(script, &groups, &mut out)?,
    }
    let mut streamed = Streamed::default();
    for batch in groups.batches() {
        let written = parallel::map_owned(batch, |_, ranks| write_group(script, format, ranks));
        for (bytes, group) in written.into_iter().collect::<io::Result<Vec<_>>>()? {
            out.write_all(&bytes)?;
            streamed.written.rounded += group.written.rounded;
            streamed.operations += group.operations;
        }
    }
    out.flush()?;
    Ok(streamed)
}

/// How ranks are distributed: one thread processes one group at a time, and a batch has several groups.
struct Groups {
    processes: u32,
    ranks: u32,
    in_batch: u32,
}

impl Groups {
    /// Operations per group: about a megabyte of output, which stays in a core's cache.
    const OPERATIONS: u64 = 16 << 10;

    fn new(script: &dyn Script) -> Groups {
        let processes = script.processes();
        let of_rank = script.operations() / u64::from(processes.max(1));
        let ranks = (Self::OPERATIONS / of_rank.max(1)).clamp(1, 4096) as u32;
        // Several groups per thread, so that no thread waits long for the last one.
        let in_batch = 4 * rayon::current_num_threads() as u32;
        Groups { processes, ranks, in_batch }
    }

    /// The groups of each batch, in order of rank.
    fn batches(&self) -> impl Iterator<Item = Vec<Range<Rank>>> {
        let (processes, ranks) = (u64::from(self.processes), u64::from(self.ranks));
        let step = ranks * u64::from(self.in_batch);
        // Below the number of processes, so it fits in 32 bits.
        let narrow = move |rank: u64| rank.min(processes) as Rank;
        (0..processes.div_ceil(step)).map(move |batch| {
            let first = batch * step;
            let starts = (first..(first + step).min(processes)).step_by(ranks as usize);
            starts.map(|start| narrow(start)..narrow(start + ranks)).collect()
        })
    }
}

fn write_header(script: &dyn Script, groups: &Groups, out: &mut impl Write) -> io::Result<()> {
    let mut buffer = Vec::new();
    binary_write::write_magic(script.processes(), (1, 1), &mut buffer);
    let mut start = binary_write::first_start(script.processes());
    for batch in groups.batches() {
        let lengths: Vec<Vec<u64>> =
            parallel::map_owned(batch, |_, ranks| ranks.map(|rank| length(script, rank)).collect());
        for length in lengths.into_iter().flatten() {
            start = binary_write::write_extent(start, length, &mut buffer);
        }
        out.write_all(&buffer)?;
        buffer.clear();
    }
    out.write_all(&buffer)
}

fn length(script: &dyn Script, rank: Rank) -> u64 {
    let Extent { operations, dependencies, dependents, .. } = Extent::new(script, rank);
    binary_write::length_of(operations, operations - dependents, dependencies)
}

fn write_group(script: &dyn Script, format: Format, ranks: Range<Rank>) -> io::Result<(Vec<u8>, Streamed)> {
    let graph = materialise(script, ranks.clone())?;
    let mut bytes = Vec::new();
    let written = match format {
        Format::Text => {
            let mut writer = TextWriter::inside(&mut bytes);
            for (place, rank) in (0..).zip(ranks) {
                writer.rank(rank, &graph.rank(place))?;
            }
            writer.finish()?
        }
        Format::Binary => {
            let places = 0..graph.processes();
            let rounded = places.map(|place| binary_write::write_schedule(&graph.rank(place), &mut bytes));
            Written { rounded: rounded.sum() }
        }
    };
    Ok((bytes, Streamed { written, operations: graph.operations() }))
}

/// Materialises the schedules of some ranks as a graph of just these.
fn materialise(script: &dyn Script, ranks: Range<Rank>) -> io::Result<Graph> {
    let (mut graph, mut builder) = (GraphBuilder::default(), RankBuilder::default());
    for rank in ranks {
        builder.clear();
        materialise_rank(script, rank, &mut builder);
        if builder.len() > Edge::MAX_OPERATIONS as usize || builder.dependencies() > MAX_DEPENDENCIES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("rank {rank} has more operations than a schedule can hold: use fewer iterations"),
            ));
        }
        graph.push_rank(&builder);
    }
    Ok(graph.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cycles;
    use crate::collectives::{Algorithm, Job, Operation};
    use crate::goal::{binary, text_write};
    use crate::script::materialise;
    use crate::workloads::{Only, Workload, choose_default};
    use straggler_model::Time;

    fn check(script: &dyn Script, of: &str) {
        let graph = materialise(script);
        let (mut text, mut bytes) = (Vec::new(), Vec::new());
        let text_rounded = text_write::write(&graph, &mut text).unwrap();
        let rounded = binary::write(&graph, &mut bytes).unwrap();
        for (format, expected, written) in
            [(Format::Text, text, text_rounded), (Format::Binary, bytes, rounded)]
        {
            let mut out = Vec::new();
            let streamed = write(script, format, &mut out).unwrap();
            assert!(out == expected, "{of} {format:?}");
            assert_eq!(streamed, Streamed { written, operations: graph.operations() }, "{of}");
        }
    }

    #[test]
    fn equals_the_writers_of_whole_graphs() {
        for (processes, text) in [
            (12, "halo2d,iterations=3,overlap=0.5,boundary=open,imbalance=0.1"),
            (27, "halo3d,iterations=3,calls=blocking"),
            (9, "sweep3d,iterations=2,blocks=3"),
            (128, "pop,allreduces=6,barriers=5,broadcasts=7,halos=3"),
            (7, "overlap,cycles=3,chunks=2"),
            (9, "master-worker,tasks=50"),
            (16, "training,tp=2,pp=4,layers=8,hidden=64,microbatches=3"),
        ] {
            let workload: Workload = text.parse().unwrap();
            check(&workload.build(processes, Only::All, &choose_default).unwrap(), text);
        }
    }

    #[test]
    fn collectives_in_many_groups() {
        for (choice, processes) in [("allreduce", 20_000), ("bcast", 9_000), ("reduce", 1), ("barrier", 3)] {
            let operation: Operation = choice.parse().unwrap();
            let algorithm = Algorithm::from(operation.algorithms()[0]);
            let steps = algorithm.build(operation, &Job::new(processes, 8)).unwrap();
            check(&Cycles::new(&steps, 2, Time(1_500)), choice);
        }
    }

    /// A writer that fails after some bytes, as if told to stop.
    struct Ends(usize);

    impl Write for Ends {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| io::Error::other("stop"))?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn ends_when_the_writer_does() {
        let workload: Workload = "cycles,cycles=1".parse().unwrap();
        let application = workload.build(1 << 31, Only::All, &choose_default).unwrap();
        for format in [Format::Text, Format::Binary] {
            assert_eq!(write(&application, format, Ends(1 << 16)).unwrap_err().to_string(), "stop");
        }
    }
}
