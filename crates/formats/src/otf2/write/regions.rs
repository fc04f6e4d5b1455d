//! The attributes of a region as Score-P sets them: analysers find their patterns by role, paradigm and file.

use crate::otf2::ids::{PARADIGM_MEASUREMENT, PARADIGM_MPI, PARADIGM_USER};
use straggler_trace::{Class, Collective, Function};

/// Roles of regions (OTF2_RegionRole).
mod role {
    pub(super) const FUNCTION: u8 = 1;
    pub(super) const CODE: u8 = 4;
    pub(super) const ATOMIC: u8 = 14;
    pub(super) const BARRIER: u8 = 15;
    pub(super) const ONE_TO_ALL: u8 = 23;
    pub(super) const ALL_TO_ONE: u8 = 24;
    pub(super) const ALL_TO_ALL: u8 = 25;
    pub(super) const OTHER_COLLECTIVE: u8 = 26;
    pub(super) const POINT_TO_POINT: u8 = 28;
    pub(super) const ONE_SIDED: u8 = 29;
    pub(super) const ARTIFICIAL: u8 = 31;
    pub(super) const ALLOCATE: u8 = 35;
}

/// To whom a region belongs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Owner {
    Mpi(Function),
    User,
    /// The whole program, from PROGRAM_BEGIN to PROGRAM_END.
    Program,
}

impl Owner {
    pub(super) fn role(self) -> u8 {
        match self {
            Owner::Mpi(function) => role_of(function),
            Owner::User => role::CODE,
            Owner::Program => role::ARTIFICIAL,
        }
    }

    pub(super) fn paradigm(self) -> u8 {
        match self {
            Owner::Mpi(_) => PARADIGM_MPI,
            Owner::User => PARADIGM_USER,
            Owner::Program => PARADIGM_MEASUREMENT,
        }
    }
}

/// The role that Score-P 2 gives the region of a function.
fn role_of(function: Function) -> u8 {
    match function {
        Function::Accumulate
        | Function::Raccumulate
        | Function::Get_accumulate
        | Function::Rget_accumulate
        | Function::Fetch_and_op
        | Function::Compare_and_swap => return role::ATOMIC,
        Function::Win_allocate | Function::Win_allocate_shared => return role::ALLOCATE,
        _ => {}
    }
    match function.class() {
        Class::Collective(Collective::Barrier, _) => role::BARRIER,
        Class::Collective(Collective::Bcast | Collective::Scatter | Collective::Scatterv, _) => {
            role::ONE_TO_ALL
        }
        Class::Collective(Collective::Gather | Collective::Gatherv | Collective::Reduce, _) => {
            role::ALL_TO_ONE
        }
        Class::Collective(Collective::Scan | Collective::Exscan, _) => role::OTHER_COLLECTIVE,
        Class::Collective(..) | Class::Neighbor(..) => role::ALL_TO_ALL,
        Class::Send(..)
        | Class::Recv(_)
        | Class::Sendrecv(_)
        | Class::Probe { .. }
        | Class::MatchedRecv(_)
        | Class::Begin => role::POINT_TO_POINT,
        Class::OneSided => role::ONE_SIDED,
        _ => role::FUNCTION,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The roles that Score-P 2.0.2 wrote into the definitions of a real archive.
    const SCORE_P: &[(u8, &str)] = &[
        (role::ATOMIC, "Accumulate Compare_and_swap Fetch_and_op Get_accumulate Raccumulate Rget_accumulate"),
        (role::BARRIER, "Barrier Ibarrier"),
        (role::ONE_TO_ALL, "Bcast Ibcast Iscatter Iscatterv Scatter Scatterv"),
        (role::ALL_TO_ONE, "Gather Gatherv Igather Igatherv Ireduce Reduce"),
        (
            role::ALL_TO_ALL,
            "Allgather Allgatherv Allreduce Alltoall Alltoallv Alltoallw Iallgather Iallgatherv",
        ),
        (
            role::ALL_TO_ALL,
            "Iallreduce Ialltoall Ialltoallv Ialltoallw Ineighbor_allgather Neighbor_alltoallw",
        ),
        (role::ALL_TO_ALL, "Ireduce_scatter Ireduce_scatter_block Reduce_scatter Reduce_scatter_block"),
        (role::OTHER_COLLECTIVE, "Exscan Iexscan Iscan Scan"),
        (
            role::POINT_TO_POINT,
            "Bsend Bsend_init Ibsend Improbe Imrecv Iprobe Irecv Irsend Isend Issend Mprobe",
        ),
        (role::POINT_TO_POINT, "Mrecv Probe Recv Recv_init Rsend Rsend_init Send Send_init Sendrecv"),
        (role::POINT_TO_POINT, "Sendrecv_replace Ssend Ssend_init Start Startall"),
        (role::ONE_SIDED, "Get Put Rget Rput"),
        (role::ALLOCATE, "Win_allocate Win_allocate_shared"),
        (
            role::FUNCTION,
            "Cancel Cart_create Cart_sub Comm_create Comm_dup Comm_free Comm_split Dist_graph_create",
        ),
        (
            role::FUNCTION,
            "Finalize Init Init_thread Intercomm_create Intercomm_merge Request_free Test Testall",
        ),
        (
            role::FUNCTION,
            "Testany Testsome Wait Waitall Waitany Waitsome Win_create Win_fence Win_free Win_lock",
        ),
    ];

    #[test]
    fn functions_have_the_roles_that_score_p_gives_them() {
        for (role, names) in SCORE_P {
            for name in names.split(' ') {
                let function = Function::named(&format!("MPI_{name}"));
                assert_eq!(function.map(|function| Owner::Mpi(function).role()), Some(*role), "{name}");
            }
        }
    }
}
