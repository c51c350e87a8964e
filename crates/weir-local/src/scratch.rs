//! A folder that is removed when its owner ends, even if the owner is killed.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use crate::LocalError;
use crate::random::random_name;

/// A new folder in the system's directory for temporary files. Other users can pass through it but cannot list it: a server
/// that runs as another user has its private folder inside.
#[derive(Debug)]
pub struct ScratchDir {
    path: PathBuf,
    sweeper: Child,
}

impl ScratchDir {
    pub fn create() -> Result<Self, LocalError> {
        let path = std::env::temp_dir().join(format!("weir-{}", random_name()?));
        fs::DirBuilder::new()
            .mode(0o711)
            .create(&path)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o711)))
            .map_err(LocalError::file("create", &path))?;
        let sweeper = Command::new("/bin/sh")
            .args(["-c", SWEEP, "weir-sweeper"])
            .arg(&path)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|source| LocalError::Spawn { program: "sh".to_owned(), source })?;
        Ok(Self { path, sweeper })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A folder for this test process, removed after its end.
///
/// # Panics
/// If no folder can be created.
pub fn of_process() -> &'static ScratchDir {
    static FOLDER: OnceLock<ScratchDir> = OnceLock::new();
    FOLDER.get_or_init(|| {
        ScratchDir::create().unwrap_or_else(|error| panic!("create a scratch folder: {error}"))
    })
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        drop(self.sweeper.stdin.take());
        let _ = self.sweeper.wait();
    }
}

/// Waits for the owner to end, then for the watchdogs of processes that use the folder (each has a `.running` file in it),
/// then removes the folder.
const SWEEP: &str = r#"
while read -r _; do :; done
tenths=300
while [ "$tenths" -gt 0 ] && [ -n "$(find "$1" -name '*.running' -print)" ]; do
    sleep 0.1
    tenths=$((tenths - 1))
done
rm -rf -- "$1"
"#;
