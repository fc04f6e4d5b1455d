//! Reading and writing whole files.

#[path = "parquet/damage.rs"]
mod damage;
#[path = "parquet/fixtures.rs"]
mod fixtures;
#[path = "parquet/round_trips.rs"]
mod round_trips;
#[path = "parquet/sealed.rs"]
mod sealed;
