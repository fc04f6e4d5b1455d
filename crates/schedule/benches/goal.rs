//! Throughput of the GOAL readers and writers on a dissemination schedule.

use divan::Bencher;
use divan::counter::BytesCount;
use straggler_schedule::goal::{Format, binary, stream, text, text_write};
use straggler_schedule::workloads::{Only, Workload, choose_default};
use straggler_schedule::{Graph, GraphBuilder, Operation, RankBuilder};

fn main() {
    divan::main();
}

const PROCESSES: u32 = 16_384;

/// Two dissemination allreduces, one message per rank and round.
fn dissemination() -> Graph {
    let mut graph = GraphBuilder::default();
    let mut builder = RankBuilder::default();
    for rank in 0..PROCESSES {
        builder.clear();
        let mut before: Option<[u32; 2]> = None;
        for round in 0..2 * PROCESSES.ilog2() {
            let distance = 1 << (round % PROCESSES.ilog2());
            let send = builder.push(Operation::send(8, (rank + distance) % PROCESSES, round));
            let recv = builder.push(Operation::recv(8, (rank + PROCESSES - distance) % PROCESSES, round));
            for earlier in before.into_iter().flatten() {
                builder.requires(send, earlier);
                builder.requires(recv, earlier);
            }
            before = Some([send, recv]);
        }
        graph.push_rank(&builder);
    }
    graph.finish()
}

fn text_of(graph: &Graph) -> Vec<u8> {
    let mut bytes = Vec::new();
    text_write::write(graph, &mut bytes).expect("memory takes every byte");
    bytes
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started")
}

#[divan::bench(args = [1, 2], sample_count = 10)]
fn read_text(bencher: Bencher<'_, '_>, threads: usize) {
    let bytes = text_of(&dissemination());
    let pool = pool(threads);
    let bencher = bencher.counter(BytesCount::of_slice(&bytes));
    bencher.bench_local(|| pool.install(|| text::parse(&bytes).unwrap()));
}

/// Labels that are not letters followed by a number go through a hash table.
#[divan::bench(sample_count = 10)]
fn read_text_with_names(bencher: Bencher<'_, '_>) {
    let text = String::from_utf8(text_of(&dissemination())).expect("GOAL is ASCII");
    let bytes = text.replace('l', "v1_").into_bytes();
    let pool = pool(1);
    let bencher = bencher.counter(BytesCount::of_slice(&bytes));
    bencher.bench_local(|| pool.install(|| text::parse(&bytes).unwrap()));
}

#[divan::bench(sample_count = 10)]
fn write_text(bencher: Bencher<'_, '_>) {
    let graph = dissemination();
    let bytes = text_of(&graph);
    bencher
        .counter(BytesCount::of_slice(&bytes))
        .bench_local(|| text_write::write(&graph, std::io::sink()).unwrap());
}

#[divan::bench(args = [1, 2], sample_count = 10)]
fn read_binary(bencher: Bencher<'_, '_>, threads: usize) {
    let mut bytes = Vec::new();
    binary::write(&dissemination(), &mut bytes).expect("memory takes every byte");
    let pool = pool(threads);
    let bencher = bencher.counter(BytesCount::of_slice(&bytes));
    bencher.bench_local(|| pool.install(|| binary::parse(&bytes).unwrap()));
}

/// Writes a collective while computing it.
#[divan::bench(args = [1, 2], sample_count = 10)]
fn stream_binary(bencher: Bencher<'_, '_>, threads: usize) {
    stream(bencher, threads, Format::Binary);
}

#[divan::bench(args = [1, 2], sample_count = 10)]
fn stream_text(bencher: Bencher<'_, '_>, threads: usize) {
    stream(bencher, threads, Format::Text);
}

fn stream(bencher: Bencher<'_, '_>, threads: usize, format: Format) {
    let workload: Workload = "cycles,cycles=2".parse().expect("a workload there is");
    let application = workload.build(PROCESSES, Only::All, &choose_default).expect("it can be built");
    let mut bytes = Vec::new();
    stream::write(&application, format, &mut bytes).expect("memory takes every byte");
    let pool = pool(threads);
    let bencher = bencher.counter(BytesCount::of_slice(&bytes));
    bencher.bench_local(|| pool.install(|| stream::write(&application, format, std::io::sink()).unwrap()));
}
