//! Small schedules with times computed by hand from the model, written as sums of its parameters.

use straggler_model::{Link, Network, PerByte, Time};
use straggler_noise::{Injection, Phases, Source, Waveform, Who};
use straggler_schedule::goal;
use straggler_sim::{Control, Engine, EngineChoice, Run, RunError, Simulation, Workload};

const L: u64 = 5_000;
const OS: u64 = 700;
const OR: u64 = 900;
const G_MESSAGE: u64 = 1_100;
const G_BYTE: u64 = 3;
const O_BYTE: u64 = 2;
const S: u64 = 1_000;

fn network() -> Network {
    let link = Link {
        latency: Time(L),
        send_overhead: Time(OS),
        recv_overhead: Time(OR),
        gap: Time(G_MESSAGE),
        gap_per_byte: PerByte::from_ps(G_BYTE as u32),
        overhead_per_byte: PerByte::from_ps(O_BYTE as u32),
        eager_limit: S,
        overlap_limit: u64::MAX,
    };
    Network::uniform("golden", link)
}

fn try_run(simulation: &Simulation<'_>, workload: &Workload) -> Result<Run, RunError> {
    simulation.run(workload, &mut Control::new(1))
}

/// Returns the finish times, on which both engines must agree.
fn finish(simulation: &Simulation<'_>, text: &str) -> Vec<u64> {
    let graph = goal::parse(text.as_bytes()).unwrap().into();
    let times = |engine| {
        let run = try_run(&Simulation { engine, ..simulation.clone() }, &graph).unwrap();
        assert_eq!(run.outcome.stuck, None);
        run.outcome.finish.iter().map(|time| time.ps()).collect::<Vec<u64>>()
    };
    let reference = times(EngineChoice::Reference);
    assert_eq!(times(EngineChoice::Windowed), reference);
    reference
}

#[test]
fn one_eager_message() {
    let text = "num_ranks 2\nrank 0 {\nsend 101b to 1 tag 1\n}\nrank 1 {\nrecv 101b from 0 tag 1\n}";
    let sender = OS + 100 * O_BYTE;
    // The receiver pays the larger of the bytes' overhead and their gap.
    let receiver = OS + L + OR + 100 * G_BYTE;
    assert_eq!(finish(&Simulation::new(&network()), text), [sender, receiver]);
}

#[test]
fn the_gap_separates_messages_on_both_sides() {
    let text = "num_ranks 2\nrank 0 {\na: send 1b to 1\nb: send 1b to 1\nb requires a\n}\n\
                rank 1 {\nrecv 1b from 0\nrecv 1b from 0\n}";
    // The second send waits for the NIC, g after the first; so does its message, which arrives g later.
    let sender = G_MESSAGE + OS;
    let receiver = G_MESSAGE + OS + L + OR;
    assert_eq!(finish(&Simulation::new(&network()), text), [sender, receiver]);
}

#[test]
fn a_rendezvous_send_waits_for_the_receive_and_the_way_back() {
    let text = "num_ranks 2\nrank 0 {\nsend 1001b to 1\n}\n\
                rank 1 {\nc: calc 100\nr: recv 1001b from 0\nr requires c\n}";
    // Rank 1 computes for 100 ns. The message cannot run before and then is unexpected: the computation
    // releases the receive at the same time, but it was created later than the message.
    let matched = 100_000;
    let sender = matched + L;
    let receiver = matched + OR + 1000 * G_BYTE;
    assert_eq!(finish(&Simulation::new(&network()), text), [sender, receiver]);
}

#[test]
fn a_dependency_across_cpus_waits_for_the_later_completion() {
    // The computation of 50 ns runs second and releases the third, which still waits for the one of 100 ns.
    let text = "num_ranks 1\nrank 0 {\na: calc 100 cpu 0\nb: calc 50 cpu 1\nc: calc 7 cpu 1\n\
                c requires a\nc requires b\n}";
    assert_eq!(finish(&Simulation::new(&network()), text), [107_000]);
}

#[test]
fn overlapped_receives_complete_when_the_bytes_are_there() {
    let text = "num_ranks 2\nrank 0 {\nsend 501b to 1\n}\n\
                rank 1 {\nr: recv 501b from 0\nc: calc 1\nc requires r\n}";
    let network = network();
    let simulation = Simulation { receive_overlap: true, ..Simulation::new(&network) };
    let sender = OS + 500 * O_BYTE;
    let receiver = OS + L + OR + 500 * G_BYTE + 1_000;
    assert_eq!(finish(&simulation, text), [sender, receiver]);
    // Without the computation the process still finishes with its receive, not with its CPU.
    let text = "num_ranks 2\nrank 0 {\nsend 501b to 1\n}\nrank 1 {\nrecv 501b from 0\n}";
    assert_eq!(finish(&simulation, text)[1], receiver - 1_000);
}

#[test]
fn an_overlapped_receive_waits_for_bytes_that_came_early() {
    // The message runs while rank 1 computes for the second time; its bytes need 900 * 3 ps more.
    let text = "num_ranks 2\nrank 0 {\nsend 901b to 1\n}\n\
                rank 1 {\na: calc 5\nb: calc 1\nr: recv 901b from 0\nc: calc 1\n\
                b requires a\nr requires b\nc requires r\n}";
    let network = network();
    let simulation = Simulation { receive_overlap: true, ..Simulation::new(&network) };
    // It arrives at o_s + L = 5.7 ns, while the CPU is busy until 6 ns. Then both may run; the message runs
    // first, because it was created earlier.
    let bytes_there = 6_000 + OR + 900 * G_BYTE;
    assert_eq!(finish(&simulation, text)[1], bytes_there + 1_000);
}

#[test]
fn noise_in_a_sends_overhead_does_not_delay_its_message() {
    let network = network();
    let delay = Waveform::Once { at: Time(OS / 2), duration: Time(40_000) };
    let noise = Injection {
        sources: vec![Source { name: "delay".into(), waveform: delay, who: Who::Ranks(0, 0) }],
        phases: Phases::Drawn { seed: 1, replica: 0 },
        wallclock: false,
        computation_only: false,
    };
    let text = "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}";
    let simulation = Simulation { noise: Some(&noise), ..Simulation::new(&network) };
    assert_eq!(finish(&simulation, text), [OS + 40_000, OS + L + OR]);
}

#[test]
fn a_circular_wait_is_named() {
    let text = "num_ranks 3\nrank 0 {\nr: recv 1b from 1\ns: send 1b to 1\ns requires r\n}\n\
                rank 1 {\nr: recv 1b from 0\ns: send 1b to 0\ns requires r\n}\nrank 2 {\ncalc 5\n}";
    let graph = goal::parse(text.as_bytes()).unwrap().into();
    let network = network();
    for engine in [EngineChoice::Reference, EngineChoice::Windowed] {
        let simulation = Simulation { engine, ..Simulation::new(&network) };
        let stuck = try_run(&simulation, &graph).unwrap().outcome.stuck.unwrap();
        assert_eq!(stuck.unfinished, 2);
        assert_eq!(stuck.cycle, [0, 1]);
        assert_eq!(
            stuck.blocked.iter().map(|blocked| (blocked.rank, blocked.operation.peer)).collect::<Vec<_>>(),
            [(0, 1), (1, 0)]
        );
    }
}

#[test]
fn a_cycle_is_found_beside_an_unmatched_receive() {
    // Rank 0 also waits for rank 2, which has finished and will never send.
    let text = "num_ranks 3\nrank 0 {\nrecv 1b from 2 tag 9\nr: recv 1b from 1\ns: send 1b to 1\ns requires r\n}\n\
                rank 1 {\nr: recv 1b from 0\ns: send 1b to 0\ns requires r\n}\nrank 2 {\ncalc 5\n}";
    let graph = goal::parse(text.as_bytes()).unwrap().into();
    let network = network();
    let stuck = try_run(&Simulation::new(&network), &graph).unwrap().outcome.stuck.unwrap();
    assert_eq!(stuck.cycle, [0, 1]);
    // Without the sends there are only receives without a counterpart, and no cycle.
    let text = "num_ranks 2\nrank 0 {\nrecv 1b from 1\n}\nrank 1 {\nrecv 1b from 0\n}";
    let graph = goal::parse(text.as_bytes()).unwrap().into();
    let stuck = try_run(&Simulation::new(&network), &graph).unwrap().outcome.stuck.unwrap();
    assert_eq!((stuck.unfinished, stuck.cycle), (2, vec![]));
}

#[test]
fn an_incast_without_overhead_runs_in_one_window() {
    let mut network = network();
    (network.base.recv_overhead, network.base.gap) = (Time::ZERO, Time::ZERO);
    let processes = 20_000;
    let mut text = format!("num_ranks {processes}\n");
    for from in 1..processes {
        text += &format!("rank {from} {{\nsend 1b to 0\n}}\n");
    }
    text += "rank 0 {\n";
    (1..processes).for_each(|from| text += &format!("recv 1b from {from}\n"));
    text += "}\n";
    assert_eq!(finish(&Simulation::new(&network), &text)[0], OS + L);
}

#[test]
fn a_send_waits_for_all_of_its_many_dependencies() {
    for count in [254, 255, 256, 510, 511, 700] {
        let mut text = "num_ranks 2\nrank 0 {\ns: send 1b to 1\n".to_string();
        for number in 0..count {
            text += &format!("c{number}: calc 1\ns requires c{number}\n");
            if number > 0 {
                text += &format!("c{number} requires c{}\n", number - 1);
            }
        }
        text += "}\nrank 1 {\nrecv 1b from 0\n}\n";
        let sent = count * 1_000;
        assert_eq!(finish(&Simulation::new(&network()), &text), [sent + OS, sent + OS + L + OR], "{count}");
    }
}

#[test]
fn a_rendezvous_without_receive_blocks_its_sender_and_is_left_over() {
    let graph = goal::parse(b"num_ranks 2\nrank 0 {\nsend 5000b to 1 tag 7\n}\n").unwrap().into();
    let network = network();
    for engine in [EngineChoice::Reference, EngineChoice::Windowed] {
        let simulation = Simulation { engine, ..Simulation::new(&network) };
        let stuck = try_run(&simulation, &graph).unwrap().outcome.stuck.unwrap();
        assert_eq!((stuck.unfinished, stuck.leftover_count), (1, 1));
        assert_eq!((stuck.leftovers[0].from, stuck.leftovers[0].to, stuck.leftovers[0].tag), (0, 1, 7));
        assert_eq!((stuck.blocked[0].rank, stuck.blocked[0].operation.peer), (0, 1));
    }
}

#[test]
fn without_lookahead_the_reference_engine_runs_and_says_so() {
    let mut network = network();
    (network.base.latency, network.base.send_overhead) = (Time::ZERO, Time::ZERO);
    let graph =
        goal::parse(b"num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}").unwrap().into();
    let run = try_run(&Simulation::new(&network), &graph).unwrap();
    assert_eq!((run.engine, run.no_lookahead), (Engine::Reference, true));
    let windowed = Simulation { engine: EngineChoice::Windowed, ..Simulation::new(&network) };
    assert_eq!(try_run(&windowed, &graph).unwrap_err(), RunError::NoLookahead);
}

#[test]
fn time_that_runs_out_is_an_error_on_both_engines() {
    let calc = u64::MAX / 1000;
    let two = format!("num_ranks 1\nrank 0 {{\na: calc {calc}\nb: calc {calc}\nb requires a\n}}");
    let three = two.replace("b requires a", "c: calc 1\nb requires a\nc requires b");
    // The NIC of rank 0 is never free again for the second send.
    let gap = "num_ranks 2\nrank 0 {\na: send 900000000000000000b to 1\nb: send 1b to 1\nb requires a\n}\n\
               rank 1 {\nrecv 900000000000000000b from 0\nrecv 1b from 0\n}";
    let mut network = network();
    (network.base.gap_per_byte, network.base.overhead_per_byte) =
        (PerByte::from_ps(1_000_000), PerByte::ZERO);
    network.base.eager_limit = u64::MAX;
    for text in [two.as_str(), three.as_str(), gap] {
        let graph = goal::parse(text.as_bytes()).unwrap().into();
        for engine in [EngineChoice::Reference, EngineChoice::Windowed] {
            for receive_overlap in [false, true] {
                let simulation = Simulation { engine, receive_overlap, ..Simulation::new(&network) };
                assert_eq!(try_run(&simulation, &graph).unwrap_err(), RunError::TimeOverflow, "{text}");
            }
        }
    }
}
