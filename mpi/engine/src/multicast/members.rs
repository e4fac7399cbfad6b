//! The members of a multicast, and their numbers among themselves.

/// A set of ranks. Bit r of the bitmap (bit r mod 8 of byte r / 8) tells whether rank r is a member. The *logical
/// number* of a member is the number of lower members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    bitmap: Box<[u8]>,
    ranks: Box<[u32]>,
}

impl Members {
    /// Size of a bitmap of `ranks` ranks, in bytes.
    pub fn bitmap_bytes(ranks: usize) -> usize {
        ranks.div_ceil(8)
    }

    /// The members in a bitmap of `ranks` ranks; none if it contains other ranks or has another size.
    pub fn new(bitmap: &[u8], ranks: usize) -> Option<Self> {
        let bits = |(index, byte): (usize, &u8)| {
            let byte = *byte;
            (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| (8 * index + bit) as u32)
        };
        let members: Box<[u32]> = bitmap.iter().enumerate().flat_map(bits).collect();
        let is_inside = members.last().is_none_or(|last| (*last as usize) < ranks);
        let is_whole = bitmap.len() == Self::bitmap_bytes(ranks);
        (is_whole && is_inside).then(|| Self { bitmap: bitmap.into(), ranks: members })
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.ranks.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// The rank of the member of this logical number.
    pub fn rank(&self, logical: usize) -> usize {
        self.ranks[logical] as usize
    }

    /// All ranks, ascending.
    pub fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// The logical number of a rank, if it is a member.
    pub fn logical(&self, rank: usize) -> Option<usize> {
        self.ranks.binary_search(&(rank as u32)).ok()
    }

    /// The bitmap.
    pub fn bitmap(&self) -> &[u8] {
        &self.bitmap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_numbered_from_the_lowest_of_the_first_byte() {
        let members = Members::new(&[0b1000_0001, 0, 0b10], 18).unwrap();
        assert_eq!(members.ranks(), [0, 7, 17]);
        assert_eq!((members.logical(7), members.logical(8), members.rank(2)), (Some(1), None, 17));
        assert!(Members::new(&[0; 9], 65).unwrap().is_empty());
    }

    #[test]
    fn every_rank_round_the_edges_of_words_has_its_bit() {
        for ranks in [1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 4096] {
            let mut bitmap = vec![0; Members::bitmap_bytes(ranks)];
            bitmap[(ranks - 1) / 8] |= 1 << ((ranks - 1) % 8);
            assert_eq!(Members::new(&bitmap, ranks).unwrap().ranks(), [ranks as u32 - 1]);
            assert_eq!(Members::new(&bitmap, ranks - 1), None, "a rank that is not there");
            assert_eq!(Members::new(&bitmap, ranks + 8), None, "a bitmap that is too short");
        }
    }
}
