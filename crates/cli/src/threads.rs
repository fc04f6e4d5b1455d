//! The number of threads.

use crate::allocator;
use crate::args::Common;

/// Number of threads to use: as asked for, else the number of available cores. More than a few per
/// core only slow each other down, so the number asked for is capped.
pub fn threads(asked: Option<usize>) -> usize {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    asked.map_or(available, |asked| asked.min(4 * available.max(2)))
}

/// From this many threads on, small allocation steps cause contention in the kernel.
const MANY_THREADS: usize = 4;

/// Sets up the global thread pool, which readers of schedules and parallel replicas use.
pub fn use_threads(common: &Common) {
    let count = threads(common.threads.map(Into::into));
    if count >= MANY_THREADS {
        allocator::grow_in_large_steps();
    }
    // Fails only if the pool exists already, which is impossible this early.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(count).build_global();
}
