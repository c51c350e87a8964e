//! Programs that `cargo xtask setup --for test` installs: Debian's packages, and Python's in environments in the cache.

use std::path::PathBuf;
use std::{env, fs};

/// The path of a program.
///
/// # Panics
/// If it is not installed.
pub fn installed(name: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let of_system = env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let caches = env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty());
    let caches = caches
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let tools =
        caches.map(|caches| caches.join("weir/tools")).and_then(|tools| fs::read_dir(tools).ok());
    let environments = tools.into_iter().flatten().flatten().map(|entry| entry.path());
    let mut environments: Vec<_> = environments
        .filter(|folder| folder.join("complete").is_file())
        .map(|folder| folder.join("bin"))
        .collect();
    // The newest list of packages.
    environments.sort_by_key(|folder| fs::metadata(folder).and_then(|data| data.modified()).ok());
    let candidates = of_system.chain(environments.into_iter().rev());
    let found = candidates.map(|folder| folder.join(name)).find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("{name} is missing: cargo xtask setup --for test"))
}
