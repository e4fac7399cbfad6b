//! The ports of groups of switches to other groups, as on dragonflies.
//!
//! Global port k of a group is at its switch k / `per_switch` and leads to the group 1 + k mod (groups - 1) further on. All
//! pairs of groups have the same number of links, as many as fit; the remaining ports are unused.

use hocket_core::Result;

use crate::Section;

/// The global ports of each group.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GlobalPorts {
    pub groups: usize,
    /// Number of switches of a group that have global ports, and of global ports of each.
    pub switches: usize,
    pub per_switch: usize,
}

impl GlobalPorts {
    /// Reads `groups`; by default as many as global links lead to.
    pub fn read(section: &Section, switches: usize, per_switch: usize) -> Result<Self> {
        let most = switches.saturating_mul(per_switch).saturating_add(1);
        let groups = section.count_or("groups", most)?;
        let expected = format!("at most {most}, so that a global link leads to each other group");
        section.ensure(groups <= most, "groups", &expected)?;
        Ok(Self { groups, switches, per_switch })
    }

    /// Number of global links from one group to each other group.
    pub fn lanes(&self) -> usize {
        self.switches.saturating_mul(self.per_switch).checked_div(self.groups - 1).unwrap_or(0)
    }

    /// Number of global links from one group to all others.
    pub fn count(&self) -> usize {
        self.lanes() * (self.groups - 1)
    }

    /// The distance in groups to which a port leads.
    pub fn distance(&self, port: usize) -> usize {
        1 + port % (self.groups - 1)
    }

    /// The port at the other end of a port's link, where the link back begins.
    pub fn opposite(&self, port: usize) -> usize {
        let others = self.groups - 1;
        port / others * others + others - self.distance(port)
    }

    /// The ports to the group that is `distance` further on.
    pub fn leading(&self, distance: usize) -> impl Iterator<Item = usize> {
        (0..self.lanes()).map(move |lane| distance - 1 + lane * (self.groups - 1))
    }

    /// The switch of a port, as its index in its group.
    pub fn switch_of(&self, port: usize) -> usize {
        port / self.per_switch
    }
}
