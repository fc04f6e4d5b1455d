//! The timeline of a run and its export.
