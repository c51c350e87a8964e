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
    saved_version: u64,
    writing: Option<JoinHandle<(u64, io::Result<()>, Duration)>>,
    not_before: Instant,
}

/// Pauses are so many times as long as writing took.
const PAUSE_FACTOR: u32 = 9;

impl Saver {
    /// Writes to `disk`, if there is one.
    pub(crate) fn new(disk: Option<Disk>) -> Self {
        Self { disk, saved_version: 0, writing: None, not_before: Instant::now() }
    }

    /// The copy there is, if there is a whole one.
    pub(crate) async fn read(&mut self) -> Option<io::Result<Option<Copy>>> {
        let disk = self.disk.clone()?;
        let read = tokio::task::spawn_blocking(move || disk.read()).await;
        let read = read.unwrap_or_else(|error| Err(io::Error::other(error)));
        if let Ok(Some(copy)) = &read {
            self.saved_version = copy.version;
        }
        Some(read)
    }

    /// Begins to write a copy of this version, unless it is written, another is being written, or the last one took
    /// long.
    pub(crate) async fn save(&mut self, version: u64, kept: &SharedKept, now_ms: i64) {
        if self.writing.as_ref().is_some_and(JoinHandle::is_finished) {
            self.written().await;
        }
        let due = self.writing.is_none() && Instant::now() >= self.not_before;
        if let (true, Some(disk)) = (due && version != self.saved_version, &self.disk) {
            let (disk, kept) = (disk.clone(), kept.clone());
            self.writing = Some(tokio::task::spawn_blocking(move || {
                let began = Instant::now();
                let copy = Copy { saved_at_ms: now_ms, ..kept.lock().copy.clone() };
                (copy.version, disk.write(&copy), began.elapsed())
            }));
        }
    }

    /// Writes the last copy of a gate that ends.
    pub(crate) async fn save_last(&mut self, version: u64, kept: &SharedKept, now_ms: i64) {
        self.written().await;
        self.not_before = Instant::now();
        self.save(version, kept, now_ms).await;
        self.written().await;
    }

    /// Waits for the copy that is being written.
    async fn written(&mut self) {
        let Some(writing) = self.writing.take() else { return };
        let Ok((version, written, took)) = writing.await else { return };
        self.not_before = Instant::now() + took * PAUSE_FACTOR;
        match written {
            Ok(()) => self.saved_version = version,
            Err(error) => tracing::warn!(%error, "the disk copy could not be written"),
        }
    }
}
