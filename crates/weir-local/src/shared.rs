//! One server of each kind per test process, started at first use. Tests keep apart by database
//! and by key prefix; one that stops or kills a server starts its own.

use std::sync::OnceLock;

use crate::{Postgres, PostgresOptions, Redis, RedisOptions, ScratchDir};

/// # Panics
/// When the server cannot be started: there is no test without it.
pub fn postgres() -> &'static Postgres {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    SERVER.get_or_init(|| {
        Postgres::start(PostgresOptions {
            data_dir: scratch().path().join("postgres"),
            durable: false,
        })
        .unwrap_or_else(|error| panic!("start Postgres: {error}"))
    })
}

/// # Panics
/// When the server cannot be started: there is no test without it.
pub fn redis() -> &'static Redis {
    static SERVER: OnceLock<Redis> = OnceLock::new();
    SERVER.get_or_init(|| {
        Redis::start(RedisOptions {
            data_dir: scratch().path().join("redis"),
            settings: Vec::new(),
        })
        .unwrap_or_else(|error| panic!("start Redis: {error}"))
    })
}

/// A folder for this test process, removed after its end.
///
/// # Panics
/// When no folder can be made.
pub fn scratch() -> &'static ScratchDir {
    static FOLDER: OnceLock<ScratchDir> = OnceLock::new();
    FOLDER.get_or_init(|| {
        ScratchDir::create().unwrap_or_else(|error| panic!("create a scratch folder: {error}"))
    })
}
