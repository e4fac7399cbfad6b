//! The steps of a rank by what they use, to find those that may clash.

use std::hash::Hash;

use hocket_core::Span;
use rustc_hash::FxHashMap;

use crate::set::Set;

/// Each of the three buffers is divided into so many parts.
const PARTS: usize = 32;
const ALL_PARTS: usize = 3 * PARTS;

/// The bytes for up to 64 steps of a rank.
pub const BYTES_OF_64_STEPS: usize = size_of::<[u64; ALL_PARTS]>();

/// The steps that use each part of each buffer, and the steps with each verb.
pub struct Uses<V> {
    elements_per_part: usize,
    /// For each 64 steps: those that use each part, as bits.
    of_parts: Vec<[u64; ALL_PARTS]>,
    /// The steps with each verb, as bits in words of 64, behind the number of the first word.
    of_verbs: FxHashMap<V, (usize, Vec<u64>)>,
}

impl<V: Eq + Hash> Uses<V> {
    /// No steps; buffers have about so many elements.
    pub fn new(elements: usize) -> Self {
        let elements_per_part = elements / PARTS + 1;
        Self { elements_per_part, of_parts: Vec::new(), of_verbs: FxHashMap::default() }
    }

    /// Adds a step, which uses these spans; steps come in their order.
    pub fn add(&mut self, step: usize, verb: V, spans: [Span; 2]) {
        let (at, bit) = (step / 64, 1 << (step % 64));
        if at == self.of_parts.len() {
            self.of_parts.push([0; ALL_PARTS]);
        }
        for part in self.parts(spans) {
            self.of_parts[at][part] |= bit;
        }
        let (first, words) = self.of_verbs.entry(verb).or_insert((at, Vec::new()));
        words.resize(at - *first + 1, 0);
        words[at - *first] |= bit;
    }

    /// The steps that are not in a set and use a part of one of these spans, in ascending order.
    pub fn missing_near<'a>(&'a self, set: &'a Set, spans: [Span; 2]) -> impl Iterator<Item = usize> + 'a {
        let parts: Vec<_> = self.parts(spans).collect();
        let words = self.of_parts.iter().enumerate().skip(set.full());
        words
            .flat_map(move |(at, of_parts)| set.missing_of(at, parts.iter().fold(0, |any, part| any | of_parts[*part])))
    }

    /// The steps that are not in a set and have this verb, in ascending order.
    pub fn missing_alike<'a>(&'a self, set: &'a Set, verb: &V) -> impl Iterator<Item = usize> + 'a {
        let of_verb = self.of_verbs.get(verb).into_iter();
        let words = of_verb.flat_map(|(first, words)| (*first..).zip(words).skip(set.full().saturating_sub(*first)));
        words.flat_map(|(at, word)| set.missing_of(at, *word))
    }

    fn parts(&self, spans: [Span; 2]) -> impl Iterator<Item = usize> + use<V> {
        let elements_per_part = self.elements_per_part;
        let part = move |element: usize| (element / elements_per_part).min(PARTS - 1);
        spans.into_iter().filter(|span| !span.is_empty()).flat_map(move |span| {
            let first = span.buffer as usize * PARTS;
            first + part(span.offset)..=first + part(span.range().end - 1)
        })
    }
}
