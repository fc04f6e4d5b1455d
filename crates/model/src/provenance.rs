//! Where measured data comes from: which program, machine and clock.

use serde::{Deserialize, Serialize};

/// Where a recording comes from.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Origin {
    /// Measured by straggler: version and command line, and when, in seconds since 1970.
    Measured { version: String, command: String, started: u64 },
    /// Read from a file of another program.
    #[default]
    Imported,
    /// Drawn from a description, not measured.
    Synthetic { description: String },
}

/// Facts about the machine. Texts are as the kernel gives them; unknown fields are left out.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Machine {
    pub host: Option<String>,
    pub kernel: Option<String>,
    pub kernel_command_line: Option<String>,
    pub processor: Option<String>,
    pub architecture: Option<String>,
    pub hypervisor: Option<String>,
    /// The cores the process may use, as the kernel writes lists: `0-3,8`.
    pub allowed_cores: Option<String>,
    pub online_cores: Option<String>,
    pub governor: Option<String>,
    pub smt_active: Option<bool>,
    pub isolated_cores: Option<String>,
    pub nohz_full_cores: Option<String>,
    pub cgroup: Option<String>,
    /// CPU time the cgroup may use, in cores; `None` if it is not limited.
    pub cgroup_quota_cores: Option<f64>,
    /// Time the hypervisor gave to others during the measurement, summed over the measured cores.
    pub steal_ps: Option<u64>,
    /// Load average of the last minute when the measurement began.
    pub load: Option<f64>,
    pub tick_hz: Option<u32>,
}

impl Machine {
    /// Online cores, or the cgroup's limit. The cores allowed to one process do not count: it may be bound to one of
    /// many.
    pub fn cores(&self) -> Option<f64> {
        let online = listed(self.online_cores.as_deref()?)? as f64;
        Some(self.cgroup_quota_cores.map_or(online, |quota| quota.min(online)))
    }

    /// The load average and the number of cores, if other programs wanted more cores than there are when the
    /// measurement began.
    pub fn overload(&self) -> Option<(f64, f64)> {
        self.load.zip(self.cores()).filter(|(load, cores)| load > cores)
    }
}

/// The number of cores in a kernel CPU list such as `0-3,8`.
fn listed(text: &str) -> Option<u64> {
    let part = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let [first, last] = [first, last].map(|end| end.trim().parse::<u32>().ok());
        u64::from(last?).checked_sub(u64::from(first?)).map(|more| more + 1)
    };
    text.trim().split(',').map(part).sum()
}

/// The clock that was read.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timer {
    /// `TSC`, `CNTVCT`, `CLOCK_MONOTONIC_RAW`.
    pub name: String,
    /// Why its rate may not be constant; `None` if it is.
    pub not_invariant: Option<String>,
    pub ticks_per_second: f64,
    /// Half the width of the interval that contains the rate, in parts per million.
    pub rate_error_ppm: f64,
    /// The least time between two reads, without and with fences.
    pub overhead_ps: u64,
    pub fenced_overhead_ps: u64,
    /// The smallest observed step.
    pub granularity_ps: u64,
}
