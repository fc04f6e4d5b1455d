//! Unit parsers read back what the unit writers print.

use proptest::prelude::*;
use straggler_model::network::{Factor, Grouping, Level};
use straggler_model::units::{self, UnitError};
use straggler_model::{Link, Network, PerByte, Time};

fn some_time() -> impl Strategy<Value = Time> {
    // Across all magnitudes, below "never".
    (0u64..u64::MAX, 0u32..64).prop_map(|(value, shift)| Time(value >> shift))
}

fn some_rate() -> impl Strategy<Value = PerByte> {
    (any::<u64>(), 0u32..64).prop_map(|(bits, shift)| PerByte::from_bits(bits >> shift))
}

prop_compose! {
    fn some_link()(
        times in prop::array::uniform4(0u64..86_400_000_000_000_000),
        gap_per_byte in some_rate(),
        overhead_per_byte in some_rate(),
        eager_limit in any::<u64>(),
        overlap_limit in prop_oneof![Just(u64::MAX), any::<u64>()],
    ) -> Link {
        Link {
            latency: Time(times[0]),
            send_overhead: Time(times[1]),
            recv_overhead: Time(times[2]),
            gap: Time(times[3]),
            gap_per_byte,
            overhead_per_byte,
            eager_limit,
            overlap_limit,
        }
    }
}

fn some_level() -> impl Strategy<Value = Level> {
    let grouping = prop_oneof![
        (1u32..).prop_map(Grouping::Consecutive),
        prop::collection::vec(any::<u32>(), 0..5).prop_map(Grouping::Map),
    ];
    (grouping, some_link(), "\\PC{0,8}").prop_map(|(grouping, link, name)| Level { name, grouping, link })
}

proptest! {
    #[test]
    fn times_survive(time in some_time()) {
        prop_assert_eq!(units::time(&units::write_time(time)), Ok(time));
    }

    #[test]
    fn rates_survive(rate in some_rate()) {
        prop_assert_eq!(units::per_byte(&units::write_per_byte(rate)), Ok(rate));
        let shown = rate.to_string();
        prop_assert_eq!(units::per_byte(&shown), Ok(rate), "{}", shown);
    }

    #[test]
    fn sizes_survive(count in any::<u64>(), shift in 0u32..64) {
        let count = count >> shift << (shift / 2);
        prop_assert_eq!(units::bytes(&units::write_bytes(count)), Ok(count));
    }

    #[test]
    fn decimals_are_exact(whole in 0u64..18_000, fraction in 0u64..1_000_000_000_000) {
        let written = format!("{whole}.{fraction:012}s");
        prop_assert_eq!(units::time(&written), Ok(Time(whole * 1_000_000_000_000 + fraction)));
    }

    #[test]
    fn networks_survive(base in some_link(), levels in prop::collection::vec(some_level(), 0..3), name in "\\PC{0,12}") {
        let network = Network { name, base, levels };
        let text = network.to_toml().unwrap();
        prop_assert_eq!(Network::from_toml(&text).unwrap(), network, "{}", text);
    }

    #[test]
    fn scaling_by_ten_and_back_changes_nothing(base in some_link()) {
        let network = Network::uniform("n", base);
        let (faster, slower): (Factor, Factor) = ("0.001".parse().unwrap(), "1000".parse().unwrap());
        if let Ok(scaled) = network.scaled(faster) {
            prop_assert_eq!(scaled.scaled(slower).unwrap().base, base);
        }
    }

    #[test]
    fn nothing_panics(text in "\\PC{0,24}") {
        let _: Result<Time, UnitError> = units::time(&text);
        let _ = (units::bytes(&text), units::period(&text), units::per_byte(&text), Network::parse(&text));
    }
}
