//! Tests of traces: their format, and what checks find in them.

#[path = "trace/checks.rs"]
mod checks;
#[path = "trace/fixture.rs"]
mod fixture;
#[path = "trace/format.rs"]
mod format;
#[path = "trace/halo.rs"]
mod halo;
#[path = "trace/mpi_abi.rs"]
mod mpi_abi;
#[path = "trace/operations.rs"]
mod operations;
#[path = "trace/regions.rs"]
mod regions;
