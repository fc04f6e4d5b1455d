//! Transfers that take longer than usual, and their links. All members of a transfer end it together, so its times only point to
//! a link: two ranks, or a whole group. A single rank is named only if all slow links share it.

use super::super::links::{STANDS_OUT, usual_of_fast_links};
use super::super::{Replays, TimedOp};
use super::since::{Rise, last_end};
use super::{Candidate, CauseSearch, Evidence, Finding, Period};
use crate::Role;
use std::collections::{BTreeMap, BTreeSet};
use straggler_model::parallel;
use straggler_model::stats::median;

/// If more than this share of the links is slow, slow links are the norm.
const EXCEPTION: f64 = 2.0 / 3.0;
/// Links are alike if the slowest takes less than this many times the usual time.
const ALIKE: f64 = 1.05;
/// The number of links listed as evidence.
const LISTED: usize = 5;

/// A link that is slow in a class of operations.
struct Slow<'a> {
    class: &'a str,
    link: usize,
    /// Which share of its transfers is slow, the least that these take, and the usual time, in picoseconds.
    share: f64,
    takes: i64,
    usual: i64,
    /// The index of the step since which it is slow; `None` if it always was.
    since: Option<usize>,
    /// The index of the last step in which it is slow; `None` if it stays slow.
    until: Option<usize>,
    /// The indices of steps in which it became even slower.
    again: Vec<usize>,
}

/// The usual duration of a transfer of a kind.
#[derive(Clone, Default)]
pub struct Usual {
    pub takes: i64,
    /// The rise of the duration on all links, if there is one.
    since: Option<Rise>,
}

/// The usual duration by kind: the ideal one, unless half of all transfers are slow, or all are slow since some step.
pub fn usual(replays: &Replays<'_>) -> Vec<Usual> {
    let of_kind = |kind: usize| {
        if replays.job.kinds[kind].role != Role::Communication {
            return Usual::default();
        }
        let mut transfers = replays.transfers(kind);
        let ideal = replays.ideal.takes_of(0, kind as u16);
        let since = since(replays, kind);
        let takes = usual_of_fast_links(&mut transfers).map_or(ideal, |fast| fast.min(ideal));
        Usual { takes: since.as_ref().map_or(takes, |rise| takes.min(rise.before as i64)), since }
    };
    parallel::map(replays.job.kinds.len(), of_kind)
}

/// The step since which at least half of the transfers of a kind take longer.
fn since(replays: &Replays<'_>, kind: usize) -> Option<Rise> {
    let all = (0..replays.links.members.len()).collect();
    let by_link = replays.transfers_by_step(kind, &all);
    let mut by_step = vec![Vec::<i64>::new(); replays.job.steps.len()];
    for (step, takes) in by_link.values().flatten() {
        by_step[*step].extend(takes);
    }
    if by_step.iter().any(Vec::is_empty) {
        return None;
    }
    let levels: Vec<f64> = by_step.iter_mut().map(|takes| median(takes) as f64).collect();
    Rise::new(&levels).filter(|rise| rise.factor() >= STANDS_OUT)
}

impl CauseSearch<'_> {
    pub fn communication(&self) -> Vec<Candidate<'_>> {
        let (mut classes, slow) = (self.classes(), self.all_slow_links());
        let of_slow: BTreeSet<&str> = slow.iter().map(|slow| slow.class).collect();
        // One cause if all slow links have a member in common, else one for each set of classes that share slow links.
        let common = self.common_ranks(&slow);
        let parts: Vec<(BTreeSet<usize>, Vec<&str>)> = match common {
            Some(_) => vec![(slow.iter().map(|slow| slow.link).collect(), of_slow.iter().copied().collect())],
            None => on_same_links(&slow),
        };
        let mut causes = Vec::new();
        for (links, of) in parts {
            let kinds: Vec<usize> = of.iter().flat_map(|class| classes[class].iter().copied()).collect();
            let own: Vec<&Slow<'_>> = slow.iter().filter(|slow| of.contains(&slow.class)).collect();
            // From the step in which the first link became slow, if none was slow before, to the last in which one is.
            let since = own.iter().map(|slow| slow.since).min().flatten();
            let until = last_end(own.iter().map(|slow| slow.until)).filter(|_| since.is_some());
            let worst = own.iter().max_by(|a, b| a.factor().total_cmp(&b.factor()));
            let finding = Finding::Links {
                in_common: common.is_some(),
                links: links.iter().map(|&link| self.ranks_of_link(link)).collect(),
                classes: of.iter().map(ToString::to_string).collect(),
                slower_from: since.and(worst).map_or_else(Vec::new, |worst| self.numbers(&worst.again)),
            };
            let mut candidate = self.usual_transfers(&kinds, finding);
            let cause = &mut candidate.cause;
            let members = links.iter().flat_map(|&link| &self.replays.links.members[link]);
            cause.ranks = common.clone().unwrap_or_else(|| self.ranks(members.copied()));
            cause.evidence = self.evidence_of_links(&own);
            cause.class = of.first().filter(|_| of.len() == 1).map(ToString::to_string);
            let number = |step: usize| self.replays.job.steps[step].number;
            (cause.since_step, cause.until_step) = (since.map(number), until.map(number));
            causes.push(candidate);
        }
        classes.retain(|class, _| !of_slow.contains(class));
        causes.extend(self.slow_everywhere(&classes));
        causes
    }

    /// Classes of transfers, and their kinds.
    fn classes(&self) -> BTreeMap<&str, Vec<usize>> {
        let mut classes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, kind) in self.replays.job.kinds.iter().enumerate() {
            if kind.role == Role::Communication {
                classes.entry(kind.class.as_str()).or_default().push(place);
            }
        }
        classes
    }

    fn all_slow_links(&self) -> Vec<Slow<'_>> {
        let classes: Vec<(&str, Vec<usize>)> = self.classes().into_iter().collect();
        parallel::flat_map(classes.len(), |at| self.slow_links(classes[at].0, &classes[at].1))
    }

    /// By worker: whether all its point-to-point links are slow. Then it is the slow member of its collectives, too.
    pub fn slow_with_all(&self) -> Vec<bool> {
        let slow: BTreeSet<usize> = self.all_slow_links().iter().map(|slow| slow.link).collect();
        let mut links = vec![(0, 0); self.replays.job.workers.len()];
        for (link, members) in self.replays.links.members.iter().enumerate().filter(|(_, of)| of.len() == 2) {
            for &member in members {
                let (all, slow_ones) = &mut links[member as usize];
                (*all, *slow_ones) = (*all + 1, *slow_ones + usize::from(slow.contains(&link)));
            }
        }
        links.into_iter().map(|(all, slow)| all > 0 && slow == all).collect()
    }

    /// Classes in which no link stands out. Those that became slow in the same step are one cause.
    fn slow_everywhere(&self, classes: &BTreeMap<&str, Vec<usize>>) -> Vec<Candidate<'_>> {
        let mut together: BTreeMap<(Option<usize>, &str), Vec<&str>> = BTreeMap::new();
        let rises = |kinds: &[usize]| -> Vec<&Rise> {
            kinds.iter().filter_map(|&kind| self.usual[kind].since.as_ref()).collect()
        };
        for (&class, kinds) in classes {
            let since = rises(kinds).iter().map(|rise| rise.at).min();
            together.entry((since, if since.is_some() { "" } else { class })).or_default().push(class);
        }
        let job = self.replays.job;
        let number = |step: usize| job.steps[step].number;
        let one = |((began, _), names): ((Option<usize>, &str), Vec<&str>)| {
            let kinds: Vec<usize> = names.iter().flat_map(|class| classes[class].iter().copied()).collect();
            let last = last_end(rises(&kinds).iter().map(|rise| rise.until)).filter(|_| began.is_some());
            let classes = names.iter().map(ToString::to_string).collect();
            let mut candidate = self.usual_transfers(&kinds, Finding::Transfers { classes });
            let cause = &mut candidate.cause;
            cause.evidence = match began {
                Some(_) => self.levels(&kinds),
                None => self.no_link_stands_out(&kinds).into_iter().collect(),
            };
            cause.class = names.first().filter(|_| names.len() == 1).map(ToString::to_string);
            (cause.since_step, cause.until_step) = (began.map(number), last.map(number));
            candidate
        };
        together.into_iter().map(one).collect()
    }

    /// How long transfers take since they became slower, and before.
    fn levels(&self, kinds: &[usize]) -> Vec<Evidence> {
        let job = self.replays.job;
        let rises = kinds.iter().filter_map(|&kind| Some((kind, self.usual[kind].since.as_ref()?)));
        let mut rises: Vec<(usize, &Rise)> = rises.collect();
        rises.sort_by(|a, b| b.1.after.total_cmp(&a.1.after).then(a.0.cmp(&b.0)));
        let level = |(kind, rise): (usize, &Rise)| Evidence::SlowTransfers {
            operation: job.kinds[kind].name.clone(),
            change: rise.change(job),
        };
        rises.into_iter().map(level).take(LISTED).collect()
    }

    /// How links that are all similar differ, by the kind with the longest transfer.
    fn no_link_stands_out(&self, kinds: &[usize]) -> Option<Evidence> {
        let of_kind = |&kind: &usize| {
            let mut transfers = self.replays.transfers(kind);
            let longest = transfers.iter().flatten().copied().max()?;
            let medians = transfers.iter_mut().enumerate().filter(|(_, takes)| !takes.is_empty());
            let (takes, link) = medians.map(|(link, takes)| (median(takes), link)).max()?;
            Some((longest, takes, link, self.usual[kind].takes))
        };
        let (longest, takes, link, usual) =
            kinds.iter().filter_map(of_kind).max_by_key(|(longest, ..)| *longest)?;
        let (typical_seconds, longest_seconds) = (usual as f64 / 1e12, longest as f64 / 1e12);
        Some(match takes as f64 / (usual.max(1) as f64) < ALIKE {
            true => Evidence::LinksAlike { typical_seconds, longest_seconds },
            false => Evidence::LinksDiffer {
                typical_seconds,
                slowest: self.ranks_of_link(link),
                slowest_seconds: takes as f64 / 1e12,
                longest_seconds,
            },
        })
    }

    /// A cause: transfers of some kinds take longer than usual.
    fn usual_transfers(&self, kinds: &[usize], finding: Finding) -> Candidate<'_> {
        let mut is_it = vec![false; self.replays.job.kinds.len()];
        let mut usual = vec![0; is_it.len()];
        for &kind in kinds {
            (is_it[kind], usual[kind]) = (true, self.usual[kind].takes);
        }
        let (job, links) = (self.replays.job, &self.replays.links);
        let repair = move |step: usize, at: &TimedOp<'_>| {
            let kind = at.op.kind as usize;
            let column = at.worker / (job.workers.len() / job.steps[step].columns as usize);
            let is_it = is_it[kind] && at.takes > usual[kind];
            match is_it && links.link(job, step, at.place, column).is_some() {
                true => (usual[kind], at.delay),
                false => at.real(),
            }
        };
        self.repaired(finding, repair)
    }

    /// The ranks of the worker or the link that all slow links have in common.
    fn common_ranks(&self, slow: &[Slow<'_>]) -> Option<Vec<u32>> {
        let links = &self.replays.links.members;
        let mut common: BTreeSet<u32> = slow.first()?.members(links).collect();
        slow.iter()
            .for_each(|slow| common = slow.members(links).filter(|own| common.contains(own)).collect());
        let ranks = self.ranks(common.iter().copied());
        let is_link = slow.iter().any(|slow| links[slow.link].len() == common.len());
        (ranks.len() == 1 || ranks.len() > 1 && is_link).then_some(ranks)
    }

    /// The links that stand out in a class: by their median, or by their slowest quarter. If none does because all became slower
    /// in some step, the links that stand out from that new level.
    fn slow_links<'a>(&self, class: &'a str, kinds: &[usize]) -> Vec<Slow<'a>> {
        let all = self.links_above(class, kinds, |usual| usual.takes);
        let rose = kinds.iter().any(|&kind| self.usual[kind].since.is_some());
        match all.is_empty() && rose {
            true => self.links_above(class, kinds, |usual| {
                usual.since.as_ref().map_or(usual.takes, |rise| rise.after as i64)
            }),
            false => all,
        }
    }

    /// The links that stand out from a level.
    fn links_above<'a>(
        &self,
        class: &'a str,
        kinds: &[usize],
        level: impl Fn(&Usual) -> i64,
    ) -> Vec<Slow<'a>> {
        let mut slow: BTreeMap<usize, Slow<'a>> = BTreeMap::new();
        let mut used: BTreeSet<usize> = BTreeSet::new();
        for &kind in kinds {
            let mut transfers = self.replays.transfers(kind);
            let own = transfers.iter_mut().enumerate().filter(|(_, takes)| !takes.is_empty());
            let levels: Vec<(usize, i64, i64)> =
                own.map(|(link, takes)| (link, median(takes), upper_quartile(takes))).collect();
            used.extend(levels.iter().map(|(link, _, _)| *link));
            let usual = level(&self.usual[kind]);
            let mut uppers: Vec<i64> = levels.iter().map(|(_, _, upper)| *upper).collect();
            uppers.sort_unstable();
            let usual_upper = uppers.get(uppers.len().saturating_sub(1) / 2).copied().unwrap_or(0).max(usual);
            let is_slow = |&&(_, middle, upper): &&(usize, i64, i64)| {
                is_long(middle, usual) || is_long(upper, usual_upper)
            };
            let of_kind: Vec<&(usize, i64, i64)> = levels.iter().filter(is_slow).collect();
            let some = of_kind.iter().map(|(link, _, _)| *link).collect();
            let by_step = self.replays.transfers_by_step(kind, &some);
            for &&(link, middle, upper) in &of_kind {
                let as_a_rule = is_long(middle, usual);
                let (share, takes) = if as_a_rule { (0.5, middle) } else { (0.25, upper) };
                let found =
                    Slow { class, link, share, takes, usual, since: None, until: None, again: Vec::new() };
                let found = found.since(&by_step[&link]).unwrap_or(found);
                if slow.get(&link).is_none_or(|known| known.takes < found.takes) {
                    slow.insert(link, found);
                }
            }
        }
        let is_exception = slow.len() as f64 <= EXCEPTION * used.len() as f64;
        if is_exception { slow.into_values().collect() } else { Vec::new() }
    }

    fn members(&self, slow: &Slow<'_>) -> impl Iterator<Item = u32> {
        slow.members(&self.replays.links.members)
    }

    /// The ranks of workers given by index, ascending.
    pub fn ranks(&self, places: impl Iterator<Item = u32>) -> Vec<u32> {
        let ranks: BTreeSet<u32> =
            places.map(|place| self.replays.job.workers[place as usize].rank).collect();
        ranks.into_iter().collect()
    }

    fn ranks_of_link(&self, link: usize) -> Vec<u32> {
        self.ranks(self.replays.links.members[link].iter().copied())
    }

    /// Lists the links that are farthest from usual.
    fn evidence_of_links(&self, slow: &[&Slow<'_>]) -> Vec<Evidence> {
        let mut sorted = slow.to_vec();
        sorted.sort_by(|a, b| b.factor().total_cmp(&a.factor()).then(a.link.cmp(&b.link)));
        // The worst entry of each link first, then its other classes.
        let mut seen = BTreeSet::new();
        let (first, again): (Vec<_>, Vec<_>) = sorted.into_iter().partition(|slow| seen.insert(slow.link));
        let sorted = [first, again].concat();
        let mut evidence: Vec<Evidence> =
            sorted.iter().take(LISTED).map(|slow| self.slow_link(slow)).collect();
        let links = |slow: &[&Slow<'_>]| slow.iter().map(|slow| slow.link).collect::<BTreeSet<usize>>();
        let count = links(&sorted).len() - links(&sorted[..sorted.len().min(LISTED)]).len();
        evidence.extend((count > 0).then_some(Evidence::MoreLinks { count }));
        let has_collective = slow.iter().any(|slow| self.members(slow).count() > 2);
        evidence.extend(has_collective.then_some(Evidence::CollectivesEndTogether));
        evidence
    }

    fn slow_link(&self, slow: &Slow<'_>) -> Evidence {
        let number = |step: usize| self.replays.job.steps[step].number;
        Evidence::SlowLink {
            ranks: self.ranks_of_link(slow.link),
            class: slow.class.into(),
            share: slow.share,
            seconds: slow.takes as f64 / 1e12,
            usual_seconds: slow.usual as f64 / 1e12,
            period: Period {
                since_step: slow.since.map(number),
                until_step: slow.until.map(number),
                slower_from: self.numbers(&slow.again),
                ..Period::default()
            },
        }
    }
}

/// Sets of slow links, with the classes in which they are slow. Classes that share a slow link are in one set.
fn on_same_links<'a>(slow: &[Slow<'a>]) -> Vec<(BTreeSet<usize>, Vec<&'a str>)> {
    let mut by_class: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for slow in slow {
        by_class.entry(slow.class).or_default().insert(slow.link);
    }
    let mut all: Vec<(BTreeSet<usize>, Vec<&str>)> = Vec::new();
    for (class, links) in by_class {
        let (same, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(known, _)| !known.is_disjoint(&links));
        all = others;
        let mut merged = (links, Vec::new());
        for (known, classes) in same {
            merged.0.extend(known);
            merged.1.extend(classes);
        }
        merged.1.push(class);
        all.push(merged);
    }
    all
}

impl<'a> Slow<'a> {
    /// The same link, if it became slow in some step, with the duration of its transfers while it is slow.
    fn since(&self, steps: &[(usize, Vec<i64>)]) -> Option<Slow<'a>> {
        let middle = |takes: &[i64]| median(&mut takes.to_vec());
        let times = |takes: &[i64]| middle(takes) as f64 / self.usual.max(1) as f64;
        let rise = Rise::new(&steps.iter().map(|(_, takes)| times(takes)).collect::<Vec<f64>>())?;
        if rise.before >= STANDS_OUT {
            // It was slow before, too.
            return None;
        }
        let again: Vec<usize> = rise.again().into_iter().map(|place| steps[place].0).collect();
        let slow = &steps[rise.at..rise.until.map_or(steps.len(), |last| last + 1)];
        let mut slow: Vec<i64> = slow.iter().flat_map(|(_, takes)| takes.iter().copied()).collect();
        slow.sort_unstable();
        // The time that half of them reach. With several levels, the median may lie between two, where no transfer
        // is.
        let takes = if again.is_empty() { middle(&slow) } else { *slow.get(slow.len() / 2)? };
        is_long(takes, self.usual).then_some(Slow {
            share: 0.5,
            takes,
            since: Some(steps[rise.at].0),
            until: rise.until.map(|last| steps[last].0),
            again,
            ..*self
        })
    }
}

impl Slow<'_> {
    /// The duration as a multiple of the usual.
    fn factor(&self) -> f64 {
        self.takes as f64 / self.usual.max(1) as f64
    }

    fn members(&self, links: &[Vec<u32>]) -> impl Iterator<Item = u32> {
        links[self.link].clone().into_iter()
    }
}

fn is_long(takes: i64, usual: i64) -> bool {
    takes > 0 && takes as f64 >= STANDS_OUT * usual as f64
}

/// The value that a quarter of the values reaches or exceeds. 0 if there are none.
fn upper_quartile(values: &mut [i64]) -> i64 {
    match values.len() {
        0 => 0,
        length => *values.select_nth_unstable(length * 3 / 4).1,
    }
}
