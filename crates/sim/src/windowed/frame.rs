//! The current window.

use straggler_model::Time;

/// Windows are as long as the lookahead; window w covers [w·lookahead, (w+1)·lookahead).
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub window: u64,
    /// The window's end: events at this time belong to the next one.
    pub until: Time,
    /// The end of the next window.
    pub next_until: Time,
    lookahead: u64,
    /// log2 of the ranks in a block.
    pub shift: u32,
}

impl Frame {
    pub fn new(window: u64, lookahead: Time, shift: u32) -> Frame {
        let end = |window: u64| Time(lookahead.ps().saturating_mul(window.saturating_add(1)));
        Frame {
            window,
            until: end(window),
            next_until: end(window.saturating_add(1)),
            lookahead: lookahead.ps(),
            shift,
        }
    }

    pub fn begin(&self) -> Time {
        Time(self.lookahead.saturating_mul(self.window))
    }

    /// The window of a time after this window.
    #[inline(always)]
    pub fn window_of(&self, time: Time) -> u64 {
        if time < self.next_until { self.window + 1 } else { self.far_window(time) }
    }

    /// Most messages that do not arrive in the next window arrive in the one after it, which saves a division.
    #[inline(always)]
    fn far_window(&self, time: Time) -> u64 {
        let beyond = (time - self.next_until).ps();
        match beyond < self.lookahead && self.next_until != Time::NEVER {
            true => self.window + 2,
            false => time.ps() / self.lookahead,
        }
    }

    /// The window of a time in this window or after it.
    #[inline(always)]
    pub fn window_at(&self, time: Time) -> u64 {
        if time < self.until { self.window } else { self.window_of(time) }
    }

    /// When a process that ran has to be woken: `next`, the time of its first local event, unless it was due in the
    /// same window before it ran and so is scheduled already.
    #[inline(always)]
    pub fn newly_due(&self, was_due: Time, next: Time) -> Time {
        if next == Time::NEVER { next } else { self.compare(was_due, next) }
    }

    #[inline(never)]
    fn compare(&self, was_due: Time, next: Time) -> Time {
        let noted = was_due >= self.until
            && was_due != Time::NEVER
            && self.window_of(was_due) == self.window_of(next);
        if noted { Time::NEVER } else { next }
    }
}
