//! The ports of groups of switches to other groups, as on dragonflies.
//!
//! Keys: `groups`, `links_per_pair_of_groups` (default: as many as fit), `global_arrangement` (default "relative").
//!
//! Global port k of a group is at its switch k / `per_switch`. Ports k, k + (groups - 1), k + 2 (groups - 1), ... lead to the
//! same group; those that remain are unused. The first ports of group i lead, with k from 0,
//!
//! - "absolute": to the groups in order, without i itself: to k, or from k = i on to k + 1;
//! - "relative": to i + k + 1, modulo the number of groups;
//! - "circulant": to i + 1, i - 1, i + 2, i - 2, ..., modulo the number of groups.
//!
//! Source: E. Hastings, D. Rincon-Cruz, M. Spehlmann, S. Meyers, A. Xu, D. P. Bunde, V. J. Leung, "Comparing global link
//! arrangements for dragonfly networks", CLUSTER 2015.

use std::ops::Range;

use hocket_core::Result;
use hocket_core::units::count_in_words;

use crate::Section;

/// The global ports of each group.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GlobalPorts {
    pub groups: usize,
    /// Number of global ports of a switch.
    pub per_switch: usize,
    /// Number of global links from one group to each other group.
    lanes: usize,
    arrangement: Arrangement,
}

/// To which groups ports lead.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Arrangement {
    Absolute,
    Relative,
    Circulant,
}

use Arrangement::{Absolute, Circulant, Relative};

const LINKS: &str = "links_per_pair_of_groups";
const ARRANGEMENTS: &[(&str, Arrangement)] =
    &[("relative", Relative), ("absolute", Absolute), ("circulant", Circulant)];

impl GlobalPorts {
    /// Reads its keys.
    pub fn read(section: &Section, switches: usize, per_switch: usize) -> Result<Self> {
        let ports = switches.saturating_mul(per_switch);
        let links = section.count_or(LINKS, 1)?;
        section.ensure(links <= ports, LINKS, &format!("at most {ports}, the global ports of a group"))?;
        let most = (ports / links).saturating_add(1);
        let groups = section.count_or("groups", most)?;
        let each = count_in_words(links, "global link");
        section.ensure(groups <= most, "groups", &format!("at most {most}, so that each pair of groups has {each}"))?;
        let fitting = ports.checked_div(groups - 1).unwrap_or(0);
        let lanes = if section.contains(LINKS) { links } else { fitting };
        Ok(Self { groups, per_switch, lanes, arrangement: section.choice("global_arrangement", ARRANGEMENTS)? })
    }

    /// Number of global links from one group to all others.
    pub fn count(&self) -> usize {
        self.lanes * (self.groups - 1)
    }

    /// Groups such that each other group has the same ports to groups as one of them, and how many are alike.
    pub fn unlike(&self) -> (Range<usize>, usize) {
        let are_alike = self.lanes < 2 || self.arrangement != Absolute;
        if are_alike { (0..1, self.groups) } else { (0..self.groups, 1) }
    }

    /// The group to which a port of a group leads.
    pub fn other(&self, group: usize, port: usize) -> usize {
        let place = port % (self.groups - 1);
        let ahead = match self.arrangement {
            Absolute => return place + usize::from(place >= group),
            Relative => place + 1,
            Circulant if place.is_multiple_of(2) => place / 2 + 1,
            Circulant => self.groups - place / 2 - 1,
        };
        (group + ahead) % self.groups
    }

    /// The ports of a group to another one.
    pub fn leading(&self, group: usize, other: usize) -> impl Iterator<Item = usize> {
        let ahead = (other + self.groups - group) % self.groups;
        let first = match self.arrangement {
            Absolute => other - usize::from(other > group),
            Relative => ahead - 1,
            Circulant if 2 * ahead <= self.groups => 2 * ahead - 2,
            Circulant => 2 * (self.groups - ahead) - 1,
        };
        (0..self.lanes).map(move |lane| first + lane * (self.groups - 1))
    }

    /// The switch of a port, as its index in its group.
    pub fn switch_of(&self, port: usize) -> usize {
        port / self.per_switch
    }

    /// The switches at both ends of the link of a port, as indices in their groups.
    pub fn ends(&self, group: usize, port: usize) -> [usize; 2] {
        let lane = port / (self.groups - 1);
        let back = self.leading(self.other(group, port), group).nth(lane);
        [port, back.unwrap_or(port)].map(|port| self.switch_of(port))
    }
}
