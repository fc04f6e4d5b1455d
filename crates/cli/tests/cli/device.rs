//! The choice of the device. Test machines have no GPU; on machines with one, `scripts/test-gpu` checks
//! more.

use crate::outside::program::Folder;

const STUDY: &str =
    "name = 's'\nreplicas = 3\nprocesses = 4\ncollective = 'barrier'\nnetwork = 'chic'\nnoise = 'chic'\n";

#[test]
fn a_gpu_that_is_not_there_is_missed_before_anything_is_done() {
    let folder = Folder::new();
    folder.write("s.toml", STUDY);
    let simulate = "simulate --collective barrier --processes 4 --network chic --device gpu";
    if folder.run(simulate).code() == Some(0) {
        return;
    }
    let before = folder.names();
    for command in [
        simulate,
        "study run s.toml -o results --device gpu",
        "assess --network chic --processes 4 --time 1s -o assessed --device gpu",
        "papers run sc10-fig4 --quick -o made --device gpu",
        "tools bench --device gpu",
    ] {
        folder.run(command).ends_with(3).says("--device gpu: ").says("Use --device cpu");
        assert_eq!(folder.names(), before, "{command}");
    }
}

#[test]
fn the_cpu_gives_the_same_as_whatever_there_is() {
    let folder = Folder::new();
    let line = "simulate --collective allreduce:dissemination --processes 64 --network chic --noise altix --replicas 9 --json";
    let makespans = |device: &str| {
        let answer = folder.run(&format!("{line} --device {device}")).good().json();
        answer["replicas"].clone()
    };
    assert_eq!(makespans("cpu"), makespans("auto"));
    assert!(makespans("cpu").as_array().is_some_and(|replicas| replicas.len() == 9));
}

#[test]
fn a_gpu_keeps_no_checkpoints() {
    let folder = Folder::new();
    folder
        .run("simulate --collective barrier --processes 4 --network chic --checkpoint kept --device gpu")
        .ends_with(2)
        .says("runs on a GPU have no checkpoints");
    assert!(!folder.path().join("kept").exists());
}
