//! Files of hosts: each form, what is wrong in one line, and anything at all.

use hocket_machine::topology::hosts::nodes_of_ranks;
use hocket_machine::{Machine, Placement};
use proptest::prelude::*;

fn nodes(text: &str) -> Vec<usize> {
    nodes_of_ranks(text, "hosts").unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_form_gives_the_node_of_each_rank() {
    assert_eq!(nodes("# of a job\nrank 2=b slot=0:1\nrank 0=b slot=0\n\nrank  1=a slot=p0-3\n"), [0, 1, 0]);
    assert_eq!(nodes("3: n2\n0: n1.site\n2: n1.site\n1: n2\n"), [0, 1, 0, 1]);
    assert_eq!(nodes("[1] n2\n[0] n1\n[2] n1\n"), [0, 1, 0]);
    assert_eq!(nodes("b slots=2 max_slots=8 # login\na slots=1\n"), [0, 0, 1]);
    assert_eq!(nodes("a:2\nb:1 binding=rr\na:1"), [0, 0, 1, 0]);
    assert_eq!(nodes("a\nb\nb\na\n"), [0, 1, 1, 0]);
    assert_eq!(nodes("node[008-010,3]:2\nlogin,r[0-1]n[1-2]"), [0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8]);
    let variables = "SLURM_JOB_ID=7\nSLURM_JOB_NODELIST=node[001-003]\nSLURM_TASKS_PER_NODE=2(x2),1\n";
    assert_eq!(nodes(variables), [0, 0, 1, 1, 2]);
    assert_eq!(nodes(&format!("{variables}SLURM_DISTRIBUTION=cyclic:block")), [0, 1, 2, 0, 1]);
    let of_step = "SLURM_STEP_NODELIST=\"node[2-3]\"\nSLURM_STEP_TASKS_PER_NODE=\"1,2\"";
    assert_eq!(nodes(&format!("{variables}{of_step}")), [0, 1, 1]);
}

#[test]
fn what_is_wrong_is_said_with_file_and_line() {
    let of_rankfile = "expected a line such as \"rank 0=node1 slot=0\"";
    let of_hostfile = "expected a line such as \"node1 slots=4\", \"node1:4\" or \"node1\"";
    let of_slurm = "expected SLURM_JOB_NODELIST=node[1-3] and SLURM_TASKS_PER_NODE=2(x2),1, or such";
    let cases = [
        ("# none\n", "hosts: got no lines, expected a rankfile, a hostfile or variables of Slurm".to_owned()),
        ("rank 0=a\na slots=1", format!("hosts:2: got \"a slots=1\", {of_rankfile}")),
        ("rank 0=a\nrank 2=b", "hosts:2: got \"rank 2=b\", expected each of the ranks 0 to 1 once".to_owned()),
        ("0: a\n0: b", "hosts:2: got \"0: b\", expected each of the ranks 0 to 1 once".to_owned()),
        ("0: a\nb", "hosts:2: got \"b\", expected a line such as \"0: node1\"".to_owned()),
        ("a slots=0", format!("hosts:1: got \"a slots=0\", {of_hostfile}")),
        ("a 4", format!("hosts:1: got \"a 4\", {of_hostfile}")),
        ("a[3-1]", format!("hosts:1: got \"a[3-1]\", {of_hostfile}")),
        ("a[1-2", format!("hosts:1: got \"a[1-2\", {of_hostfile}")),
        ("a[0-999999999]", format!("hosts:1: got \"a[0-999999999]\", {of_hostfile}")),
        ("a,,b", format!("hosts:1: got \"a,,b\", {of_hostfile}")),
        ("a[1-2]:4194304", "hosts:1: got \"a[1-2]:4194304\", expected at most 2^22 ranks in all".to_owned()),
        ("SLURM_JOB_NODELIST=a", format!("hosts: got other variables, {of_slurm}")),
        (
            "SLURM_JOB_NODELIST=a[1-2]\nSLURM_TASKS_PER_NODE=2(x3)",
            "hosts:2: got \"SLURM_TASKS_PER_NODE=2(x3)\", expected the numbers of ranks of 2 hosts, such as 2(x2),1".to_owned(),
        ),
        (
            "SLURM_JOB_NODELIST=a\nSLURM_TASKS_PER_NODE=2\nSLURM_DISTRIBUTION=plane=2",
            "hosts:3: got \"SLURM_DISTRIBUTION=plane=2\", expected block or cyclic, or the output of `srun -l hostname`"
                .to_owned(),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(nodes_of_ranks(text, "hosts").unwrap_err().to_string(), expected);
    }
}

/// The file is beside the machine file. The text with hosts is that of the same machine, without the file.
#[test]
fn a_machine_file_names_a_file_of_hosts() {
    let folder = std::env::temp_dir().join(format!("hocket-hosts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("job.hosts"), "b:1\na:2\n").unwrap();
    let file = folder.join("m.toml").display().to_string();
    let text = "name = \"m\" # one\n[network]\nmap = \"job.hosts\" # two\ntopology = \"torus\"\n";
    let machine = Machine::parse(text, &file).unwrap();
    let placement = Placement::read(&machine.network, 4, None).unwrap();
    assert_eq!((0..3).map(|rank| placement.node_of(rank, 3)).collect::<Vec<_>>(), [0, 1, 1]);
    let whole = machine.text_with_hosts().unwrap().unwrap();
    assert_eq!(whole, text.replace("\"job.hosts\"", "[0, 1, 1]"));
    let machine = Machine::parse(&whole, "elsewhere.toml").unwrap();
    assert_eq!(Placement::read(&machine.network, 4, None).unwrap(), placement);
    assert_eq!(machine.text_with_hosts().unwrap(), None);

    std::fs::write(folder.join("job.hosts"), "b:1\na:0\n").unwrap();
    let refusal =
        |text: &str| Placement::read(&Machine::parse(text, &file).unwrap().network, 4, None).unwrap_err().to_string();
    assert_eq!(
        refusal(text),
        format!(
            "{}:2: got \"a:0\", expected a line such as \"node1 slots=4\", \"node1:4\" or \"node1\"",
            folder.join("job.hosts").display()
        )
    );
    let wrong = refusal(&text.replace("job.hosts", "cylic"));
    let expected = "expected \"block\", \"cyclic\", a list of nodes, or the path of a file of hosts";
    assert_eq!(wrong, format!("{file}:3: network.map: got \"cylic\", {expected}"));
    std::fs::remove_dir_all(&folder).unwrap();
}

proptest! {
    /// Nodes in the order of their first ranks, or an error of one line.
    #[test]
    fn of_any_file_there_are_nodes_or_an_error_of_one_line(
        lines in prop::collection::vec(
            prop_oneof![
                "(rank )?[0-9]{0,2}[:=] ?[a-c]{0,2}( slot=0)?",
                "[a-c\\[\\],0-9-]{0,9}( slots=|:)[0-9]{0,8}",
                "SLURM_(JOB_NODELIST|TASKS_PER_NODE|DISTRIBUTION)=[a-c\\[\\](),x0-9-]{0,9}",
                "\\PC{0,20}",
            ],
            0..6,
        ),
    ) {
        match nodes_of_ranks(&lines.join("\n"), "hosts") {
            Ok(nodes) => {
                let mut count = 0;
                for node in nodes {
                    prop_assert!(node <= count);
                    count = count.max(node + 1);
                }
                prop_assert!(count > 0);
            }
            Err(error) => {
                let error = error.to_string();
                prop_assert!(error.starts_with("hosts:") && !error.contains('\n'), "{error}");
            }
        }
    }
}
