//! How many events a message takes: no count may grow by a tenth.

use hocket_core::{Buffer, Call, Collective, Program, Rank, Span};
use hocket_machine::{Machine, Noise};

use super::agenda::Action;
use super::messages::Message;
use super::*;
use crate::network::Visitor;
use crate::platform::Platform;

/// Every rank exchanges with its neighbours in a ring, then with those at twice the distance, and so on: so many
/// bytes each time.
struct Exchanges(usize);

impl Program for Exchanges {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        let (data, into) = (Span::new(Buffer::Input, self.0), Span::new(Buffer::Result, self.0));
        for distance in (0..r.size().ilog2()).map(|log| 1 << log) {
            let from = (r.rank() + r.size() - distance) % r.size();
            r.sendrecv((r.rank() + distance) % r.size(), data, from, into).await;
            r.compute(1e-6).await;
        }
    }
}

/// Counts events and messages.
struct Count<'a>(&'a Exchanges, &'a Node);

impl Visitor for Count<'_> {
    type Output = f64;

    fn visit<N: Network>(self, network: &N) -> f64 {
        let (Self(program, node), noise, options) = (self, Noise::default(), Options::default());
        let call = &Call::new(Collective::Barrier, 64, 0);
        let trial = Trial { noise: &noise, seed: 0, trial: 0, ranks: call.ranks };
        let events = Events::new(call, network, &trial, &options);
        let world = InTime::new(call, call.ranks, events, node, network.post_s(), &options);
        let (events, _, outcome) = hocket_core::run(program, call, world).into_outcome("events");
        events.steps as f64 / outcome.messages as f64
    }
}

const TORUS: &str = "model = \"links\"\ntopology = \"torus\"\ndims = [4, 4, 4]\nlink_bandwidth = \"5 GB/s\"\n\
                     link_latency = \"0.2 us\"\n";
const HOST: &str = "[host]\no = \"1 us\"\ng = \"0.3 us\"\nS = \"4 KiB\"\n";

#[test]
fn a_message_takes_no_more_events_than_it_did() {
    let fair = format!("{TORUS}sharing = \"fair\"\n");
    let hockney = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\n";
    let loggp = "model = \"loggp\"\nL = \"1 us\"\no = \"0.4 us\"\ng = \"0.6 us\"\nG = \"0.1 ns/B\"\n";
    let machines = [
        ("hockney", hockney.to_owned(), [4.2, 4.2]),
        ("loggp", loggp.to_owned(), [5.17, 5.17]),
        ("queues", TORUS.to_owned(), [2.28, 2.43]),
        ("fair", fair.clone(), [2.35, 2.41]),
        ("fair, hosts", format!("{fair}{HOST}"), [3.30, 4.46]),
    ];
    let mut worse = Vec::new();
    for (name, text, most) in machines {
        let machine = Machine::parse(&format!("name = \"test\"\n[network]\n{text}"), "test.toml").unwrap();
        let platform = Platform::new(&machine).unwrap();
        for (bytes, most) in [1000, 100_000].into_iter().zip(most) {
            let events = platform.network.visit(Count(&Exchanges(bytes), &platform.node));
            if events > 1.1 * most {
                worse.push(format!("{name}, {bytes} B: {events:.2} events a message, {most} before"));
            }
        }
    }
    assert!(worse.is_empty(), "{worse:#?}");
    assert!(size_of::<Message>() <= 136 && size_of::<(f64, Action)>() <= 24);
}
