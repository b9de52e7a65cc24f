//! The machine that a report was made on.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns one sentence: processors, memory, kernel and day.
pub(crate) fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let model =
        field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let memory = field("/proc/meminfo", "MemTotal").unwrap_or_default();
    let kib: u64 = memory.trim_end_matches(" kB").parse().unwrap_or(0);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |it| it.as_secs());
    let day = chrono::DateTime::from_timestamp(seconds.cast_signed(), 0);
    let day = day
        .map(|it| it.format("%Y-%m-%d").to_string())
        .unwrap_or_default();
    format!(
        "{cores} cores ({model}), {} GiB, Linux {}, {day}",
        kib >> 20,
        kernel.trim()
    )
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
