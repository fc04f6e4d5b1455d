//! The local operations of one step, which become ready together: at most one send, one receive and one
//! computation. The agendas of implicit schedules keep one ready time and a bit for each operation that
//! has not run.

use crate::checkpoint::{Unsound, ensure};
use crate::host::Host;
use crate::order::Key;
use crate::rules;
use straggler_model::Time;
use straggler_schedule::OperationKind;

pub(crate) const SEND: u8 = 1 << OperationKind::Send as u8;
pub(crate) const RECV: u8 = 1 << OperationKind::Recv as u8;
pub(crate) const CALC: u8 = 1 << OperationKind::Calc as u8;

/// Checks the bits of operations that were read.
pub(crate) fn check(pending: u8) -> Result<(), Unsound> {
    ensure(pending & !(SEND | RECV | CALC) == 0, "there is no such kind of operation")
}

/// The kinds of the operations that have not run.
pub(crate) fn kinds(pending: u8) -> impl Iterator<Item = OperationKind> {
    let kinds = [OperationKind::Send, OperationKind::Recv, OperationKind::Calc];
    kinds.into_iter().filter(move |&kind| pending & 1 << kind as u8 != 0)
}

/// When the first operation may run; [`Time::NEVER`] if none is left.
#[inline(always)]
pub(crate) fn next(pending: u8, ready: Time, host: &impl Host) -> Time {
    if pending == 0 {
        Time::NEVER
    } else if pending & RECV != 0 {
        // Never later than the others, which also wait for the CPU.
        ready
    } else if pending & SEND != 0 {
        let send = rules::send_eligible(host, 0, 0, ready);
        if pending == SEND { send } else { send.min(rules::calc_eligible(host, 0, ready)) }
    } else {
        rules::calc_eligible(host, 0, ready)
    }
}

/// Takes the operation that runs at `t`, the time that `next` has just returned.
#[inline(always)]
pub(crate) fn take(pending: &mut u8, ready: Time, host: &impl Host, t: Time) -> OperationKind {
    let kind = if *pending & SEND != 0 && rules::send_eligible(host, 0, 0, ready) == t {
        OperationKind::Send
    } else if *pending & RECV != 0 {
        OperationKind::Recv
    } else {
        OperationKind::Calc
    };
    *pending &= !(1 << kind as u8);
    kind
}

/// The key of the operation that runs next, by the model's order.
pub(crate) fn key(pending: u8, ready: Time, created: Time, host: &impl Host) -> Key {
    let candidates = [
        (SEND, rules::send_eligible(host, 0, 0, ready), OperationKind::Send),
        (RECV, ready, OperationKind::Recv),
        (CALC, rules::calc_eligible(host, 0, ready), OperationKind::Calc),
    ];
    let left = candidates.into_iter().filter(|(bit, ..)| pending & bit != 0);
    let first = left.map(|(_, t, kind)| (t, kind)).min();
    let (eligible, kind) = first.unwrap_or((Time::NEVER, OperationKind::Calc));
    // A step has at most one operation of each class, so the class decides the order.
    Key { eligible, created, class: kind.into(), order: kind as u64 }
}
