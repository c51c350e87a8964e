//! The data folder of a server: private to the account of the server, and reachable by it.
//!
//! If the account cannot pass through a folder above the requested one (the home of root is closed to other accounts), a
//! folder in `/var/tmp` replaces it. The name of the replacement is derived from the requested path, so the next start finds
//! the same data.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::{Account, LocalError};

/// Prepares `wanted`, or its replacement, for `account`. Returns the folder in use.
pub(crate) fn prepare(wanted: &Path, account: &Account) -> Result<PathBuf, LocalError> {
    // Another thread possibly creates the same parents.
    static CREATING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
    let wanted = std::path::absolute(wanted).map_err(LocalError::file("find", wanted))?;
    let folder = if reachable(&wanted, account) {
        create_parents(&wanted, account)?;
        wanted
    } else {
        shared_parent().join(format!("weir-{:016x}", hash(&wanted)))
    };
    make_private(&folder, account)?;
    Ok(folder)
}

/// Writes a file that only `account` and root can read.
pub(crate) fn write_private(path: &Path, text: &str, account: &Account) -> Result<(), LocalError> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let staged = path.with_extension("new");
    let written = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&staged)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| give(&staged, account))
        .and_then(|()| fs::rename(&staged, path));
    written.map_err(LocalError::file("write", path))
}

/// Creates the missing folders above `path`. `account` can pass through them with any file mode creation mask.
fn create_parents(path: &Path, account: &Account) -> Result<(), LocalError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    let missing: Vec<_> = parent.ancestors().take_while(|folder| !folder.exists()).collect();
    fs::create_dir_all(parent).map_err(LocalError::file("create", parent))?;
    if *account == Account::Ours {
        return Ok(());
    }
    missing.into_iter().try_for_each(allow_passing)
}

/// Lets all accounts pass through a folder.
pub(crate) fn allow_passing(folder: &Path) -> Result<(), LocalError> {
    let opened = fs::metadata(folder).and_then(|found| {
        let mode = found.permissions().mode() | 0o011;
        fs::set_permissions(folder, fs::Permissions::from_mode(mode))
    });
    opened.map_err(LocalError::file("open", folder))
}

fn make_private(folder: &Path, account: &Account) -> Result<(), LocalError> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => {
            return give(folder, account).map_err(LocalError::file("hand over", folder));
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(LocalError::file("create", folder)(error)),
    }
    // Another user could have made the existing folder as a trap (a link, or a folder of theirs), so its owner must be this
    // process or the account.
    let found = fs::symlink_metadata(folder).map_err(LocalError::file("inspect", folder))?;
    let ours = rustix::process::geteuid().as_raw();
    if !found.is_dir() || ![account.uid(), ours].contains(&found.uid()) {
        return Err(LocalError::UnsafeFolder { path: folder.to_owned(), owner: account.name() });
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
        .and_then(|()| give(folder, account))
        .map_err(LocalError::file("hand over", folder))
}

fn give(path: &Path, account: &Account) -> std::io::Result<()> {
    match account {
        Account::Ours => Ok(()),
        Account::Other { uid, gid, .. } => std::os::unix::fs::lchown(path, Some(*uid), Some(*gid)),
    }
}

/// Whether `account` can pass through every existing folder above `path`.
pub(crate) fn reachable(path: &Path, account: &Account) -> bool {
    let Account::Other { uid, gid, .. } = account else {
        return true;
    };
    path.ancestors().skip(1).all(|folder| {
        fs::metadata(folder).map_or(true, |found| {
            let pass = match () {
                () if found.uid() == *uid => 0o100,
                () if found.gid() == *gid => 0o010,
                () => 0o001,
            };
            found.mode() & pass != 0
        })
    })
}

fn shared_parent() -> &'static Path {
    let persistent = Path::new("/var/tmp");
    if persistent.is_dir() { persistent } else { Path::new("/tmp") }
}

/// FNV-1a, which gives the same result on every machine and in every release. The path of the data depends on it.
fn hash(path: &Path) -> u64 {
    path.as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
