//! Figures of one roll, and how they are printed.

use std::fmt::Write;
use std::fs;

use icefield_benches::status;
use icefield_storage::wrap::Counts;
use rustix::time::{ClockId, clock_gettime};

/// Classes of objects, by the first segment of their keys. What is under no such key comes last.
const CLASSES: [(&str, &str); 6] = [
    ("chunk", "chunks"),
    ("manifest", "manifests"),
    ("snapshot", "snapshots"),
    ("log", "transactions"),
    ("ref", "refs"),
    ("other", ""),
];

/// Requests, bytes read and bytes written.
type Class = [u64; 3];

/// The cost of one roll.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Roll {
    /// Seconds to upload the new chunks and note their references, to say what moves or goes, and to commit.
    pub(crate) seconds: [f64; 3],
    /// Processor seconds of the last two, on all threads.
    pub(crate) cpu: f64,
    /// Bytes of memory beyond what the process had before.
    pub(crate) peak: u64,
    pub(crate) lists: u64,
    pub(crate) classes: [Class; 6],
}

impl Roll {
    /// Seconds without those of the upload.
    pub(crate) fn own(&self) -> f64 {
        self.seconds[1] + self.seconds[2]
    }

    pub(crate) fn all(&self) -> f64 {
        self.seconds.iter().sum()
    }

    /// Bytes written beside chunks.
    pub(crate) fn written(&self) -> u64 {
        self.classes[1..].iter().map(|class| class[2]).sum()
    }

    /// Bytes of chunks written.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        self.classes[0][2]
    }

    pub(crate) fn set_counts(&mut self, counts: &Counts) {
        self.lists = counts.total.list;
        let total = counts.total;
        let mut rest = [total.requests(), total.bytes_read, total.bytes_written];
        for (class, (_, prefix)) in self.classes.iter_mut().zip(&CLASSES[..5]) {
            let tally = counts.of(prefix);
            *class = [tally.requests(), tally.bytes_read, tally.bytes_written];
            for (rest, here) in rest.iter_mut().zip(class) {
                *rest -= *here;
            }
        }
        self.classes[5] = rest;
    }

    pub(crate) fn to_text(self) -> String {
        let mut text = String::new();
        for second in self.seconds.iter().chain([&self.cpu]) {
            write!(text, "{second} ").expect("text takes anything");
        }
        let numbers = [self.peak, self.lists].into_iter();
        for number in numbers.chain(self.classes.into_iter().flatten()) {
            write!(text, "{number} ").expect("text takes anything");
        }
        text
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let mut roll = Self::default();
        for second in roll.seconds.iter_mut().chain([&mut roll.cpu]) {
            *second = words.next()?.parse().ok()?;
        }
        let classes = roll.classes.iter_mut().flatten();
        for number in [&mut roll.peak, &mut roll.lists].into_iter().chain(classes) {
            *number = words.next()?.parse().ok()?;
        }
        Some(roll)
    }
}

/// Requests and bytes by class, as text.
pub(crate) fn by_class(classes: &[Class; 6]) -> String {
    let of = |((name, _), [requests, read, written]): (&(&str, &str), &Class)| {
        format!("{name} {requests} ({read} B read, {written} B written)")
    };
    let parts: Vec<String> = CLASSES.iter().zip(classes).map(of).collect();
    parts.join(", ")
}

/// The middle one, and the one that 95 of 100 do not exceed.
pub(crate) fn percentiles(mut numbers: Vec<f64>) -> (f64, f64) {
    numbers.sort_by(f64::total_cmp);
    let at = |part: f64| (numbers.len() as f64 * part).ceil().max(1.0) as usize - 1;
    (numbers[at(0.5)], numbers[at(0.95)])
}

/// Processor seconds of this process.
pub(crate) fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Begins to measure the most memory anew, where the system can, and returns what there is now.
pub(crate) fn forget_peak() -> u64 {
    let _where_it_can = fs::write("/proc/self/clear_refs", "5");
    status("VmRSS").unwrap_or(0)
}

/// The most memory since, beyond what there was.
pub(crate) fn peak_above(held: u64) -> u64 {
    status("VmHWM").unwrap_or(0).saturating_sub(held)
}
