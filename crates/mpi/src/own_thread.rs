//! Values that only the thread which made them may use, as MPI demands of its calls (MPI_THREAD_FUNNELED).
#![allow(unsafe_code)]

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::thread::ThreadId;

/// A value that may be passed on to other threads, but panics if one of them uses it.
pub struct OwnThread<T> {
    value: ManuallyDrop<T>,
    thread: ThreadId,
}

// SAFETY: other threads never get at the value: every access checks the thread.
unsafe impl<T> Send for OwnThread<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for OwnThread<T> {}

impl<T> OwnThread<T> {
    pub fn new(value: T) -> OwnThread<T> {
        OwnThread { value: ManuallyDrop::new(value), thread: std::thread::current().id() }
    }

    fn is_own(&self) -> bool {
        std::thread::current().id() == self.thread
    }
}

// Without the value, which other threads may not read.
impl<T> fmt::Debug for OwnThread<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnThread").field("thread", &self.thread).finish_non_exhaustive()
    }
}

impl<T> Deref for OwnThread<T> {
    type Target = T;

    fn deref(&self) -> &T {
        assert!(self.is_own(), "only the thread that initialised MPI may call it");
        &self.value
    }
}

impl<T> Drop for OwnThread<T> {
    fn drop(&mut self) {
        // A value that ends on another thread is never dropped.
        if self.is_own() {
            // SAFETY: dropped only here.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn another_thread_is_refused() {
        let own = OwnThread::new(Rc::new(5));
        assert_eq!(**own, 5);
        assert!(std::thread::scope(|scope| scope.spawn(|| **own).join()).is_err());
        assert!(std::thread::spawn(move || drop(own)).join().is_ok());
    }

    #[test]
    fn another_thread_may_print_it() {
        struct Unprintable;
        let own = OwnThread::new(Unprintable);
        let text = std::thread::scope(|scope| scope.spawn(|| format!("{own:?}")).join());
        assert!(text.unwrap().starts_with("OwnThread { thread: "));
    }
}
