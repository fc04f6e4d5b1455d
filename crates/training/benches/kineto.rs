//! Throughput of the reader of PyTorch profiler files, from file to job, and the memory it takes: `max alloc` is the most at a time.
//! Nearly every event of these files is kept; of a real file it is one in ten, and reading is faster. Counting allocations takes time, too.

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

/// The file of the first rank of a pipeline, of so many steps.
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

/// Bytes are those of the JSON, compressed or not.
#[divan::bench(args = [false, true], sample_count = 10)]
fn read(bencher: Bencher<'_, '_>, packed: bool) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (path, bytes) = file(&folder, packed);
    let paths = [path];
    bencher.counter(BytesCount::new(bytes)).bench_local(|| import(&paths).unwrap());
}
