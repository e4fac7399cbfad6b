use hocket_algorithms::shapes::channels::{CHANNELS, ChannelOrder};
use hocket_algorithms::shapes::groups::GROUP;
use hocket_algorithms::shapes::*;
use hocket_core::{Call, Collective, Nodes};
use proptest::prelude::*;

fn call(ranks: usize, group: u64, channels: u64, nodes: Nodes) -> Call {
    let parameters = vec![(GROUP.name, group), (CHANNELS.name, channels)];
    Call { parameters, nodes, ..Call::new(Collective::Allreduce, ranks, 1) }
}

fn rings(ranks: usize, group: u64, channels: u64, nodes: Nodes) -> Vec<Vec<Ring>> {
    let call = call(ranks, group, channels, nodes);
    let ring = |channel| (0..ranks).map(|rank| Ring::of_channel(&call, rank, channel)).collect();
    (0..channels as usize).map(ring).collect()
}

#[test]
fn channels_leave_a_node_by_different_ranks() {
    let leaving = |ring: &Vec<Ring>| (0..4).find(|rank| ring[*rank].next >= 4);
    let by = |channels| rings(8, 4, channels, Nodes::Unknown).iter().map(leaving).collect::<Vec<_>>();
    assert_eq!(by(1), [Some(3)]);
    assert_eq!(by(2), [Some(3), Some(1)]);
    assert_eq!(by(4), [Some(3), Some(0), Some(1), Some(2)]);
    assert_eq!(by(5), [Some(3), Some(3), Some(0), Some(1), Some(2)]);
}

proptest! {
    #[test]
    fn every_channel_has_all_ranks(ranks in 1_usize..40, group in 0_u64..9, channels in 1_u64..9, nodes in 1_usize..5) {
        let round_robin: Vec<_> = (0..ranks).map(|rank| rank % nodes).collect();
        let call = call(ranks, group, channels, Nodes::of(&round_robin));
        for (channel, ring) in rings(ranks, group, channels, Nodes::of(&round_robin)).iter().enumerate() {
            let order = ChannelOrder::new(&call, channel, channels as usize);
            let mut at = vec![ranks; ranks];
            for (rank, place) in ring.iter().enumerate() {
                at[place.position] = rank;
                prop_assert_eq!(Ring::rank_at(&order, place.position), rank);
            }
            for (position, rank) in at.iter().enumerate() {
                prop_assert_eq!(ring[*rank].next, at[(position + 1) % ranks]);
                prop_assert_eq!(ring[ring[*rank].next].previous, *rank);
            }
        }
    }
}
