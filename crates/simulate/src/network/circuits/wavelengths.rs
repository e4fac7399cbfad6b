//! The circuit on each wavelength of each link.

/// The mark of a free wavelength.
const FREE: u32 = u32::MAX;
/// The mark of a wavelength whose circuit is being released.
const RELEASING: u32 = u32::MAX - 1;

/// For each link, the circuit on each of its wavelengths.
pub struct Wavelengths {
    /// Number of wavelengths; none if unlimited.
    pub limit: Option<usize>,
    links: Vec<Vec<u32>>,
}

/// A wavelength for a circuit, and the circuits that have to be closed for it.
pub struct Choice {
    pub wavelength: u32,
    pub victims: Vec<u32>,
}

impl Wavelengths {
    pub fn new(limit: Option<usize>, links: usize) -> Self {
        Self { limit, links: vec![Vec::new(); if limit.is_some() { links } else { 0 }] }
    }

    fn holder(&self, link: u32, wavelength: usize) -> u32 {
        self.links[link as usize].get(wavelength).copied().unwrap_or(FREE)
    }

    /// The first wavelength that is free on all links but for `leaving`. If there is none, the one whose holders may
    /// all be closed and were `last_use` least recently; `last_use` gives none for a circuit that must stay.
    pub fn choose(&self, links: &[u32], leaving: &[u32], last_use: impl Fn(u32) -> Option<u64>) -> Option<Choice> {
        let Some(limit) = self.limit else { return Some(Choice { wavelength: 0, victims: Vec::new() }) };
        let holders = |wavelength: usize| {
            let all = links.iter().map(move |link| self.holder(*link, wavelength));
            all.filter(|holder| *holder != FREE && !leaving.contains(holder))
        };
        if let Some(wavelength) = (0..limit).find(|wavelength| holders(*wavelength).next().is_none()) {
            return Some(Choice { wavelength: wavelength as u32, victims: Vec::new() });
        }
        let last_used = |wavelength: usize| -> Option<u64> {
            let last_use = |holder: u32| if holder == RELEASING { None } else { last_use(holder) };
            holders(wavelength)
                .map(last_use)
                .collect::<Option<Vec<_>>>()
                .map(|last_use| last_use.into_iter().max().unwrap_or(0))
        };
        let possible = (0..limit).filter_map(|wavelength| Some((last_used(wavelength)?, wavelength)));
        let (_, wavelength) = possible.min()?;
        let mut victims: Vec<_> = holders(wavelength).collect();
        victims.sort_unstable();
        victims.dedup();
        Some(Choice { wavelength: wavelength as u32, victims })
    }

    /// Gives this wavelength of these links to a circuit.
    pub fn take(&mut self, links: &[u32], wavelength: u32, circuit: u32) {
        self.set(links, wavelength, circuit);
    }

    /// Marks this wavelength of these links as being released.
    pub fn release(&mut self, links: &[u32], wavelength: u32) {
        self.set(links, wavelength, RELEASING);
    }

    /// Frees this wavelength of these links.
    pub fn free(&mut self, links: &[u32], wavelength: u32) {
        self.set(links, wavelength, FREE);
    }

    fn set(&mut self, links: &[u32], wavelength: u32, holder: u32) {
        if self.limit.is_none() {
            return;
        }
        for link in links {
            let holders = &mut self.links[*link as usize];
            if holders.len() <= wavelength as usize {
                holders.resize(wavelength as usize + 1, FREE);
            }
            holders[wavelength as usize] = holder;
        }
    }
}
