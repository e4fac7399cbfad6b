//! Mailboxes beside the rules themselves, written down with plain lists.

use hocket_core::matching::Mailboxes;
use hocket_core::{Source, Tag};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Act {
    Hold(u32, Tag),
    Wait(Source, Tag),
    TakeMessage(Source, Tag),
    TakeReceive(u32, Tag),
    Withdraw(usize),
    /// Takes all messages and withdraws all receives, the latest first.
    Empty,
}

fn acts(senders: u32) -> impl Strategy<Value = Vec<(usize, Act)>> {
    let source = move || prop_oneof![8 => (0..senders).prop_map(Source::Rank), 1 => Just(Source::Any)];
    let act = prop_oneof![
        15 => (0..senders, 0..2u32).prop_map(|(from, tag)| Act::Hold(from, tag)),
        15 => (source(), 0..2u32).prop_map(|(source, tag)| Act::Wait(source, tag)),
        4 => (source(), 0..2u32).prop_map(|(source, tag)| Act::TakeMessage(source, tag)),
        4 => (0..senders, 0..2u32).prop_map(|(from, tag)| Act::TakeReceive(from, tag)),
        1 => (0..40usize).prop_map(Act::Withdraw),
        1 => Just(Act::Empty),
    ];
    prop::collection::vec((0..2usize, act), 0..400)
}

/// The messages and the receives of one rank, each with a number of its own, in the order in which they came.
#[derive(Default)]
struct Lists {
    messages: Vec<(u32, Tag, usize)>,
    receives: Vec<(Source, Tag, usize)>,
}

impl Lists {
    fn take_message(&mut self, source: Source, tag: Tag) -> Option<(u32, usize)> {
        let found = self.messages.iter().position(|(from, sent, _)| *sent == tag && source.accepts(*from))?;
        let (from, _, number) = self.messages.remove(found);
        Some((from, number))
    }

    fn take_receive(&mut self, from: u32, tag: Tag) -> Option<usize> {
        let found = self.receives.iter().position(|(source, wanted, _)| *wanted == tag && source.accepts(from))?;
        Some(self.receives.remove(found).2)
    }

    fn withdraw(&mut self, index: usize) -> Option<usize> {
        (index < self.receives.len()).then(|| self.receives.remove(index).2)
    }

    fn wanted(&self) -> Vec<(Source, Tag)> {
        let mut kinds = Vec::new();
        for (source, tag, _) in &self.receives {
            if !kinds.contains(&(*source, *tag)) {
                kinds.push((*source, *tag));
            }
        }
        kinds
    }

    fn is_between(&self, from: u32, tag: Tag) -> bool {
        self.receives.iter().any(|(source, wanted, _)| *wanted == tag && source.accepts(from))
            && self.messages.iter().any(|(sender, sent, _)| (*sender, *sent) == (from, tag))
    }
}

fn compare(acts: Vec<(usize, Act)>) {
    let (mut mailboxes, mut lists) = (Mailboxes::new(2), [Lists::default(), Lists::default()]);
    for (number, (rank, act)) in acts.into_iter().enumerate() {
        let list = &mut lists[rank];
        match act {
            Act::Hold(from, tag) => {
                assert_eq!(mailboxes.is_between(rank, from, tag), list.is_between(from, tag));
                mailboxes.hold(rank, from, tag, number);
                list.messages.push((from, tag, number));
            }
            Act::Wait(source, tag) => {
                mailboxes.wait(rank, source, tag, number);
                list.receives.push((source, tag, number));
            }
            Act::TakeMessage(source, tag) => {
                assert_eq!(mailboxes.take_message(rank, source, tag), list.take_message(source, tag));
            }
            Act::TakeReceive(from, tag) => {
                assert_eq!(mailboxes.take_receive(rank, from, tag), list.take_receive(from, tag));
            }
            Act::Withdraw(index) => {
                let withdrawn = list.withdraw(index);
                mailboxes.withdraw(rank, |receive| Some(*receive) == withdrawn);
            }
            Act::Empty => {
                for (from, tag, number) in std::mem::take(&mut list.messages) {
                    assert_eq!(mailboxes.take_message(rank, Source::Rank(from), tag), Some((from, number)));
                }
                for (.., number) in std::mem::take(&mut list.receives).into_iter().rev() {
                    mailboxes.withdraw(rank, |receive| *receive == number);
                }
            }
        }
        assert_eq!(mailboxes.is_waiting(rank), !list.receives.is_empty());
        assert_eq!(mailboxes.waiting_receives(rank), list.wanted());
        assert_eq!(
            mailboxes.oldest(rank).map(|(.., number)| *number),
            list.messages.first().map(|(.., number)| *number)
        );
        let mut unexpected: Vec<_> =
            mailboxes.unexpected(rank).map(|(from, tag, number)| (from, tag, *number)).collect();
        unexpected.sort_unstable_by_key(|(.., number)| *number);
        assert_eq!(unexpected, list.messages);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn messages_and_receives_meet_as_in_lists(acts in prop_oneof![acts(4), acts(60)]) {
        compare(acts);
    }
}
