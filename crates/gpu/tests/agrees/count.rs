use super::*;
unsafe extern "C" { static mut straggler_counts: [u64; 8]; }
#[test]
#[ignore]
fn counts() {
    let network = Network::parse("chic").unwrap();
    let p: u32 = std::env::var("P").unwrap_or("65536".into()).parse().unwrap();
    let workload = workload("barrier:dissemination", p, 8, 1, 0).unwrap();
    let n = noise(&std::env::var("N").unwrap_or("poisson:rate=1kHz,duration=exponential(mean=20us)".into()), Phases::Drawn { seed: 1, replica: 0 }, false);
    let simulation = Simulation { noise: n.as_ref(), ..Simulation::new(&network) };
    let task = Task::new(&workload, &simulation).unwrap();
    let places = std::env::var("C").unwrap_or("4".into()).parse().unwrap();
    emulate(&task, n.as_ref(), 1, Tuning { places, rounds: 1, turns: std::env::var("T").unwrap_or("1".into()).parse().unwrap(), ..Tuning::default() }, 1 << 34);
    let c = unsafe { straggler_counts };
    println!("ideal messages {} ran {} sends changed {} calls {} fresh {} backs {} lookups {} rounds {}", task.messages, c[0], c[1], c[2], c[3], c[4], c[5], c[6]);
}
