//! Which field of a line is which argument.
//!
//! A layout has one letter per field, in the order of the C function:
//!
//! | letter | field |
//! |---|---|
//! | `_` | nothing of interest: a buffer, a status, an operation |
//! | `n` `N` | count sent, received |
//! | `d` `D` | datatype sent, received |
//! | `p` `P` | destination, source or root; the source of a call that does both |
//! | `t` `T` | tag; that of the receiving half |
//! | `c` | communicator |
//! | `r` | address of a request |
//! | `k` `R` | number of requests, address of their array |
//! | `v` `V` | counts to each, from each: the address, and a field with the list where it was written |
//! | `x` | displacements, as counts |
//! | `*` | whatever is left |

use std::collections::HashMap;
use straggler_trace::{Class, Collective, Function, HowMany, Start};

/// The layouts of all known functions, by name.
pub(super) fn layouts() -> HashMap<&'static str, (Function, String)> {
    let known = Function::ALL.iter().filter(|function| **function != Function::Unknown);
    known.map(|&function| (function.name(), (function, layout(function)))).collect()
}

fn layout(function: Function) -> String {
    let (base, start) = match function.class() {
        Class::Send(_, start) => ("_ndptc", start),
        Class::Recv(Start::Blocking) => ("_NDptc_", Start::Blocking),
        // Unlike a prepared collective, a prepared receive has no info argument.
        Class::Recv(_) => ("_NDptc", Start::Nonblocking),
        Class::Collective(kind, start) => (collective(kind), start),
        Class::Neighbor(Collective::Allgather | Collective::Alltoall, start) => ("_nd_NDc", start),
        _ => (other(function), Start::Blocking),
    };
    let prepared = matches!(function.class(), Class::Collective(..) | Class::Neighbor(..));
    let end = match start {
        Start::Blocking => "",
        Start::Persistent if prepared => "_r",
        Start::Nonblocking | Start::Persistent => "r",
    };
    format!("{base}{end}")
}

fn collective(kind: Collective) -> &'static str {
    match kind {
        Collective::Barrier => "c",
        Collective::Bcast => "_ndpc",
        Collective::Gather | Collective::Scatter => "_nd_NDpc",
        Collective::Gatherv => "_nd_VxDpc",
        Collective::Scatterv => "_vxd_NDpc",
        Collective::Allgather | Collective::Alltoall => "_nd_NDc",
        Collective::Allgatherv => "_nd_VxDc",
        Collective::Alltoallv => "_vxd_VxDc",
        Collective::Alltoallw => "_vx__Vx_c",
        Collective::Reduce => "__nd_pc",
        Collective::ReduceScatter => "__vd_c",
        Collective::Allreduce | Collective::ReduceScatterBlock | Collective::Scan | Collective::Exscan => {
            "__nd_c"
        }
    }
}

fn other(function: Function) -> &'static str {
    match (function, function.class()) {
        (Function::Sendrecv, _) => "_ndpt_NDPTc_",
        (Function::Sendrecv_replace, _) => "_ndptPTc_",
        (Function::Isendrecv, _) => "_ndpt_NDPTcr",
        (Function::Isendrecv_replace, _) => "_ndptPTcr",
        (Function::Imrecv, _) => "_ND_r",
        (Function::Mrecv, _) => "_ND__",
        (Function::Startall, _) => "kR",
        (Function::Win_create, _) => "____c_",
        (_, Class::Begin | Class::Drop) => "r",
        (_, Class::Probe { .. }) => "ptc*",
        (_, Class::Wait(HowMany::One) | Class::Test(HowMany::One)) => "r*",
        (_, Class::Wait(_) | Class::Test(_)) => "kR*",
        (Function::Comm_accept | Function::Comm_connect | Function::Comm_join, _) => "*",
        (Function::Comm_spawn | Function::Comm_spawn_multiple | Function::Comm_get_parent, _) => "*",
        (Function::Comm_create_from_group | Function::Intercomm_create_from_groups, _) => "*",
        (_, Class::NewComm { .. }) => "c*",
        _ => "*",
    }
}

/// The fields of a line by their letters.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    found: Vec<(u8, &'a str)>,
}

impl<'a> Parts<'a> {
    pub fn get(&self, letter: u8) -> Option<&'a str> {
        self.found.iter().find(|(found, _)| *found == letter).map(|(_, text)| *text)
    }
}

/// Assigns letters to the fields; a list of counts takes two fields if the list itself was written.
pub(super) fn assign<'a>(layout: &str, fields: &[&'a str], lists: bool) -> Result<Parts<'a>, String> {
    let mut parts = Parts::default();
    let mut fields = fields.iter();
    let mut next = || fields.next().copied().ok_or_else(|| "the line has too few arguments".to_string());
    for letter in layout.bytes() {
        match letter {
            b'*' => break,
            b'v' | b'V' | b'x' => {
                next()?;
                if lists {
                    parts.found.push((letter, next()?));
                }
            }
            b'_' => {
                next()?;
            }
            _ => parts.found.push((letter, next()?)),
        }
    }
    Ok(parts)
}
