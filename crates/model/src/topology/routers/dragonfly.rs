//! Dragonflies: in a group every router is linked to every other, and every two groups have the same number of links.
//!
//! A minimal route is at most one link inside the first group, one to the other group, and one inside that. Valiant's
//! routes go by a third group, which a hash of the two hosts chooses. Router 3 of group 7 is `g7.r3`.

use super::super::divisor::Divisor;
use super::super::{below, hash};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dragonfly {
    groups: u32,
    /// Routers in a group, and links of a router inside its group.
    routers: Divisor,
    near: Divisor,
    /// Other groups, links between two groups, links of a group to all others, and the most of those at one router.
    others: Divisor,
    parallel: u32,
    far: Divisor,
    at_router: Divisor,
    valiant: bool,
}

impl Dragonfly {
    /// `global` is the number of links of a router to other groups. None if they cannot link every group to every other.
    pub fn new(groups: u32, routers: u32, global: u32, valiant: bool) -> Option<Dragonfly> {
        let others = groups.checked_sub(1)?;
        let links = u64::from(routers) * u64::from(global);
        let parallel = links.checked_div(others.into()).unwrap_or(0);
        if routers == 0 || others > 0 && parallel == 0 {
            return None;
        }
        let far = u32::try_from(parallel * u64::from(others)).ok()?;
        Some(Dragonfly {
            groups,
            routers: Divisor::new(routers),
            near: Divisor::new(routers - 1),
            others: Divisor::new(others),
            parallel: parallel as u32,
            far: Divisor::new(far),
            at_router: Divisor::new(far.div_ceil(routers)),
            valiant: valiant && groups > 2,
        })
    }

    pub fn routers(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.routers.get())
    }

    #[cfg(test)]
    pub fn routers_per_group(&self) -> u32 {
        self.routers.get()
    }

    #[cfg(test)]
    pub fn is_valiant(&self) -> bool {
        self.valiant
    }

    /// The number of ports inside groups, and between them.
    pub fn ports(&self) -> [u64; 2] {
        let inside = self.routers().saturating_mul(u64::from(self.routers.get()) - 1);
        let between = if self.groups > 1 { u64::from(self.groups) * u64::from(self.far.get()) } else { 0 };
        [inside, between]
    }

    pub fn longest(&self) -> u64 {
        match (self.groups, self.valiant) {
            (1, _) => 1,
            (_, false) => 3,
            (_, true) => 5,
        }
    }

    #[inline(always)]
    pub fn next(&self, seed: u64, here: u32, (from, to): (u32, u32), pair: u64) -> u32 {
        let (group, last) = (self.routers.divide(here), self.routers.divide(to));
        if group == last {
            return self.near_port(here, to);
        }
        let first = self.routers.divide(from);
        let target = if self.valiant && group == first { self.detour(seed, first, last, pair) } else { last };
        let parallel =
            if self.parallel > 1 { below(hash(seed, pair, group.into()), self.parallel) } else { 0 };
        let link = self.link(group, target, parallel);
        let gateway = group * self.routers.get() + self.at_router.divide(link);
        match here == gateway {
            true => self.first_far() + group * self.far.get() + link,
            false => self.near_port(here, gateway),
        }
    }

    /// A group other than these two.
    fn detour(&self, seed: u64, first: u32, last: u32, pair: u64) -> u32 {
        let choice = below(hash(seed, pair, u64::MAX), self.groups - 2);
        let (low, high) = (first.min(last), first.max(last));
        let beyond_low = choice + u32::from(choice >= low);
        beyond_low + u32::from(beyond_low >= high)
    }

    /// The number of a link among those of a group to all others.
    #[inline(always)]
    fn link(&self, group: u32, other: u32, parallel: u32) -> u32 {
        parallel * self.others.get() + other - u32::from(other > group)
    }

    #[inline(always)]
    fn first_far(&self) -> u32 {
        self.groups * self.routers.get() * (self.routers.get() - 1)
    }

    /// The port to another router of the group.
    #[inline(always)]
    fn near_port(&self, here: u32, to: u32) -> u32 {
        let place = self.routers.remainder(to) - u32::from(to > here);
        here * (self.routers.get() - 1) + place
    }

    /// The routers at the ends of a port: from, to.
    #[inline(always)]
    pub fn ends(&self, port: u32) -> (u32, u32) {
        if port < self.first_far() {
            let (from, place) = (self.near.divide(port), self.near.remainder(port));
            let own = self.routers.remainder(from);
            return (from, from - own + place + u32::from(place >= own));
        }
        let port = port - self.first_far();
        let (group, link) = (self.far.divide(port), self.far.remainder(port));
        let (parallel, place) = (self.others.divide(link), self.others.remainder(link));
        let other = place + u32::from(place >= group);
        let router = |group: u32, link: u32| group * self.routers.get() + self.at_router.divide(link);
        (router(group, link), router(other, self.link(other, group, parallel)))
    }

    pub fn name(&self, router: u32) -> String {
        format!("g{}.r{}", self.routers.divide(router), self.routers.remainder(router))
    }

    /// Links between two halves of the groups; inside one group, between two halves of its routers.
    pub fn bisection(&self) -> u64 {
        let halves = |count: u32| u64::from(count / 2) * u64::from(count - count / 2);
        match self.groups {
            1 => halves(self.routers.get()),
            groups => halves(groups) * u64::from(self.parallel),
        }
    }
}
