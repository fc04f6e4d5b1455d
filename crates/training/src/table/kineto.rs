//! Writes a table as the PyTorch profiler (Kineto) would have: one JSON file per rank.
//!
//! The host launches each GPU operation right before it starts, one after the other. Process groups have Megatron's descriptions,
//! and passes of microbatches have the annotations of PyTorch's pipelines.

mod groups;

use crate::{Kind, Row};
use flate2::Compression;
use flate2::write::GzEncoder;
use groups::{Group, Layout};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Host times in nanoseconds: of a launch call, of the work before and after it, and from the last call to the
/// kernel.
const CALL: i64 = 2_000;
const MARGIN: i64 = 1_000;
const LEAD: i64 = 5_000;
/// The time between two steps, in nanoseconds.
const PAUSE: i64 = 100_000;
/// The origin of the times in the files, in nanoseconds since 1970.
const EPOCH: i64 = 1_700_000_000_000_000_000;
const HOST: u32 = 1000;
const COMPUTE_STREAM: u32 = 7;

/// A job to write as profiler files, one per rank.
#[derive(Debug)]
pub struct Kineto {
    /// By rank, then by step: operations in order of start.
    ranks: BTreeMap<u32, BTreeMap<i64, Vec<Op>>>,
    layout: Layout,
    /// When each step begins, in nanoseconds.
    begins: BTreeMap<i64, i64>,
    synthetic: bool,
}

/// A row in whole nanoseconds since the start of its step.
#[derive(Clone, Copy, Debug)]
struct Op {
    row: Row,
    start: i64,
    end: i64,
    /// When the host begins to launch it.
    host: i64,
}

impl Op {
    /// Real computations have several kernels; these have two.
    fn kernels(&self) -> i64 {
        if self.row.kind.is_compute() && self.end > self.start { 2 } else { 1 }
    }

    fn host_takes(&self) -> i64 {
        self.kernels() * (CALL + MARGIN) + 2 * MARGIN
    }

    /// Whether the host itself does it.
    fn is_of_host(&self) -> bool {
        matches!(self.row.kind, Kind::Gc | Kind::DataLoad)
    }
}

impl Kineto {
    pub fn new(rows: &[Row], synthetic: bool) -> Kineto {
        let mut first: BTreeMap<i64, f64> = BTreeMap::new();
        for row in rows {
            let first = first.entry(row.step).or_insert(row.start);
            *first = row.start.min(*first);
        }
        let mut ranks: BTreeMap<u32, BTreeMap<i64, Vec<Op>>> = BTreeMap::new();
        for row in rows {
            let since = row.start - first.get(&row.step).copied().unwrap_or(0.0);
            let (start, end) = (nanoseconds(since), nanoseconds(since + row.duration));
            let ops = ranks.entry(row.rank).or_default().entry(row.step).or_default();
            ops.push(Op { row: *row, start, end, host: start });
        }
        ranks.values_mut().flat_map(BTreeMap::values_mut).for_each(|ops| place_on_host(ops));
        let begins = begins(&ranks);
        Kineto { layout: Layout::new(rows), ranks, begins, synthetic }
    }

    pub fn ranks(&self) -> impl Iterator<Item = u32> {
        self.ranks.keys().copied()
    }

    /// Writes the file of a rank, compressed with gzip.
    pub fn write_packed(&self, rank: u32, out: &mut impl Write) -> io::Result<()> {
        let mut out = io::BufWriter::new(GzEncoder::new(out, Compression::fast()));
        self.write(rank, &mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.finish().map(drop)
    }

    /// Writes the file of a rank.
    pub fn write(&self, rank: u32, out: &mut impl Write) -> io::Result<()> {
        let none = BTreeMap::new();
        let steps = self.ranks.get(&rank).unwrap_or(&none);
        writeln!(out, "{{\n  \"schemaVersion\": 1,")?;
        writeln!(out, "  \"synthetic\": {},", self.synthetic)?;
        writeln!(
            out,
            "  \"deviceProperties\": [{{\"id\": 0, \"name\": \"GPU\", \"computeMajor\": 9, \"computeMinor\": 0}}],"
        )?;
        writeln!(out, "  \"distributedInfo\": {},", self.layout.described(rank))?;
        writeln!(
            out,
            "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": {EPOCH},\n  \"traceEvents\": ["
        )?;
        let mut file =
            File { out, layout: &self.layout, calls: 0, numbers: BTreeMap::new(), groups: BTreeMap::new() };
        for (step, ops) in steps {
            file.step(*step, self.begins.get(step).copied().unwrap_or(0), ops)?;
        }
        for (pid, name) in [(HOST, "python"), (0, "GPU 0")] {
            let end = if pid == 0 { "\n" } else { ",\n" };
            let head =
                format!("{{\"ph\": \"M\", \"name\": \"process_name\", \"ts\": 0, \"pid\": {pid}, \"tid\": 0");
            write!(out, "{head}, \"args\": {{\"name\": \"{name}\"}}}}{end}")?;
        }
        writeln!(out, "  ],\n  \"traceName\": \"rank-{rank}.json\"\n}}")
    }
}

fn nanoseconds(seconds: f64) -> i64 {
    // Clamps values well inside the range of `i64`.
    ((seconds * 1e9).round() as i64).clamp(-1 << 60, 1 << 60)
}

/// Places launches before their kernels without overlap. If many kernels start at once, the host runs ahead.
fn place_on_host(ops: &mut [Op]) {
    ops.sort_by_key(|op| (op.start, op.row.seq, op.row.kind));
    let mut next = i64::MAX;
    for op in ops.iter_mut().rev().filter(|op| !op.is_of_host()) {
        op.host = (op.start - LEAD).min(next) - op.host_takes();
        next = op.host;
    }
}

/// A step begins when all ranks have ended the previous one and have had time to launch.
fn begins(ranks: &BTreeMap<u32, BTreeMap<i64, Vec<Op>>>) -> BTreeMap<i64, i64> {
    let mut extents: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for (step, op) in ranks.values().flatten().flat_map(|(step, ops)| ops.iter().map(move |op| (*step, op))) {
        let extent = extents.entry(step).or_insert((0, 0));
        *extent = (extent.0.min(op.host), extent.1.max(op.end));
    }
    let mut now = 0i64;
    let mut begins = BTreeMap::new();
    for (step, (first, last)) in extents {
        let begin = now.saturating_add(PAUSE - first);
        begins.insert(step, begin);
        now = begin.saturating_add(last);
    }
    begins
}

/// The file of a rank while it is written.
struct File<'a, W: Write> {
    out: &'a mut W,
    layout: &'a Layout,
    /// The number of host calls so far: the correlation id.
    calls: u64,
    /// By process group, and whether messages or collectives: their number so far.
    numbers: BTreeMap<(u32, bool), u64>,
    /// By kind: the process group of its communications.
    groups: BTreeMap<Kind, Option<Group>>,
}

impl<W: Write> File<'_, W> {
    fn step(&mut self, step: i64, begin: i64, ops: &[Op]) -> io::Result<()> {
        let first = ops.iter().map(|op| op.host).min().unwrap_or(0) - MARGIN;
        let last = ops.iter().map(|op| op.end).max().unwrap_or(0) + MARGIN;
        self.host("user_annotation", &format!("ProfilerStep#{step}"), (begin + first, begin + last), "")?;
        for op in ops {
            let span = (begin + op.start, begin + op.end);
            match op.row.kind {
                Kind::Gc => self.host("user_annotation", "gc.collect", span, "")?,
                Kind::DataLoad => {
                    self.host(
                        "user_annotation",
                        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                        span,
                        "",
                    )?;
                }
                _ => self.launched(op, begin)?,
            }
        }
        Ok(())
    }

    /// Writes the launch of an operation, and its kernels.
    fn launched(&mut self, op: &Op, begin: i64) -> io::Result<()> {
        let host = (begin + op.host, begin + op.host + op.host_takes() - MARGIN);
        let (kernels, stream, more) = match self.group(&op.row) {
            None => {
                let (pass, kernels) = pass(&op.row);
                self.host("user_annotation", &pass, host, "")?;
                (kernels, COMPUTE_STREAM, String::new())
            }
            Some(group) => {
                let more = self.communication(&group);
                self.host("cpu_op", "record_param_comms", host, &more)?;
                ([group.kernel, ""], group.stream, more)
            }
        };
        let middle = if op.kernels() > 1 { op.start + (op.end - op.start) / 3 } else { op.end };
        let spans = [(op.start, middle), (middle, op.end)];
        for (place, (span, name)) in (0..op.kernels()).zip(spans.into_iter().zip(kernels)) {
            self.calls += 1;
            let at = host.0 + MARGIN + place * (CALL + MARGIN);
            let call = format!("\"External id\": {0}, \"cbid\": 211, \"correlation\": {0}", self.calls);
            self.host("cuda_runtime", "cudaLaunchKernel", (at, at + CALL), &call)?;
            let span = (begin + span.0, begin + span.1);
            let args = format!(
                "\"External id\": {0}, \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": {stream}, \"correlation\": {0}",
                self.calls
            );
            let more = if more.is_empty() { String::new() } else { format!(", {more}") };
            self.event("kernel", name, 0, stream, span, &format!("{args}{more}"))?;
        }
        Ok(())
    }

    fn group(&mut self, row: &Row) -> Option<Group> {
        self.groups.entry(row.kind).or_insert_with(|| self.layout.group(row)).clone()
    }

    /// The profiler's arguments for a communication. Messages and collectives of a group are counted separately.
    fn communication(&mut self, group: &Group) -> String {
        let number = self.numbers.entry((group.name, group.is_message)).or_default();
        *number += 1;
        format!("{}, \"Seq\": {number}", group.described)
    }

    fn host(&mut self, category: &str, name: &str, span: (i64, i64), args: &str) -> io::Result<()> {
        self.event(category, name, HOST, HOST, span, args)
    }

    fn event(
        &mut self,
        category: &str,
        name: &str,
        pid: u32,
        tid: u32,
        (start, end): (i64, i64),
        args: &str,
    ) -> io::Result<()> {
        let (start, duration) = (microseconds(start), microseconds(end - start));
        writeln!(
            self.out,
            "{{\"ph\": \"X\", \"cat\": \"{category}\", \"name\": \"{name}\", \"pid\": {pid}, \"tid\": {tid}, \
             \"ts\": {start}, \"dur\": {duration}, \"args\": {{{args}}}}},"
        )
    }
}

fn microseconds(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    format!("{sign}{}.{:03}", nanoseconds.unsigned_abs() / 1000, nanoseconds.unsigned_abs() % 1000)
}

/// The annotation of a pass, and the names of its kernels.
fn pass(row: &Row) -> (String, [&'static str; 2]) {
    let chunk = u32::try_from(row.model_chunk).unwrap_or(row.stage);
    let microbatch = u32::try_from(row.microbatch).unwrap_or(row.seq);
    match row.kind {
        Kind::ForwardCompute => (
            format!("PP:{chunk}F{microbatch}"),
            ["flash_fwd_kernel", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"],
        ),
        Kind::BackwardCompute => (
            format!("PP:{chunk}B{microbatch}"),
            ["sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x128x64", "flash_bwd_kernel"],
        ),
        _ => ("Optimizer.step#AdamW.step".into(), ["multi_tensor_apply_kernel", ""]),
    }
}
