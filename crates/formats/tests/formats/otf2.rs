//! OTF2 archives: one that libotf2 wrote, ours read back, ours as otf2-print sees them, and damaged ones.

#[path = "otf2/contexts.rs"]
mod contexts;
#[path = "otf2/damage.rs"]
mod damage;
#[path = "otf2/dice.rs"]
mod dice;
#[path = "otf2/fixture.rs"]
mod fixture;
#[path = "otf2/messages.rs"]
mod messages;
#[path = "otf2/printed.rs"]
mod printed;
#[path = "otf2/round_trip.rs"]
mod round_trip;
#[path = "otf2/talk.rs"]
mod talk;

use std::path::PathBuf;

/// The archive that fixtures/traces/otf2/make.c writes.
fn small() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces/otf2/small/small.otf2")
}
