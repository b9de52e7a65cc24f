//! What a process has at one moment: memory, descriptors, threads and tasks.

use std::fmt;

use anyhow::Context;
use serde::Serialize;
use tokio::runtime::Handle;

/// One look at this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sample {
    /// Kibibytes of memory that are resident.
    pub resident_kib: u64,
    /// Open descriptors.
    pub descriptors: u64,
    /// Threads.
    pub threads: u64,
    /// Tasks of the runtime that have not ended.
    pub tasks: u64,
}

impl Sample {
    /// Looks at this process, inside its runtime.
    ///
    /// # Errors
    /// If the system does not tell: only Linux has `/proc/self`.
    pub fn now() -> anyhow::Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status")
            .context("a soak needs /proc/self, which only Linux has")?;
        let descriptors = std::fs::read_dir("/proc/self/fd")?.count() as u64;
        Ok(Self {
            resident_kib: field(&status, "VmRSS:")?,
            // One of them is that of the listing.
            descriptors: descriptors.saturating_sub(1),
            threads: field(&status, "Threads:")?,
            tasks: Handle::current().metrics().num_alive_tasks() as u64,
        })
    }

    /// Returns what it has, by name.
    #[must_use]
    pub fn values(&self) -> [(&'static str, u64); 4] {
        [
            ("resident_kib", self.resident_kib),
            ("descriptors", self.descriptors),
            ("threads", self.threads),
            ("tasks", self.tasks),
        ]
    }
}

/// Reads a number of `/proc/self/status`.
fn field(status: &str, name: &str) -> anyhow::Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    let number = number.with_context(|| format!("/proc/self/status has no {name}"))?;
    number.parse().with_context(|| format!("{name} {number}"))
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.1} MiB, {} descriptors, {} threads, {} tasks",
            self.resident_kib as f64 / 1024.0,
            self.descriptors,
            self.threads,
            self.tasks
        )
    }
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn numbers_are_found_by_their_names() {
        let status = "Name:\tsoak\nVmRSS:\t   12345 kB\nThreads:\t4\n";
        assert_eq!(field(status, "VmRSS:").unwrap(), 12345);
        assert_eq!(field(status, "Threads:").unwrap(), 4);
        assert!(field(status, "VmSwap:").is_err());
    }
}
