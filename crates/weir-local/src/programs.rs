//! The paths of the installed servers.

use std::path::{Path, PathBuf};

use crate::LocalError;

/// The folder with the newest `initdb` and `postgres`, either on the search path or where known systems install them.
pub fn postgres_folder() -> Result<PathBuf, LocalError> {
    on_path("initdb")
        .and_then(|program| program.canonicalize().ok())
        .and_then(|program| program.parent().map(Path::to_owned))
        .into_iter()
        .chain(installed("/usr/lib/postgresql", ""))
        .chain(installed("/opt/homebrew/opt", "postgresql"))
        .chain(installed("/usr/local/opt", "postgresql"))
        .filter(|folder| complete(folder))
        .max_by_key(|folder| version(folder))
        .ok_or(LocalError::Missing { program: "Postgres (initdb, postgres, psql)" })
}

/// The path of `redis-server`, or of Valkey's server.
pub fn redis_server() -> Result<PathBuf, LocalError> {
    ["redis-server", "valkey-server"]
        .into_iter()
        .find_map(on_path)
        .ok_or(LocalError::Missing { program: "redis-server" })
}

/// The folder for files that builds and runs use again: `weir` in the user's folder for caches.
pub fn cache_folder() -> Option<PathBuf> {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")))?;
    Some(caches.join("weir"))
}

/// The path of `pgbouncer`, which Debian installs outside of the search path of accounts.
pub fn pgbouncer() -> Result<PathBuf, LocalError> {
    let debian = PathBuf::from("/usr/sbin/pgbouncer");
    on_path("pgbouncer")
        .or_else(|| debian.is_file().then_some(debian))
        .ok_or(LocalError::Missing { program: "pgbouncer" })
}

/// The library that gives a process another clock. Debian installs it with the program `faketime`.
pub fn faketime() -> Result<PathBuf, LocalError> {
    installed("/usr/lib", "")
        .into_iter()
        .filter_map(|folder| Some(folder.parent()?.join("faketime/libfaketime.so.1")))
        .find(|library| library.is_file())
        .ok_or(LocalError::Missing { program: "libfaketime" })
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"].map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

fn installed(parent: &str, prefix: &str) -> Vec<PathBuf> {
    std::fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path().join("bin"))
        .collect()
}

fn complete(folder: &Path) -> bool {
    ["initdb", "postgres", "psql"].iter().all(|name| folder.join(name).is_file())
}

/// The major version in a path such as `…/postgresql/15/bin` or `…/postgresql@17/bin`, or 0 if there is none.
fn version(folder: &Path) -> u32 {
    folder
        .components()
        .filter_map(|part| {
            let part = part.as_os_str().to_string_lossy();
            part.rsplit('@').next()?.parse().ok()
        })
        .next_back()
        .unwrap_or(0)
}
