//! The header of a multicast: what a member learns before the payload.

use std::rc::Rc;

use hocket_algorithms::multicast::header_bytes;

use super::members::Members;

/// A header, as seen by the member that receives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The multicast's number in its domain, from 1 on.
    pub id: u64,
    /// Size of the payload.
    pub bytes: usize,
    /// The distributing algorithm's index in the catalogue.
    pub algorithm: u16,
    /// Values of the algorithm's parameters, in the order of declaration.
    pub parameters: Vec<u64>,
    /// Whether the payload follows the header in the same message.
    pub is_inlined: bool,
    /// The receivers.
    pub members: Rc<Members>,
    /// For this member and those below it in the tree: the number of earlier multicasts to each, modulo 2^32.
    pub earlier: Vec<u32>,
}

/// "HkM" and the version of this layout.
const MAGIC: [u8; 4] = *b"HkM1";
/// The largest number of parameters of an algorithm.
const MOST_PARAMETERS: usize = 8;

impl Header {
    /// The largest size of a header in a domain of `ranks` ranks, without the payload.
    pub fn most_bytes(ranks: usize) -> usize {
        header_bytes(ranks, ranks) + 8 * MOST_PARAMETERS
    }

    /// The message for the members of `earlier`; all numbers are little-endian:
    ///
    /// | bytes | content |
    /// |---|---|
    /// | 4, 2, 1, 1 | magic, algorithm, parameters, flag of an inlined payload |
    /// | 8, 8, 4, 4 | id, payload bytes, ranks, members told |
    /// | ranks / 8, 4 each, 8 each | bitmap, earlier multicasts of the members told, parameters |
    /// | the rest | the payload, if it is inlined |
    pub fn encode(&self, earlier: &[u32], ranks: usize, payload: &[u8]) -> Box<[u8]> {
        let mut message = Vec::with_capacity(Self::most_bytes(ranks) + payload.len());
        message.extend(MAGIC);
        message.extend(self.algorithm.to_le_bytes());
        message.extend([self.parameters.len() as u8, self.is_inlined.into()]);
        message.extend(self.id.to_le_bytes());
        message.extend((self.bytes as u64).to_le_bytes());
        message.extend((ranks as u32).to_le_bytes());
        message.extend((earlier.len() as u32).to_le_bytes());
        message.extend(self.members.bitmap());
        earlier.iter().for_each(|count| message.extend(count.to_le_bytes()));
        self.parameters.iter().for_each(|value| message.extend(value.to_le_bytes()));
        message.extend(payload);
        message.into()
    }

    /// The header and the payload behind it; none if the message does not belong to a domain of `ranks` ranks.
    pub fn decode(message: &[u8], ranks: usize) -> Option<(Self, &[u8])> {
        let mut rest = Reader(message);
        let is_ours = rest.take(4)? == MAGIC;
        let algorithm = u16::from_le_bytes(rest.array()?);
        let [parameters, is_inlined] = rest.array()?;
        let id = u64::from_le_bytes(rest.array()?);
        let bytes = usize::try_from(u64::from_le_bytes(rest.array()?)).ok()?;
        let has_these_ranks = u32::from_le_bytes(rest.array()?) as usize == ranks;
        let count = u32::from_le_bytes(rest.array()?) as usize;
        if !is_ours || !has_these_ranks || count > ranks {
            return None;
        }
        let members = Rc::new(Members::new(rest.take(Members::bitmap_bytes(ranks))?, ranks)?);
        let earlier = (0..count).map(|_| rest.array().map(u32::from_le_bytes)).collect::<Option<_>>()?;
        let parameters = (0..parameters).map(|_| rest.array().map(u64::from_le_bytes)).collect::<Option<_>>()?;
        let is_inlined = is_inlined != 0;
        let is_whole = rest.0.len() == if is_inlined { bytes } else { 0 };
        is_whole.then_some((Self { id, bytes, algorithm, parameters, is_inlined, members, earlier }, rest.0))
    }
}

struct Reader<'m>(&'m [u8]);

impl<'m> Reader<'m> {
    fn take(&mut self, len: usize) -> Option<&'m [u8]> {
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(ranks: usize) -> Header {
        let mut bitmap = vec![0; Members::bitmap_bytes(ranks)];
        bitmap[0] = 1;
        bitmap[(ranks - 1) / 8] |= 1 << ((ranks - 1) % 8);
        let members = Rc::new(Members::new(&bitmap, ranks).unwrap());
        Header {
            id: 1 << 40,
            bytes: 3,
            algorithm: 7,
            parameters: vec![65536],
            is_inlined: true,
            members,
            earlier: vec![1, u32::MAX],
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for ranks in [2, 64, 65, 4096] {
            let header = example(ranks);
            let message = header.encode(&header.earlier, ranks, b"abc");
            assert!(message.len() <= Header::most_bytes(ranks) + 3);
            assert_eq!(Header::decode(&message, ranks), Some((header, &b"abc"[..])));
        }
    }

    #[test]
    fn other_messages_are_refused() {
        let header = example(65);
        let message = header.encode(&header.earlier, 65, b"abc");
        for len in 0..message.len() {
            assert_eq!(Header::decode(&message[..len], 65), None, "cut off after {len}");
        }
        assert_eq!(Header::decode(&message, 66), None);
        let mut foreign = message.clone();
        foreign[3] ^= 1;
        assert_eq!(Header::decode(&foreign, 65), None);
    }
}
