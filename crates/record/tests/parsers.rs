//! The parsers of schedules: what they accept, what they say, and that no text makes them panic.

use hocket_core::{Buffer, Source, Span};
use hocket_record::{Action, Builder, Costs, Draft, Form, Schedule, Wait};
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

fn goal(text: &str) -> hocket_core::Result<Schedule> {
    Schedule::read(text.as_bytes(), "x.goal")
}

fn json(text: &str) -> hocket_core::Result<Schedule> {
    Schedule::read(text.as_bytes(), "x.json")
}

fn written(schedule: &Schedule, copy_s_per_byte: f64) -> std::io::Result<String> {
    let mut text = Vec::new();
    schedule.write(Form::Goal, Costs { copy_s: &|bytes| bytes * copy_s_per_byte, ..Costs::default() }, &mut text)?;
    Ok(String::from_utf8(text).unwrap())
}

fn binary(schedule: &Schedule) -> Vec<u8> {
    let mut bytes = Vec::new();
    schedule.write(Form::GoalBinary, Costs::default(), &mut bytes).unwrap();
    bytes
}

#[test]
fn goal_is_read_with_comments_resources_and_both_requirements() {
    let schedule = goal(EXAMPLE).unwrap();
    let (zero, one) = (schedule.tasks(0), schedule.tasks(1));
    assert_eq!((schedule.ranks(), zero.actions.len(), one.actions.len()), (2, 3, 2));
    assert_eq!(zero.actions[0], Action::Compute { time_s: 100e-9 });
    let wait = |task, is_for_start| Wait { task, is_for_start, other: 0 };
    assert_eq!(zero.waits, [wait(1, false), wait(2, true)]);
}

#[test]
fn tasks_need_no_label_and_receives_no_source() {
    let text = "num_ranks 2 rank 1 { send 3b to 0 } rank 0 { recv 3b from -1 calc 7 cpu 0 }";
    let into = Span::new(Buffer::Scratch, 3);
    let actions = [Action::Recv { from: Source::Any, tag: 0, into }, Action::Compute { time_s: 7e-9 }];
    assert_eq!(goal(text).unwrap().tasks(0).actions, actions);
}

#[test]
fn a_requirement_of_a_later_task_puts_that_task_first() {
    let text = "num_ranks 1 rank 0 { a: calc 1 b: calc 2 a requires b }";
    let tasks = goal(text).unwrap().tasks(0);
    assert_eq!(tasks.actions[0], Action::Compute { time_s: 2e-9 });
    assert_eq!(tasks.waits, [Wait { task: 1, is_for_start: false, other: 0 }]);
}

#[test]
fn what_is_wrong_is_said_with_file_and_line() {
    let cases = [
        ("", "x.goal:1: the text ends here, expected \"num_ranks\""),
        ("num_ranks 0", "x.goal:1: got 0 ranks, expected at least 1"),
        ("num_ranks 2\nrank 2 {\n}", "x.goal:2: got \"2\", expected a rank below 2"),
        ("num_ranks 1\nrank 0 {\nl1: send 5b to 3\n}", "x.goal:3: got \"3\", expected a rank below 1"),
        ("num_ranks 1\nrank 0 {\nl1: jump 5\n}", "x.goal:3: got \"jump\", expected send, recv or calc"),
        (
            "num_ranks 1\nrank 0 {\nl1: calc 5\nl1: calc 6\n}",
            "x.goal:4: label \"l1\" is defined twice, expected different labels",
        ),
        (
            "num_ranks 1\nrank 0 {\nl1: calc 5\nl1 requires l9\n}",
            "x.goal:4: unknown label \"l9\", expected the label of a task above",
        ),
        ("num_ranks 1\n/* a comment\nrank 0 {\n}\n", "x.goal:2: a comment without end, expected \"*/\""),
        (
            "num_ranks 1234567890123456789012345678901234567890123",
            "x.goal:1: got \"1234567890123456789012345678901234567890\"..., expected a number of ranks up to 2^26",
        ),
        ("num_ranks 1\nrank 0 {\nl1: calc 5\n", "x.goal:3: the text ends here, expected a task or \"}\""),
        ("num_ranks 1\nrank 0 {\nl1: calc 5 cpu 2\n}", "x.goal:3: got \"2\", expected cpu 0, as each rank has one cpu"),
        (
            "num_ranks 1\nrank 0 {\na: calc 5\nb: calc 5\na requires b\nb requires a\n}",
            "x.goal:7: tasks of this rank require each other in a cycle",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(goal(text).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_message_that_is_longer_than_its_receive_can_be_read_and_is_told() {
    let schedule = goal("num_ranks 2\nrank 0 {\na: send 8b to 1\n}\nrank 1 {\na: recv 4b from 0\n}").unwrap();
    assert_eq!(
        schedule.check_messages().unwrap_err().to_string(),
        "rank 0 sends 8 B to rank 1 (tag 0), which receives at most 4 B: truncated"
    );
}

/// Two ranks: a calculation before a send, which a second calculation waits to start; and a receive. Written by hand from
/// the description of the form in LogGOPSim's `Parser.hpp`.
#[rustfmt::skip]
const BINARY: [&[u8]; 15] = [
    &[0x7F, 0x10, 0, 0, 0, 0, 0, 0], &[2, 0, 0, 0, 0, 0], // magic number 4223; ranks, cpu, nic
    &[38, 0, 0, 0, 0, 0, 0, 0, 175, 0, 0, 0, 0, 0, 0, 0], // rank 0 from 6 + 2 * 16 on: 12 + 3 * 39 + 2 * 4 bytes
    &[175, 0, 0, 0, 0, 0, 0, 0, 226, 0, 0, 0, 0, 0, 0, 0], // rank 1: 12 + 39 bytes
    &[3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], // operations, those that wait for nothing, and which
    &[0, 0, 0, 0, 3, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], // calc 100
    &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0], // one follower of the end, none of the start
    &[1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0], // send 256b to 1 tag 7
    &[0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], // none of the end, one of the start
    &[1, 0, 0, 0, 3, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], // calc 5
    &[0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0],
    &[1, 0, 0, 0, 2, 0, 0, 0], // the followers
    &[1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
    &[0, 0, 0, 0, 2, 0xFF, 0xFF, 0xFF, 0xFF, 0, 1, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0], // recv 256b from any tag 7
    &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
];

#[test]
fn the_binary_form_of_goal_is_that_of_its_text() {
    let text = "num_ranks 2
rank 0 { a: calc 100 b: send 256b to 1 tag 7 c: calc 5 b requires a c irequires b }
rank 1 { recv 256b from -1 tag 7 }";
    let schedule = goal(text).unwrap();
    assert_eq!(binary(&schedule), BINARY.concat());
    assert_eq!(Schedule::read(BINARY.concat().as_slice(), "x.bin").unwrap(), schedule);
}

#[test]
fn what_is_wrong_in_the_binary_form_is_said_with_rank_and_task() {
    let cases: [(usize, u8, &str); 9] = [
        (8, 0, "got 0 ranks, cpus up to 0, nics up to 0, expected 1 to 2^26 ranks with one cpu and one nic each"),
        (12, 1, "got 2 ranks, cpus up to 1, nics up to 0, expected 1 to 2^26 ranks with one cpu and one nic each"),
        (14, 39, "rank 0: section: got bytes 39 to 175, expected it to start at 38, after the previous rank's"),
        (46, 4, "rank 0: section: got 137 bytes, expected at least 168 for 4 operations"),
        (58, 1, "rank 0, task 0: waits for 1 operations, but 0 operations list it as a follower"),
        (62, 9, "rank 0, task 0: kind: got 9, expected 1 (send), 2 (recv) or 3 (calc)"),
        (102, 2, "rank 0, task 1: peer: got 2, expected a rank below 2"),
        (120, 9, "rank 0, task 1: followers: got 1 to 10, expected some of 2"),
        (175, 3, "rank 0, task 0: follower: got 3, expected an operation below 3"),
    ];
    for (at, byte, message) in cases {
        let mut bytes = BINARY.concat();
        bytes[at] = byte;
        assert_eq!(Schedule::read(bytes.as_slice(), "x.bin").unwrap_err().to_string(), format!("x.bin: {message}"));
    }
    for end in 8..BINARY.concat().len() {
        let refused = Schedule::read(&BINARY.concat()[..end], "x.bin").unwrap_err().to_string();
        assert_eq!(refused, "x.bin: the file ends too early");
    }
}

#[test]
fn a_schedule_that_makes_no_sense_is_refused() {
    let of = |task: &str| format!("{{\"format\":1,\"element_bytes\":1,\"scratch\":[0],\"ranks\":[[{task}]]}}");
    let cases = [
        (
            "{\"action\":{\"compute\":{\"time_s\":-1.0}}}",
            "x.json:1:94: rank 0, task 0: computes for -1 s, expected a finite time of at least 0 s",
        ),
        (
            "{\"action\":{\"compute\":{\"time_s\":1.0}},\"after\":[0]}",
            "x.json:1:105: rank 0, task 0: waits for task 0, expected an earlier task",
        ),
        (
            "{\"action\":{\"send\":{\"to\":1,\"tag\":0,\"data\":{\"buffer\":\"input\",\"offset\":0,\"len\":1}}}}",
            "x.json: rank 0, task 0: peer: got 1, expected a rank below 1",
        ),
        (
            "{\"action\":{\"send\":{\"to\":0,\"tag\":0,\"data\":{\"buffer\":\"input\",\"offset\":9223372036854775808,\"len\":1}}}}",
            "x.json:1:155: rank 0, task 0: a span exceeds any memory, expected smaller offsets and lengths",
        ),
        (
            "{\"action\":{\"copy\":{\"source\":{\"buffer\":\"input\",\"offset\":0,\"len\":8},\
             \"target\":{\"buffer\":\"result\",\"offset\":0,\"len\":9}}}}",
            "x.json:1:172: rank 0, task 0: got spans of 8 and 9 elements, expected equal lengths",
        ),
        (
            "{\"action\":{\"send\":{\"to\":0,\"tag\":0,\"data\":{\"buffer\":\"scratch\",\"offset\":1,\"len\":1}}}}",
            "x.json: rank 0, task 0: got scratch[1..2], expected a span within the rank's 0 elements of scratch",
        ),
    ];
    for (task, message) in cases {
        assert_eq!(json(&of(task)).unwrap_err().to_string(), message);
    }
    assert!(json("{").unwrap_err().to_string().starts_with("x.json:1:1: "));
    let wrong_type = "{\"action\":{\"compute\":{\"time_s\":\"1\"}}}";
    assert_eq!(
        json(&of(wrong_type)).unwrap_err().to_string(),
        "x.json:1:88: invalid type: string \"1\", expected a number"
    );
}

#[test]
fn what_takes_longer_than_goal_can_say_is_refused() {
    let data = Span::new(Buffer::Scratch, 8);
    let copy = Draft { actions: vec![Action::Copy { source: data, target: data }], waits: Vec::new() };
    let mut builder = Builder::default();
    builder.set(0, &copy).unwrap();
    let schedule = builder.schedule(vec![8], 1);
    assert!(written(&schedule, 1e-9).unwrap().contains("calc 8\n"));
    let message = "rank 0, task 0: computes for inf s, expected at most 2^53 ns in GOAL";
    assert_eq!(written(&schedule, 1e308).unwrap_err().to_string(), message);
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
        let _ = goal(&text);
    }

    #[test]
    fn damaged_goal_is_read_or_refused_in_one_line(text in damaged(EXAMPLE)) {
        match goal(&text) {
            Ok(schedule) => {
                prop_assert_eq!(&goal(&written(&schedule, 0.0).unwrap()).unwrap(), &schedule);
                prop_assert_eq!(Schedule::read(binary(&schedule).as_slice(), "x.bin").unwrap(), schedule);
            }
            Err(error) => prop_assert!(error.to_string().starts_with("x.goal") && !error.to_string().contains('\n')),
        }
    }

    #[test]
    fn damaged_binary_goal_is_read_or_refused(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = BINARY.concat();
        edits.into_iter().for_each(|(at, byte)| bytes[8 + at.index(BINARY.concat().len() - 8)] = byte);
        if let Ok(schedule) = Schedule::read(bytes.as_slice(), "x.bin") {
            prop_assert_eq!(Schedule::read(binary(&schedule).as_slice(), "x.bin").unwrap(), schedule);
        }
    }

    #[test]
    fn no_text_makes_the_json_parser_panic(text in any::<String>()) {
        let _ = json(&text);
    }

    #[test]
    fn whatever_is_packed_is_unpacked_and_written_and_read(ranks in drafts()) {
        let mut builder = Builder::default();
        ranks.iter().enumerate().for_each(|(rank, draft)| builder.set(rank, draft).unwrap());
        let schedule = builder.schedule(vec![1 << 40; ranks.len()], 4);
        for (rank, draft) in ranks.iter().enumerate() {
            prop_assert_eq!(&schedule.tasks(rank), draft);
        }
        let mut text = Vec::new();
        schedule.write(Form::Json, Costs::default(), &mut text).unwrap();
        prop_assert_eq!(json(std::str::from_utf8(&text).unwrap()).unwrap(), schedule);
    }
}

/// Tasks of some ranks, with all kinds of actions and waits.
fn drafts() -> impl Strategy<Value = Vec<Draft>> {
    let number = || prop_oneof![0..3_usize, 100..200_usize, Just(1 << 30)];
    let buffer = prop::sample::select(vec![Buffer::Input, Buffer::Result, Buffer::Scratch]);
    let span = || (buffer.clone(), number(), number()).prop_map(|(buffer, offset, len)| Span { buffer, offset, len });
    let tag = || prop_oneof![Just(0_u32), any::<u32>()];
    let time_s = prop_oneof![(0..1_u64 << 53).prop_map(|time| time as f64 / 1e9), 0.0..1e300];
    let source = prop_oneof![Just(Source::Any), (0..4_u32).prop_map(Source::Rank)];
    let action = prop_oneof![
        (0..4_u32, tag(), span()).prop_map(|(to, tag, data)| Action::Send { to, tag, data }),
        (source, tag(), span()).prop_map(|(from, tag, into)| Action::Recv { from, tag, into }),
        (span(), span(), any::<bool>()).prop_map(|(source, target, is_source_left)| {
            Action::Combine { source, target: Span { len: source.len, ..target }, is_source_left }
        }),
        (span(), span())
            .prop_map(|(source, target)| Action::Copy { source, target: Span { len: source.len, ..target } }),
        time_s.prop_map(|time_s| Action::Compute { time_s }),
    ];
    let waits = prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..3);
    let tasks = prop::collection::vec((action, waits), 0..300);
    let draft = tasks.prop_map(|tasks| {
        let mut draft = Draft::default();
        for (action, waits) in tasks {
            let task = draft.push(action);
            let waits = waits.into_iter().filter(|_| task > 0);
            let wait = |(other, is_for_start): (prop::sample::Index, bool)| Wait {
                task,
                is_for_start,
                other: other.index(task as usize) as u32,
            };
            draft.waits.extend(waits.map(wait));
        }
        draft.sort().unwrap();
        draft
    });
    prop::collection::vec(draft, 4..5)
}
