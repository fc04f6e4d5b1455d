//! Measures the throughput of the reader of PyTorch profiler files, from file to job, and its peak memory (`max
//! alloc`). Nearly every event of these files is kept; of a real file it is one in ten, and reading is faster.
//! Counting allocations takes some time, too.

use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher};
use std::path::PathBuf;
use straggler_training::synthetic::{Synthetic, rows};
use straggler_training::{Kineto, import};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// Writes the profiler file of rank 0 of a pipeline. Returns its path and the length of its JSON.
fn file(folder: &tempfile::TempDir, packed: bool) -> (PathBuf, u64) {
    let rows = rows(&Synthetic { dp: 2, pp: 2, microbatches: 64, steps: 200, ..Synthetic::default() });
    let job = Kineto::new(&rows, true);
    let (mut text, mut bytes) = (Vec::new(), Vec::new());
    job.write(0, &mut text).expect("memory takes every byte");
    if packed {
        job.write_packed(0, &mut bytes).expect("memory takes every byte");
    }
    let path = folder.path().join("rank-0.json");
    std::fs::write(&path, if packed { &bytes } else { &text }).expect("a temporary file can be written");
    (path, text.len() as u64)
}

/// Counts bytes of uncompressed JSON, even if the file is compressed.
#[divan::bench(args = [false, true], sample_count = 10)]
fn read(bencher: Bencher<'_, '_>, packed: bool) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (path, bytes) = file(&folder, packed);
    let paths = [path];
    bencher.counter(BytesCount::new(bytes)).bench_local(|| import(&paths).unwrap());
}
