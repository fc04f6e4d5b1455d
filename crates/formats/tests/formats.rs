//! Import from and export to the formats of other programs.

#[path = "formats/import_allprof.rs"]
mod import_allprof;
#[path = "formats/import_dumpi.rs"]
mod import_dumpi;
#[path = "formats/import_simgrid.rs"]
mod import_simgrid;
#[path = "formats/nonsense.rs"]
mod nonsense;
#[path = "formats/otf2.rs"]
mod otf2;
#[path = "formats/perfetto.rs"]
mod perfetto;
