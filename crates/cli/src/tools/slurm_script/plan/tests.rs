use crate::tools::slurm_script::plan::*;
use crate::tools::{Tools, ToolsCommand};
use std::os::unix::ffi::OsStringExt;

fn plan(line: &str) -> Outcome<Plan> {
    let words = ["straggler", "tools", "slurm-script"].into_iter().chain(line.split(' '));
    let cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
    match cli.command {
        Command::Tools(Tools { command: ToolsCommand::SlurmScript(typed) }) => {
            Plan::new(typed.command, &cli.common)
        }
        other => panic!("{other:?}"),
    }
}

fn refused(line: &str) -> String {
    let failure = plan(line).expect_err(line);
    assert_eq!(failure.exit as u8, 2, "{line}");
    failure.error.to_string()
}

const BARRIER: &str = "--collective barrier --processes 64 --network chic";

#[test]
fn defaults_are_one_task_of_one_cpu() {
    let one = plan(&format!("simulate -- {BARRIER}")).unwrap();
    assert_eq!((one.nodes, one.tasks_per_node, one.cpus_per_task), (1, 1, Some(1)));
    assert!(one.is_single() && one.job.sets_threads);
    assert_eq!(
        (one.job_name.as_str(), one.log.as_str()),
        ("straggler-simulate", "straggler-simulate-%j.out")
    );
    assert_eq!(one.job.words.join(" "), BARRIER);
}

#[test]
fn threads_of_the_job_are_cpus_of_a_task() {
    let given = plan(&format!("simulate --nodes 2 -- {BARRIER} --threads 8")).unwrap();
    assert_eq!((given.cpus_per_task, given.job.sets_threads), (Some(8), false));
    let fewer = plan(&format!("simulate --cpus-per-task 16 -- {BARRIER} --threads 8")).unwrap();
    assert_eq!(fewer.cpus_per_task, Some(16));
    let text = refused(&format!("simulate --cpus-per-task 4 -- {BARRIER} --threads 8"));
    assert!(text.contains("--threads 8 on --cpus-per-task 4"), "{text}");
    assert_eq!(plan("assess --nodes 4").unwrap().cpus_per_task, None);
    assert_eq!(plan("assess --cpus-per-task 2").unwrap().cpus_per_task, Some(2));
    assert_eq!(plan("latency --nodes 4").unwrap().cpus_per_task, Some(1));
}

#[test]
fn options_of_the_job_are_checked_as_the_command_checks_them() {
    assert!(refused("simulate -- --collective barrier --processes 4").contains("--network"));
    assert!(refused("simulate -- --colective barrier").contains("--collective"));
    assert!(refused("simulate -- --network chic").contains("nothing to simulate"));
    assert!(refused(&format!("simulate -- {BARRIER} --compare-quiet")).contains("add --noise"));
    assert!(refused("simulate -- --help").contains("straggler simulate --help"));
    assert!(refused("study a.toml -- --until-ci many").contains("--until-ci"));
    assert!(refused("study a.toml -- b.toml").contains("b.toml"));
}

#[test]
fn options_that_could_only_be_meant_for_the_job_are_refused() {
    assert!(refused("assess --threads 2").contains("--cpus-per-task"));
    assert!(refused(&format!("simulate --seed 7 -- {BARRIER}")).contains("after --"));
    assert!(plan(&format!("simulate -- {BARRIER} --seed 7")).is_ok());
}

#[test]
fn latencies_need_two_ranks() {
    for kind in ["latency", "loggp"] {
        assert!(refused(kind).contains("--nodes 2"));
        assert!(plan(&format!("{kind} --tasks-per-node 2")).is_ok());
    }
    assert!(plan("assess").is_ok());
    assert!(!plan("assess").unwrap().is_single());
}

#[test]
fn words_that_no_script_can_show_are_refused() {
    let told = |word: &[u8]| in_text(vec![OsString::from_vec(word.to_vec())]).unwrap_err().error.to_string();
    assert!(told(b"a\nb").contains(r#""a\nb" has control characters"#));
    assert!(told(b"\xff.goal").contains("is not UTF-8"));
}
