//! Max-min fair shares: the part of a link's bandwidth that each message gets, where all links are alike.
//!
//! Source: D. Bertsekas, R. Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2, progressive filling: all rates
//! grow together until a link is full; the messages on it stay at that rate, and the others go on.
//!
//! A start or an end changes only the rates of messages that are connected with it by links that they share: these
//! alone are filled anew, in O(h log l) for h hops and l links of theirs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The messages on each link, and their rates.
pub struct Shares {
    links: Vec<Link>,
    messages: Vec<Message>,
    /// Links on which messages have come or gone since the last filling, and then the links connected with them.
    touched: Vec<u32>,
    /// The messages that are connected with these.
    connected: Vec<u32>,
    /// Number of the filling: links and messages that bear it have been seen.
    filling: u64,
    /// Links by the rate that each could give to each of its messages that still grow.
    fullest: BinaryHeap<Reverse<(u64, u32)>>,
}

#[derive(Clone, Default)]
struct Link {
    /// Messages, and the number of this link among their hops.
    messages: Vec<(u32, u32)>,
    filling: u64,
    /// The part of the bandwidth that is left to messages that still grow, and how many these are.
    left: f64,
    growing: usize,
}

impl Link {
    /// The rate that each message that still grows can have, as an integer of the same order.
    fn level(&self) -> u64 {
        self.share().to_bits()
    }

    fn share(&self) -> f64 {
        self.left.max(0.0) / self.growing as f64
    }
}

#[derive(Clone, Default)]
struct Message {
    /// The links of the route, and the place of this message in each of their lists.
    hops: Vec<(u32, u32)>,
    filling: u64,
    share: Option<Share>,
}

/// The share of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The part of a link's bandwidth, above 0 and up to 1.
    pub rate: f64,
    /// The full link that sets the rate, if it is below 1.
    pub bottleneck: Option<u32>,
}

impl Share {
    pub const FULL: Self = Self { rate: 1.0, bottleneck: None };
}

impl Shares {
    /// Links without messages.
    pub fn new(links: usize) -> Self {
        Self {
            links: vec![Link::default(); links],
            messages: Vec::new(),
            touched: Vec::new(),
            connected: Vec::new(),
            filling: 0,
            fullest: BinaryHeap::new(),
        }
    }

    /// The message comes, on these links.
    pub fn add(&mut self, message: u32, route: impl Iterator<Item = u32>) {
        if self.messages.len() <= message as usize {
            self.messages.resize_with(message as usize + 1, Message::default);
        }
        let hops = &mut self.messages[message as usize].hops;
        hops.clear();
        for link in route {
            let users = &mut self.links[link as usize].messages;
            users.push((message, hops.len() as u32));
            hops.push((link, users.len() as u32 - 1));
            self.touched.push(link);
        }
    }

    /// The message goes.
    pub fn remove(&mut self, message: u32) {
        let hops = std::mem::take(&mut self.messages[message as usize].hops);
        for (link, place) in &hops {
            let users = &mut self.links[*link as usize].messages;
            users.swap_remove(*place as usize);
            if let Some((moved, hop)) = users.get(*place as usize) {
                self.messages[*moved as usize].hops[*hop as usize].1 = *place;
            }
            self.touched.push(*link);
        }
        self.messages[message as usize].hops = hops;
    }

    /// Messages on a link.
    pub fn users(&self, link: u32) -> usize {
        self.links[link as usize].messages.len()
    }

    /// The share of a message from the last filling.
    pub fn share(&self, message: u32) -> Share {
        self.messages[message as usize].share.unwrap_or(Share::FULL)
    }

    /// One of the messages that the last filling was about, and its share.
    pub fn connected(&self, place: usize) -> (u32, Share) {
        let message = self.connected[place];
        (message, self.share(message))
    }

    /// Gives new shares to the messages that are connected with those that have come or gone. Returns these messages.
    pub fn fill(&mut self) -> &[u32] {
        self.connect();
        while let Some(Reverse((level, link))) = self.fullest.pop() {
            let Link { growing, .. } = self.links[link as usize];
            if growing == 0 {
                continue;
            }
            let now = self.links[link as usize].level();
            if now > level {
                self.fullest.push(Reverse((now, link)));
            } else {
                self.stop(link);
            }
        }
        self.touched.clear();
        &self.connected
    }

    /// Finds the links and messages that are connected with those touched, and empties them. A link with one message
    /// never sets its rate.
    fn connect(&mut self) {
        self.filling += 1;
        self.connected.clear();
        let mut next = 0;
        while let Some(index) = self.touched.get(next).copied() {
            next += 1;
            let link = &mut self.links[index as usize];
            if link.filling == self.filling {
                continue;
            }
            (link.filling, link.left, link.growing) = (self.filling, 1.0, link.messages.len());
            if link.growing > 1 {
                self.fullest.push(Reverse((link.level(), index)));
            }
            for (user, _) in &link.messages {
                let message = &mut self.messages[*user as usize];
                if message.filling < self.filling {
                    (message.filling, message.share) = (self.filling, None);
                    self.connected.push(*user);
                    self.touched.extend(message.hops.iter().map(|hop| hop.0));
                }
            }
        }
    }

    /// The link is full: its messages that still grow stay at their rate.
    fn stop(&mut self, full: u32) {
        let share = Share { rate: self.links[full as usize].share(), bottleneck: Some(full) };
        for place in 0..self.users(full) {
            let (user, _) = self.links[full as usize].messages[place];
            let message = &mut self.messages[user as usize];
            if message.share.is_some() {
                continue;
            }
            message.share = Some(share);
            for (link, _) in &message.hops {
                let link = &mut self.links[*link as usize];
                link.left -= share.rate;
                link.growing -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINKS: usize = 6;

    fn filled(routes: &[Vec<u32>]) -> Shares {
        let mut shares = Shares::new(LINKS);
        for (message, route) in (0..).zip(routes) {
            shares.add(message, route.iter().copied());
            shares.fill();
        }
        shares
    }

    fn rates(routes: &[Vec<u32>]) -> Vec<f64> {
        let shares = filled(routes);
        (0..routes.len()).map(|message| shares.share(message as u32).rate).collect()
    }

    #[test]
    fn messages_on_one_link_share_it_equally() {
        assert_eq!(rates(&[vec![0], vec![0], vec![0], vec![1]]), [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 1.0]);
    }

    #[test]
    fn what_one_cannot_use_others_get() {
        // Link 0 gives 1/4 to each of four, one of which shares link 1 with a fifth: 3/4 are left to that.
        let routes = [vec![0], vec![0], vec![0], vec![0, 1], vec![1]];
        assert_eq!(rates(&routes), [0.25, 0.25, 0.25, 0.25, 0.75]);
    }

    #[test]
    fn what_goes_leaves_its_part() {
        let mut shares = filled(&[vec![0, 1], vec![1, 2], vec![2]]);
        shares.remove(0);
        assert_eq!(shares.fill(), [1, 2]);
        assert_eq!(shares.share(1), Share { rate: 0.5, bottleneck: Some(2) });
    }

    #[test]
    fn what_is_not_connected_is_not_filled_anew() {
        let mut shares = filled(&[vec![0, 1], vec![2, 3]]);
        shares.add(2, [1, 4].into_iter());
        let mut connected = shares.fill().to_vec();
        connected.sort_unstable();
        assert_eq!(connected, [0, 2]);
    }

    /// Messages on up to three different links, some of which go again.
    fn routes() -> impl Strategy<Value = Vec<(Vec<u32>, bool)>> {
        let route = prop::sample::subsequence((0..LINKS as u32).collect::<Vec<_>>(), 1..=3);
        prop::collection::vec((route, any::<bool>()), 1..24)
    }

    proptest! {
        /// Bertsekas and Gallager, section 6.5.2: rates are max-min fair if and only if no link has more than it can carry
        /// and each message has a full link on which no message is faster.
        #[test]
        fn every_message_has_a_bottleneck(routes in routes()) {
            let all: Vec<_> = routes.iter().map(|(route, _)| route.clone()).collect();
            let all = &all;
            let mut shares = filled(all);
            let (gone, stay): (Vec<u32>, Vec<u32>) = (0..all.len() as u32).partition(|i| routes[*i as usize].1);
            for message in gone {
                shares.remove(message);
                shares.fill();
            }
            let users = |link: u32| stay.iter().filter(move |i| all[**i as usize].contains(&link));
            let rate = |message: &u32| shares.share(*message).rate;
            let load = |link| users(link).map(rate).sum::<f64>();
            prop_assert!((0..LINKS as u32).all(|link| load(link) < 1.0 + 1e-12));
            for message in &stay {
                let is_bottleneck = |link: &u32| {
                    load(*link) > 1.0 - 1e-12 && users(*link).all(|user| rate(user) < rate(message) + 1e-12)
                };
                prop_assert!(all[*message as usize].iter().any(is_bottleneck));
                let named = shares.share(*message).bottleneck;
                prop_assert!(named.is_none_or(|link| is_bottleneck(&link)) && named.is_some() == (rate(message) < 1.0));
            }
        }
    }
}
