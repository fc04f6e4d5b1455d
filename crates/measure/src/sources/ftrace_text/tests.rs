use super::*;
use proptest::prelude::*;

fn only(line: &str) -> Event<'_> {
    let trace = parse(line.as_bytes());
    assert_eq!((trace.events.len(), trace.garbled, trace.unknown), (1, 0, 0), "{line}");
    trace.events[0]
}

#[test]
fn lines_of_this_kernel() {
    let line = "          <idle>-0       [001] d.h1. 48637123313460: call_function_single_exit: vector=251";
    let vector = Activity::Vector(b"call_function_single");
    assert_eq!(
        only(line),
        Event {
            at: 48_637_123_313_460,
            core: 1,
            thread: 0,
            name: b"<idle>",
            what: FtraceKind::Leave(vector)
        }
    );
    let line = "           cargo-4711    [000] d.h1. 81.637220: irq_handler_entry: irq=36 name=virtio1-req.0";
    let device = Activity::Device { number: 36, name: b"virtio1-req.0" };
    assert_eq!(only(line).at, 81_637_220_000);
    assert_eq!(only(line).what, FtraceKind::Enter(device));
    let line = "           cargo-4711    [000] d.h1. 7: irq_handler_exit: irq=36 ret=handled";
    assert!(matches!(only(line).what, FtraceKind::Leave(other) if other.same(&device)));
    let line = "           cargo-4711    [000] ..s1. 7: softirq_entry: vec=1 [action=TIMER]";
    assert_eq!(only(line).what, FtraceKind::Enter(Activity::Softirq(b"TIMER")));
    let line =
        "           cargo-4711    [000] d..1. 7: nmi_handler: perf_nmi_handler() delta_ns: 912 handled: 1";
    assert_eq!(only(line).what, FtraceKind::Took { activity: Activity::Nmi, start: None, nanoseconds: 912 });
    let line = "           cargo-4711    [000] d..1. 7: page_fault_user: address=0x1 ip=0x2 error_code=0x6";
    assert_eq!(only(line).what, FtraceKind::PageFault);
}

/// A thread may be named like a trace line; the kernel's columns still tell them apart.
#[test]
fn names_of_threads_may_hold_anything() {
    let line = "  a-1 [009] d 5:-12      [001] d..2. 700: sched_switch: prev_comm=a-1 [009] d 5: \
                prev_pid=12 prev_prio=120 prev_state=R+ ==> next_comm=b next_pid=7 c next_pid=34 \
                next_prio=120";
    let switch = FtraceKind::Switch { from: 12, from_runnable: true, to: 34, name: b"b next_pid=7 c" };
    assert_eq!(only(line), Event { at: 700, core: 1, thread: 12, name: b"a-1 [009] d 5:", what: switch });
    let line = "            bash-5 (  4) [000] 12.5: sched_switch: prev_comm=bash prev_pid=5 prev_prio=1 \
                prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120";
    let switch = FtraceKind::Switch { from: 5, from_runnable: false, to: 0, name: b"swapper/0" };
    assert_eq!(only(line), Event { at: 12_500_000_000, core: 0, thread: 5, name: b"bash", what: switch });
    let line = "           <...>-6       [000] 7: page_fault_user: address=0x1 ip=0x2 error_code=0x6";
    assert_eq!(only(line).name, b"");
}

/// The examples from the kernel's documentation of the tracer, with its indent.
#[test]
fn lines_of_the_osnoise_tracer() {
    let text = b"\
       osnoise/8-961     [008] d.h.  5789.857532: irq_noise: local_timer:236 start 5789.857529929 duration 1845 ns
     migration/8-54      [008] d...  5789.858413: thread_noise: migration/8:54 start 5789.858409300 duration 3068 ns
       osnoise/8-961     [008] ....  5789.858413: sample_threshold: start 5789.858404555 duration 8812 ns interferences 2
       osnoise/8-961     [008] d.s.  5789.858500: softirq_noise:    TIMER:1 start 5789.858404555 duration 12 ns
       osnoise/8-961     [008] d.Z.  5789.858600: nmi_noise: start 5789.858404555 duration 13 ns
           <...>-859     [000] ....    81.637220: 1000000        190  99.98100       9     18      0   1007     18      1
";
    let trace = parse(text);
    assert_eq!((trace.events.len(), trace.unknown, trace.garbled), (5, 1, 0));
    let device = Activity::Device { number: 236, name: b"local_timer" };
    let took = |activity, start, nanoseconds| FtraceKind::Took { activity, start: Some(start), nanoseconds };
    assert_eq!(trace.events[0].what, took(device, 5_789_857_529_929, 1845));
    let thread = Activity::Thread { thread: 54, name: b"migration/8" };
    assert_eq!(trace.events[1].what, took(thread, 5_789_858_409_300, 3068));
    assert_eq!(trace.events[2].what, FtraceKind::Sample { start: 5_789_858_404_555, nanoseconds: 8812 });
    assert_eq!(trace.events[3].what, took(Activity::Softirq(b"TIMER"), 5_789_858_404_555, 12));
    assert_eq!(trace.events[4].what, took(Activity::Nmi, 5_789_858_404_555, 13));
    assert!(trace.events.iter().all(|event| event.core == 8));
}

#[test]
fn what_is_not_known_is_counted() {
    let text =
        b"# tracer: nop\n\nCPU:0 [LOST 17 EVENTS]\nrubbish\n            bash-5 [000] ..... 5: fork: x\n";
    let trace = parse(text);
    assert_eq!((trace.events.len(), trace.unknown, trace.garbled, trace.lost), (0, 1, 1, 17));
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "            bash-5 ",
        "[000]",
        " d..1. ",
        "12.5: ",
        "7: ",
        "sched_switch: ",
        "prev_pid=",
        " next_pid=",
        " ==> next_comm=",
        "irq_noise: ",
        "a:1 start ",
        "99999999999999999999",
        "1.",
        " duration ",
        "-",
        ":",
        "\n",
        "softirq_entry: ",
        "[action=",
        "nmi_handler: ",
        "delta_ns: ",
        "prev_state=",
        "\u{fe}",
        "vector=",
        "local_timer_entry: ",
        "(",
        ")",
        "CPU:",
        "[LOST ",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..40)
        .prop_map(|words| words.concat().into_bytes())
}

proptest! {
    #[test]
    fn no_bytes_make_it_fail(text in prop::collection::vec(any::<u8>(), 0..400), pieces in pieces()) {
        for text in [&text, &pieces] {
            let lines = text.split(|&byte| byte == b'\n').count() as u64;
            let trace = parse(text);
            prop_assert!(trace.events.len() as u64 + trace.unknown + trace.garbled <= lines);
        }
    }

    /// Any thread name that the kernel can print on one line.
    #[test]
    fn any_name_is_read_over(
        name in prop::collection::vec(any::<u8>().prop_filter("ends a line", |&b| b != b'\n' && b != 0), 1..=15),
        thread in 0..i32::MAX, core in 0..4096u32, at in any::<u64>(),
    ) {
        let mut line = vec![b' '; 16 - name.len()];
        line.extend(&name);
        line.extend(format!("-{thread:<7} [{core:03}] d.h1. {at}: local_timer_entry: vector=236").bytes());
        // A comment begins with its sign in the first column; names are padded by at least one space.
        let trace = parse(&line);
        let what = FtraceKind::Enter(Activity::Vector(b"local_timer"));
        prop_assert_eq!(&trace.events, &vec![Event { at, core, thread, name: name.trim_ascii_start(), what }]);
    }
}
