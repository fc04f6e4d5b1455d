//! What a run means.
