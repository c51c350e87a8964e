//! Writes snapshots in the background: one at a time, and for at most a tenth of the time.
//!
//! A snapshot is whole, so writing one takes long when there are many tenants. A gate that starts from a snapshot that is a
//! little old catches up as soon as it can read Postgres.

use std::io;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use weir_store::RulebookVersion;

use super::snapshot::{CompiledTenants, Snapshot, SnapshotFile, WholeTenants};

/// Writes the snapshots of one gate.
#[derive(Debug)]
pub(crate) struct SnapshotWriter {
    file: Option<SnapshotFile>,
    /// The state that the file holds.
    saved: SavedState,
    writing: Option<JoinHandle<Written>>,
    not_before: Instant,
    /// The time at which the file last held the rulebook in force.
    equal_at: Instant,
}

/// The version and the number of live gates in a snapshot.
pub(crate) type SavedState = (Option<RulebookVersion>, u64);

/// The state that was written, whether writing succeeded, and its duration.
type Written = (SavedState, io::Result<()>, Duration);

/// A pause is nine times as long as writing took.
const PAUSE_FACTOR: u32 = 9;

impl SnapshotWriter {
    /// A writer to `file`. Without a file it writes nothing.
    pub(crate) fn new(file: Option<SnapshotFile>) -> Self {
        Self {
            file,
            saved: (None, 0),
            writing: None,
            not_before: Instant::now(),
            equal_at: Instant::now(),
        }
    }

    /// Whether there is a snapshot to start from.
    pub(crate) fn has_file(&self) -> bool {
        self.file.as_ref().is_some_and(SnapshotFile::exists)
    }

    /// Reads the snapshot and compiles it. Returns `None` if this gate writes no snapshots.
    pub(crate) async fn read(&mut self) -> Option<io::Result<Option<Snapshot<CompiledTenants>>>> {
        let file = self.file.clone()?;
        let read = tokio::task::spawn_blocking(move || file.read()).await;
        let read = read.unwrap_or_else(|error| Err(io::Error::other(error)));
        if let Ok(Some(snapshot)) = &read {
            self.saved = (snapshot.rulebook_version(), snapshot.live_gates);
        }
        Some(read)
    }

    /// Begins to write the snapshot that `take` returns, unless the file holds `present`, a snapshot is being written, or
    /// the pause after the last one has not ended. `take` runs on a thread of its own.
    pub(crate) async fn save(
        &mut self,
        present: SavedState,
        take: impl FnOnce() -> Snapshot<WholeTenants> + Send + 'static,
    ) {
        if self.writing.as_ref().is_some_and(JoinHandle::is_finished) {
            self.finish().await;
        }
        if present == self.saved {
            self.equal_at = Instant::now();
        }
        let due = self.writing.is_none() && Instant::now() >= self.not_before;
        if let (true, Some(file)) = (due && present != self.saved, &self.file) {
            let file = file.clone();
            self.writing = Some(tokio::task::spawn_blocking(move || {
                let began = Instant::now();
                let snapshot = take();
                let state = (snapshot.rulebook_version(), snapshot.live_gates);
                (state, file.write(&snapshot), began.elapsed())
            }));
        }
    }

    /// The time for which the file has been older than the rulebook in force. `None` if this gate writes no snapshots.
    pub(crate) fn age(&self) -> Option<Duration> {
        self.file.as_ref().map(|_| self.equal_at.elapsed())
    }

    /// Writes the last snapshot of a gate that stops.
    pub(crate) async fn save_last(
        &mut self,
        present: SavedState,
        take: impl FnOnce() -> Snapshot<WholeTenants> + Send + 'static,
    ) {
        self.finish().await;
        self.not_before = Instant::now();
        self.save(present, take).await;
        self.finish().await;
    }

    /// Waits for the snapshot that is being written.
    async fn finish(&mut self) {
        let Some(writing) = self.writing.take() else { return };
        let Ok((saved, written, took)) = writing.await else { return };
        self.not_before = Instant::now() + took * PAUSE_FACTOR;
        match written {
            Ok(()) => self.saved = saved,
            Err(error) => tracing::warn!(%error, "the snapshot could not be written"),
        }
    }
}
