//! The snapshot: a rulebook on disk, from which a gate starts while Postgres is away.
//!
//! The file has one line of JSON and one of checksum. It is written beside the previous one, synced and renamed, with mode
//! 0600, so a snapshot is either whole or absent. It holds digests of keys and no secrets. It is written tenant by tenant, so it
//! is never whole in memory.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest, Sha256};
use weir_domain::rulebook::Rulebook;
use weir_store::RulebookVersion;
use weir_wire::stored::{StoredInstallation, StoredTenant};

/// The tenants of a snapshot by their ids.
pub(crate) type Tenants = BTreeMap<String, Arc<StoredTenant>>;

/// All tenants at one version.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Snapshot<T = Tenants> {
    /// The number of the version.
    pub(crate) version: u64,
    /// The stamp of the version, in hexadecimal digits. Empty in snapshots of releases without stamps.
    #[serde(default)]
    pub(crate) stamp: String,
    /// The time of writing, in milliseconds since the epoch.
    pub(crate) saved_at_ms: i64,
    /// The number of live gates, among which limits are divided while Redis is away.
    #[serde(default)]
    pub(crate) live_gates: u64,
    /// Settings of all tenants.
    #[serde(default)]
    pub(crate) installation: StoredInstallation,
    pub(crate) tenants: T,
}

/// Tenants of which the compiled rules are missing, with those rules.
#[derive(Debug, Clone)]
pub(crate) struct WholeTenants {
    tenants: Tenants,
    book: Arc<Rulebook>,
}

/// The file of a gate's snapshot.
#[derive(Debug, Clone)]
pub(crate) struct SnapshotFile {
    path: PathBuf,
}

const FORMAT: &str = "weir-rulebook-2";

impl Snapshot {
    /// This snapshot with the rules of `book`, from which they are taken when it is written.
    pub(crate) fn with_rules_of(self, book: Arc<Rulebook>) -> Snapshot<WholeTenants> {
        let Self { version, stamp, saved_at_ms, live_gates, installation, tenants } = self;
        let tenants = WholeTenants { tenants, book };
        Snapshot { version, stamp, saved_at_ms, live_gates, installation, tenants }
    }

    pub(crate) fn set_rulebook_version(&mut self, version: RulebookVersion) {
        self.version = version.number;
        self.stamp = format!("{:032x}", version.stamp);
    }
}

impl Serialize for WholeTenants {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.tenants.iter().map(|(id, stored)| {
            let compiled = id.parse().ok().and_then(|id| self.book.tenant(id));
            let whole = compiled.map(|compiled| Arc::new(stored.with_rules_of(compiled)));
            (id, whole.unwrap_or_else(|| Arc::clone(stored)))
        }))
    }
}

impl<T> Snapshot<T> {
    /// The version. `None` if the stamp cannot be read.
    pub(crate) fn rulebook_version(&self) -> Option<RulebookVersion> {
        let stamp = u128::from_str_radix(&self.stamp, 16).ok()?;
        Some(RulebookVersion { number: self.version, stamp })
    }
}

impl SnapshotFile {
    /// The snapshot in `folder`, which is created if it is missing.
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self { path: folder.join("rulebook") })
    }

    /// Reads the snapshot. Returns `None` if there is no file, and an error if the file is damaged.
    pub(crate) fn read(&self) -> io::Result<Option<Snapshot>> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let (body, checksum) = text.split_once('\n').ok_or_else(|| damaged("no last line"))?;
        if checksum != last_line(Sha256::new_with_prefix(body)) {
            return Err(damaged("the checksum does not match"));
        }
        serde_json::from_str(body).map(Some).map_err(|error| damaged(&error.to_string()))
    }

    /// Replaces the snapshot.
    pub(crate) fn write(&self, snapshot: &Snapshot<impl Serialize>) -> io::Result<()> {
        let beside = self.path.with_extension("new");
        let mut options = fs::OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let file = BufWriter::new(options.open(&beside)?);
        let mut hashing = HashingWriter { file, sum: Sha256::new() };
        serde_json::to_writer(&mut hashing, snapshot)?;
        let HashingWriter { mut file, sum } = hashing;
        write!(file, "\n{}", last_line(sum))?;
        file.into_inner()?.sync_all()?;
        fs::rename(&beside, &self.path)?;
        if let Some(folder) = self.path.parent() {
            fs::File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

/// Hashes while it writes: a snapshot is large and is never whole in memory.
struct HashingWriter {
    file: BufWriter<fs::File>,
    sum: Sha256,
}

impl io::Write for HashingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn last_line(sum: Sha256) -> String {
    let digest: [u8; 32] = sum.finalize().into();
    let hex = digest.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    format!("{FORMAT} {hex}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn snapshot_file(name: &str) -> SnapshotFile {
        let folder = weir_local::shared::scratch().path().join(name);
        SnapshotFile::new(&folder).expect("a folder in the scratch folder")
    }

    #[test]
    fn snapshot_is_read_as_it_was_written_and_only_by_its_owner() {
        let file = snapshot_file("snapshot-is-read");
        assert_eq!(file.read().expect("readable"), None);
        let mut snapshot = Snapshot { live_gates: 3, ..Snapshot::default() };
        assert_eq!(snapshot.rulebook_version(), None);
        let version = RulebookVersion { number: 42, stamp: u128::MAX - 7 };
        snapshot.set_rulebook_version(version);
        file.write(&snapshot).expect("writable");
        let read = file.read().expect("readable").expect("a snapshot");
        assert_eq!(read, snapshot);
        assert_eq!(read.rulebook_version(), Some(version));
        let mode = fs::metadata(&file.path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn damaged_or_truncated_snapshot_is_refused() {
        let file = snapshot_file("damaged-snapshot");
        file.write(&<Snapshot>::default()).expect("writable");
        let whole = fs::read(&file.path).expect("readable");
        for damaged in [&whole[..whole.len() - 1], &whole[..10], b""] {
            fs::write(&file.path, damaged).expect("writable");
            assert!(file.read().is_err());
        }
        let mut flipped = whole.clone();
        let last = flipped.len() - 3;
        flipped[last] ^= 1;
        fs::write(&file.path, flipped).expect("writable");
        assert!(file.read().is_err());
    }
}
