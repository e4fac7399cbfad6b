//! The ranks that can go on.

use hocket_core::ReadyRanks;

/// The ranks that can go on, by place, the lowest first. One alone is found without a search.
pub struct Ready {
    only: Option<usize>,
    several: ReadyRanks,
    /// Whether there may be several.
    are_several: bool,
}

impl Ready {
    /// None of `ranks` ranks.
    pub fn none(ranks: usize) -> Self {
        Self { only: None, several: ReadyRanks::none(ranks), are_several: false }
    }

    /// The rank at this place can go on.
    #[inline(always)]
    pub fn push(&mut self, place: usize) {
        if !self.are_several && self.only.is_none_or(|only| only == place) {
            self.only = Some(place);
            return;
        }
        self.only.take().into_iter().chain([place]).for_each(|place| self.several.push(place));
        self.are_several = true;
    }

    /// Takes the next place.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<usize> {
        if self.only.is_some() || !self.are_several {
            return self.only.take();
        }
        let place = self.several.pop_lowest();
        self.are_several = place.is_some();
        place
    }
}
