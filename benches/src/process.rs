//! Facts about this process from the operating system.

use std::fs;

/// Returns a line of `/proc/self/status` in bytes, such as `VmRSS` or `VmHWM`; none where there is no such file.
pub fn status(line: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let rest = status.lines().find_map(|it| it.strip_prefix(line))?;
    let kilobytes: u64 = rest.trim_matches([':', '\t', ' ', 'k', 'B']).parse().ok()?;
    Some(kilobytes << 10)
}
