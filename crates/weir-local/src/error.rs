//! Errors of local servers, with texts for a person at a terminal.

use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    #[error("{program} was not found; install it with: cargo xtask setup")]
    Missing { program: &'static str },
    #[error("{engine} was not found; install it with: cargo xtask setup --for test")]
    MissingEngine { engine: &'static str },
    #[error("{variable} names no engine: {name:?}")]
    UnknownEngine { variable: &'static str, name: String },
    #[error("{doing} {}", path.display())]
    File { doing: &'static str, path: PathBuf, source: std::io::Error },
    #[error("start {program}")]
    Spawn { program: String, source: std::io::Error },
    #[error("{program} failed: {output}")]
    Failed { program: String, output: String },
    #[error("{program} was not ready after {waited:?}; its last words: {log}")]
    NotReady { program: &'static str, waited: Duration, log: String },
    #[error("{program} ended with code {code} while starting; its last words: {log}")]
    Ended { program: &'static str, code: i32, log: String },
    #[error("{} is not safe to use: it must be a folder of user {owner} with mode 0700", path.display())]
    UnsafeFolder { path: PathBuf, owner: String },
    #[error("{} exists, and user {user} cannot reach it: open the folders above it, or remove it", path.display())]
    Unreachable { path: PathBuf, user: String },
    #[error("no user to run servers as: neither postgres nor nobody exists, and root is refused")]
    NoAccount,
    #[error("no free port on loopback")]
    NoPort,
    #[error("not running")]
    NotRunning,
    #[error("{0:?} is not a plain database name")]
    Name(String),
}

impl LocalError {
    /// Returns a function for `map_err` that adds the failed action and its file to an error.
    pub(crate) fn file(
        doing: &'static str,
        path: &Path,
    ) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { doing, path, source }
    }
}
