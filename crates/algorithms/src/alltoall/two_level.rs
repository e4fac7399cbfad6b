//! Two levels: blocks first go to a member of the own group that serves the destination's place, then on from there.
//!
//! A member carries the blocks of its whole group to the ranks that have its own place in other groups. If the last
//! group is smaller, its members also share out the places that it lacks.
//!
//! Source: L. V. Kale, S. Kumar, K. Varadarajan, "A framework for collective personalized communication", IPDPS 2003:
//! the mesh of two dimensions, whose rows are the groups here.
//! Needs: nothing.
//! Counts: with G = P/g groups of g ranks, g-1 rounds of G blocks within the groups, then G-1 rounds of g blocks
//! between them. A rank sends g+G-2 messages instead of P-1, and nearly every block travels twice. When g does not
//! divide P, the formula is an upper bound.
//!
//! ```text
//! P = 6, group = 3: from rank 0 to rank 5, which is in place 2 of group 1
//! within     0 ──blocks for 2 and 5──▶ 2         0, 1 and 2 exchange like this, and so do 3, 4 and 5
//! between    2 ──blocks from 0, 1, 2──▶ 5        2 and 5 exchange like this; so do 0 and 3, and 1 and 4
//! ```

use std::ops::Range;

use hocket_core::{Call, Rank, Span};

use crate::About;
use crate::shapes::groups::{GROUP, Groups};
use crate::shapes::packed_blocks;

pub const ABOUT: About = About::new("rounds*alpha + blocks*n*beta", "inside + (groups-1)*P")
    .exact_when(|c| Groups::of(c).are_equal())
    .with_parameters(&[GROUP])
    .completing(counts);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let groups = Groups::of(c);
    let members = groups.members(r.rank() / groups.size);
    let destinations = destinations_of(c, &members, r.rank() - members.start);
    let bundles = r.scratch(destinations.len() * members.len() * c.count(0));
    within(r, c, &members, bundles).await;
    between(r, c, &destinations, bundles).await;
}

/// Each member receives the blocks that it carries: for each destination, a bundle of blocks from all members.
async fn within(r: &Rank<'_>, c: &Call, members: &Range<usize>, bundles: Span) {
    let (place, count) = (r.rank() - members.start, members.len());
    let most = destinations_of(c, members, 0).len() * c.count(0);
    let (outgoing, arrived) = (r.scratch(most), r.scratch(most));
    let own_count = destinations_of(c, members, place).len();
    for on in 0..count {
        let (to, from) = ((place + on) % count, (place + count - on) % count);
        let destinations = destinations_of(c, members, to);
        for (ordered, packed) in packed_blocks(c, &destinations, c.input(r), outgoing) {
            r.copy(ordered, packed).await;
        }
        if on > 0 {
            let (data, into) = (c.blocks(outgoing, 0, destinations.len()), c.blocks(arrived, 0, own_count));
            r.sendrecv(members.start + to, data, members.start + from, into).await;
        }
        let bundle_source = if on > 0 { arrived } else { outgoing };
        for i in 0..own_count {
            r.copy(c.block(bundle_source, i), c.block(bundles, i * count + from)).await;
        }
    }
}

/// Each member sends its bundles to their destinations, group by group.
async fn between(r: &Rank<'_>, c: &Call, destinations: &[usize], bundles: Span) {
    let (rank, groups) = (r.rank(), Groups::of(c));
    let own = rank / groups.size;
    let (place, count) = (rank % groups.size, groups.members(own).len());
    let bundle_for = |destination: usize| {
        let i = destinations.binary_search(&destination).ok()?;
        Some(c.blocks(bundles, i * count, count))
    };
    for on in 0..groups.count {
        let (to, from) = (groups.members(own + on), groups.members(own + groups.count - on));
        let arriving = c.blocks(c.result(r), from.start, from.len());
        if on == 0 {
            r.copy(bundle_for(rank).expect("its own"), arriving).await;
            continue;
        }
        let sends = async {
            for (destination, bundle) in to.filter_map(|rank| Some((rank, bundle_for(rank)?))) {
                r.send(destination, bundle).await;
            }
        };
        r.join(sends, r.recv(from.start + place % from.len(), arriving)).await;
    }
}

/// The destinations to which a member of a group carries blocks: the ranks in its place, and its share of the places
/// that its group lacks.
fn destinations_of(c: &Call, members: &Range<usize>, place: usize) -> Vec<usize> {
    let (size, count) = (Groups::of(c).size, members.len());
    (0..c.ranks).filter(|rank| rank % size % count == place).collect()
}

/// The values in formulas: the number of `groups`; the most `rounds` and `blocks` one after another; and the messages
/// `inside` all groups.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let groups = Groups::of(c);
    let (size, others, last, share) = (groups.size, groups.count - 1, groups.last(), groups.share());
    let within = ((size - 1) * groups.count).max((last - 1) * (others * share + 1));
    let values = [
        (GROUP.name, groups.size),
        ("groups", groups.count),
        ("rounds", size - 1 + others * share),
        ("blocks", within + others * size.max(share * last)),
        ("inside", groups.pairs()),
    ];
    values.map(|(name, value)| (name, value as u64)).into()
}
