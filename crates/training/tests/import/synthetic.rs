//! Writes synthetic traces in the form of the PyTorch profiler.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// How the waits between streams are known.
#[derive(Clone, Copy, PartialEq)]
pub enum Wait {
    Guessed,
    Recorded,
}

/// A rank of a job with a forward pass, an all-reduce of 4096 bytes and a backward pass in every step.
#[derive(Clone)]
pub struct Rank {
    pub rank: u32,
    pub world: u32,
    pub steps: Vec<i64>,
    pub profiler_steps: bool,
    /// A step without an end.
    pub open_step: Option<i64>,
    /// A step in which the all-reduce is missing.
    pub without_collective: Option<i64>,
    pub old_names: bool,
    pub gzip: bool,
    pub seq: bool,
    pub wait: Wait,
    /// How far the clock is ahead, and how much further from step `jump_at` on.
    pub clock_us: f64,
    pub jump_us: f64,
    pub jump_at: i64,
    /// How much larger its numbers of steps and collectives are.
    pub steps_ahead: i64,
    pub numbers_ahead: i64,
    /// How much later it comes to the all-reduce, which still ends with the others.
    pub late_us: f64,
    /// A broadcast before the all-reduce, which rank 0 leaves this much earlier than the others.
    pub broadcast_us: Option<f64>,
    /// The ranks that it communicates with, if not all.
    pub group: Option<[u32; 2]>,
}

impl Rank {
    pub fn new(rank: u32, world: u32) -> Rank {
        Rank {
            rank,
            world,
            steps: vec![1, 2, 3],
            profiler_steps: true,
            open_step: None,
            without_collective: None,
            old_names: false,
            gzip: false,
            seq: true,
            wait: Wait::Guessed,
            clock_us: 0.0,
            jump_us: 0.0,
            jump_at: 2,
            steps_ahead: 0,
            numbers_ahead: 0,
            late_us: 0.0,
            broadcast_us: None,
            group: None,
        }
    }

    pub fn json(&self) -> String {
        let ranks: Vec<u32> = (0..self.world).collect();
        let events: Vec<String> = self.steps.iter().flat_map(|&step| self.step(step)).collect();
        format!(
            "{{\n  \"schemaVersion\": 1, \"synthetic\": true,\n  \"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {}, \
             \"world_size\": {}, \"pg_config\": [{{\"pg_name\": \"0\", \"pg_desc\": \"default\", \"ranks\": {ranks:?}}}]}},\n  \
             \"traceEvents\": [\n{}\n  ],\n  \"baseTimeNanoseconds\": 1700000000000000000\n}}\n",
            self.rank,
            self.world,
            events.join(",\n")
        )
    }

    fn step(&self, step: i64) -> Vec<String> {
        let jumped = if step >= self.jump_at { self.jump_us } else { 0.0 };
        let at = 1_000_000.0 + step as f64 * 2000.0 + self.clock_us + jumped;
        let correlation = step * 100;
        let mut events = Vec::new();
        if self.profiler_steps {
            let end = if self.open_step == Some(step) { "" } else { ", \"dur\": 1900.000" };
            events.push(format!(
                "{{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#{}\", \"pid\": 1, \"tid\": 1, \
                 \"ts\": {at:.3}{end}}}",
                step + self.steps_ahead
            ));
        }
        events.push(annotation("## forward ##", at + 1.0, 20.0));
        events.push(annotation("## backward ##", at + 30.0, 900.0));
        for (number, (start, duration)) in [(10.0, 30.0), (45.0, 30.0), (100.0, 30.0)].into_iter().enumerate()
        {
            let number = correlation + number as i64;
            events.extend(kernel(
                "void gemm<float>(\\\"x\\\")",
                7,
                at + 2.0,
                at + start,
                duration,
                number,
                "",
            ));
        }
        if let Some(early) = self.broadcast_us {
            let duration = if self.rank == 0 { 34.0 - early } else { 34.0 };
            let broadcast = ("broadcast", "ncclDevKernel_Broadcast_RING_LL(ncclDevComm*)");
            events.extend(self.collective(broadcast, 2 * step - 1, [at, 102.0, duration], step * 100 + 9));
        }
        if self.without_collective != Some(step) {
            let start = 140.0 + self.late_us;
            events.extend(self.all_reduce(step, at, start, 340.0 - start));
        }
        if self.wait == Wait::Recorded {
            events.push(format!(
                "{{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"Stream Wait Event\", \"ts\": {at}, \"dur\": 0, \"args\": \
                 {{\"stream\": 7, \"correlation\": {}, \"wait_on_stream\": 20, \"wait_on_cuda_event_record_corr_id\": {}, \
                 \"device\": 0}}}}",
                correlation + 12,
                correlation + 11
            ));
        }
        events.extend(kernel("void relu()", 7, at + 40.0, at + 345.0, 50.0, correlation + 20, ""));
        events
    }

    fn all_reduce(&self, step: i64, at: f64, start: f64, duration: f64) -> [String; 2] {
        let name = match self.old_names {
            true => "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)",
            false => "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)",
        };
        let number = if self.broadcast_us.is_some() { 2 * step } else { step };
        self.collective(("allreduce", name), number, [at, start, duration], step * 100 + 10)
    }

    /// A collective, given by its name and that of its kernel.
    fn collective(
        &self,
        (collective, kernel_name): (&str, &str),
        number: i64,
        [at, start, duration]: [f64; 3],
        correlation: i64,
    ) -> [String; 2] {
        let ranks = self.group.map_or_else(|| (0..self.world).collect(), |group| group.to_vec());
        let mut args = format!(
            ", \"Collective name\": \"{collective}\", \"In msg nelems\": 1024, \"dtype\": \"Float\", \"Group size\": {}, \
             \"Process Group Name\": \"{}\", \"Process Group Description\": \"dp\", \"Process Group Ranks\": \"{ranks:?}\"",
            ranks.len(),
            self.group.map_or(0, |group| group[0])
        );
        if self.seq {
            write!(args, ", \"Seq\": {}", number + self.numbers_ahead).unwrap();
        }
        kernel(kernel_name, 20, at + 3.0, at + start, duration, correlation, &args)
    }
}

fn annotation(name: &str, start: f64, duration: f64) -> String {
    format!(
        "{{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"{name}\", \"tid\": 1, \"ts\": {start:.3}, \"dur\": \
         {duration:.3}, \"args\": {{}}}}"
    )
}

/// The events of a kernel and its launch.
fn kernel(
    name: &str,
    stream: u32,
    launch: f64,
    start: f64,
    duration: f64,
    correlation: i64,
    args: &str,
) -> [String; 2] {
    [
        format!(
            "{{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"tid\": 1, \"ts\": {launch:.3}, \
             \"dur\": 1.500, \"args\": {{\"correlation\": {correlation}}}}}"
        ),
        format!(
            "{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"{name}\", \"pid\": 0, \"tid\": {stream}, \"ts\": {start:.3}, \
             \"dur\": {duration:.3}, \"args\": {{\"device\": 0, \"stream\": {stream}, \"correlation\": {correlation}{args}}}}}"
        ),
    ]
}

/// Writes `rank0.json` and so on into the folder.
pub fn write(folder: &Path, ranks: &[Rank]) -> Vec<PathBuf> {
    ranks
        .iter()
        .map(|rank| {
            let path = folder.join(format!("rank{}.json{}", rank.rank, if rank.gzip { ".gz" } else { "" }));
            let file = std::fs::File::create(&path).unwrap();
            let text = rank.json();
            if rank.gzip {
                let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
                packed.write_all(text.as_bytes()).unwrap();
                packed.finish().unwrap();
            } else {
                (&file).write_all(text.as_bytes()).unwrap();
            }
            path
        })
        .collect()
}
