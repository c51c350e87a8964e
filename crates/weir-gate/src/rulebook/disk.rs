//! The disk copy: what a gate starts from while Postgres is away.
//!
//! One line of JSON, one of checksum. Written to a file beside it, synced and renamed, mode 0600, so a
//! copy is whole or not there. It holds digests of keys, never secrets.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use weir_wire::stored::{StoredInstallation, StoredTenant};

/// All tenants at one version.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Copy {
    pub(crate) version: u64,
    /// When it was written, in milliseconds since the epoch.
    pub(crate) saved_at_ms: i64,
    /// How many gates were live: among them limits are divided while Redis is away.
    #[serde(default)]
    pub(crate) live_gates: u64,
    /// What holds for all tenants.
    #[serde(default)]
    pub(crate) installation: StoredInstallation,
    pub(crate) tenants: BTreeMap<String, Arc<StoredTenant>>,
}

/// Where the copy lies.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    file: PathBuf,
}

const FORMAT: &str = "weir-rulebook-2";

impl Disk {
    /// A copy in `folder`, which is made if it is not there.
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self { file: folder.join("rulebook") })
    }

    /// The copy, if there is a whole one.
    pub(crate) fn read(&self) -> io::Result<Option<Copy>> {
        let text = match fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let (body, seal) = text.split_once('\n').ok_or_else(|| damaged("no last line"))?;
        if seal != self::seal(Sha256::new_with_prefix(body)) {
            return Err(damaged("the checksum does not fit"));
        }
        serde_json::from_str(body).map(Some).map_err(|error| damaged(&error.to_string()))
    }

    /// Replaces the copy.
    pub(crate) fn write(&self, copy: &Copy) -> io::Result<()> {
        let beside = self.file.with_extension("new");
        let mut options = fs::OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let file = BufWriter::new(options.open(&beside)?);
        let mut summing = Summing { file, sum: Sha256::new() };
        serde_json::to_writer(&mut summing, copy)?;
        let Summing { mut file, sum } = summing;
        write!(file, "\n{}", seal(sum))?;
        file.into_inner()?.sync_all()?;
        fs::rename(&beside, &self.file)?;
        if let Some(folder) = self.file.parent() {
            fs::File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

/// Writes and sums up what is written: a copy is large, so it is nowhere whole in memory.
struct Summing {
    file: BufWriter<fs::File>,
    sum: Sha256,
}

impl io::Write for Summing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn seal(sum: Sha256) -> String {
    let digest: [u8; 32] = sum.finalize().into();
    let hex = digest.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    format!("{FORMAT} {hex}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn disk(name: &str) -> Disk {
        let folder = weir_local::shared::scratch().path().join(name);
        Disk::new(&folder).expect("a folder in the scratch folder")
    }

    #[test]
    fn copy_comes_back_whole_and_only_its_owner_may_read_it() {
        let disk = disk("copy-comes-back");
        assert_eq!(disk.read().expect("readable"), None);
        let copy = Copy { version: 42, live_gates: 3, ..Copy::default() };
        disk.write(&copy).expect("writable");
        assert_eq!(disk.read().expect("readable"), Some(copy));
        let mode = fs::metadata(&disk.file).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn damaged_or_truncated_copy_is_refused() {
        let disk = disk("damaged-copy");
        disk.write(&Copy { version: 42, ..Copy::default() }).expect("writable");
        let whole = fs::read(&disk.file).expect("readable");
        for damaged in [&whole[..whole.len() - 1], &whole[..10], b""] {
            fs::write(&disk.file, damaged).expect("writable");
            assert!(disk.read().is_err());
        }
        let mut flipped = whole.clone();
        let last = flipped.len() - 3;
        flipped[last] ^= 1;
        fs::write(&disk.file, flipped).expect("writable");
        assert!(disk.read().is_err());
    }
}
