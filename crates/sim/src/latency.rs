//! Where the latency of a message comes from: the network, or a distribution from which each message draws its
//! own. With shared links, most messages have the latency of their route instead.

use crate::message::{Stamp, Transit};
use crate::ports::Fabric;
use straggler_model::network::Drawn;

/// The source of latencies. A type parameter, so that runs with the network's latencies pay nothing.
pub trait Latency: Copy + Sync {
    /// The number of a message on its source, if its receiver has to know what was drawn.
    type Number: Stamp + std::fmt::Debug;

    fn drawn(&self) -> Option<&Drawn>;
    /// The links that processes share, if they do.
    #[inline(always)]
    fn fabric(&self) -> Option<&Fabric> {
        None
    }
    /// Whether the messages of a process are counted.
    #[inline(always)]
    fn counts(&self) -> bool {
        self.drawn().is_some() || self.fabric().is_some()
    }
    fn carry(number: u32) -> Self::Number;
    fn number(carried: Self::Number) -> u32;
}

/// Every message has the parameters of its link.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfLink;

impl Latency for OfLink {
    type Number = ();

    #[inline(always)]
    fn drawn(&self) -> Option<&Drawn> {
        None
    }
    #[inline(always)]
    fn carry(_: u32) {}
    #[inline(always)]
    fn number((): ()) -> u32 {
        0
    }
}

/// Decides at run time whether latencies are drawn.
#[derive(Clone, Copy, Debug)]
pub struct MaybeDrawn<'a>(pub Option<&'a Drawn>);

impl Latency for MaybeDrawn<'_> {
    type Number = u32;

    #[inline(always)]
    fn drawn(&self) -> Option<&Drawn> {
        self.0
    }
    #[inline(always)]
    fn carry(number: u32) -> u32 {
        number
    }
    #[inline(always)]
    fn number(carried: u32) -> u32 {
        carried
    }
}

/// Decides at run time whether latencies are drawn and whether links are shared.
#[derive(Clone, Copy, Debug)]
pub struct Anywhere<'a> {
    pub drawn: Option<&'a Drawn>,
    pub fabric: Option<&'a Fabric>,
}

impl Latency for Anywhere<'_> {
    type Number = Transit;

    #[inline(always)]
    fn drawn(&self) -> Option<&Drawn> {
        self.drawn
    }
    #[inline(always)]
    fn fabric(&self) -> Option<&Fabric> {
        self.fabric
    }
    #[inline(always)]
    fn carry(number: u32) -> Transit {
        Transit::whole(number, straggler_model::Time::ZERO)
    }
    #[inline(always)]
    fn number(carried: Transit) -> u32 {
        carried.number
    }
}
