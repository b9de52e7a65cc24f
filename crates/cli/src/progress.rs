//! Progress bars on standard error, drawn only if that is a terminal.

use std::time::Duration;

use icefield::NodePath;
use icefield::ingest::Progress;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::escape::printable;

/// A bar that counts chunks.
#[derive(Debug)]
pub(crate) struct ChunkProgress {
    bar: ProgressBar,
    bytes: std::sync::atomic::AtomicU64,
    /// The message once all chunks are done.
    last: &'static str,
}

impl ChunkProgress {
    /// Returns a bar, which draws only on a terminal.
    pub(crate) fn new(last: &'static str) -> Self {
        // The bar starts with a length, because an unknown length cannot grow.
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(
            "{spinner} {pos} of {len} chunks {wide_bar} {msg} {prefix} {elapsed}",
        ) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self {
            bar,
            bytes: Default::default(),
            last,
        }
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for ChunkProgress {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Progress for ChunkProgress {
    fn expected(&self, chunks: u64) {
        self.bar.inc_length(chunks);
    }

    fn array(&self, path: &NodePath) {
        self.bar.set_prefix(printable(path.as_str()).into_owned());
    }

    fn chunk(&self, bytes: u64) {
        let before = self
            .bytes
            .fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
        self.bar.set_message(HumanBytes(before + bytes).to_string());
        self.bar.inc(1);
    }

    fn absent(&self, chunks: u64) {
        let length = self.bar.length().unwrap_or_default();
        self.bar.set_length(length.saturating_sub(chunks));
    }

    fn finishing(&self) {
        self.bar.set_message(self.last);
    }
}

/// A bar that counts the steps of an operation, stage by stage.
#[derive(Debug)]
pub(crate) struct StepProgress {
    bar: ProgressBar,
    bytes: std::sync::atomic::AtomicU64,
}

impl StepProgress {
    /// Returns a bar, which draws only on a terminal.
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(
            "{spinner} {prefix} {pos} of {len} {wide_bar} {msg} {elapsed}",
        ) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self {
            bar,
            bytes: Default::default(),
        }
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for StepProgress {
    fn drop(&mut self) {
        self.clear();
    }
}

impl icefield::maintenance::Progress for StepProgress {
    fn stage(&self, name: &'static str, steps: Option<u64>) {
        self.bytes.store(0, std::sync::atomic::Ordering::Relaxed);
        self.bar.set_position(0);
        self.bar.set_length(steps.unwrap_or_default());
        self.bar.set_message("");
        self.bar.set_prefix(name);
    }

    fn more(&self, steps: u64) {
        self.bar.inc_length(steps);
    }

    fn advance(&self, steps: u64, bytes: u64) {
        let before = self
            .bytes
            .fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
        // A damaged file may claim any size.
        let so_far = before.saturating_add(bytes);
        if so_far > 0 {
            self.bar.set_message(HumanBytes(so_far).to_string());
        }
        self.bar.inc(steps);
    }
}
