//! The bandwidth of a link over time, and what it carries in that time.
//!
//! Work on a message is counted in seconds at full bandwidth.

use super::Fault;

/// The part of its bandwidth that a link has from each of these times on; the first time is 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates(Vec<(f64, f64)>);

/// The work on a message that is done at each of these times. It grows linearly from one to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve(Vec<(f64, f64)>);

impl Rates {
    /// Always this part of the bandwidth.
    pub fn always(part: f64) -> Self {
        Self(vec![(0.0, part)])
    }

    /// This part of each part.
    pub fn times(&self, part: f64) -> Self {
        Self(self.0.iter().map(|(from_s, of_link)| (*from_s, of_link * part)).collect())
    }

    /// The lowest part of these faults at each time.
    pub fn of(faults: &[&Fault]) -> Self {
        let changes = faults.iter().enumerate();
        let changes =
            changes.flat_map(|(number, fault)| [(fault.start_s, number, fault.part), (fault.end_s, number, 1.0)]);
        Self::lowest_of(faults.len(), changes.filter(|(time_s, ..)| time_s.is_finite()).collect())
    }

    /// The lowest part of a route's links at each time, where those of link `i` hold `i` x `step_s` earlier.
    pub fn lowest<'a>(links: impl ExactSizeIterator<Item = Option<&'a Self>>, step_s: f64) -> Self {
        let count = links.len();
        let changes = links.enumerate().flat_map(|(place, rates)| {
            let parts = rates.map_or(&[][..], |rates| &rates.0);
            parts.iter().map(move |(from_s, part)| (from_s - place as f64 * step_s, place, *part))
        });
        Self::lowest_of(count, changes.collect())
    }

    /// The lowest of some parts, which are 1 first and change as given: when, which one, and to what.
    fn lowest_of(count: usize, mut changes: Vec<(f64, usize, f64)>) -> Self {
        changes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut parts, mut steps) = (vec![1.0; count], vec![(0.0, 1.0)]);
        for (time_s, number, part) in changes {
            parts[number] = part;
            let lowest = parts.iter().copied().fold(1.0, f64::min);
            let time_s = time_s.max(0.0);
            steps.pop_if(|(last_s, _)| *last_s == time_s);
            steps.push((time_s, lowest));
        }
        steps.dedup_by(|later, earlier| later.1 == earlier.1);
        Self(steps)
    }

    /// Whether the link always has its full bandwidth.
    pub fn are_full(&self) -> bool {
        self.0.iter().all(|(_, part)| *part == 1.0)
    }

    /// The part at a time.
    pub fn part_at(&self, now_s: f64) -> f64 {
        self.0[self.index(now_s)].1
    }

    /// The times at which the part changes, and the new parts. The first one is the beginning.
    pub fn changes(&self) -> impl Iterator<Item = (f64, f64)> {
        self.0.iter().copied()
    }

    /// The first time, from this one on, at which the link carries something; infinite if there is none.
    pub fn up_s(&self, now_s: f64) -> f64 {
        let now = self.index(now_s);
        let up = self.0[now..].iter().position(|(_, part)| *part > 0.0);
        up.map_or(f64::INFINITY, |later| if later == 0 { now_s } else { self.0[now + later].0 })
    }

    /// The time from which on the link never carries anything again; infinite if there is none.
    pub fn lost_s(&self) -> f64 {
        self.0.last().filter(|(_, part)| *part == 0.0).map_or(f64::INFINITY, |(from_s, _)| *from_s)
    }

    /// Whether the link has its full bandwidth from one time to another.
    pub fn are_full_within(&self, start_s: f64, end_s: f64) -> bool {
        self.part_at(start_s) == 1.0 && self.change_s(start_s) >= end_s
    }

    /// The work that the link does from `start_s` on, until all is done. Work is there as `input` says; without it,
    /// all is there.
    ///
    /// # Errors
    /// The work is never done: the time from which on nothing is.
    pub fn carry(&self, input: Option<&Curve>, start_s: f64, work_s: f64) -> Result<Curve, f64> {
        let all = Curve(vec![(start_s, work_s)]);
        let input = input.unwrap_or(&all);
        let (mut now_s, mut done_s) = (start_s, 0.0);
        let mut curve = vec![(now_s, done_s)];
        while done_s < work_s {
            let (part, there_s, coming) = (self.part_at(now_s), input.at(now_s), input.slope(now_s));
            let is_behind = done_s < there_s;
            let rate = if is_behind { part } else { part.min(coming) };
            let next_s = self.change_s(now_s).min(input.knot_s(now_s));
            let even_s =
                if is_behind && part > coming { now_s + (there_s - done_s) / (part - coming) } else { f64::INFINITY };
            let end_s = if rate > 0.0 { now_s + (work_s - done_s) / rate } else { f64::INFINITY };
            let step_s = next_s.min(even_s).min(end_s);
            if step_s.is_infinite() {
                return Err(now_s);
            }
            done_s = if end_s == step_s {
                work_s
            } else if even_s == step_s || !is_behind && part >= coming {
                input.at(step_s)
            } else {
                (done_s + rate * (step_s - now_s)).min(input.at(step_s))
            };
            now_s = step_s;
            curve.push((now_s, done_s));
        }
        Ok(Curve(curve))
    }

    /// The first change after a time; infinite if there is none.
    fn change_s(&self, now_s: f64) -> f64 {
        self.0.get(self.index(now_s) + 1).map_or(f64::INFINITY, |(from_s, _)| *from_s)
    }

    fn index(&self, now_s: f64) -> usize {
        self.0.partition_point(|(from_s, _)| *from_s <= now_s).saturating_sub(1)
    }
}

impl Curve {
    /// The beginning and the end of each piece, and its part of the work.
    pub fn pieces(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let work_s = self.0.last().map_or(0.0, |(_, work_s)| *work_s);
        self.0.windows(2).map(move |ends| (ends[0].0, ends[1].0, (ends[1].1 - ends[0].1) / work_s))
    }

    /// When all work is done.
    pub fn end_s(&self) -> f64 {
        self.0.last().map_or(0.0, |(time_s, _)| *time_s)
    }

    /// The same work, later.
    pub fn later(mut self, delay_s: f64) -> Self {
        self.0.iter_mut().for_each(|(time_s, _)| *time_s += delay_s);
        self
    }

    /// The first knot after a time; infinite if there is none.
    fn knot_s(&self, now_s: f64) -> f64 {
        self.0.get(self.knots_until(now_s)).map_or(f64::INFINITY, |(time_s, _)| *time_s)
    }

    /// Number of knots up to a time.
    fn knots_until(&self, now_s: f64) -> usize {
        self.0.partition_point(|(time_s, _)| *time_s <= now_s)
    }

    /// The work done at a time.
    fn at(&self, now_s: f64) -> f64 {
        match self.knots_until(now_s) {
            0 => 0.0,
            next => {
                let (time_s, done_s) = self.0[next - 1];
                let limit_s = self.0.get(next).map_or(done_s, |(_, later_s)| *later_s);
                (done_s + (now_s - time_s) * self.slope(now_s)).min(limit_s)
            }
        }
    }

    /// How fast the work is done from a time on.
    fn slope(&self, now_s: f64) -> f64 {
        let next = self.knots_until(now_s);
        if next == 0 || next == self.0.len() {
            return 0.0;
        }
        let ((start_s, from_s), (end_s, to_s)) = (self.0[next - 1], self.0[next]);
        (to_s - from_s) / (end_s - start_s)
    }
}
