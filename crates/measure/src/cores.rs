//! The cores this process may use, and pinning threads to them.
//!
//! The kernel's affinity mask already accounts for cpusets, so a job that was given some cores of a node
//! measures those. A quota of CPU time (cgroups) is not a set of cores: it stops all threads for the rest of
//! a period, which looks like noise.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Why cores cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CoresError {
    #[error("`{part}` is neither a core nor FIRST-LAST; write cores like 0-3,8")]
    Unreadable { part: String },
    #[error("the list of cores is empty; write cores like 0-3,8")]
    Empty,
    #[error("this process may not use core {core}, only {allowed}")]
    NotAllowed { core: u32, allowed: String },
    #[error("the kernel does not report which cores may be used: {fault}")]
    Unknown { fault: String },
    #[error("cannot pin a thread to core {core}: {fault}")]
    NotPinned { core: u32, fault: String },
}

/// The cores this process may use, in order.
pub fn allowed() -> Result<Vec<u32>, CoresError> {
    let set = sched_getaffinity(None).map_err(|fault| CoresError::Unknown { fault: fault.to_string() })?;
    Ok((0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).map(|core| core as u32).collect())
}

/// Parses a list in the kernel's notation, `0-3,8`: in the given order, each core once.
pub fn parse(text: &str) -> Result<Vec<u32>, CoresError> {
    let mut list = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            // More cores than the kernel's mask holds can only be a typing error.
            (Ok(first), Ok(last)) if first <= last && (last as usize) < CpuSet::MAX_CPU => {
                list.extend(first..=last);
            }
            _ => return Err(CoresError::Unreadable { part: part.into() }),
        }
    }
    let mut known = CpuSet::new();
    list.retain(|&core| {
        let is_new = !known.is_set(core as usize);
        known.set(core as usize);
        is_new
    });
    if list.is_empty() { Err(CoresError::Empty) } else { Ok(list) }
}

/// Writes a list in the kernel's notation.
pub fn write(list: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &core in list {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(core) => *last = core,
            _ => parts.push((core, core)),
        }
    }
    let text = parts.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    text.collect::<Vec<_>>().join(",")
}

/// Returns the requested cores if they may be used, or all allowed ones.
pub fn choose(asked: Option<&[u32]>, allowed: &[u32]) -> Result<Vec<u32>, CoresError> {
    let Some(asked) = asked else { return Ok(allowed.to_vec()) };
    match asked.iter().find(|core| !allowed.contains(core)) {
        Some(&core) => Err(CoresError::NotAllowed { core, allowed: write(allowed) }),
        None => Ok(asked.to_vec()),
    }
}

/// Pins the calling thread to a core.
pub fn pin(core: u32) -> Result<(), CoresError> {
    let not_pinned = |fault: String| CoresError::NotPinned { core, fault };
    if core as usize >= CpuSet::MAX_CPU {
        return Err(not_pinned("there is no such core".into()));
    }
    let mut set = CpuSet::new();
    set.set(core as usize);
    sched_setaffinity(None, &set).map_err(|fault| not_pinned(fault.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_are_read() {
        assert_eq!(parse("0-3,8"), Ok(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse(" 8 , 0-1,1,8"), Ok(vec![8, 0, 1]));
        for wrong in ["", "3-1", "x", "1,", "-1", "0-99999999"] {
            assert!(matches!(parse(wrong), Err(CoresError::Unreadable { .. })), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(mut list in prop::collection::vec(0u32..64, 1..40)) {
            list.sort_unstable();
            list.dedup();
            prop_assert_eq!(parse(&write(&list)), Ok(list));
        }
    }

    #[test]
    fn a_core_outside_names_those_inside() {
        assert_eq!(choose(None, &[2, 3]), Ok(vec![2, 3]));
        assert_eq!(choose(Some(&[3]), &[2, 3]), Ok(vec![3]));
        let fault = choose(Some(&[1]), &[2, 3]).unwrap_err();
        assert!(fault.to_string().ends_with("may not use core 1, only 2-3"), "{fault}");
    }

    #[test]
    fn a_thread_is_pinned() {
        let core = *allowed().unwrap().last().unwrap();
        std::thread::spawn(move || {
            pin(core).unwrap();
            assert_eq!(allowed().unwrap(), [core]);
        })
        .join()
        .unwrap();
        assert!(matches!(pin(1_000_000), Err(CoresError::NotPinned { .. })));
    }
}
