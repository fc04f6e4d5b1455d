//! Networks with published, measured parameters.

use super::Link;
use crate::{PerByte, Time};

/// Where one number of a preset comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Parameter {
    /// The parameter's letter: L, o, g, G, O or S.
    #[serde(rename = "parameter")]
    pub letter: &'static str,
    /// The publication, what it measured, and how the number follows from that.
    pub source: &'static str,
}

/// A network by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    pub name: &'static str,
    pub summary: &'static str,
    pub link: Link,
    /// One entry for each of L, o, g, G, O and S.
    pub sources: &'static [Parameter],
}

/// Every preset, in listing order.
pub fn presets() -> &'static [Preset] {
    PRESETS
}

/// Finds a preset by name, ignoring case and hyphens.
pub fn find_preset(name: &str) -> Option<&'static Preset> {
    let plain = |name: &str| name.to_ascii_lowercase().replace(['-', '_'], "");
    PRESETS.iter().find(|preset| plain(preset.name) == plain(name))
}

const fn link(latency_ns: u64, overhead_ns: u64, gap_ns: u64, per_byte_ps: u32) -> Link {
    Link {
        latency: Time::from_ns(latency_ns),
        send_overhead: Time::from_ns(overhead_ns),
        recv_overhead: Time::from_ns(overhead_ns),
        gap: Time::from_ns(gap_ns),
        gap_per_byte: PerByte::from_ps(per_byte_ps),
        overhead_per_byte: PerByte::ZERO,
        // 65 kB
        eager_limit: 65_000,
        overlap_limit: u64::MAX,
    }
}

macro_rules! table_iii {
    () => {
        "T. Hoefler, T. Schneider, A. Lumsdaine, \"Characterizing the Influence of System Noise on Large-Scale Applications by Simulation\", SC10"
    };
}

const MEASURED: &str =
    concat!(table_iii!(), ", Table III: measured on the machine with the default MPI library and settings");
const SOURCES: &[Parameter] = &[
    Parameter { letter: "L", source: MEASURED },
    Parameter { letter: "o", source: MEASURED },
    Parameter { letter: "g", source: MEASURED },
    Parameter { letter: "G", source: MEASURED },
    Parameter { letter: "O", source: concat!(table_iii!(), ", section IV: assumed 0 (high overlap)") },
    Parameter { letter: "S", source: concat!(table_iii!(), ", section IV: assumed 65 kB") },
];

/// LUMI's published numbers are those of the OSU micro-benchmarks, which do not separate o from g.
/// A stream of small messages from one process leaves one message every max(o, g); both are set to
/// that time, the most either can be, so that the model reproduces the rate. What the ping-pong
/// takes beyond two overheads is L.
const SLINGSHOT_11_LINK: Link = Link {
    latency: Time::from_ns(1_000),
    send_overhead: Time::from_ns(400),
    recv_overhead: Time::from_ns(400),
    gap: Time::from_ns(400),
    // 41.7 ps
    gap_per_byte: PerByte::from_bits((417 << PerByte::FRACTION_BITS) / 10),
    overhead_per_byte: PerByte::ZERO,
    eager_limit: 16_384,
    overlap_limit: u64::MAX,
};

macro_rules! lumi_stream {
    () => {
        "LUMI user guide, \"Container jobs\", osu_bw 7.4 between two nodes with the host's Cray MPICH \
         (https://github.com/Lumi-supercomputer/lumi-userguide, docs/runjobs/scheduled-jobs/container-jobs.md)"
    };
}

const SLINGSHOT_11_RATE: &str = concat!(
    lumi_stream!(),
    ": 2.50 MB/s with messages of 1 byte is one message in 400 ns, which is max(o, g); both are set to it"
);
const SLINGSHOT_11_SOURCES: &[Parameter] = &[
    Parameter {
        letter: "L",
        source: "LUMI ReFrame tests, reference of osu_latency on the CPU nodes, 8 bytes: 1.8 us one way, within 20 % \
                 (https://github.com/Lumi-supercomputer/lumi-reframe-tests, checks/microbenchmarks/mpi/osu_check.py); \
                 L = 1.8 us - 2 o",
    },
    Parameter { letter: "o", source: SLINGSHOT_11_RATE },
    Parameter { letter: "g", source: SLINGSHOT_11_RATE },
    Parameter {
        letter: "G",
        source: concat!(lumi_stream!(), ": 23,979.38 MB/s with messages of 4 MiB is 41.7 ps per byte"),
    },
    Parameter {
        letter: "O",
        source: "assumed 0: the network card moves the bytes by remote direct memory access",
    },
    Parameter {
        letter: "S",
        source: "libfabric, CXI provider, default of FI_CXI_RDZV_THRESHOLD (CXIP_RDZV_THRESHOLD 16384 in its source, \
                 https://github.com/ofiwg/libfabric, prov/cxi): larger messages go by rendezvous",
    },
];

const PRESETS: &[Preset] = &[
    Preset {
        name: "chic",
        summary: "CHiC, Chemnitz: Opteron cluster with InfiniBand",
        link: link(5_330, 770, 1_560, 1_250),
        sources: SOURCES,
    },
    Preset { name: "altix", summary: "SGI Altix 4700", link: link(1_640, 990, 900, 1_230), sources: SOURCES },
    Preset {
        name: "cnl",
        summary: "Blue Gene/P with Compute Node Linux",
        link: link(4_770, 2_870, 2_040, 2_670),
        sources: SOURCES,
    },
    Preset {
        name: "zeptoos",
        summary: "Blue Gene/P with ZeptoOS",
        link: link(8_670, 3_420, 2_810, 2_690),
        sources: SOURCES,
    },
    Preset {
        name: "xt-4",
        summary: "Jaguar, Cray XT-4",
        link: link(9_900, 1_750, 3_400, 580),
        sources: SOURCES,
    },
    Preset {
        name: "slingshot-11",
        summary: "LUMI-C: HPE Slingshot-11, one 200 Gb/s card per node, Cray MPICH",
        link: SLINGSHOT_11_LINK,
        sources: SLINGSHOT_11_SOURCES,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Network;

    #[test]
    fn every_number_has_a_source() {
        for preset in presets() {
            let letters: String = preset.sources.iter().map(|parameter| parameter.letter).collect();
            assert_eq!(letters, "LogGOS", "{}", preset.name);
            assert!(preset.sources.iter().all(|parameter| parameter.source.len() > 20), "{}", preset.name);
            assert_eq!(Network::parse(preset.name).unwrap().base, preset.link);
            assert!(preset.link.check().is_ok());
        }
    }
    /// The model reproduces the measured values.
    #[test]
    fn slingshot_reproduces_its_benchmarks() {
        let link = Network::parse("slingshot-11").unwrap().base;
        // Ping-pong, 8 bytes: o_s + L + o_r + 7 G = 400 + 1000 + 400 ns + 292 ps.
        let ping = link.send_overhead + link.latency + link.recv_overhead + link.gap_per_byte.of_message(8);
        assert_eq!(ping, Time(1_800_292));
        // Stream of single bytes: 1 B in max(o, g) is 2.50 MB/s.
        assert_eq!(link.send_overhead.max(link.gap), Time::from_ns(400));
        // Stream of 4 MiB: within a thousandth of 23,979.38 MB/s.
        let rate = 4_194_304.0 / link.gap_per_byte.of_message(4_194_304).seconds() / 1e6;
        assert!((rate / 23_979.38 - 1.0).abs() < 1e-3, "{rate}");
    }
}
