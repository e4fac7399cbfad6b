//! Known answers with their derivations, and properties. Machines have 1 B/s by default, so that times are exact.

use std::collections::HashSet;

use hocket_machine::{Hop, Machine};
use hocket_simulate::{Flight, LinkUse, Milestone, Platform, SharedNetwork, Traffic};
use proptest::prelude::*;

/// A message: when it is injected, its nodes, and its bytes.
type Sent = (f64, usize, usize, f64);

fn read(keys: &str, node: &str) -> hocket_core::Result<Platform> {
    let text = format!("name = \"test\"\n[network]\nmodel = \"links\"\ntopology = \"torus\"\n{keys}\n[node]\n{node}\n");
    Platform::new(&Machine::parse(&text, "m.toml")?)
}

fn shared(platform: &Platform) -> &dyn SharedNetwork {
    platform.network.shared_network().unwrap()
}

/// A torus with links of 1 B/s and a latency of 1 s.
fn torus(dims: &[usize], ports: usize, keys: &str) -> Platform {
    let keys = format!("dims = {dims:?}\nlink_bandwidth = \"1 B/s\"\nlink_latency = \"1 s\"\n{keys}");
    read(&keys, &format!("ports = {ports}")).unwrap()
}

const WORMHOLE: &str = "switching = \"wormhole\"";
const FAIR: &str = "sharing = \"fair\"";
const ALL: [&str; 3] = ["", WORMHOLE, FAIR];

/// The times at which each message was sent and arrived, and the use of links.
fn run(platform: &Platform, messages: &[Sent]) -> (Vec<[f64; 2]>, Vec<LinkUse>) {
    let mut traffic = shared(platform).traffic();
    let times = drive(&mut *traffic, messages);
    (times, traffic.links())
}

/// The passages: link, bytes, start and end.
fn passages(platform: &Platform, messages: &[Sent]) -> Vec<(u32, f64, f64, f64)> {
    let mut traffic = shared(platform).traffic();
    traffic.passages().unwrap().keep();
    drive(&mut *traffic, messages);
    let passage_list = traffic.passages().unwrap().take().unwrap();
    passage_list.iter().map(|passage| (passage.link, passage.bytes, passage.start_s, passage.end_s)).collect()
}

/// The times at which each message was sent and then arrived, once each. Checks that time never goes back.
fn drive(traffic: &mut dyn Traffic, messages: &[Sent]) -> Vec<[f64; 2]> {
    let mut times = vec![[f64::NAN; 2]; messages.len()];
    let (mut progress, mut last_s, mut next) = (Vec::new(), 0.0, 0);
    loop {
        while let Some((time_s, from, to, bytes)) = messages.get(next).filter(|next| next.0 <= traffic.next_s()) {
            traffic.inject(*time_s, (next as u32, *from, *to, *bytes).into());
            next += 1;
        }
        let now_s = traffic.next_s();
        if now_s.is_infinite() {
            break;
        }
        assert!(now_s >= last_s);
        last_s = now_s;
        traffic.advance(&mut progress);
        for (id, milestone) in progress.drain(..) {
            let [sent_s, arrived_s] = &mut times[id as usize];
            let (time_s, at_s, is_in_order) = match milestone {
                Milestone::Sent => (sent_s, now_s, true),
                Milestone::Arrives(at_s) => (arrived_s, at_s, !sent_s.is_nan()),
                Milestone::Answered(_) => unreachable!("nobody asked"),
            };
            assert!(time_s.is_nan() && is_in_order);
            *time_s = at_s;
        }
    }
    assert!(times.iter().flatten().all(|time_s| time_s.is_finite()));
    assert_eq!(traffic.deadlock(), None);
    times
}

fn arrivals(platform: &Platform, messages: &[Sent]) -> Vec<f64> {
    run(platform, messages).0.into_iter().map(|[_, arrived_s]| arrived_s).collect()
}

fn route(platform: &Platform, from: usize, to: usize) -> Vec<usize> {
    let mut hops: Vec<Hop> = Vec::new();
    shared(platform).fabric().topology.route(from, to, &mut hops);
    hops.into_iter().map(|hop| hop.link as usize).collect()
}

#[test]
fn any_message_alone_takes_the_closed_form_to_the_last_bit() {
    // h l + n / B.
    let keys = "dims = [5, 3, 4]\nlink_bandwidth = \"3.87 GB/s\"\nlink_latency = \"137 ns\"";
    for sharing in ALL {
        let network = read(&format!("{keys}\n{sharing}"), "").unwrap();
        for to in 0..60 {
            let alone_s = route(&network, 7, to).len() as f64 * 137e-9 + 12345.0 / 3.87e9;
            assert_eq!(arrivals(&network, &[(0.0, 7, to, 12345.0)]), [alone_s]);
        }
    }
}

#[test]
fn links_without_latency_take_the_time_of_one_transfer() {
    let network = read("dims = [8, 8]\nlink_bandwidth = \"1 B/s\"", "").unwrap();
    assert_eq!(run(&network, &[(2.0, 0, 19, 10.0)]).0, [[12.0, 12.0]]);
}

#[test]
fn empty_messages_take_the_latency() {
    for keys in ALL {
        assert_eq!(run(&torus(&[8], 1, keys), &[(0.0, 0, 3, 0.0), (0.0, 0, 3, 0.0)]).0, [[0.0, 3.0]; 2]);
    }
}

#[test]
fn a_message_to_the_own_node_occupies_its_port() {
    for keys in ALL {
        let times = run(&torus(&[8], 1, keys), &[(0.0, 3, 3, 10.0), (0.0, 3, 4, 10.0)]).0;
        assert_eq!(times, [[10.0, 10.0], [20.0, 21.0]]);
    }
}

#[test]
fn the_second_of_two_messages_over_one_link_comes_one_transfer_later() {
    // Both go from node 0 to node 1.
    for keys in ["", WORMHOLE] {
        let (times, links) = run(&torus(&[8], 2, keys), &[(0.0, 0, 1, 10.0), (0.0, 0, 1, 10.0)]);
        assert_eq!(times, [[10.0, 11.0], [20.0, 21.0]]);
        assert_eq!(links[0], LinkUse { bytes: 20.0, busy_s: 20.0, waiting_s: 10.0 });
    }
}

#[test]
fn the_head_that_reaches_a_link_first_goes_first() {
    // 0 to 2 is injected first, but the message from 1 to 2 is a link ahead: the head of 0 to 2 is there at 1, waits
    // until 10, and is at the receiver at 11.
    let (times, links) = run(&torus(&[8], 1, ""), &[(0.0, 0, 2, 10.0), (0.0, 1, 2, 10.0)]);
    assert_eq!(times, [[10.0, 21.0], [10.0, 11.0]]);
    assert_eq!(links[2], LinkUse { bytes: 20.0, busy_s: 20.0, waiting_s: 9.0 });
    // Wormholes that ask at one time take their links in the order of nodes: 1 to 2 starts when the link is free, at 11.
    let times = run(&torus(&[8], 1, WORMHOLE), &[(0.0, 0, 2, 10.0), (0.0, 1, 2, 10.0)]).0;
    assert_eq!(times, [[10.0, 12.0], [21.0, 22.0]]);
}

#[test]
fn heads_that_reach_a_link_at_one_time_go_in_the_order_of_injection() {
    // The second message is injected when the first one's head, from one link away, reaches its link.
    assert_eq!(arrivals(&torus(&[8], 2, ""), &[(0.0, 0, 2, 10.0), (1.0, 1, 2, 10.0)]), [12.0, 22.0]);
}

#[test]
fn a_blocked_message_holds_the_links_behind_it_in_a_wormhole_only() {
    // 1 to 0 blocks 2 to 0 until 10. 2 to 1 waits until 2 to 0 has passed the first link: until 10 if that is stored in
    // front of the second link, until 19 if it moves as a whole from 9 on.
    let messages = [(0.0, 1, 0, 10.0), (0.0, 2, 0, 10.0), (0.0, 2, 1, 10.0)];
    assert_eq!(arrivals(&torus(&[8], 2, ""), &messages), [11.0, 21.0, 21.0]);
    assert_eq!(arrivals(&torus(&[8], 2, WORMHOLE), &messages), [11.0, 21.0, 30.0]);
}

#[test]
fn a_ring_shift_meets_no_contention() {
    let messages: Vec<_> = (0..8).map(|node| (0.0, node, (node + 1) % 8, 10.0)).collect();
    for keys in ALL {
        let (times, links) = run(&torus(&[8], 1, keys), &messages);
        assert_eq!(times, [[10.0, 11.0]; 8]);
        assert!(links.iter().all(|link| link.waiting_s == 0.0));
    }
}

#[test]
fn a_shift_by_three_shares_every_link_three_times() {
    // All 8 heads are at their first links at 0. They reach the second at 1, where the first messages end at 10, and
    // the third at 11, where the second messages end at 20: starts at 0, 10, 20, and the head arrives at 21.
    let messages: Vec<_> = (0..8).map(|node| (0.0, node, (node + 3) % 8, 10.0)).collect();
    let (times, links) = run(&torus(&[8], 1, ""), &messages);
    assert_eq!(times, [[10.0, 31.0]; 8]);
    assert_eq!(links[0], LinkUse { bytes: 30.0, busy_s: 30.0, waiting_s: 9.0 + 9.0 });
}

/// (x, y) sends 10 B to (y, x) on a torus of 4 x 4, along row y to (y, y) and then along its column. The messages of
/// (y-1, y) and (y+1, y) have one link each to it, and go on to (y, y-1) and (y, y+1). The messages of (y+2, y) go +
/// along the row, over the link of (y-1, y), and + along the column, over the link to (y, y+1).
fn transpose() -> Vec<Sent> {
    (0..16).filter(|node| node % 4 != node / 4).map(|node| (0.0, node, node % 4 * 4 + node / 4, 10.0)).collect()
}

fn is_opposite(message: &Sent) -> bool {
    (message.1 % 4 + 2) % 4 == message.1 / 4
}

#[test]
fn a_transpose_takes_what_it_takes_by_hand() {
    // The messages of (y+2, y) reach the second link at 1, wait until 10, and are at (y, y) at 11, just when the link
    // to (y, y+1) becomes free. They have two more links: 11 + 2 + 10.
    let (times, links) = run(&torus(&[4, 4], 1, ""), &transpose());
    for (message, [_, arrived_s]) in transpose().iter().zip(times) {
        assert_eq!(arrived_s, if is_opposite(message) { 23.0 } else { 12.0 });
    }
    assert_eq!(links.iter().map(|link| link.waiting_s).sum::<f64>(), 4.0 * 9.0);
}

#[test]
fn what_a_link_carries_without_a_pause_is_one_passage() {
    // Both go from node 0 to node 1, and the first one on to node 2: the heads are at node 1 at 1.
    let messages = [(0.0, 0, 2, 10.0), (0.0, 0, 1, 5.0), (30.0, 0, 1, 5.0)];
    for keys in ["", WORMHOLE] {
        let passage_list = passages(&torus(&[8], 2, keys), &messages);
        assert_eq!(passage_list, [(0, 15.0, 0.0, 15.0), (0, 5.0, 30.0, 35.0), (2, 10.0, 1.0, 11.0)], "{keys}");
    }
    // At half the rate the shorter one ends at 10, when the other has 5 B left.
    let passage_list = passages(&torus(&[8], 2, FAIR), &messages);
    assert_eq!(passage_list, [(0, 5.0, 0.0, 10.0), (0, 10.0, 0.0, 15.0), (0, 5.0, 30.0, 35.0), (2, 10.0, 0.0, 15.0)]);
}

#[test]
fn messages_over_one_link_share_it_fairly() {
    // From node 0 to node 1, and on to node 2: half the bandwidth for each.
    let (times, links) = run(&torus(&[8], 2, FAIR), &[(0.0, 0, 1, 10.0), (0.0, 0, 2, 10.0)]);
    assert_eq!(times, [[20.0, 21.0], [20.0, 22.0]]);
    assert_eq!(links[0], LinkUse { bytes: 20.0, busy_s: 20.0, waiting_s: 20.0 });
}

#[test]
fn rates_change_when_messages_start_and_end() {
    // The first has 5 B left when the second starts; they take 10 s at half the rate; then the second has 5 B left.
    let (times, links) = run(&torus(&[8], 2, FAIR), &[(0.0, 0, 1, 10.0), (5.0, 0, 2, 10.0)]);
    assert_eq!(times, [[15.0, 16.0], [20.0, 22.0]]);
    assert_eq!(links[0], LinkUse { bytes: 20.0, busy_s: 20.0, waiting_s: 10.0 });
}

#[test]
fn fair_messages_of_the_same_two_ranks_follow_each_other() {
    // The third waits for the first, and leaves its port to the second. Both carry 10 B over link 0 until 20; then the
    // third has it alone. The fourth waits for a port until then.
    let messages = [(0.0, 0, 1, 10.0), (0.0, 0, 1, 10.0), (0.0, 0, 2, 10.0), (0.0, 0, 7, 10.0)];
    let times = run(&torus(&[8], 2, FAIR), &messages).0;
    assert_eq!(times, [[20.0, 21.0], [30.0, 31.0], [20.0, 22.0], [30.0, 31.0]]);
}

#[test]
fn fair_messages_of_different_ranks_of_the_same_two_nodes_share_links() {
    let network = torus(&[8], 2, FAIR);
    let mut traffic = shared(&network).traffic();
    for (id, ranks) in [(0, [0, 2]), (1, [1, 3])] {
        traffic.inject(0.0, Flight { ranks, ..(id, 0, 1, 10.0).into() });
    }
    let mut progress = Vec::new();
    while traffic.next_s() <= 20.0 {
        traffic.advance(&mut progress);
    }
    let of_message = |id| [(id, Milestone::Sent), (id, Milestone::Arrives(21.0))];
    assert_eq!(progress, [of_message(0), of_message(1)].concat());
}

#[test]
fn a_fair_transpose_takes_what_it_takes_by_hand() {
    // The messages of (y+2, y) share one link with those of (y-1, y), and another with those of (y+1, y): half the
    // bandwidth for all three, so 20 s, and 2 or 4 links.
    let times = run(&torus(&[4, 4], 1, FAIR), &transpose()).0;
    for (message, [_, arrived_s]) in transpose().iter().zip(times) {
        assert_eq!(arrived_s, if is_opposite(message) { 24.0 } else { 22.0 });
    }
}

#[test]
fn a_fair_message_waits_for_its_receiver_before_it_starts() {
    // Node 0 has two ports for three neighbours. The third message waits until the first has ended, at 10.
    let messages = [(0.0, 1, 0, 10.0), (0.0, 3, 0, 10.0), (0.0, 4, 0, 10.0)];
    assert_eq!(arrivals(&torus(&[4, 4], 2, FAIR), &messages), [11.0, 11.0, 21.0]);
}

#[test]
fn ports_send_so_many_messages_at_a_time() {
    let messages = [(0.0, 0, 1, 10.0), (0.0, 0, 7, 10.0), (0.0, 0, 2, 10.0)];
    for keys in ALL {
        assert_eq!(arrivals(&torus(&[8], 1, keys), &messages), [11.0, 21.0, 32.0]);
        assert_eq!(arrivals(&torus(&[8], 2, keys), &messages), [11.0, 11.0, 22.0]);
    }
    // With three ports, the third requests the link of the first at once. It is in front of its second link at 11.
    assert_eq!(arrivals(&torus(&[8], 3, ""), &messages), [11.0, 11.0, 22.0]);
}

#[test]
fn ports_receive_so_many_messages_at_a_time() {
    // Messages from three neighbours; their heads arrive at 1.
    let messages = [(0.0, 1, 0, 10.0), (0.0, 3, 0, 10.0), (0.0, 4, 0, 10.0)];
    for keys in ["", WORMHOLE] {
        assert_eq!(arrivals(&torus(&[4, 4], 1, keys), &messages), [11.0, 21.0, 31.0]);
        assert_eq!(arrivals(&torus(&[4, 4], 2, keys), &messages), [11.0, 11.0, 21.0]);
        assert_eq!(arrivals(&torus(&[4, 4], 3, keys), &messages), [11.0; 3]);
    }
    // With cut-through, the sender is done when its data has left; so it is with a wormhole that has moved.
    let sent = |keys| run(&torus(&[4, 4], 1, keys), &messages).0.iter().map(|times| times[0]).collect::<Vec<_>>();
    assert_eq!((sent(""), sent(WORMHOLE)), (vec![10.0; 3], vec![10.0, 20.0, 30.0]));
}

#[test]
fn wrong_keys_are_refused_in_one_line() {
    let expects =
        |keys: &str, line: &str| assert_eq!(read(keys, "").err().unwrap().to_string(), format!("m.toml:{line}"));
    let base = "dims = [4]\nlink_bandwidth = \"1 GB/s\"";
    let expects_of = |key: &str, line: &str| expects(&format!("{base}\n{key}"), line);
    expects("dims = [4]", " network.link_bandwidth is missing, expected a rate such as \"1 GB/s\"");
    expects("dims = [4]\nlink_bandwidth = \"1 GB\"", "6: network.link_bandwidth: got \"1 GB\", did you mean 1 GB/s?");
    expects_of(
        "link_latency = 3",
        "7: network.link_latency: got integer, expected a text in quotes, with a unit if any",
    );
    expects_of("sharing = \"fare\"", "7: network.sharing: got \"fare\", expected one of \"queue\", \"fair\"");
    expects_of(
        &format!("{FAIR}\n{WORMHOLE}"),
        "8: network.switching: unknown key, expected one of dims, hosts, layout, link_bandwidth, link_latency, local, map, \
         model, permutation, protocol, ranks_on_nodes, ranks_per_node, routing, sharing, tie, topology",
    );
    expects_of(
        "switching = \"circuit\"",
        "7: network.switching: got \"circuit\", expected one of \"cut_through\", \"wormhole\"",
    );
}

/// Up to 60 messages between the nodes of a 4 x 3 torus, in the order of their times.
fn messages() -> impl Strategy<Value = Vec<Sent>> {
    let message = (0..20u32, 0..12usize, 0..12usize, 0..12u32);
    let messages = prop::collection::vec(message, 1..60);
    messages.prop_map(|messages| {
        let mut sent: Vec<_> = messages.into_iter().map(|(t, from, to, n)| (t.into(), from, to, n.into())).collect();
        sent.sort_by(|a: &Sent, b| a.0.total_cmp(&b.0));
        sent
    })
}

/// The definition of cut-through queues, literally: the earliest possible event happens. At one time, messages first
/// request ports, in the order of injection. Then the event happens of the message that got its port first; of those
/// that got them at one time, of the lowest node; of this node's, of the first one; its head before its end.
fn by_definition(platform: &Platform, messages: &[Sent]) -> Vec<f64> {
    let (fabric, latency_s) = (shared(platform).fabric(), shared(platform).latency_s([0, 1]));
    let (ports, nodes) = (fabric.ports, fabric.topology.nodes());
    let mut link_free_s = vec![0.0f64; fabric.topology.links()];
    let mut receiver_free_s = vec![vec![0.0f64; ports]; nodes];
    let mut sending = vec![0; nodes];
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    let routes: Vec<_> = messages.iter().map(|message| route(platform, message.1, message.2)).collect();
    // When the head requests a port (none), a link or the receiver (a number of links taken); when the end leaves.
    let mut heads: Vec<_> = messages.iter().map(|message| (message.0, None)).collect();
    let mut ends_s = vec![f64::INFINITY; messages.len()];
    let mut arrivals_s = vec![0.0; messages.len()];
    let mut orders: Vec<_> = (0..messages.len()).map(|i| (-1.0, 0, i)).collect();
    let mut starts = vec![0; nodes];
    let mut start = |i: usize, now_s: f64| {
        let node = messages[i].1;
        starts[node] += 1;
        (now_s, node, starts[node])
    };
    loop {
        let ways = |i: usize| [(heads[i].0, orders[i], false, i), (ends_s[i], orders[i], true, i)];
        let can_happen = (0..messages.len()).flat_map(ways);
        let Some((now_s, _, is_end, i)) = can_happen.min_by(|a, b| a.partial_cmp(b).unwrap()) else { break };
        if now_s.is_infinite() {
            break;
        }
        let (_, from, to, bytes) = messages[i];
        if is_end {
            ends_s[i] = f64::INFINITY;
            if waiting[from].is_empty() {
                sending[from] -= 1;
            } else {
                let next = waiting[from].remove(0);
                heads[next] = (now_s, Some(0));
                orders[next] = start(next, now_s);
            }
            continue;
        }
        heads[i] = match heads[i].1 {
            None if sending[from] == ports => {
                waiting[from].push(i);
                (f64::INFINITY, None)
            }
            None => {
                sending[from] += 1;
                orders[i] = start(i, now_s);
                (now_s, Some(0))
            }
            Some(taken) if taken < routes[i].len() => {
                let start_s = now_s.max(link_free_s[routes[i][taken]]);
                link_free_s[routes[i][taken]] = start_s + bytes;
                ends_s[i] = if taken == 0 { start_s + bytes } else { ends_s[i] };
                (start_s + latency_s, Some(taken + 1))
            }
            Some(0) => {
                ends_s[i] = now_s + bytes;
                arrivals_s[i] = now_s + bytes;
                (f64::INFINITY, None)
            }
            Some(_) => {
                let frees_s = receiver_free_s[to].iter_mut();
                let free_s = frees_s.min_by(|a, b| a.total_cmp(b)).unwrap();
                *free_s = now_s.max(*free_s) + bytes;
                arrivals_s[i] = *free_s;
                (f64::INFINITY, None)
            }
        };
    }
    arrivals_s
}

/// The latency of the route, and a second per byte.
fn alone_s(platform: &Platform, message: &Sent) -> f64 {
    shared(platform).latency_s([message.1, message.2]) + message.3
}

/// Ports for all messages of a test.
const PLENTY: usize = 64;

fn any_sharing() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&ALL[..])
}

/// The definition of fair sharing, literally: between starts and ends, rates grow together until links are full. A
/// message starts when the earlier ones of the same two ranks have ended. There are ports for all.
fn by_equal_rates(platform: &Platform, messages: &[Sent]) -> Vec<f64> {
    let routes: Vec<_> = messages.iter().map(|message| route(platform, message.1, message.2)).collect();
    let mut left: Vec<_> = messages.iter().map(|message| message.3).collect();
    let mut ends = vec![f64::NAN; messages.len()];
    let mut now_s = 0.0;
    while ends.iter().any(|end| end.is_nan()) {
        let is_same = |i: usize, j: usize| (messages[i].1, messages[i].2) == (messages[j].1, messages[j].2);
        let waits = |i: usize| (0..i).any(|j| is_same(i, j) && ends[j].is_nan());
        let has_begun = |i: &usize| messages[*i].0 <= now_s && ends[*i].is_nan() && !waits(*i);
        let under_way: Vec<_> = (0..messages.len()).filter(has_begun).collect();
        let rates = max_min_rates(&routes, &under_way);
        let starts = messages.iter().map(|message| message.0).filter(|start_s| *start_s > now_s);
        let ended = under_way.iter().map(|i| now_s + left[*i] / rates[*i]);
        let next_s = starts.chain(ended).fold(f64::INFINITY, f64::min);
        for i in under_way {
            left[i] -= (next_s - now_s) * rates[i];
            if left[i] < 1e-9 {
                ends[i] = next_s + shared(platform).latency_s([messages[i].1, messages[i].2]);
            }
        }
        now_s = next_s;
    }
    ends
}

/// Grows the rates of these messages together, as far as links and messages allow, until none can grow.
fn max_min_rates(routes: &[Vec<usize>], under_way: &[usize]) -> Vec<f64> {
    let mut rates = vec![0.0; routes.len()];
    let mut growing = under_way.to_vec();
    while !growing.is_empty() {
        let load =
            |link: &usize| -> f64 { under_way.iter().filter(|i| routes[**i].contains(link)).map(|i| rates[*i]).sum() };
        let users = |link: &usize| growing.iter().filter(|i| routes[**i].contains(link)).count();
        let room = |link: &usize| (1.0 - load(link)) / users(link) as f64;
        let step = growing.iter().flat_map(|i| &routes[*i]).map(room).fold(1.0 - rates[growing[0]], f64::min);
        let can_grow = |i: &usize| rates[*i] + step < 1.0 - 1e-9 && routes[*i].iter().all(|l| room(l) > step + 1e-9);
        let next: Vec<_> = growing.iter().copied().filter(can_grow).collect();
        growing.iter().for_each(|i| rates[*i] += step);
        growing = next;
    }
    rates
}

proptest! {
    #[test]
    fn queues_follow_their_definition(messages in messages(), ports in 1..4usize, latency in 0..3u32) {
        let keys = format!("dims = [4, 3]\nlink_bandwidth = \"1 B/s\"\nlink_latency = \"{latency} s\"");
        let network = read(&keys, &format!("ports = {ports}")).unwrap();
        prop_assert_eq!(arrivals(&network, &messages), by_definition(&network, &messages));
    }

    #[test]
    fn passages_add_up_to_the_use_of_links(messages in messages(), ports in 1..4usize, keys in any_sharing()) {
        let network = torus(&[4, 3], ports, keys);
        let passage_list = passages(&network, &messages);
        for (link, carried_bytes) in run(&network, &messages).1.iter().enumerate() {
            let own: Vec<_> = passage_list.iter().filter(|passage| passage.0 as usize == link).collect();
            prop_assert_eq!(own.iter().map(|passage| passage.1).sum::<f64>(), carried_bytes.bytes);
            if keys != FAIR {
                prop_assert_eq!(own.iter().map(|passage| passage.3 - passage.2).sum::<f64>(), carried_bytes.busy_s);
                prop_assert!(own.is_sorted_by(|one, next| one.3 < next.2));
            }
        }
    }

    #[test]
    fn nothing_is_faster_than_alone(messages in messages(), ports in 1..4usize, keys in any_sharing()) {
        let network = torus(&[4, 3], ports, keys);
        for (message, arrived_s) in messages.iter().zip(arrivals(&network, &messages)) {
            prop_assert!(arrived_s >= (message.0 + alone_s(&network, message)) * (1.0 - 1e-12));
        }
    }

    #[test]
    fn fair_shares_follow_their_definition(messages in messages()) {
        let network = torus(&[4, 3], PLENTY, FAIR);
        for (found_s, expected_s) in arrivals(&network, &messages).into_iter().zip(by_equal_rates(&network, &messages)) {
            prop_assert!((found_s - expected_s).abs() < 1e-6);
        }
    }

    #[test]
    fn what_messages_are_late_is_what_they_waited_for_links(mut messages in messages(), is_fair in any::<bool>()) {
        let network = torus(&[4, 3], PLENTY, if is_fair { FAIR } else { "" });
        let mut pairs = HashSet::new();
        messages.retain(|(_, from, to, _)| !is_fair || pairs.insert((*from, *to)));
        let (times, links) = run(&network, &messages);
        let late = |(message, times): (&Sent, [f64; 2])| times[1] - message.0 - alone_s(&network, message);
        let waited_s: f64 = links.iter().map(|link| link.waiting_s).sum();
        prop_assert!((messages.iter().zip(times).map(late).sum::<f64>() - waited_s).abs() < 1e-6);
    }
}

/// With endless times, messages do not wait for each other.
#[test]
fn an_endless_time_is_no_deadlock() {
    for keys in ALL {
        let network =
            read(&format!("dims = [8]\nlink_bandwidth = \"1 B/s\"\nlink_latency = \"1e308 s\"\n{keys}"), "").unwrap();
        let mut traffic = shared(&network).traffic();
        traffic.inject(0.0, (0, 0, 3, 10.0).into());
        while traffic.next_s().is_finite() {
            traffic.advance(&mut Vec::new());
        }
        assert!(
            traffic.deadlock().unwrap().starts_with("a time in the network exceeds the range of numbers"),
            "{keys}"
        );
    }
}
