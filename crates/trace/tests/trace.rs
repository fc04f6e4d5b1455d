//! Tests of traces: their format, import from and export to other formats, and what checks find in them.

#[path = "trace/checks.rs"]
mod checks;
#[path = "trace/fixture.rs"]
mod fixture;
#[path = "trace/format.rs"]
mod format;
#[path = "trace/halo.rs"]
mod halo;
#[path = "trace/import_allprof.rs"]
mod import_allprof;
#[path = "trace/import_dumpi.rs"]
mod import_dumpi;
#[path = "trace/import_simgrid.rs"]
mod import_simgrid;
#[path = "trace/mpi_abi.rs"]
mod mpi_abi;
#[path = "trace/operations.rs"]
mod operations;
#[path = "trace/otf2.rs"]
mod otf2;
#[path = "trace/perfetto.rs"]
mod perfetto;
#[path = "trace/regions.rs"]
mod regions;
