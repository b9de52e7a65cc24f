//! How patient, how parallel.

use std::time::Duration;

/// How requests are tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetrySettings {
    /// Attempts of one call. Default 40: with the pauses of the other defaults, as many as the deadline has time
    /// for.
    pub attempts: u32,
    /// Attempts to reach a store that has not answered anything yet: its address may be wrong. Default 6.
    pub contact_attempts: u32,
    /// The longest pause before the second attempt; each further one may be twice as long. The pause itself is
    /// random, from nothing up to that. Default 50 ms.
    pub first_pause: Duration,
    /// The longest pause of all. Default 10 s.
    pub longest_pause: Duration,
    /// No attempt begins later than this after the call. Default 180 s.
    pub deadline: Duration,
    /// Repeated attempts of all calls together, in a second, once `burst` is used up; further ones wait.
    /// Default 20.
    pub per_second: u32,
    /// Repeated attempts that need not wait. Default 100.
    pub burst: u32,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            attempts: 40,
            contact_attempts: 6,
            first_pause: Duration::from_millis(50),
            longest_pause: Duration::from_secs(10),
            deadline: Duration::from_secs(180),
            per_second: 20,
            burst: 100,
        }
    }
}

impl RetrySettings {
    /// Returns the settings with so many attempts, at least one.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// Returns the settings with so many attempts to reach a store that has never answered, at least one.
    #[must_use]
    pub fn with_contact_attempts(mut self, attempts: u32) -> Self {
        self.contact_attempts = attempts.max(1);
        self
    }

    /// Returns the settings with these longest pauses.
    #[must_use]
    pub fn with_pauses(mut self, first: Duration, longest: Duration) -> Self {
        (self.first_pause, self.longest_pause) = (first, longest);
        self
    }

    /// Returns the settings with another deadline.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Returns the settings with another bound on repeated attempts of all calls together.
    #[must_use]
    pub fn with_rate(mut self, per_second: u32, burst: u32) -> Self {
        (self.per_second, self.burst) = (per_second.max(1), burst);
        self
    }
}

/// The settings that a store behind a network needs from its user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteSettings {
    /// Trying again.
    pub retry: RetrySettings,
    /// An attempt is given up when its answer has not begun after this; a write has a second more for each
    /// mebibyte. Default 30 s.
    pub attempt_timeout: Duration,
    /// A body is given up when no byte came for so long. Default 20 s.
    pub stall_timeout: Duration,
    /// Requests in flight, the body of a read included until its reader has all of it: as many readers of long bodies
    /// as this, all of whom wait for something else, wait for ever. Default 64.
    pub requests: usize,
    /// Bytes from which an object is uploaded in parts. Default 32 MiB.
    pub multipart_threshold: u64,
    /// Bytes of a part, more where the object would have too many. Default 8 MiB.
    pub part_bytes: u64,
    /// Parts of one object in flight, up and down: they are what it needs of memory. Default 4.
    pub parts_in_flight: usize,
    /// Bytes from which a read is done in parts. Default 16 MiB.
    pub parallel_read_threshold: u64,
    /// Reads each list to its end and sorts it, before its first entry is handed out: for stores that do not list in
    /// byte order. Where the first page of a list shows that, it is done by itself; where a later one does, it is
    /// an error. A list that begins behind a key shows nothing: there the store may leave out what lies before that
    /// key by its own order. Default false.
    pub sort_lists: bool,
    /// Entries of a list that are sorted in memory; a longer one is an error. Default 1,000,000.
    pub list_entries: usize,
    /// Takes the store's word for it that conditional writes work, without trying. Default false.
    pub trust_conditions: bool,
}

impl Default for RemoteSettings {
    fn default() -> Self {
        Self {
            retry: RetrySettings::default(),
            attempt_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(20),
            requests: 64,
            multipart_threshold: 32 << 20,
            part_bytes: 8 << 20,
            parts_in_flight: 4,
            parallel_read_threshold: 16 << 20,
            sort_lists: false,
            list_entries: 1_000_000,
            trust_conditions: false,
        }
    }
}

impl RemoteSettings {
    /// Returns the settings with other rules for trying again.
    #[must_use]
    pub fn with_retry(mut self, retry: RetrySettings) -> Self {
        self.retry = retry;
        self
    }

    /// Returns the settings with other time-outs, of an attempt and of a body that stalls.
    #[must_use]
    pub fn with_timeouts(mut self, attempt: Duration, stall: Duration) -> Self {
        (self.attempt_timeout, self.stall_timeout) = (attempt, stall);
        self
    }

    /// Returns the settings with so many requests in flight, at least one.
    #[must_use]
    pub fn with_requests(mut self, requests: usize) -> Self {
        self.requests = requests.max(1);
        self
    }

    /// Returns the settings with another size from which objects are uploaded in parts, and of the parts.
    #[must_use]
    pub fn with_multipart(mut self, threshold: u64, part_bytes: u64) -> Self {
        (self.multipart_threshold, self.part_bytes) = (threshold, part_bytes.max(1));
        self
    }

    /// Returns the settings with another size from which reads are done in parts.
    #[must_use]
    pub fn with_parallel_reads(mut self, threshold: u64) -> Self {
        self.parallel_read_threshold = threshold;
        self
    }

    /// Returns the settings that sort lists, of so many entries at most.
    #[must_use]
    pub fn sorting_lists(mut self, entries: usize) -> Self {
        (self.sort_lists, self.list_entries) = (true, entries);
        self
    }

    /// Returns the settings that take the store's word for its conditional writes.
    #[must_use]
    pub fn trusting_conditions(mut self) -> Self {
        self.trust_conditions = true;
        self
    }
}
