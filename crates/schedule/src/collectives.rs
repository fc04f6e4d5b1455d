//! Collective operations as implicit schedules: one algorithm a file.
