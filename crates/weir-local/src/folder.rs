//! The data folder of a server: private to the account of the server, and reachable by it.
//!
//! If the account cannot pass through a folder above the requested one (the home of root is closed to other accounts), the
//! requested path is a link to a folder `weir-…` in `/var/tmp`. After the link, or a folder above it, is removed, a server starts
//! from nothing, and the former data stay in `/var/tmp`.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::random::{NAME_LEN, random_name};
use crate::{Account, LocalError};

/// Prepares `wanted`, or its replacement, for `account`. Returns the folder in use.
pub(crate) fn prepare(wanted: &Path, account: &Account) -> Result<PathBuf, LocalError> {
    // Another thread possibly creates the same parents.
    static CREATING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
    let wanted = std::path::absolute(wanted).map_err(LocalError::file("find", wanted))?;
    let folder = match linked(&wanted) {
        Some(folder) => folder,
        None if reachable(&wanted, account) => {
            create_parents(&wanted, account)?;
            wanted
        }
        None => link(&wanted, account)?,
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

/// The folder to which a link at `wanted` leads, if this account made it with [`link`]. Any other link could be a trap.
fn linked(wanted: &Path) -> Option<PathBuf> {
    let owner = fs::symlink_metadata(wanted).ok()?.uid();
    let folder = fs::read_link(wanted).ok()?;
    let name = folder.file_name()?.to_str()?.strip_prefix("weir-")?;
    let is_own = owner == rustix::process::geteuid().as_raw()
        && folder.parent() == Some(shared_parent())
        && name.len() == NAME_LEN;
    is_own.then_some(folder)
}

/// Makes a link to a folder with a new name, which is not created yet.
fn link(wanted: &Path, account: &Account) -> Result<PathBuf, LocalError> {
    if fs::symlink_metadata(wanted).is_ok() {
        return Err(LocalError::Unreachable { path: wanted.to_owned(), user: account.name() });
    }
    if let Some(parent) = wanted.parent() {
        fs::create_dir_all(parent).map_err(LocalError::file("create", parent))?;
    }
    let folder = shared_parent().join(format!("weir-{}", random_name()?));
    symlink(&folder, wanted).map_err(LocalError::file("make the link", wanted))?;
    Ok(folder)
}

fn shared_parent() -> &'static Path {
    let persistent = Path::new("/var/tmp");
    if persistent.is_dir() { persistent } else { Path::new("/tmp") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::of_process;

    #[test]
    fn linked_folder_is_found_again_until_a_folder_above_its_link_is_removed() {
        let data_dir = of_process().path().join("closed");
        let wanted = data_dir.join("postgres");
        assert_eq!(linked(&wanted), None);
        let first = link(&wanted, &Account::Ours).unwrap();
        assert_eq!(linked(&wanted), Some(first.clone()));
        fs::remove_dir_all(&data_dir).unwrap();
        assert_ne!(link(&wanted, &Account::Ours).unwrap(), first);
    }

    #[test]
    fn link_of_another_kind_is_not_followed() {
        let folder = of_process().path();
        for (name, target) in
            [("a", "/etc"), ("b", "/var/tmp/weir-etc"), ("c", "weir-0123456789abcdef")]
        {
            let wanted = folder.join(name);
            symlink(target, &wanted).unwrap();
            assert_eq!(linked(&wanted), None, "{target}");
            let refused = link(&wanted, &Account::Ours).unwrap_err();
            assert!(matches!(refused, LocalError::Unreachable { .. }), "{refused}");
        }
    }
}
