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
            Err(error) => tracing::warn!(%error, "could not write the snapshot"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use weir_domain::rulebook::Rulebook;
    use weir_domain::sharded_map::ShardedMap;

    use super::*;

    fn snapshot(number: u64) -> (SavedState, Snapshot<WholeTenants>) {
        let version = Some(RulebookVersion { number, stamp: u128::from(number) });
        let tenants =
            WholeTenants { uncompiled: ShardedMap::default(), book: Rulebook::default().into() };
        ((version, 0), Snapshot::new(version, tenants))
    }

    async fn saved_number(writer: &mut SnapshotWriter) -> Option<u64> {
        let read = writer.read().await.expect("it has a file").expect("readable");
        read.and_then(|snapshot| snapshot.rulebook_version()).map(|version| version.number)
    }

    /// The age is a metric of the gate with an alert rule.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn full_disk_leaves_the_former_snapshot_and_its_age_grows_until_there_is_room() {
        let folder = weir_local::shared::scratch().path().join("full-disk");
        let file = SnapshotFile::new(&folder).expect("a folder");
        let mut writer = SnapshotWriter::new(Some(file));
        let (first, whole) = snapshot(1);
        writer.save_last(first, move || whole).await;
        assert_eq!(saved_number(&mut writer).await, Some(1));

        // Every write to this device fails for lack of room.
        let beside = folder.join("rulebook.new");
        std::os::unix::fs::symlink("/dev/full", &beside).expect("a link");
        let written_at = Instant::now();
        for number in 2..5 {
            let (next, whole) = snapshot(number);
            writer.save_last(next, move || whole).await;
        }
        let least = written_at.elapsed();
        assert!(writer.age().expect("it has a file") >= least, "nothing was written since");
        assert_eq!(saved_number(&mut writer).await, Some(1), "the former one is whole");

        fs::remove_file(&beside).expect("the disk has room again");
        let (last, whole) = snapshot(5);
        writer.save_last(last, move || whole).await;
        assert_eq!(saved_number(&mut writer).await, Some(5));
        let (same, whole) = snapshot(5);
        writer.save(same, move || whole).await;
        assert!(writer.age().expect("it has a file") < written_at.elapsed());
    }
}
