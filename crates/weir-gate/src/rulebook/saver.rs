//! Writes the disk copy beside everything else: one copy at a time, and never more than a tenth of the time.
//!
//! A copy is whole, so with many tenants writing it takes long; a gate that starts from one that is a little old catches
//! up as soon as it can read Postgres.

use std::io;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use super::disk::{Copy, Disk};
use super::kept::SharedKept;

/// Writes copies of one gate's rulebook.
#[derive(Debug)]
pub(crate) struct Saver {
    disk: Option<Disk>,
    /// The version and the number of live gates that the copy holds.
    saved: (u64, u64),
    writing: Option<JoinHandle<Written>>,
    not_before: Instant,
    /// When the copy was last known to be as new as the rulebook in force.
    equal_at: Instant,
}

/// What a copy holds, whether it was written, and how long that took.
type Written = ((u64, u64), io::Result<()>, Duration);

/// Pauses are so many times as long as writing took.
const PAUSE_FACTOR: u32 = 9;

impl Saver {
    /// Writes to `disk`, if there is one.
    pub(crate) fn new(disk: Option<Disk>) -> Self {
        Self {
            disk,
            saved: (0, 0),
            writing: None,
            not_before: Instant::now(),
            equal_at: Instant::now(),
        }
    }

    /// The copy there is, if there is a whole one.
    pub(crate) async fn read(&mut self) -> Option<io::Result<Option<Copy>>> {
        let disk = self.disk.clone()?;
        let read = tokio::task::spawn_blocking(move || disk.read()).await;
        let read = read.unwrap_or_else(|error| Err(io::Error::other(error)));
        if let Ok(Some(copy)) = &read {
            self.saved = (copy.version, copy.live_gates);
        }
        Some(read)
    }

    /// Begins to write a copy with this version and number of live gates, unless it is written, another is being written,
    /// or the last one took long.
    pub(crate) async fn save(&mut self, present: (u64, u64), kept: &SharedKept, now_ms: i64) {
        if self.writing.as_ref().is_some_and(JoinHandle::is_finished) {
            self.written().await;
        }
        if present == self.saved {
            self.equal_at = Instant::now();
        }
        let due = self.writing.is_none() && Instant::now() >= self.not_before;
        if let (true, Some(disk)) = (due && present != self.saved, &self.disk) {
            let (disk, kept) = (disk.clone(), kept.clone());
            self.writing = Some(tokio::task::spawn_blocking(move || {
                let began = Instant::now();
                let (_, live_gates) = present;
                let copy = Copy { saved_at_ms: now_ms, live_gates, ..kept.lock().copy.clone() };
                ((copy.version, live_gates), disk.write(&copy), began.elapsed())
            }));
        }
    }

    /// How long the copy has been older than the rulebook in force. `None`: no copy is kept.
    pub(crate) fn age(&self) -> Option<Duration> {
        self.disk.as_ref().map(|_| self.equal_at.elapsed())
    }

    /// Writes the last copy of a gate that ends.
    pub(crate) async fn save_last(&mut self, present: (u64, u64), kept: &SharedKept, now_ms: i64) {
        self.written().await;
        self.not_before = Instant::now();
        self.save(present, kept, now_ms).await;
        self.written().await;
    }

    /// Waits for the copy that is being written.
    async fn written(&mut self) {
        let Some(writing) = self.writing.take() else { return };
        let Ok((saved, written, took)) = writing.await else { return };
        self.not_before = Instant::now() + took * PAUSE_FACTOR;
        match written {
            Ok(()) => self.saved = saved,
            Err(error) => tracing::warn!(%error, "the disk copy could not be written"),
        }
    }
}
