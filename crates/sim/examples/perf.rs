use straggler_model::noise::*;
use straggler_model::*;
use straggler_schedule::steps::*;
use straggler_sim::programs::*;
use straggler_sim::*;
use std::sync::atomic::AtomicBool;
struct D { p: u32, rounds: u32 }
impl Steps for D {
    fn processes(&self) -> u32 { self.p }
    #[inline(always)]
    fn stages(&self, _: u32) -> u32 { self.rounds }
    #[inline(always)]
    fn step(&self, r: u32, k: u32) -> Step {
        let d = 1u32 << k;
        let to = if r >= self.p - d { r - (self.p - d) } else { r + d };
        let from = if r >= d { r - d } else { r + (self.p - d) };
        Step::exchange(Message { peer: to, tag: k, bytes: 1 }, Message { peer: from, tag: k, bytes: 1 })
    }
    fn largest_message(&self) -> u64 { 1 }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let p: u32 = a[1].parse().unwrap();
    let threads: usize = a[2].parse().unwrap();
    let noisy = a[3] == "noise";
    let d = D { p, rounds: (p as f64).log2().ceil() as u32 };
    let link = Link { latency: Time::from_ns(5330), send_overhead: Time::from_ns(770), recv_overhead: Time::from_ns(770), gap: Time::from_ns(1560), gap_per_byte: PerByte::from_ps(1250), overhead_per_byte: PerByte::ZERO, eager_limit: 65000 };
    let net = Network::uniform("x", link);
    let prog: StepProgram<'_, D, Untracked> = StepProgram::new(&d, a.get(4).map_or(1, |x| x.parse().unwrap()), Time::ZERO);
    for _ in 0..3 {
        let t = std::time::Instant::now();
        let stop = AtomicBool::new(false);
        let mut pr = |_| {};
        let mut c = windowed::Control::new(threads, &stop, &mut pr);
        let out = if noisy {
            let mut v = vec![]; let mut s = philox::Stream::new(1, 0, 0, 0); let mut at = 0;
            for _ in 0..100_000 { at += s.below(2_000_000_000); v.push((Time(at), Time(s.below(10_000_000)))); at += 10_000_000; }
            let inj = Injection { sources: vec![Source { name: "x".into(), waveform: Waveform::Trace(std::sync::Arc::new(Detours::new(&v, None).unwrap())), who: Who::Everyone }], phases: Phases::Drawn { seed: 1, replica: 0 }, wallclock: false };
            let t = std::time::Instant::now();
            let rules = Rules { network: &net, noise: &inj, acknowledgement: Default::default(), receive_overlap: false };
            let r = windowed::run(&prog, &rules, &mut c, |_, _| Nothing).unwrap();
            println!("pure {:.3}", t.elapsed().as_secs_f64());
            r
        } else {
            let rules = Rules { network: &net, noise: &Silence, acknowledgement: Default::default(), receive_overlap: false };
            windowed::run(&prog, &rules, &mut c, |_, _| Nothing).unwrap()
        };
        let s = t.elapsed().as_secs_f64();
        println!("{} makespan {:?} windows {} msgs {} {:.1} M/s stuck {:?}", p, out.0.makespan(), out.0.windows, out.0.messages, out.0.messages as f64 / s / 1e6, out.0.stuck.is_some());
    }
    let s = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", s.lines().find(|l| l.starts_with("VmHWM")).unwrap());
}
