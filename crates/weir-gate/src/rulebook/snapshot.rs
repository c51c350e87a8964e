//! The snapshot: a rulebook on disk, from which a gate starts while Postgres is away.
//!
//! The file has one line of JSON and one of checksum. It is written beside the previous one, synced and renamed, with mode
//! 0600, so a snapshot is either whole or absent. It holds digests of keys and no secrets. It is written and read tenant by
//! tenant, so it is never whole in memory.

use std::fmt;
use std::fs;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use weir_domain::id::TenantId;
use weir_domain::rule_parts::RuleParts;
use weir_domain::rulebook::Rulebook;
use weir_domain::sharded_map::ShardedMap;
use weir_store::RulebookVersion;
use weir_wire::stored::{StoredInstallation, StoredTenant};

use super::compiled::{CompiledTenant, Uncompiled};

/// All tenants at one version.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Snapshot<T> {
    /// The number of the version.
    pub(crate) version: u64,
    /// The stamp of the version, in hexadecimal digits. Empty in snapshots of releases without stamps.
    #[serde(default)]
    stamp: String,
    /// The time of writing, in milliseconds since the epoch.
    pub(crate) saved_at_ms: i64,
    /// The number of live gates, among which limits are divided while Redis is away.
    #[serde(default)]
    pub(crate) live_gates: u64,
    /// Settings of all tenants.
    #[serde(default)]
    pub(crate) installation: StoredInstallation,
    /// The tenants by their ids.
    pub(crate) tenants: T,
}

/// The tenants of the rulebook in force. Their stored form is made while it is written.
#[derive(Debug, Clone)]
pub(crate) struct WholeTenants {
    pub(crate) uncompiled: ShardedMap<TenantId, Arc<Uncompiled>>,
    pub(crate) book: Arc<Rulebook>,
}

/// The tenants of a snapshot, which are compiled while they are read.
#[derive(Debug, Default)]
pub(crate) struct CompiledTenants {
    pub(crate) all: Vec<CompiledTenant>,
    /// The parts that their rules share.
    pub(crate) parts: Arc<RuleParts>,
}

/// The file of a gate's snapshot.
#[derive(Debug, Clone)]
pub(crate) struct SnapshotFile {
    path: PathBuf,
}

const FORMAT: &str = "weir-rulebook-2";
/// The buffer through which the file is read.
const READ_BYTES: usize = 1 << 16;

impl Serialize for WholeTenants {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.book.tenants().map(|(id, compiled)| {
            let whole = match self.uncompiled.get(&id) {
                Some(uncompiled) => uncompiled.stored.with_compiled(compiled),
                None => StoredTenant::empty(id).with_compiled(compiled),
            };
            (id.to_string(), whole)
        }))
    }
}

impl<'de> Deserialize<'de> for CompiledTenants {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self::default())
    }
}

impl<'de> Visitor<'de> for CompiledTenants {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tenants by their ids")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut tenants: A) -> Result<Self, A::Error> {
        while let Some((_, stored)) = tenants.next_entry::<String, StoredTenant>()? {
            self.all.extend(CompiledTenant::of_stored(stored, &self.parts));
        }
        Ok(self)
    }
}

impl<T> Snapshot<T> {
    /// A snapshot of these tenants at a version.
    pub(crate) fn new(version: Option<RulebookVersion>, tenants: T) -> Self {
        let stamp = version.map(|version| format!("{:032x}", version.stamp)).unwrap_or_default();
        let version = version.map_or(0, |version| version.number);
        let installation = StoredInstallation::default();
        Self { version, stamp, saved_at_ms: 0, live_gates: 0, installation, tenants }
    }

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

    /// Whether there is a file.
    pub(crate) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Reads the snapshot. Returns `None` if there is no file, and an error if the file is damaged.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> io::Result<Option<Snapshot<T>>> {
        let mut file = match fs::File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let last_line_bytes = last_line(Sha256::new()).len() as u64 + 1;
        let length = file.metadata()?.len().checked_sub(last_line_bytes);
        let length = length.ok_or_else(|| damaged("no last line"))?;
        let mut whole = BufReader::new(&file);
        let mut hashing = HashingWriter { file: io::sink(), sum: Sha256::new() };
        io::copy(&mut whole.by_ref().take(length), &mut hashing)?;
        let mut end = String::new();
        whole.read_to_string(&mut end)?;
        if end.strip_prefix('\n') != Some(&last_line(hashing.sum)) {
            return Err(damaged("the checksum does not match"));
        }
        file.rewind()?;
        let body = BufReader::with_capacity(READ_BYTES, file).take(length);
        serde_json::from_reader(body).map(Some).map_err(|error| damaged(&error.to_string()))
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
struct HashingWriter<W> {
    file: W,
    sum: Sha256,
}

impl<W: io::Write> io::Write for HashingWriter<W> {
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
    format!("{FORMAT} {}", hex::encode(digest))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use std::collections::BTreeMap;

    use super::*;

    type Tenants = BTreeMap<String, StoredTenant>;

    fn snapshot_file(name: &str) -> SnapshotFile {
        let folder = weir_local::shared::scratch().path().join(name);
        SnapshotFile::new(&folder).expect("a folder in the scratch folder")
    }

    #[test]
    fn snapshot_is_read_as_it_was_written_and_only_by_its_owner() {
        let file = snapshot_file("snapshot-is-read");
        assert_eq!(file.read::<Tenants>().expect("readable"), None);
        assert_eq!(Snapshot::<Tenants>::default().rulebook_version(), None);
        let version = RulebookVersion { number: 42, stamp: u128::MAX - 7 };
        let mut snapshot = Snapshot::new(Some(version), Tenants::new());
        snapshot.live_gates = 3;
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
        file.write(&Snapshot::<Tenants>::default()).expect("writable");
        let whole = fs::read(&file.path).expect("readable");
        for damaged in [&whole[..whole.len() - 1], &whole[..10], b""] {
            fs::write(&file.path, damaged).expect("writable");
            assert!(file.read::<Tenants>().is_err());
        }
        let mut flipped = whole.clone();
        let last = flipped.len() - 3;
        flipped[last] ^= 1;
        fs::write(&file.path, flipped).expect("writable");
        assert!(file.read::<Tenants>().is_err());
    }
}
