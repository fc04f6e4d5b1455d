//! The neighbours of a communicator in neighbourhood collectives.

use crate::abi::{Handle, UNDEFINED, abi};
use crate::site::pmpi;
use straggler_trace::Neighbors;
use straggler_trace::call::special;

/// The neighbours of this process, if the communicator has a topology.
pub fn neighbors(comm: Handle) -> Option<Neighbors> {
    let mut kind = UNDEFINED;
    pmpi!(Topo_test(comm, &raw mut kind))?;
    if kind == UNDEFINED {
        return None;
    }
    let mut found = if kind == abi().cart {
        grid(comm)
    } else if kind == abi().graph {
        graph(comm)
    } else {
        distributed(comm)
    }?;
    let lists = found.sources.iter_mut().chain(&mut found.destinations);
    lists.filter(|rank| **rank == abi().nobody).for_each(|rank| *rank = special::NOBODY);
    Some(found)
}

/// The neighbours before and after in each dimension.
fn grid(comm: Handle) -> Option<Neighbors> {
    let mut dimensions = 0i32;
    pmpi!(Cartdim_get(comm, &raw mut dimensions))?;
    let mut both = Vec::new();
    for dimension in 0..dimensions {
        let (mut before, mut behind) = (abi().nobody, abi().nobody);
        pmpi!(Cart_shift(comm, dimension, 1, &raw mut before, &raw mut behind))?;
        both.extend([before, behind]);
    }
    Some(Neighbors { sources: both.clone(), destinations: both })
}

fn graph(comm: Handle) -> Option<Neighbors> {
    let (mut rank, mut count) = (0i32, 0i32);
    pmpi!(Comm_rank(comm, &raw mut rank))?;
    pmpi!(Graph_neighbors_count(comm, rank, &raw mut count))?;
    let mut both = vec![0i32; count.max(0) as usize];
    pmpi!(Graph_neighbors(comm, rank, count, both.as_mut_ptr()))?;
    Some(Neighbors { sources: both.clone(), destinations: both })
}

fn distributed(comm: Handle) -> Option<Neighbors> {
    let (mut sources, mut destinations, mut weighted) = (0i32, 0i32, 0i32);
    pmpi!(Dist_graph_neighbors_count(comm, &raw mut sources, &raw mut destinations, &raw mut weighted))?;
    let list = |count: i32| vec![0i32; count.max(0) as usize];
    let (mut from, mut to) = (list(sources), list(destinations));
    let (mut weights_from, mut weights_to) = (list(sources), list(destinations));
    pmpi!(Dist_graph_neighbors(
        comm,
        sources,
        from.as_mut_ptr(),
        weights_from.as_mut_ptr(),
        destinations,
        to.as_mut_ptr(),
        weights_to.as_mut_ptr(),
    ))?;
    Some(Neighbors { sources: from, destinations: to })
}
