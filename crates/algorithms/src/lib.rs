//! The catalogue: one file per algorithm, grouped by collective. The list below is the registry. A file whose name is
//! in this list is in the catalogue; verification, simulation, command line and docs follow from it.

mod about;
pub mod automatic;
mod cost;
pub mod multicast;
pub mod parameter_values;
mod registry;
pub mod rules;
pub mod shapes;

pub use about::{About, SEGMENT, Steps};
pub use cost::{Cost, Price};
pub use registry::{CATALOGUE, Entry, complete, demand, find, names};

registry::catalogue! {
    allgather as Allgather {
        bine,
        bruck,
        circulant,
        hierarchical,
        k_ring,
        multi_ring,
        neighbor_exchange,
        nvls,
        pat,
        recursive_doubling,
        recursive_multiplying,
        ring,
        sparbit,
        torus_bucket,
    }
    allreduce as Allreduce {
        bine,
        circulant,
        double_tree,
        dual_root,
        edge_disjoint_trees,
        hierarchical,
        hierarchical_pipeline,
        late_rank,
        linear,
        multi_lane,
        multi_ring,
        nvls,
        nvls_tree,
        rabenseifner,
        recursive_doubling,
        recursive_multiplying,
        reduce_broadcast,
        redundant_butterfly,
        ring,
        ring_or_recursive_doubling,
        sra_knomial,
        swing,
        swing_torus,
        three_two_elimination,
        torus_bucket,
        trinaryx3,
        trinaryx3_overlapped,
        trivance,
    }
    alltoall as Alltoall {
        bine,
        bruck,
        hierarchical,
        linear,
        multi_lane,
        pairwise_exchange,
        recursive_doubling,
        retri,
        two_level,
    }
    alltoallv as Alltoallv {
        linear,
        pairwise_exchange,
    }
    barrier as Barrier {
        binomial,
        dissemination,
        hierarchical,
        k_dissemination,
        linear,
        recursive_doubling,
        redundant_butterfly,
    }
    broadcast as Broadcast {
        binary_tree,
        bine,
        binomial,
        chain,
        circulant,
        double_tree,
        edge_disjoint_trees,
        hierarchical,
        hierarchical_pipeline,
        k_nomial,
        linear,
        multi_lane,
        redundant_binomial,
        scatter_doubling_allgather,
        scatter_ring_allgather,
        tree,
        trinaryx3,
    }
    exscan as Exscan {
        binary_tree,
        chain,
        doubling_123,
        hierarchical,
        hillis_steele,
        recursive_doubling,
    }
    gather as Gather {
        bine,
        binomial,
        hierarchical,
        k_nomial,
        linear,
    }
    gatherv as Gatherv {
        binomial,
        linear,
        linear_synchronized,
    }
    neighbor_allgather as NeighborAllgather {
        linear,
        message_combining,
    }
    neighbor_alltoall as NeighborAlltoall {
        linear,
        message_combining,
    }
    reduce as Reduce {
        binary_tree,
        bine,
        binomial,
        chain,
        circulant,
        edge_disjoint_trees,
        hierarchical,
        hierarchical_pipeline,
        k_nomial,
        linear,
        multi_lane,
        rabenseifner,
        tree,
        trinaryx3,
    }
    reduce_scatter as ReduceScatter {
        bine,
        circulant,
        hierarchical,
        multi_ring,
        nvls,
        pairwise,
        pat,
        recursive_doubling,
        recursive_exchange,
        recursive_halving,
        ring,
        torus_bucket,
    }
    scan as Scan {
        binary_tree,
        chain,
        hierarchical,
        hillis_steele,
        recursive_doubling,
    }
    scatter as Scatter {
        bine,
        binomial,
        hierarchical,
        k_nomial,
        linear,
    }
    scatterv as Scatterv {
        binomial,
        linear,
        linear_window,
    }
}
