//! One server of each kind per test process, started at first use. Tests are separated by database and by key prefix. A test
//! that stops or kills a server starts its own.

use std::sync::OnceLock;

pub use crate::scratch::of_process as scratch;
use crate::{Postgres, PostgresOptions, Redis, RedisOptions};

/// The Postgres server of this test process.
///
/// # Panics
/// If the server cannot be started, because no test can run without it.
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

/// The Redis server of this test process.
///
/// # Panics
/// If the server cannot be started, because no test can run without it.
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
