//! Pictures from the command line.

use crate::outside::program::Folder;

const NOISE: &str = "fixtures/conformance/eager-noise-00.noise";

#[test]
fn each_picture_is_written_and_told_of() {
    let folder = Folder::new();
    for what in ["scatter", "histogram", "spectrum"] {
        let said =
            folder.run(&format!("tools plot noise {NOISE} --what {what} -o {what}.svg")).good().stdout();
        assert!(said.starts_with(&format!("{what}.svg: {what} of ")), "{said}");
        let svg = std::fs::read_to_string(folder.path().join(format!("{what}.svg"))).unwrap();
        assert!(svg.starts_with("<svg ") && svg.contains("eager-noise-00.noise"), "{svg}");
        assert!(!svg.contains("SYNTHETIC"));
    }
    folder.run(&format!("tools plot noise {NOISE} -o x.png")).good();
    assert!(std::fs::read(folder.path().join("x.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn drawn_noise_is_labelled() {
    let folder = Folder::new();
    let answer = folder.run("tools plot noise signature:chic --length 1s -o chic.svg --json").good().json();
    assert_eq!(answer["synthetic"], true);
    assert!(answer["detours"].as_u64().unwrap() > 0 && answer["dots"].as_u64().unwrap() > 0, "{answer}");
    let svg = std::fs::read_to_string(folder.path().join("chic.svg")).unwrap();
    assert!(svg.contains("SYNTHETIC DATA"));
}

#[test]
fn several_files_are_cores_of_one_node() {
    let folder = Folder::new();
    folder.write("a", "0 1000\n5000 2000\n");
    folder.write("b", "100 1000\n");
    let answer = folder.run("tools plot noise a b -o ab.svg --json").good().json();
    assert_eq!((answer["cores"].as_u64(), answer["detours"].as_u64()), (Some(2), Some(3)));
    let answer = folder.run("tools plot noise a b --core 1 -o b.svg --json").good().json();
    assert_eq!(answer["detours"], 1);
    let answer = folder.run("tools plot noise a --length 4us -o first.svg --json").good().json();
    assert_eq!(answer["detours"], 1);
}

#[test]
fn mistakes_are_named() {
    let folder = Folder::new();
    folder.write("a", "0 1000\n");
    folder.write("empty", "");
    for (line, code, text) in [
        ("tools plot noise a -o a.gif", 2, "end the name with .svg, .png or .pdf"),
        ("tools plot noise a --core 7 -o a.svg", 2, "core 7 was not measured; give --core one of 0"),
        ("tools plot noise signature:chick -o a.svg", 2, "chic"),
        ("tools plot noise missing -o a.svg", 3, "missing cannot be read"),
        ("tools plot noise empty -o a.svg", 3, "empty: "),
        ("tools plot noise a -o no/a.svg", 3, "cannot be written"),
    ] {
        folder.run(line).ends_with(code).says(text);
    }
    assert_eq!(folder.names(), ["a", "empty"]);
}
