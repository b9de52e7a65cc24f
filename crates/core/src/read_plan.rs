//! Which requests fetch many wanted ranges: ranges near each other in one object are fetched together. Pure.

use std::ops::Range;

use crate::ReadSettings;

/// Wanted bytes of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Position of the object in some list.
    pub(crate) object: u32,
    /// The bytes.
    pub(crate) range: Range<u64>,
    /// The number by which the caller knows them.
    pub(crate) slot: u32,
}

/// One request, and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) object: u32,
    /// Covers all parts.
    pub(crate) range: Range<u64>,
    pub(crate) parts: Vec<Wanted>,
}

impl Request {
    fn of(wanted: Wanted) -> Self {
        Self {
            object: wanted.object,
            range: wanted.range.clone(),
            parts: vec![wanted],
        }
    }

    /// Takes one more range, which begins at or behind the last one's beginning, if that is within the limits.
    fn take(&mut self, wanted: Wanted, limits: &ReadSettings) -> Option<Wanted> {
        let end = self.range.end.max(wanted.range.end);
        let near = wanted.range.start <= self.range.end.saturating_add(limits.gap_bytes);
        // A chunk within the range costs nothing.
        let fits = end - self.range.start <= limits.request_bytes || end == self.range.end;
        if wanted.object != self.object || !near || !fits {
            return Some(wanted);
        }
        self.range.end = end;
        self.parts.push(wanted);
        None
    }
}

/// Plans requests, in the order of objects and of bytes in them.
pub(crate) fn plan(mut wanted: Vec<Wanted>, limits: &ReadSettings) -> Vec<Request> {
    wanted.sort_unstable_by_key(|it| (it.object, it.range.start, it.range.end, it.slot));
    let mut requests: Vec<Request> = Vec::new();
    for one in wanted {
        let left = match requests.last_mut() {
            Some(last) => last.take(one, limits),
            None => Some(one),
        };
        requests.extend(left.map(Request::of));
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(ranges: &[(u32, Range<u64>)]) -> Vec<Wanted> {
        let slots = ranges.iter().zip(0..);
        let of = |((object, range), slot): (&(u32, Range<u64>), u32)| Wanted {
            object: *object,
            range: range.clone(),
            slot,
        };
        slots.map(of).collect()
    }

    fn planned(ranges: &[(u32, Range<u64>)], gap: u64, most: u64) -> Vec<(u32, Range<u64>, usize)> {
        let limits = ReadSettings::default().with_coalescing(gap, most);
        let requests = plan(wanted(ranges), &limits).into_iter();
        requests
            .map(|it| (it.object, it.range, it.parts.len()))
            .collect()
    }

    #[test]
    fn what_is_near_is_fetched_together() {
        let ranges = [(0, 30..40), (0, 0..10), (0, 10..20), (1, 20..30)];
        assert_eq!(planned(&ranges, 10, 100), [(0, 0..40, 3), (1, 20..30, 1)]);
        assert_eq!(
            planned(&ranges, 9, 100),
            [(0, 0..20, 2), (0, 30..40, 1), (1, 20..30, 1)]
        );
        assert_eq!(
            planned(&ranges, 10, 39),
            [(0, 0..20, 2), (0, 30..40, 1), (1, 20..30, 1)]
        );
    }

    #[test]
    fn a_range_longer_than_a_request_is_one() {
        let ranges = [(0, 0..1000), (0, 10..20), (0, 1000..1010), (0, 0..1000)];
        assert_eq!(
            planned(&ranges, 0, 100),
            [(0, 0..1000, 3), (0, 1000..1010, 1)]
        );
    }

    #[test]
    fn ends_of_the_number_line_are_no_trouble() {
        let end = u64::MAX;
        let ranges = [(0, end - 1..end), (0, 0..1)];
        assert_eq!(planned(&ranges, end, end), [(0, 0..end, 2)]);
        assert_eq!(planned(&[], 0, 0), []);
    }

    /// Whatever the limits: every range is fetched once, within a request of its object that keeps to the limits.
    #[test]
    fn plans_are_complete_and_within_limits() {
        let mut state = 7_u64;
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..500 {
            let ranges: Vec<(u32, Range<u64>)> = (0..draw(40))
                .map(|_| {
                    let start = draw(2000);
                    (draw(3) as u32, start..start + draw(300))
                })
                .collect();
            let limits = ReadSettings::default().with_coalescing(draw(50), draw(500));
            let requests = plan(wanted(&ranges), &limits);
            let mut slots: Vec<u32> = Vec::new();
            for request in &requests {
                let length = request.range.end - request.range.start;
                let longest = request.parts.iter().map(|it| it.range.end - it.range.start);
                let longest = longest.max().expect("no request is for nothing");
                assert!(length <= limits.request_bytes.max(longest));
                for part in &request.parts {
                    assert_eq!(part.object, request.object);
                    assert!(request.range.start <= part.range.start);
                    assert!(part.range.end <= request.range.end);
                    assert_eq!(
                        ranges[part.slot as usize],
                        (part.object, part.range.clone())
                    );
                    slots.push(part.slot);
                }
            }
            slots.sort_unstable();
            assert!(slots.into_iter().eq(0..ranges.len() as u32));
        }
    }
}
