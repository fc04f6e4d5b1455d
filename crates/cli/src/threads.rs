//! How many threads work.

use crate::allocator;
use crate::args::Common;

/// Threads to use: those asked for, else those the machine offers.
/// More threads than a few a core only get into each other's way.
pub fn threads(asked: Option<usize>) -> usize {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    asked.map_or(available, |asked| asked.min(4 * available.max(2)))
}

/// So many threads get into each other's way when they ask for memory in small steps.
const MANY_THREADS: usize = 4;

/// Readers of schedules and parallel replicas take their threads from this pool.
pub fn use_threads(common: &Common) {
    let count = threads(common.threads.map(Into::into));
    if count >= MANY_THREADS {
        allocator::grow_in_large_steps();
    }
    // It fails only if the pool is there already, which it is not this early.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(count).build_global();
}
