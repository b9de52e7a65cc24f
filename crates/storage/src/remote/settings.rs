//! Settings of requests over a network: patience and parallelism.

use std::time::Duration;

/// The rules by which failed requests are repeated. Only failures that may pass are: network errors, time-outs, and
/// statuses such as 429 and 503.
///
/// ```
/// use std::time::Duration;
/// use icefield_storage::remote::RetrySettings;
///
/// let patient = RetrySettings::default()
///     .with_deadline(Duration::from_secs(600))
///     .with_pauses(Duration::from_millis(100), Duration::from_secs(30));
/// assert_eq!(patient.attempts, 40);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetrySettings {
    /// The largest number of attempts of one call. Default 40: with the pauses of the other defaults, as many as fit
    /// before the deadline.
    pub attempts: u32,
    /// The largest number of attempts to reach a store that has never answered, whose address may be wrong. Default 6.
    pub contact_attempts: u32,
    /// The longest pause before the second attempt; the bound doubles with each further one. The pause itself is
    /// random, from zero to that bound. Default 50 ms.
    pub first_pause: Duration,
    /// The largest bound of a pause. Default 10 s.
    pub longest_pause: Duration,
    /// The time after the beginning of the call from which no attempt begins any more. Default 180 s.
    pub deadline: Duration,
    /// The number of repeated attempts per second, of all calls of the handle together, once `burst` is used up;
    /// further ones wait. It keeps many readers from flooding a store that recovers. Default 20.
    pub per_second: u32,
    /// The number of repeated attempts that need not wait. Default 100.
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
    /// Sets the number of attempts of one call, at least one.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// Sets the number of attempts to reach a store that has never answered, at least one.
    #[must_use]
    pub fn with_contact_attempts(mut self, attempts: u32) -> Self {
        self.contact_attempts = attempts.max(1);
        self
    }

    /// Sets the longest pause before the second attempt, and the longest pause of all.
    #[must_use]
    pub fn with_pauses(mut self, first: Duration, longest: Duration) -> Self {
        (self.first_pause, self.longest_pause) = (first, longest);
        self
    }

    /// Sets the time after which no attempt begins.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sets the number of repeated attempts of all calls together: per second, at least one, and at once.
    #[must_use]
    pub fn with_rate(mut self, per_second: u32, burst: u32) -> Self {
        (self.per_second, self.burst) = (per_second.max(1), burst);
        self
    }
}

/// The settings of a store behind a network. The defaults suit programs that run for long without a person in front of
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteSettings {
    /// The rules by which failed requests are repeated.
    pub retry: RetrySettings,
    /// The time after which an attempt without an answer is given up; a write has a second more for each mebibyte.
    /// Default 30 s.
    pub attempt_timeout: Duration,
    /// The time without a byte after which a body is given up, and asked for again from where it broke off. Default 20
    /// s.
    pub stall_timeout: Duration,
    /// The number of requests in flight. The body of a read counts until its reader has all of it: a program that keeps
    /// this many bodies open, and waits for something else before it reads on, waits for ever. Default 64.
    pub requests: usize,
    /// The size in bytes from which an object is uploaded in parts. Default 32 MiB.
    pub multipart_threshold: u64,
    /// The size of a part in bytes; larger if the object would have more parts than the store permits. Default 8 MiB.
    pub part_bytes: u64,
    /// The number of parts of one object in flight, up or down. An object takes this many parts of memory. Default 4.
    pub parts_in_flight: usize,
    /// The size in bytes from which a read is done in parts. Default 16 MiB.
    pub parallel_read_threshold: u64,
    /// Reads each list to its end and sorts it, before its first entry is handed out: for stores that do not list in
    /// byte order. Where the first page of a list shows that, it is done by itself; where a later one does, it is
    /// an error. A list that begins behind a key shows nothing: there the store may leave out what lies before that
    /// key by its own order. Default false.
    pub sort_lists: bool,
    /// The number of entries of a list that are sorted in memory; a longer list is an error. Default 1,000,000.
    pub list_entries: usize,
    /// Skips the trial of conditional writes that otherwise precedes the first one. Default false.
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
    /// Sets the rules by which failed requests are repeated.
    #[must_use]
    pub fn with_retry(mut self, retry: RetrySettings) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the time-outs of an attempt and of a body that stalls.
    #[must_use]
    pub fn with_timeouts(mut self, attempt: Duration, stall: Duration) -> Self {
        (self.attempt_timeout, self.stall_timeout) = (attempt, stall);
        self
    }

    /// Sets the number of requests in flight, at least one.
    #[must_use]
    pub fn with_requests(mut self, requests: usize) -> Self {
        self.requests = requests.max(1);
        self
    }

    /// Sets the size in bytes from which objects are uploaded in parts, and the size of a part.
    #[must_use]
    pub fn with_multipart(mut self, threshold: u64, part_bytes: u64) -> Self {
        (self.multipart_threshold, self.part_bytes) = (threshold, part_bytes.max(1));
        self
    }

    /// Sets the size in bytes from which reads are done in parts.
    #[must_use]
    pub fn with_parallel_reads(mut self, threshold: u64) -> Self {
        self.parallel_read_threshold = threshold;
        self
    }

    /// Makes lists be sorted in memory, of at most this many entries.
    #[must_use]
    pub fn sorting_lists(mut self, entries: usize) -> Self {
        (self.sort_lists, self.list_entries) = (true, entries);
        self
    }

    /// Skips the trial of conditional writes.
    #[must_use]
    pub fn trusting_conditions(mut self) -> Self {
        self.trust_conditions = true;
        self
    }
}
