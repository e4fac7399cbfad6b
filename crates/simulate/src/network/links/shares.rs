//! Max-min fair shares: the part of a link's bandwidth that each message gets, with links that are equal but for faults.
//!
//! Source: D. Bertsekas, R. Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2, progressive filling: all rates
//! grow together until a link is full; its messages stop at that rate, and the others grow on.
//!
//! A link checks its *level*, the rate left to each of its growing messages, when the rates have reached the level that
//! it found last, 1 / n at first: if the level has risen since, it checks again at the new one, else it is full. At one
//! rate, all links check at once, so that no rate depends on the numbers of links. So the level at which a link is full
//! follows from the *stops* of its messages by other links at lower levels. A start or an end changes this for the links
//! of one message, and then for the messages that they stop: only what changes is computed again, in the order of the
//! filling.
//!
//! A message of several ways has one rate, of which a link carries a share: on a link, it counts as so much of a message.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::swap;

use super::super::routing::{Lane, WHOLE};

/// The messages on each link, and their rates.
#[derive(Default)]
pub struct Shares {
    /// For each link, its messages.
    users: Vec<Vec<User>>,
    links: Vec<SharedLink>,
    messages: Vec<Sharer>,
    /// The place in the filling at which each message stops growing.
    stops: Vec<Stop>,
    /// Links whose messages have changed since the last filling, and those of them that are or may become full.
    touched_links: Vec<u32>,
    fillable_links: Vec<u32>,
    /// Links whose messages will change, by their place in the filling.
    changing: BinaryHeap<Reverse<Place>>,
    /// The messages whose stops, or links that are full at their stops, changed in the last filling.
    changed_messages: Vec<u32>,
    /// Reused buffers for links to check, and for the stops of a link's messages.
    affected_links: Vec<u32>,
    arriving: Vec<(Stop, u32)>,
    /// Numbers of the filling and of the check; they mark what was seen.
    filling: u64,
    look: u64,
}

/// The place of a stop among all: the level, then the rate, as bits, then the link.
type Place = (u64, u64, u32);

/// A place in the filling at which a link is full, and the rate of the messages that it stops there.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stop {
    /// The rate up to which all rates have grown, as its bits, which sort like the rates.
    level: u64,
    link: u32,
    rate: f64,
}

impl Stop {
    /// After all links.
    const NEVER: Self = Self { level: u64::MAX, link: u32::MAX, rate: 1.0 };

    fn place(&self) -> Place {
        (self.level, self.rate.to_bits(), self.link)
    }

    /// Whether messages stop alike here and there.
    fn is_like(&self, other: &Self) -> bool {
        (self.level, self.rate) == (other.level, other.rate)
    }
}

#[derive(Clone, Copy)]
struct SharedLink {
    /// The part of its bandwidth that it has.
    part: f64,
    /// The place at which it is full, and the new place if the link changes.
    full: Stop,
    next: Stop,
    /// The place in the filling at which it changes.
    changes: Option<Place>,
    look: u64,
}

/// A message on a link.
struct User {
    message: u32,
    /// The link's index among the hops of the message.
    hop: u32,
    /// The share of the message that the link carries, in parts of [`WHOLE`].
    share: u32,
}

/// A lane of a message, and the message's index in the list of the link.
#[derive(Clone, Copy)]
struct SharedHop {
    lane: Lane,
    place: u32,
}

#[derive(Clone, Default)]
struct Sharer {
    /// Its lanes.
    hops: Vec<SharedHop>,
    filling: u64,
    /// The index in the order of [`Shares::sort_as_connected`].
    number: u32,
}

/// The share of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The part of a link's bandwidth, up to 1; 0 only if a link is down.
    pub rate: f64,
    /// The full link that sets the rate, if it is below 1; of several, the first one of the route.
    pub bottleneck: Option<u32>,
}

impl Share {
    pub const FULL: Self = Self { rate: 1.0, bottleneck: None };
}

impl Shares {
    /// Links without messages.
    pub fn new(links: usize) -> Self {
        let idle = SharedLink { part: 1.0, full: Stop::NEVER, next: Stop::NEVER, changes: None, look: 0 };
        Self { users: (0..links).map(|_| Vec::new()).collect(), links: vec![idle; links], ..Self::default() }
    }

    /// Adds a message on these lanes.
    pub fn add(&mut self, message: u32, route: &[Lane]) {
        if self.messages.len() <= message as usize {
            self.messages.resize_with(message as usize + 1, Sharer::default);
            self.stops.resize(message as usize + 1, Stop::NEVER);
        }
        self.stops[message as usize] = Stop::NEVER;
        self.messages[message as usize].hops.clear();
        for lane in route.iter().copied() {
            let (users, hops) = (&mut self.users[lane.link as usize], &mut self.messages[message as usize].hops);
            users.push(User { message, hop: hops.len() as u32, share: lane.share });
            hops.push(SharedHop { lane, place: users.len() as u32 - 1 });
            self.touch(lane.link);
        }
    }

    /// Removes a message.
    pub fn remove(&mut self, message: u32) {
        for hop in 0..self.messages[message as usize].hops.len() {
            let SharedHop { lane: Lane { link, .. }, place } = self.messages[message as usize].hops[hop];
            let users = &mut self.users[link as usize];
            users.swap_remove(place as usize);
            if let Some(moved) = users.get(place as usize) {
                self.messages[moved.message as usize].hops[moved.hop as usize].place = place;
            }
            self.touch(link);
        }
    }

    /// The messages of a link have changed. One message alone does not fill a link with its full bandwidth.
    fn touch(&mut self, link: u32) {
        self.touched_links.push(link);
        let SharedLink { part, full, .. } = self.links[link as usize];
        if self.users[link as usize].len() > 1 || part != 1.0 || full != Stop::NEVER {
            self.fillable_links.push(link);
        }
    }

    /// A link has another part of its bandwidth from now on.
    pub fn set_part(&mut self, link: u32, part: f64) {
        self.links[link as usize].part = part;
        self.touched_links.push(link);
        self.fillable_links.push(link);
    }

    /// The lanes of a message, also after it was removed.
    pub fn lanes(&self, message: u32) -> impl Iterator<Item = Lane> {
        self.messages[message as usize].hops.iter().map(|hop| hop.lane)
    }

    /// Number of messages on a link.
    pub fn users(&self, link: u32) -> usize {
        self.users[link as usize].len()
    }

    /// The share of a message from the last filling.
    pub fn share(&self, message: u32) -> Share {
        let stop = self.stops[message as usize];
        let is_full = |link: &u32| self.links[*link as usize].full.is_like(&stop);
        let mut links = self.messages[message as usize].hops.iter().map(|hop| hop.lane.link);
        Share { rate: stop.rate, bottleneck: links.find(is_full).filter(|_| stop != Stop::NEVER) }
    }

    /// Whether shares may have changed since the last filling.
    pub fn may_change(&self) -> bool {
        !self.fillable_links.is_empty()
    }

    /// Updates the shares after messages were added or removed. Returns the messages whose shares may have changed,
    /// unordered.
    pub fn fill(&mut self) -> &[u32] {
        self.filling += 1;
        self.changed_messages.clear();
        swap(&mut self.affected_links, &mut self.fillable_links);
        self.look_at_affected();
        while let Some(Reverse(place)) = self.changing.pop() {
            let (.., link) = place;
            if self.links[link as usize].changes == Some(place) {
                self.change(link);
                self.look_at_affected();
            }
        }
        &self.changed_messages
    }

    /// Sorts messages in the order in which they are reached from added and removed ones, by link, message and hop.
    pub fn sort_as_connected(&mut self, order: &mut [u32]) {
        self.filling += 1;
        self.look += 1;
        let Self { users, links, messages, affected_links, touched_links, filling, look, .. } = self;
        let mut is_new = |link: &u32| std::mem::replace(&mut links[*link as usize].look, *look) != *look;
        affected_links.clear();
        affected_links.extend(touched_links.iter().copied().filter(&mut is_new));
        let (mut next, mut number) = (0, 0);
        while let Some(link) = affected_links.get(next).copied() {
            next += 1;
            for user in &users[link as usize] {
                let message = &mut messages[user.message as usize];
                if std::mem::replace(&mut message.filling, *filling) < *filling {
                    message.number = number;
                    number += 1;
                    affected_links.extend(message.hops.iter().map(|hop| hop.lane.link).filter(&mut is_new));
                }
            }
        }
        order.sort_unstable_by_key(|message| messages[*message as usize].number);
    }

    /// Forgets which links were touched.
    pub fn settle(&mut self) {
        self.touched_links.clear();
    }

    /// Computes the places at which the affected links are full.
    fn look_at_affected(&mut self) {
        self.look += 1;
        let mut affected_links = std::mem::take(&mut self.affected_links);
        for link in affected_links.drain(..) {
            if std::mem::replace(&mut self.links[link as usize].look, self.look) == self.look {
                continue;
            }
            let next = self.next_full(link);
            let entry = &mut self.links[link as usize];
            entry.next = next;
            let place = entry.full.place().min(next.place());
            let is_late = |user: &User| self.stops[user.message as usize].place() > next.place();
            let changes = entry.full != next || self.users[link as usize].iter().any(is_late);
            let place = (place.0, place.1, link);
            let before = std::mem::replace(&mut entry.changes, changes.then_some(place));
            if changes && before != Some(place) {
                self.changing.push(Reverse(place));
            }
        }
        self.affected_links = affected_links;
    }

    /// The place at which a link is full, given the stops by other links. A link with one message and its full bandwidth
    /// never is.
    fn next_full(&mut self, link: u32) -> Stop {
        let users = &self.users[link as usize];
        let part = self.links[link as usize].part;
        if users.is_empty() || users.len() == 1 && part == 1.0 {
            return Stop::NEVER;
        }
        let arriving = &mut self.arriving;
        arriving.clear();
        let mut growing = 0;
        for user in users {
            let stop = self.stops[user.message as usize];
            growing += u64::from(user.share);
            if stop.link != link && stop.link != Stop::NEVER.link {
                arriving.push((stop, user.share));
            }
        }
        arriving.sort_unstable_by_key(|(stop, _)| stop.place());
        let mut left = part;
        let mut arriving = arriving.iter().peekable();
        let share = |left: f64, growing: u64| left.max(0.0) / (growing as f64 / f64::from(WHOLE));
        let mut level = share(left, growing).to_bits();
        loop {
            while let Some((stop, share)) = arriving.next_if(|(stop, _)| stop.level < level) {
                left -= stop.rate * (f64::from(*share) / f64::from(WHOLE));
                growing -= u64::from(*share);
            }
            let rate = share(left, growing);
            if growing == 0 || rate > 1.0 {
                return Stop::NEVER;
            }
            if rate.to_bits() <= level {
                return Stop { level, link, rate };
            }
            level = rate.to_bits();
        }
    }

    /// The link is full at a new place: its messages that grow up to there stop there.
    fn change(&mut self, link: u32) {
        let SharedLink { next, .. } = self.links[link as usize];
        self.links[link as usize].full = next;
        self.links[link as usize].changes = None;
        for user in &self.users[link as usize] {
            let stop = &mut self.stops[user.message as usize];
            let message = &mut self.messages[user.message as usize];
            if std::mem::replace(&mut message.filling, self.filling) < self.filling {
                self.changed_messages.push(user.message);
            }
            if *stop == next || (stop.link != link && stop.place() <= next.place()) {
                continue;
            }
            *stop = next;
            self.affected_links.extend(message.hops.iter().map(|hop| hop.lane.link).filter(|other| *other != link));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const LINKS: usize = 6;

    fn lanes(route: &[u32]) -> Vec<Lane> {
        route.iter().map(|link| Lane::whole(*link)).collect()
    }

    fn filled_shares(routes: &[Vec<u32>]) -> Shares {
        let mut shares = Shares::new(LINKS);
        for (message, route) in (0..).zip(routes) {
            shares.add(message, &lanes(route));
            shares.fill();
            shares.settle();
        }
        shares
    }

    /// The shares of messages on these routes, computed by filling all links from the beginning.
    fn filled_at_once(routes: &[Vec<u32>]) -> Vec<Share> {
        let on = |link: u32| (0..routes.len()).filter(move |message| routes[*message].contains(&link));
        let level = |(left, growing): (f64, usize)| left.max(0.0) / growing as f64;
        let mut links: Vec<_> = (0..LINKS as u32).map(|link| (1.0, on(link).count())).collect();
        let shared = (0..LINKS as u32).filter(|link| links[*link as usize].1 > 1);
        let mut looks: BTreeSet<_> = shared.map(|link| (level(links[link as usize]).to_bits(), link)).collect();
        let mut shares = vec![None; routes.len()];
        while let Some((last, _)) = looks.first().copied() {
            let later = looks.split_off(&(last + 1, 0));
            let here: Vec<_> = std::mem::replace(&mut looks, later).into_iter().map(|(_, link)| link).collect();
            let rates: Vec<_> = links.iter().map(|link| level(*link)).collect();
            let growing = here.into_iter().filter(|link| links[*link as usize].1 > 0);
            let (full, others): (Vec<_>, Vec<_>) = growing.partition(|link| rates[*link as usize].to_bits() <= last);
            looks.extend(others.into_iter().map(|link| (rates[link as usize].to_bits(), link)));
            let stop = |message: &usize| {
                let route = routes[*message].iter().filter(|link| full.contains(link) && shares[*message].is_none());
                route.copied().min_by(|a, b| rates[*a as usize].total_cmp(&rates[*b as usize]))
            };
            let mut stops: Vec<_> = (0..routes.len()).filter_map(|i| stop(&i).map(|link| (i, link))).collect();
            stops.sort_by(|a, b| rates[a.1 as usize].total_cmp(&rates[b.1 as usize]));
            for (message, link) in stops {
                let rate = rates[link as usize];
                shares[message] = Some(Share { rate, bottleneck: Some(link) });
                for hop in &routes[message] {
                    links[*hop as usize].0 -= rate;
                    links[*hop as usize].1 -= 1;
                }
            }
        }
        shares.into_iter().map(|share| share.unwrap_or(Share::FULL)).collect()
    }

    fn rates(routes: &[Vec<u32>]) -> Vec<f64> {
        let shares = filled_shares(routes);
        (0..routes.len()).map(|message| shares.share(message as u32).rate).collect()
    }

    #[test]
    fn messages_on_one_link_share_it_equally() {
        assert_eq!(rates(&[vec![0], vec![0], vec![0], vec![1]]), [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 1.0]);
    }

    #[test]
    fn what_one_cannot_use_others_get() {
        // Link 0 gives 1/4 to each of four messages. One of them leaves 3/4 of link 1 to a fifth.
        let routes = [vec![0], vec![0], vec![0], vec![0, 1], vec![1]];
        assert_eq!(rates(&routes), [0.25, 0.25, 0.25, 0.25, 0.75]);
    }

    #[test]
    fn what_goes_leaves_its_part() {
        let mut shares = filled_shares(&[vec![0, 1], vec![1, 2], vec![2]]);
        shares.remove(0);
        assert_eq!(shares.fill(), [1, 2]);
        assert_eq!(shares.share(1), Share { rate: 0.5, bottleneck: Some(2) });
    }

    #[test]
    fn only_what_changes_is_computed_anew() {
        // Links 0 and 1 stay full: a message added on link 2 gets the bandwidth that their messages leave.
        let [on_0, on_1] = [vec![0], vec![1]];
        let on_both = [vec![0, 2], vec![1, 2]];
        let routes = [&on_0, &on_0, &on_0, &on_both[0], &on_1, &on_1, &on_1, &on_both[1]];
        let mut shares = filled_shares(&routes.map(Clone::clone));
        shares.add(8, &[Lane::whole(2)]);
        assert_eq!(shares.fill(), [3, 7, 8]);
        assert_eq!(shares.share(8), Share { rate: 1.0 - 1.0 / 4.0 - 1.0 / 4.0, bottleneck: Some(2) });
    }

    #[test]
    fn messages_are_sorted_from_those_that_have_come() {
        let mut shares = filled_shares(&[vec![0, 1], vec![2, 3], vec![1, 2]]);
        shares.add(3, &[Lane::whole(3)]);
        let mut order = [0, 1, 2, 3];
        shares.sort_as_connected(&mut order);
        assert_eq!(order, [1, 3, 2, 0]);
    }

    /// Messages on up to three different links; some of them are removed again.
    fn routes() -> impl Strategy<Value = Vec<(Vec<u32>, bool)>> {
        let route = prop::sample::subsequence((0..LINKS as u32).collect::<Vec<_>>(), 1..=3);
        prop::collection::vec((route, any::<bool>()), 1..24)
    }

    proptest! {
        /// Incremental updates equal a full computation to the last bit.
        #[test]
        fn changes_add_up_to_a_whole_filling(routes in routes(), at_once in 1..4_usize) {
            let (mut shares, mut present) = (Shares::new(LINKS), Vec::<(u32, Vec<u32>)>::new());
            for (number, (route, goes)) in (0..).zip(routes) {
                shares.add(number, &lanes(&route));
                present.push((number, route));
                if goes {
                    let (leaver, _) = present.remove(number as usize / 2 % present.len());
                    shares.remove(leaver);
                }
                if (number as usize + 1).is_multiple_of(at_once) {
                    shares.fill();
                    shares.settle();
                    let (numbers, routes): (Vec<_>, Vec<_>) = present.iter().cloned().unzip();
                    let actual: Vec<_> = numbers.iter().map(|number| shares.share(*number)).collect();
                    prop_assert_eq!(actual, filled_at_once(&routes));
                }
            }
        }

        /// Bertsekas and Gallager, section 6.5.2: rates are max-min fair if and only if no link has more than it can
        /// carry and each message has a full link on which no message is faster.
        #[test]
        fn every_message_has_a_bottleneck(routes in routes()) {
            let all: Vec<_> = routes.iter().map(|(route, _)| route.clone()).collect();
            let all = &all;
            let mut shares = filled_shares(all);
            let (leaving, stay): (Vec<u32>, Vec<u32>) = (0..all.len() as u32).partition(|i| routes[*i as usize].1);
            for message in leaving {
                shares.remove(message);
                shares.fill();
                shares.settle();
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
                let bottleneck = shares.share(*message).bottleneck;
                prop_assert!(bottleneck.is_none_or(|link| is_bottleneck(&link)) && bottleneck.is_some() == (rate(message) < 1.0));
            }
        }
    }
}
