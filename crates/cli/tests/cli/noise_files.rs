//! Noise files of other programs, converted or simulated directly.

use crate::outside::program::{Folder, fixtures};

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path().join(name)).unwrap()
}

#[test]
fn there_and_back_is_the_same_file() {
    let folder = Folder::new();
    for (file, format) in [
        ("selfish.0", "selfish"),
        ("columns.txt", "columns"),
        ("sysjitter.0", "sysjitter"),
        ("netgauge-fwq.txt", "netgauge-fwq"),
        ("netgauge-ftq.txt", "netgauge-ftq"),
        ("llnl-fwq.dat", "llnl-fwq"),
        ("ftq_2.dat", "ftq"),
    ] {
        folder.run(&format!("noise convert fixtures/noise/{file} -o own.noise")).good();
        let answer =
            folder.run(&format!("noise convert own.noise --to {format} -o back --json")).good().json();
        assert_eq!(answer["inputs"][0]["format"], "straggler");
        assert_eq!(
            bytes(&folder, "back"),
            std::fs::read(fixtures().join("noise").join(file)).unwrap(),
            "{file}"
        );
        let own = folder.run("noise show own.noise --json").good().json();
        let foreign = folder.run(&format!("noise show fixtures/noise/{file} --json")).good().json();
        assert_eq!(own["sources"][0]["detours"], foreign["sources"][0]["detours"], "{file}");
        assert_eq!(own["share"], foreign["share"], "{file}");
    }
}

#[test]
fn several_files_are_the_cores_of_a_node() {
    let folder = Folder::new();
    for core in [4, 11] {
        std::fs::copy(fixtures().join("noise/selfish.0"), folder.path().join(format!("in.{core}"))).unwrap();
    }
    let text = folder.run("noise convert in.4 in.11 -o node.noise").good().stdout();
    assert!(text.starts_with("10 detours of 2 cores, written as straggler.\n"), "{text}");
    let answer = folder.run("noise convert node.noise --to columns -o out --json").good().json();
    assert_eq!(answer["outputs"][1]["file"], "out.11");
    assert!(answer["warnings"][0].as_str().unwrap().contains("t_min and threshold"), "{answer}");
    assert_eq!(bytes(&folder, "out.4"), bytes(&folder, "out.11"));
    let shown = folder.run("noise show node.noise --json").good().json();
    assert_eq!(shown["sources"][1]["ranks"], "ranks r with r mod 2 = 1");
    assert_eq!(shown["sources"][1]["name"], "node.noise core 11");
    assert!(shown["description"].as_str().unwrap().starts_with("2 traces in turn over the ranks"), "{shown}");
    let line = "simulate --collective barrier --processes 4 --network chic --noise";
    folder.run(&format!("{line} node.noise")).good();
    let ranks = format!("{line} trace:file=node.noise,ranks=0-1");
    folder.run(&ranks).ends_with(3).says("remove ranks=");
}

#[test]
fn mended_files_say_so_and_bad_ones_why() {
    let folder = Folder::new();
    let bad = "noise convert fixtures/noise/bad.txt -o mended --to columns";
    folder.run(bad).good().says("fixtures/noise/bad.txt: 2 rows are negative and ignored");
    assert_eq!(bytes(&folder, "mended"), b"1000\t10\n5000\t150\n9000\t1\n");
    let answer = folder.run(&format!("{bad} --json")).good().json();
    assert_eq!(answer["inputs"][0]["repairs"]["overlaps_merged"], 1);
    folder.run("noise show fixtures/noise/bad.txt").good().says("1 row was out of order: sorted");

    let serial = "noise convert fixtures/noise/llnl-fwq-serial.dat -o x.noise";
    folder.run(serial).ends_with(3).says("give --ghz");
    folder.run(&format!("{serial} --ghz 2.1")).good();
    folder
        .run("noise convert fixtures/noise/columns.txt --to ftq -o x")
        .ends_with(3)
        .says("has detours only");
    folder
        .run("noise convert fixtures/noise/columns.txt --to selfsh -o x")
        .ends_with(2)
        .says("did you mean `selfish`?");
    folder.run("noise convert absent -o x").ends_with(3).says("absent cannot be read");
    folder.write("empty", "# nothing\n");
    folder.run("noise convert empty -o x").ends_with(3).says("empty: the trace holds no detours");
    let mut damaged = bytes(&folder, "x.noise");
    damaged[50] ^= 1;
    std::fs::write(folder.path().join("damaged"), damaged).unwrap();
    folder.run("noise show damaged").ends_with(3).says("error: damaged: the checksum is");
}
