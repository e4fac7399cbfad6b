//! The parsers of schedules: what they accept, what they say, and that no text makes them panic.

use hocket_record::{Action, Schedule, Task, from_goal, to_goal};
use proptest::prelude::*;

const EXAMPLE: &str = "num_ranks 2

/* two ranks
   exchange */
rank 0 {
l1: calc 100 cpu 0
l2: send 10b to 1 tag 7 cpu 0 nic 0 // to the other
l3: recv 10b from 1 tag 7
l2 requires l1
l3 irequires l1
}
rank 1 { a: send 10b to 0 tag 7  b: recv 10b from 0 tag 7 }
";

#[test]
fn goal_is_read_with_comments_resources_and_both_requirements() {
    let schedule = from_goal(EXAMPLE, "x.goal").unwrap();
    let [zero, one] = &schedule.ranks[..] else { panic!("two ranks") };
    assert_eq!((zero.len(), one.len()), (3, 2));
    assert_eq!(zero[0].action, Action::Compute { time_s: 100e-9 });
    assert_eq!((zero[1].after.as_slice(), zero[2].after_start.as_slice()), (&[0][..], &[0][..]));
}

#[test]
fn a_requirement_of_a_later_task_puts_that_task_first() {
    let text = "num_ranks 1 rank 0 { a: calc 1 b: calc 2 a requires b }";
    let schedule = from_goal(text, "x.goal").unwrap();
    assert_eq!(schedule.ranks[0][0].action, Action::Compute { time_s: 2e-9 });
    assert_eq!(schedule.ranks[0][1].after, [0]);
}

#[test]
fn what_is_wrong_is_said_with_file_and_line() {
    let cases = [
        ("", "x.goal:1: the text ends here, expected \"num_ranks\""),
        ("num_ranks 0", "x.goal:1: got 0 ranks, expected at least 1"),
        ("num_ranks 2\nrank 2 {\n}", "x.goal:2: got \"2\", expected a rank below 2"),
        ("num_ranks 1\nrank 0 {\nl1: send 5b to 3\n}", "x.goal:3: got \"3\", expected a rank below 1"),
        ("num_ranks 1\nrank 0 {\nl1: jump 5\n}", "x.goal:3: got \"jump\", expected send, recv or calc"),
        ("num_ranks 1\nrank 0 {\nl1: calc 5\nl1: calc 6\n}", "x.goal:4: label \"l1\" stands here for the second time"),
        (
            "num_ranks 1\nrank 0 {\nl1: calc 5\nl1 requires l9\n}",
            "x.goal:4: label \"l9\" is not known, expected one of a task above",
        ),
        ("num_ranks 1\n/* a comment\nrank 0 {\n}\n", "x.goal:2: a comment without end, expected \"*/\""),
        (
            "num_ranks 1234567890123456789012345678901234567890123",
            "x.goal:1: got \"1234567890123456789012345678901234567890\"..., expected a number of ranks up to 2^26",
        ),
        (
            "num_ranks 2\nrank 0 {\na: send 8b to 1\n}\nrank 1 {\na: recv 4b from 0\n}",
            "x.goal: rank 0 sends 8 B to rank 1 (tag 0), which receives at most 4 B: truncated",
        ),
        ("num_ranks 1\nrank 0 {\nl1: calc 5\n", "x.goal:3: the text ends here, expected a task or \"}\""),
        ("num_ranks 1\nrank 0 {\nl1: calc 5 cpu 2\n}", "x.goal:3: got \"2\", expected cpu 0: ranks have one cpu"),
        (
            "num_ranks 1\nrank 0 {\na: calc 5\nb: calc 5\na requires b\nb requires a\n}",
            "x.goal:7: tasks of this rank require each other in a circle",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(from_goal(text, "x.goal").unwrap_err().to_string(), message);
    }
}

#[test]
fn a_schedule_that_makes_no_sense_is_refused() {
    let json = |task: &str| format!("{{\"format\":1,\"element_bytes\":1,\"scratch\":[0],\"ranks\":[[{task}]]}}");
    let cases = [
        ("{\"action\":{\"compute\":{\"time_s\":-1.0}}}", "x.json: rank 0, task 0: computes for -1 s, expected a time"),
        (
            "{\"action\":{\"compute\":{\"time_s\":1.0}},\"after\":[0]}",
            "x.json: rank 0, task 0: waits for task 0, expected an earlier one",
        ),
        (
            "{\"action\":{\"send\":{\"to\":1,\"tag\":0,\"data\":{\"buffer\":\"input\",\"offset\":0,\"len\":1}}}}",
            "x.json: rank 0, task 0: peer 1, expected a rank below 1",
        ),
        (
            "{\"action\":{\"copy\":{\"source\":{\"buffer\":\"input\",\"offset\":0,\"len\":8},\
             \"target\":{\"buffer\":\"result\",\"offset\":0,\"len\":9}}}}",
            "x.json: rank 0, task 0: 8 elements into 9, expected spans of one length",
        ),
        (
            "{\"action\":{\"send\":{\"to\":0,\"tag\":0,\"data\":{\"buffer\":\"scratch\",\"offset\":1,\"len\":1}}}}",
            "x.json: rank 0, task 0: scratch[1..2], expected a span of the rank's scratch of 0 elements",
        ),
    ];
    for (task, message) in cases {
        assert_eq!(Schedule::from_json(&json(task), "x.json").unwrap_err().to_string(), message);
    }
    assert!(Schedule::from_json("{", "x.json").unwrap_err().to_string().starts_with("x.json:1:1: "));
    let wrong_type = "{\"action\":{\"compute\":{\"time_s\":\"1\"}}}";
    assert_eq!(
        Schedule::from_json(&json(wrong_type), "x.json").unwrap_err().to_string(),
        "x.json:1:88: invalid type: string \"1\", expected a number"
    );
}

#[test]
fn what_takes_longer_than_goal_can_say_is_refused() {
    let schedule = from_goal("num_ranks 1\nrank 0 {\na: send 8b to 0\n}", "x.goal").unwrap();
    let data = match schedule.ranks[0][0].action {
        Action::Send { data, .. } => data,
        _ => unreachable!("the task is a send"),
    };
    let copy = Task { action: Action::Copy { source: data, target: data }, ..schedule.ranks[0][0].clone() };
    let schedule = Schedule { ranks: vec![vec![copy]], ..schedule };
    assert!(to_goal(&schedule, 0.0, 1e-9).unwrap().contains("calc 8\n"));
    let message = "rank 0, task 0: computes for inf s, expected at most 2^53 ns in GOAL";
    assert_eq!(to_goal(&schedule, 0.0, 1e308).unwrap_err().to_string(), message);
}

/// A text with some characters replaced, so that most of it stays meaningful.
fn damaged(text: &'static str) -> impl Strategy<Value = String> {
    let edits = prop::collection::vec((0..text.len(), any::<char>()), 0..6);
    edits.prop_map(move |edits| {
        let mut characters: Vec<_> = text.chars().collect();
        for (at, character) in edits {
            let at = at % characters.len();
            characters[at] = character;
        }
        characters.into_iter().collect()
    })
}

proptest! {
    #[test]
    fn no_text_makes_the_goal_parser_panic(text in any::<String>()) {
        let _ = from_goal(&text, "x.goal");
    }

    #[test]
    fn damaged_goal_is_read_or_refused_in_one_line(text in damaged(EXAMPLE)) {
        match from_goal(&text, "x.goal") {
            Ok(schedule) => prop_assert_eq!(from_goal(&to_goal(&schedule, 0.0, 0.0).unwrap(), "y").unwrap(), schedule),
            Err(error) => prop_assert!(error.to_string().starts_with("x.goal") && !error.to_string().contains('\n')),
        }
    }

    #[test]
    fn no_text_makes_the_json_parser_panic(text in any::<String>()) {
        let _ = Schedule::from_json(&text, "x.json");
    }
}
