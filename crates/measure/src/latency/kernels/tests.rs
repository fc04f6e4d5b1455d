use super::*;
use crate::timer::examine;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use straggler_model::latency::{Kind, from_bytes, to_bytes};
use tcp::{Server, ServerError};

fn options(kernel: Kernel) -> Options {
    Options {
        sizes: kernel.usual_size().into_iter().collect(),
        kernel,
        cores: cores::allowed().unwrap(),
        effort: Effort { trials: 20, cycles: 2 },
        bins: Bins::default(),
    }
}

fn run(options: &Options) -> Measurement {
    let timer = examine().unwrap();
    let stop = AtomicBool::new(false);
    let done = AtomicU64::new(0);
    let progress = |more| {
        done.fetch_add(more, Ordering::Relaxed);
    };
    let found = measure(options, "a test", &timer, Watch { stop: &stop, progress: &progress });
    if found.is_finished() {
        assert_eq!(done.into_inner(), options.trials());
    }
    assert_eq!(from_bytes(&to_bytes(&found)), Ok(found.clone()));
    found
}

#[test]
fn every_kernel_measures() {
    let folder = tempfile::tempdir().unwrap();
    let kernels = [
        Kernel::Tcp { remote: None },
        Kernel::UnixSocket,
        Kernel::Pipe,
        Kernel::SystemCalls,
        Kernel::File { folder: folder.path().into() },
        Kernel::Copy,
        Kernel::Command { program: vec!["true".into()] },
    ];
    for kernel in kernels {
        let options = options(kernel);
        let found = run(&options);
        assert_eq!(found.interruptions, [""; 0], "{}", found.kernel);
        assert_eq!(found.series.len() as u64 * 40, options.trials());
        for series in &found.series {
            assert_eq!((series.trials.count(), series.minima.len()), (40, 2), "{}", series.labels);
            assert!(series.trials.max().unwrap().ps() > 0, "{}", series.labels);
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn hand_overs_are_measured_for_all_pairs() {
    let options = options(Kernel::Futex);
    if options.cores.len() < 2 {
        return;
    }
    let found = run(&options);
    assert_eq!(found.interruptions, [""; 0]);
    let n = options.cores.len();
    assert_eq!((found.processes.len(), found.series.len()), (n, n * (n - 1) / 2));
    assert!(found.series.iter().all(|series| series.labels.kind == Kind::RoundTrip));
    let one = run(&Options { cores: options.cores[..1].to_vec(), ..options });
    assert!(one.interruptions[0].contains("needs two cores"), "{:?}", one.interruptions);
}

#[test]
fn a_kernel_that_fails_half_way_keeps_what_was_measured() {
    // Two of the twelve runs are the warm-up.
    let folder = tempfile::tempdir().unwrap();
    let script = "echo >> count; [ $(wc -l < count) -le 12 ]";
    let script = format!("cd {} && {script}", folder.path().display());
    let found = run(&options(Kernel::Command { program: ["sh", "-c", &script].map(Into::into).into() }));
    assert_eq!(found.series[0].trials.count(), 10);
    let reason = &found.interruptions[0];
    assert!(reason.starts_with("sh: failed after 10 trials: sh: it ended with exit status: 1"), "{reason}");
}

#[test]
fn what_cannot_be_opened_is_named() {
    let missing = Kernel::File { folder: "/nowhere".into() };
    assert!(run(&options(missing)).interruptions[0].contains("/nowhere: cannot create a file there"));
    let missing = Kernel::Command { program: vec!["/no/program".into()] };
    assert!(run(&options(missing)).interruptions[0].contains("cannot be run"));
    let large = Options { sizes: vec![u64::MAX], ..options(Kernel::Copy) };
    assert!(run(&large).interruptions[0].contains("give a smaller --size"));
}

#[test]
fn a_client_and_a_server() {
    let token = "0123456789abcdef0123456789abcdef";
    let server = Server::bind("127.0.0.1:0", token.into()).unwrap();
    let address = server.address().unwrap().to_string();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| server.serve(&stop));
        let client = |token: &str, size| {
            let remote = Some(Remote { address: address.clone(), token: token.into() });
            run(&Options { sizes: vec![size], ..options(Kernel::Tcp { remote }) })
        };
        // More than the server keeps, and one that stops in the middle of its hello.
        let silent: Vec<_> = (0..100).map(|_| TcpStream::connect(&address).unwrap()).collect();
        (&silent[99]).write_all(b"straggler lat").unwrap();
        let began = Instant::now();
        let good = client(token, 100);
        assert!(began.elapsed() < Duration::from_secs(5), "silent connections keep others waiting");
        drop(silent);
        let refused = [client("00000000000000000000000000000000", 1), client(token, tcp::MOST_BYTES + 1)];
        stop.store(true, Ordering::Relaxed);
        assert_eq!((good.series[0].trials.count(), good.interruptions.len()), (40, 0));
        // An address of this host does not make another node.
        assert_eq!((&good.processes[1].host, good.processes[1].node), (&good.processes[0].host, Some(0)));
        for refused in refused {
            assert!(refused.interruptions[0].contains("the server refused"), "{:?}", refused.interruptions);
        }
    });
    assert!(matches!(Server::bind("127.0.0.1:0", "short".into()), Err(ServerError::Token)));
    assert!(Server::bind("256.0.0.1:1", token.into()).is_err());
}
