//! Shared links: where ranks run, degraded and failed links, what links carried, and `network show` of topologies.

use crate::outside::program::Folder;

const ALLTOALL: &str =
    "simulate --collective alltoall:pairwise --processes 16 --size 64KiB --network slingshot-11 --topology";

#[test]
fn waiting_for_links_has_a_cost() {
    let folder = Folder::new();
    let answer = folder.run(&format!("{ALLTOALL} fat-tree:radix=8,taper=4 --json")).good().json();
    let (makespan, without) =
        (answer["makespan_ps"].as_u64().unwrap(), answer["without_waiting_ps"].as_u64().unwrap());
    assert!(makespan > 2 * without, "{makespan} {without}");
    let kinds = answer["link_kinds"].as_array().unwrap();
    let told: Vec<_> =
        kinds.iter().map(|kind| (kind["from"].as_str().unwrap(), kind["links"].as_u64().unwrap())).collect();
    assert_eq!(told, [("host", 32), ("leaf", 8), ("spine", 8), ("leaf", 32)]);
    // 16·15 messages, of which 4·3 of each of four leaves stay below it.
    let messages: Vec<_> = kinds.iter().map(|kind| kind["messages"].as_u64().unwrap()).collect();
    assert_eq!(messages, [240, 192, 192, 240]);
    let links = answer["links"].as_array().unwrap();
    let up = links.iter().filter(|link| link["to"] == "spine0");
    assert_eq!(up.map(|link| link["messages"].as_u64().unwrap()).sum::<u64>(), 192);
    let told = folder.run(&format!("{ALLTOALL} fat-tree:radix=8,taper=4")).good().stdout();
    assert!(told.contains("If nothing waited for a link, the run would take"), "{told}");
}

#[test]
fn links_degrade_and_fail() {
    let folder = Folder::new();
    let makespan = |more: &str| {
        let line = format!("{ALLTOALL} fat-tree:radix=8,taper=2 --json {more}");
        folder.run(&line).good().json()["makespan_ps"].as_u64().unwrap()
    };
    let whole = makespan("");
    assert!(makespan("--degrade leaf0/spine1=0.1") > whole);
    assert!(makespan("--fail leaf0/spine1 --fail spine1/leaf2") > whole);
    let fails = |more: &str| folder.run(&format!("{ALLTOALL} fat-tree:radix=8,taper=2 {more}")).ends_with(2);
    fails("--degrade leaf0/spine1").says("LINK=SHARE");
    fails("--degrade leaf0/spine1=2").says("above 0 and at most 1");
    fails("--fail leaf0").says("two ends");
    folder
        .run(&format!("{ALLTOALL} fat-tree:radix=8,taper=2 --fail leaf0/spine7"))
        .says("there is no link between leaf0 and spine7");
    folder
        .run("simulate --collective barrier --processes 4 --network chic --fail a/b")
        .ends_with(2)
        .says("--topology");
}

#[test]
fn ranks_run_where_they_are_placed() {
    let folder = Folder::new();
    folder.write("hosts.txt", "# slow ones last\nh[0-3]\nh8\n");
    let carried = |placement: &str| {
        let line = format!(
            "simulate --collective bcast:linear --processes 5 --size 8 --network chic --json \
             --topology star:hosts=16 --placement {placement}"
        );
        let answer = folder.run(&line).good().json();
        let links = answer["links"].as_array().unwrap().clone();
        let to = links.iter().filter(|link| link["from"] == "s0" && link["messages"] != 0);
        to.map(|link| link["to"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(carried("cyclic"), ["h1", "h2", "h3", "h4"]);
    assert_eq!(carried("hosts:hosts.txt"), ["h1", "h2", "h3", "h8"]);
    assert_eq!(carried("h[5-9]"), ["h6", "h7", "h8", "h9"]);
    // Two ranks on h5 and on h6.
    assert_eq!(carried("h[5-7]"), ["h6", "h7"]);
    let wrong = folder.run(&format!("{ALLTOALL} star:hosts=16 --placement h[8-23]"));
    wrong.says("rank 8 is placed on host h16").says("h0 to h15");
    folder
        .run(&format!("{ALLTOALL} star:hosts=16 --placement blok"))
        .ends_with(2)
        .says("did you mean `block`");
}

#[test]
fn topologies_are_shown() {
    let folder = Folder::new();
    let answer = folder.run("network show torus:size=8x8x8,G=1ns,L=10ns --json").good().json();
    assert_eq!((&answer["hosts"], &answer["switches"]), (&512.into(), &512.into()));
    assert_eq!(answer["links"][1]["links"], 3 * 2 * 512);
    // 2·64 links of 1 GB/s.
    assert!((answer["bisection_bytes_per_second"].as_f64().unwrap() - 128e9).abs() < 1.0);
    let answer = folder.run("network show dragonfly:routers=4 --json").good().json();
    assert!(answer["links"][0]["L_ps"].is_null() && answer["bisection_bytes_per_second"].is_null());
    let told = folder.run("network show fat-tree:radix=8 --network slingshot-11").good().stdout();
    assert!(told.contains("Between two halves of the hosts"), "{told}");
    folder.write("slow.toml", "[topology]\nshape = \"fat-tree:radix=4\"\n[[topology.change]]\nends = [\"leaf0\", \"spine0\"]\nbandwidth = 0.5\n");
    let answer = folder.run("network show slow.toml --json").good().json();
    assert_eq!(answer["links"][1]["changed"], 1);
    folder.run("network show chic --network altix").ends_with(2).says("is for topologies");
    folder.run("network show torus:sizes=8").says("did you mean `size`");
}
