//! Profiles of ranks whose hosts and GPUs work at given speeds: the GPU runs kernels in launch order, as soon as they are launched
//! and the one before has ended.

use std::fmt::Write as _;
use std::path::Path;

/// A data-parallel job. Each step has `kernels` kernels, an all-reduce that waits for them, and an optimizer that waits for it.
#[derive(Clone)]
pub struct Hosted {
    pub ranks: usize,
    pub steps: i64,
    pub kernels: usize,
    /// Microseconds of a kernel, of the all-reduce after its last member has begun, and of the host to launch a kernel.
    pub kernel: f64,
    pub all_reduce: f64,
    pub launch: f64,
    /// A rank whose kernels take this many times as long.
    pub slow: Option<(usize, f64)>,
    /// Kernels that are queued when the recording begins.
    pub queued: usize,
    /// The host waits for the GPU at the end of each step, in a call of `aten::item`.
    pub waits: bool,
    /// The host waits for the all-reduce before it launches the optimizer, and the GPU does not: no wait is recorded.
    pub synchronous: bool,
    /// A rank whose host is busy with something else for this time, in the middle of each step.
    pub busy: Option<(usize, f64)>,
}

impl Default for Hosted {
    fn default() -> Hosted {
        Hosted {
            ranks: 4,
            steps: 8,
            kernels: 20,
            kernel: 1000.0,
            all_reduce: 2000.0,
            launch: 10.0,
            slow: None,
            queued: 0,
            waits: false,
            synchronous: false,
            busy: None,
        }
    }
}

#[derive(Default)]
struct File {
    text: String,
    /// When the host and the GPU are free.
    host: f64,
    gpu: f64,
    correlation: u64,
}

impl File {
    fn event(&mut self, category: &str, name: &str, [start, end]: [f64; 2], args: &str) {
        let duration = end - start;
        writeln!(
            self.text,
            "{{\"ph\": \"X\", \"cat\": \"{category}\", \"name\": \"{name}\", \"tid\": 1, \"ts\": {start:.3}, \"dur\": {duration:.3}, \
             \"args\": {{{args}}}}},"
        )
        .unwrap();
    }

    fn launch(&mut self, takes: f64) -> f64 {
        let (at, end) = (self.host, self.host + takes.min(4.0));
        self.correlation += 1;
        let correlation = format!("\"correlation\": {}", self.correlation);
        self.event("cuda_runtime", "cudaLaunchKernel", [at, end], &correlation);
        self.host += takes;
        at
    }

    /// A stream waits for what was launched on another one so far.
    fn wait(&mut self, stream: u32, on: u32) {
        let args = format!(
            "\"stream\": {stream}, \"correlation\": {0}, \"wait_on_stream\": {on}, \"wait_on_cuda_event_record_corr_id\": {0}, \
             \"device\": 0",
            self.correlation
        );
        self.event("cuda_sync", "Stream Wait Event", [self.host, self.host], &args);
    }

    fn kernel(&mut self, launch: f64, takes: f64) {
        let start = self.gpu.max(launch + 5.0);
        self.gpu = start + takes;
        let args = format!("\"device\": 0, \"stream\": 7, \"correlation\": {}", self.correlation);
        self.event("kernel", "gemm", [start, self.gpu], &args);
    }
}

/// Writes a file for each rank into the folder. Returns the mean time of a step, in microseconds: from the end of one to the end
/// of the next.
pub fn write(of: &Hosted, folder: &Path) -> f64 {
    let mut files: Vec<File> =
        (0..of.ranks).map(|_| File { host: 1000.0, gpu: 1000.0, ..File::default() }).collect();
    for file in &mut files {
        for _ in 0..of.queued {
            file.correlation += 1;
            file.kernel(0.0, of.kernel);
        }
    }
    let mut ends = Vec::new();
    for step in 0..of.steps {
        let mut reduces = Vec::new();
        let mut begins = Vec::new();
        for (rank, file) in files.iter_mut().enumerate() {
            begins.push(file.host);
            let times = of.slow.filter(|(slow, _)| *slow == rank).map_or(1.0, |(_, times)| times);
            for kernel in 0..of.kernels {
                if let Some((_, takes)) =
                    of.busy.filter(|(busy, _)| *busy == rank && 2 * kernel == of.kernels)
                {
                    let begin = file.host;
                    file.host += takes;
                    file.event("user_annotation", "write_checkpoint", [begin, begin + takes], "");
                }
                let launch = file.launch(of.launch);
                file.kernel(launch, of.kernel * times);
            }
            file.wait(20, 7);
            let launch = file.launch(of.launch);
            reduces.push((file.gpu.max(launch + 5.0), file.correlation));
        }
        let end = reduces.iter().map(|reduce| reduce.0).fold(0.0, f64::max) + of.all_reduce;
        for (file, (start, correlation)) in files.iter_mut().zip(reduces) {
            let ranks: Vec<usize> = (0..of.ranks).collect();
            let args = format!(
                "\"device\": 0, \"stream\": 20, \"correlation\": {correlation}, \"Collective name\": \"allreduce\", \"In msg nelems\": \
                 1024, \"dtype\": \"Float\", \"Group size\": {}, \"Process Group Name\": \"0\", \"Process Group Description\": \"dp\", \
                 \"Process Group Ranks\": \"{ranks:?}\", \"Seq\": {step}",
                of.ranks
            );
            file.event(
                "kernel",
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)",
                [start, end],
                &args,
            );
            match of.synchronous {
                true => file.host = file.host.max(end) + 30.0,
                false => file.wait(7, 20),
            }
            let launch = file.launch(of.launch);
            file.gpu = file.gpu.max(end);
            file.kernel(launch, of.kernel);
            if of.waits {
                let begin = file.host;
                file.host = file.host.max(file.gpu) + 20.0;
                file.event("cpu_op", "aten::item", [begin, file.host], "");
                file.event("cuda_runtime", "cudaStreamSynchronize", [begin + 1.0, file.host - 1.0], "");
            }
        }
        for (file, begin) in files.iter_mut().zip(begins) {
            file.event("user_annotation", &format!("ProfilerStep#{step}"), [begin, file.host], "");
        }
        ends.push(files.iter().map(|file| file.gpu).fold(0.0, f64::max));
    }
    for (rank, file) in files.iter().enumerate() {
        let text = format!(
            "{{\"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {rank}, \"world_size\": {}}},\n\"baseTimeNanoseconds\": \
             1700000000000000000,\n\"traceEvents\": [\n{}\n]}}\n",
            of.ranks,
            file.text.trim_end().trim_end_matches(',')
        );
        std::fs::write(folder.join(format!("rank{rank}.json")), text).unwrap();
    }
    (ends[ends.len() - 1] - ends[0]) / (ends.len() - 1) as f64
}
