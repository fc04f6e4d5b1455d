//! The cost of a late sender to a receiver, and of a late receiver to a sender: X_r and X_s of Hoefler et al. (SC10),
//! section III.
//!
//! The sender computes for T_s and sends k bytes, the receiver computes for T_r and receives them; with nonblocking
//! operations both continue to compute and wait at T_ws and T_wr. σ is the noise in the first computation of each.
//! With N = o_s + L + (k−1)·G + o_r the paper has
//!
//! - X_r = max(T_s + σ_s + N − T_wr, 0) on the receiver, T_wr including σ_r,
//! - X_s = max(T_r + σ_r − N − T_ws, 0) on a sender that uses rendezvous, T_ws including σ_s.
//!
//! The engines execute LogGOPS as its simulator does, which differs slightly:
//!
//! - The receiver's processor handles every message, o_r + (k−1)·G, after what it computes. So a message that arrived
//!   before also costs that much: X_r = max(T_s + σ_s + N − T_wr, o_r + (k−1)·G).
//! - A rendezvous is over when the receiver's processor has matched the message, and an acknowledgement has come
//!   back, A = L later. The receiver matches when the message has arrived and its computation is over, which for
//!   nonblocking operations is T_wr and not T_r: X_s = max(max(T_s + σ_s + o_s + L, T_wr) + A − T_ws, 0). That is
//!   never less than the paper's, which lets the sender continue N before the receiver is ready.

use proptest::prelude::*;
use straggler_model::{Link, Network, PerByte, Time};
use straggler_noise::{Injection, Phases, Source, Waveform, Who};
use straggler_schedule::goal;
use straggler_sim::{Control, EngineChoice, Simulation};

/// All times in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Scene {
    link: Link,
    bytes: u64,
    /// Computation of sender and receiver before the message, and after they have started it, in nanoseconds.
    before: [u64; 2],
    after: [u64; 2],
    /// Noise in the first computation of each.
    noise: [u64; 2],
}

impl Scene {
    /// Without a computation after it, an operation is blocking.
    fn goal(&self) -> String {
        let Scene { bytes, before, after, .. } = self;
        let calc = |nanoseconds: u64, what: &str| match nanoseconds {
            0 => String::new(),
            _ => format!("w: calc {nanoseconds}\n{what}\n"),
        };
        format!(
            "num_ranks 2\n\
             rank 0 {{\nc: calc {}\ns: send {bytes}b to 1\ns requires c\n{}}}\n\
             rank 1 {{\nc: calc {}\nr: recv {bytes}b from 0\nr requires c\n{}}}\n",
            before[0],
            calc(after[0], "w irequires s"),
            before[1],
            calc(after[1], "w requires c"),
        )
    }

    fn injection(&self) -> Injection {
        let source = |rank: usize| Source {
            name: "delay".into(),
            waveform: Waveform::Once { at: Time(500 * self.before[rank]), duration: Time(self.noise[rank]) },
            who: Who::Ranks(rank as u32, rank as u32),
        };
        Injection {
            sources: vec![source(0), source(1)],
            phases: Phases::Drawn { seed: 1, replica: 0 },
            wallclock: false,
            computation_only: false,
        }
    }

    /// The finish times of both ranks, on which both engines must agree.
    fn finish(&self) -> [u64; 2] {
        let network = Network::uniform("synchronisation", self.link);
        let noise = self.injection();
        let workload = goal::parse(self.goal().as_bytes()).unwrap().into();
        let times = [EngineChoice::Reference, EngineChoice::Windowed].map(|engine| {
            let simulation = Simulation { engine, noise: Some(&noise), ..Simulation::new(&network) };
            let run = simulation.run(&workload, &mut Control::new(1)).unwrap();
            assert_eq!(run.outcome.stuck, None);
            [run.outcome.finish[0].ps(), run.outcome.finish[1].ps()]
        });
        assert_eq!(times[0], times[1]);
        times[0]
    }
}

fn link() -> impl Strategy<Value = Link> {
    let sizes = prop_oneof![Just(0u64), Just(u64::MAX)];
    (1u64..50_000, 0u64..20_000, 0u64..20_000, 0u32..400, sizes).prop_map(
        |(latency, send, receive, byte, limit)| {
            Link {
                latency: Time(latency),
                send_overhead: Time(send),
                recv_overhead: Time(receive),
                gap: Time::ZERO,
                gap_per_byte: PerByte::from_ps(byte),
                // The paper's formulas have no O.
                overhead_per_byte: PerByte::from_ps(0),
                eager_limit: limit,
                overlap_limit: u64::MAX,
            }
        },
    )
}

fn scene() -> impl Strategy<Value = Scene> {
    let times = || [2u64..300, 2u64..300];
    let after = || [prop_oneof![Just(0u64), 1u64..300], prop_oneof![Just(0u64), 1u64..300]];
    let noise = [prop_oneof![Just(0u64), 1u64..200_000], prop_oneof![Just(0u64), 1u64..200_000]];
    (link(), 1u64..1_000, times(), after(), noise).prop_map(|(link, bytes, before, after, noise)| Scene {
        link,
        bytes,
        before,
        after,
        noise,
    })
}

proptest! {
    #[test]
    fn synchronisation_costs_what_the_model_says(scene in scene()) {
        let Scene { link, bytes, before, after, noise } = scene;
        let [begin, ready] = [0, 1].map(|rank| 1_000 * before[rank] + noise[rank]);
        let (o_s, o_r, latency) = (link.send_overhead.ps(), link.recv_overhead.ps(), link.latency.ps());
        let payload = link.gap_per_byte.of_message(bytes).ps();
        let network = o_s + latency + payload + o_r;
        let send_waits = begin + o_s + 1_000 * after[0];
        let receive_waits = ready + 1_000 * after[1];

        let [sender, receiver] = scene.finish();
        let x_r = receiver - receive_waits;
        let of_paper = (begin + network).saturating_sub(receive_waits);
        prop_assert_eq!(x_r, of_paper.max(o_r + payload));

        let x_s = sender - send_waits;
        let matched = (begin + o_s + latency).max(receive_waits);
        let expected = if link.is_rendezvous(bytes) { (matched + latency).saturating_sub(send_waits) } else { 0 };
        prop_assert_eq!(x_s, expected);
        if link.is_rendezvous(bytes) {
            prop_assert!(x_s >= ready.saturating_sub(network + send_waits));
        }
    }
}

/// The four cases of the paper's figure 2 and of the text around it, in numbers.
#[test]
fn noise_is_absorbed_or_propagated() {
    let link = Link {
        latency: Time(5_000),
        send_overhead: Time(1_000),
        recv_overhead: Time(2_000),
        gap: Time::ZERO,
        gap_per_byte: PerByte::from_ps(0),
        overhead_per_byte: PerByte::from_ps(0),
        eager_limit: u64::MAX,
        overlap_limit: u64::MAX,
    };
    let late_sender = Scene { link, bytes: 1, before: [50, 20], after: [0, 0], noise: [0, 0] };
    // 50 ns + 1 + 5 + 2.
    assert_eq!(late_sender.finish()[1], 58_000);
    // Noise on the receiver is absorbed while it waits; noise on the sender is not.
    assert_eq!(Scene { noise: [0, 25_000], ..late_sender }.finish()[1], 58_000);
    assert_eq!(Scene { noise: [25_000, 0], ..late_sender }.finish()[1], 83_000);
    // A receiver that waits late enough for a nonblocking message absorbs it: its finish is its own work plus the
    // message.
    let overlapped = Scene { after: [0, 80], ..late_sender };
    assert_eq!(overlapped.finish()[1], 102_000);
    assert_eq!(Scene { noise: [25_000, 0], ..overlapped }.finish()[1], 102_000);
}
