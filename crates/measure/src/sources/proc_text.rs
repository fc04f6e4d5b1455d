//! Kernel counters as printed in /proc.
//!
//! Tables have a header of cores, and rows with a name and one count per core; a row shorter than the header
//! counts for the whole machine and says nothing about cores. Nothing here fails: whatever cannot be parsed
//! is left out.

use super::names;
use std::collections::BTreeMap;

/// Counts of one kind of interruption, by core.
pub type Counts = BTreeMap<u32, u64>;

/// `/proc/interrupts`: names of sources and their counts.
pub fn interrupts(text: &str) -> BTreeMap<String, Counts> {
    table(text, |label, words| {
        let number = label.parse::<u32>();
        match (label, number) {
            (_, Ok(number)) => Some(device(number, words)),
            ("LOC", _) => Some(names::TIMER_TICK.into()),
            ("RES", _) => Some(names::RESCHEDULE.into()),
            // The kernel counts shootdowns apart from other calls, but both are calls to other cores.
            ("CAL" | "TLB", _) => Some(names::FUNCTION_CALL.into()),
            ("NMI", _) => Some(names::NMI.into()),
            // Already counted as NMI.
            ("PMI", _) => None,
            _ => Some(described(&words.join(" "))),
        }
    })
}

/// `/proc/softirqs`.
pub fn softirqs(text: &str) -> BTreeMap<String, Counts> {
    table(text, |label, _| Some(names::softirq(label)))
}

/// Names a device interrupt. After the counts come chip, line and trigger, then the device.
fn device(number: u32, words: &[&str]) -> String {
    let trigger = |word: &&str| {
        let word = word.to_ascii_lowercase();
        ["edge", "level", "fasteoi", "simple"].iter().any(|kind| word.ends_with(kind))
    };
    let name = match words.iter().rposition(trigger) {
        Some(at) => words[at + 1..].join(" "),
        None => words.last().copied().unwrap_or_default().into(),
    };
    if name == "arch_timer" { names::TIMER_TICK.into() } else { format!("irq {number} {name}") }
}

fn described(description: &str) -> String {
    match description {
        "Rescheduling interrupts" => names::RESCHEDULE.into(),
        "Function call interrupts" => names::FUNCTION_CALL.into(),
        _ => {
            let singular = description.strip_suffix('s').unwrap_or(description);
            let mut letters = singular.chars();
            // `IRQ work interrupts` keeps its capitals, `Thermal event interrupts` does not.
            match (letters.next(), letters.next()) {
                (Some(first), Some(second)) if second.is_lowercase() => {
                    format!("{}{second}{}", first.to_lowercase(), letters.as_str())
                }
                _ => singular.into(),
            }
        }
    }
}

fn table(text: &str, name: impl Fn(&str, &[&str]) -> Option<String>) -> BTreeMap<String, Counts> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let cores: Vec<u32> =
        head.split_whitespace().filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    let mut found: BTreeMap<String, Counts> = BTreeMap::new();
    for line in lines {
        let Some((label, rest)) = line.split_once(':') else { continue };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let counts: Vec<u64> = words.iter().map_while(|word| word.parse().ok()).take(cores.len()).collect();
        if counts.len() < cores.len() {
            continue;
        }
        let Some(name) = name(label.trim(), &words[counts.len()..]) else { continue };
        let row = found.entry(name).or_default();
        cores.iter().zip(counts).for_each(|(&core, count)| row_add(row, core, count));
    }
    found
}

fn row_add(row: &mut Counts, core: u32, count: u64) {
    let sum = row.entry(core).or_default();
    *sum = sum.saturating_add(count);
}

/// Stolen time of each core in ticks of the user's clock: the eighth number of its line in `/proc/stat`.
pub fn stolen(text: &str) -> Counts {
    let lines = text.lines().take_while(|line| line.starts_with("cpu"));
    let core = |line: &str| {
        let mut words = line.split_whitespace();
        let core = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        Some((core, words.nth(7)?.parse().ok()?))
    };
    lines.filter_map(core).collect()
}

/// Waiting of one thread: nanoseconds it was runnable without a core, and how often it got one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waiting {
    pub nanoseconds: u64,
    pub turns: u64,
}

/// `/proc/<process>/task/<thread>/schedstat`: time run, time waited, turns.
pub fn waiting(text: &str) -> Option<Waiting> {
    let mut numbers = text.split_whitespace().map(|word| word.parse::<u64>().ok());
    let (_ran, waited, turns) = (numbers.next()??, numbers.next()??, numbers.next()??);
    Some(Waiting { nanoseconds: waited, turns })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERRUPTS: &str = "\
           CPU0       CPU2
 24:          1          0  IO-APIC   5-edge      ACPI:Ged
 36:          0     429002 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 27:          5          7     GICv3  27 Level     arch_timer
 40:          5          7     odd
LOC:    5223557    5127255   Local timer interrupts
RES:     515750     432100   Rescheduling interrupts
CAL:         10         20   Function call interrupts
TLB:          1          2   TLB shootdowns
TRM:          0          4   Thermal event interrupts
IWI:         11          4   IRQ work interrupts
IPI0:         3          4       Rescheduling interrupts
ERR:          0
";

    #[test]
    fn interrupts_by_name_and_core() {
        let found = interrupts(INTERRUPTS);
        let counts = |name: &str| found.get(name).map(|row| (row[&0], row[&2]));
        assert_eq!(counts("irq 24 ACPI:Ged"), Some((1, 0)));
        assert_eq!(counts("irq 36 virtio1-req.0"), Some((0, 429_002)));
        assert_eq!(counts("irq 40 odd"), Some((5, 7)));
        assert_eq!(counts(names::TIMER_TICK), Some((5_223_562, 5_127_262)));
        assert_eq!(counts(names::RESCHEDULE), Some((515_753, 432_104)));
        assert_eq!(counts(names::FUNCTION_CALL), Some((11, 22)));
        assert_eq!(counts("thermal event interrupt"), Some((0, 4)));
        assert_eq!(counts("IRQ work interrupt"), Some((11, 4)));
        assert_eq!(found.len(), 8);
    }

    #[test]
    fn other_tables() {
        let found = softirqs("                    CPU0       CPU1\n      NET_RX:       9309       9259\n");
        assert_eq!(found["softirq NET_RX"], Counts::from([(0, 9309), (1, 9259)]));
        let stat = "cpu  1 2 3 4 5 6 7 8 9\ncpu1 0 0 0 0 0 0 0 1775 0 0\nintr 5 5 5 5 5 5 5 5 5\n";
        assert_eq!(stolen(stat), Counts::from([(1, 1775)]));
        assert_eq!(waiting("10 54921 3\n"), Some(Waiting { nanoseconds: 54_921, turns: 3 }));
        assert_eq!(waiting("10 x"), None);
    }

    proptest::proptest! {
        #[test]
        fn nothing_makes_it_fail(text in "[ a-zA-Z0-9:\\n-]{0,200}") {
            interrupts(&text);
            interrupts(&format!("CPU0 CPU1\n{text}"));
            stolen(&text);
            waiting(&text);
        }
    }
}
