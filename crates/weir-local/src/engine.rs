//! The engines that tests can run on: the Redis of this machine, and two that `cargo xtask setup --for test` installs into the
//! cache of Weir.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::programs::{cache_folder, redis_server};
use crate::{Account, LocalError, folder, scratch};

/// A server that speaks Redis' protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// The Redis or Valkey of this machine.
    Installed,
    Redis8,
    Valkey9,
}

/// The variable of the environment that names the engine of a test run.
pub const ENGINE_VARIABLE: &str = "WEIR_TEST_ENGINE";

impl Engine {
    /// The engine of this test run: the installed one unless the environment names another.
    #[expect(clippy::disallowed_methods, reason = "it chooses tests, and is no setting of Weir")]
    pub fn of_environment() -> Result<Self, LocalError> {
        let name = std::env::var(ENGINE_VARIABLE).unwrap_or_default();
        if name.is_empty() {
            return Ok(Self::Installed);
        }
        let engines = [Self::Installed, Self::Redis8, Self::Valkey9];
        engines
            .into_iter()
            .find(|engine| engine.name() == name)
            .ok_or(LocalError::UnknownEngine { variable: ENGINE_VARIABLE, name })
    }

    /// The name in [`ENGINE_VARIABLE`].
    pub fn name(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Redis8 => "redis-8",
            Self::Valkey9 => "valkey-9",
        }
    }

    /// The path at which the set-up puts the program of an engine that is not the installed one.
    pub fn cached(self, cache: &Path) -> Option<PathBuf> {
        let program = match self {
            Self::Installed => return None,
            Self::Redis8 => "redis-8/redis-server",
            Self::Valkey9 => "valkey-9/valkey-server",
        };
        Some(cache.join("engines").join(program))
    }

    /// The path of the program, which `account` can reach.
    pub(crate) fn program(self, account: &Account) -> Result<PathBuf, LocalError> {
        let cached = cache_folder().and_then(|cache| self.cached(&cache));
        let Some(program) = cached else { return redis_server() };
        if !program.is_file() {
            return Err(LocalError::MissingEngine { engine: self.name() });
        }
        if folder::reachable(&program, account) { Ok(program) } else { self.copy(&program) }
    }

    /// Copies the program to a folder that all accounts can reach: the home of root is closed to them.
    fn copy(self, program: &Path) -> Result<PathBuf, LocalError> {
        static COPYING: Mutex<()> = Mutex::new(());
        let _one_at_a_time = COPYING.lock().unwrap_or_else(PoisonError::into_inner);
        let parent = scratch::of_process().path().join(self.name());
        let copy = parent.join(program.file_name().unwrap_or_default());
        if copy.is_file() {
            return Ok(copy);
        }
        fs::create_dir_all(&parent).map_err(LocalError::file("create", &parent))?;
        folder::allow_passing(&parent)?;
        // A process of its own: a file that this process has open for writing cannot be run if another thread starts a
        // process meanwhile.
        let failed = |output| LocalError::Failed { program: "cp".to_owned(), output };
        let copied = Command::new("cp").arg(program).arg(&copy).output();
        let copied = copied.map_err(|error| failed(error.to_string()))?;
        if !copied.status.success() {
            return Err(failed(String::from_utf8_lossy(&copied.stderr).into_owned()));
        }
        // With any file mode creation mask.
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))
            .map_err(LocalError::file("open", &copy))?;
        Ok(copy)
    }
}
