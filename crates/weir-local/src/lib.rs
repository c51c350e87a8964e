//! Finds, starts, stops, kills, pauses and restarts real Postgres and Redis processes, for
//! `weir dev` and for the tests.
//!
//! - [`Postgres`] and [`Redis`]: one server each, on loopback, in a folder of its own.
//! - [`PgBouncer`]: a pooler in front of a Postgres server.
//! - [`RedisSentinel`] and [`RedisCluster`]: several Redis servers that fail over by themselves.
//! - [`Engine`]: the Redis of this machine, or another one that the tests run on.
//! - [`shared`]: one server of each kind per test process.
//! - [`Relay`]: a network that delays, silences and cuts connections.
//! - [`Network`]: two sides that can be parted, in network namespaces of a test.
//! - [`WatchedProcess`]: a process that must not outlive its owner. Tests run `weir serve` in it.
//!
//! Invariants: nothing that is started here outlives its owner, even if the owner is killed. No server runs as root, and no
//! server listens on anything but loopback, unless in a network namespace of a test. All calls block and need no runtime.

pub mod shared;

mod account;
mod engine;
mod error;
mod folder;
mod network;
mod pgbouncer;
mod port;
mod postgres;
mod programs;
mod random;
mod redis;
mod redis_cluster;
mod redis_sentinel;
mod relay;
mod scratch;
mod secret;
mod watchdog;

pub use account::Account;
pub use engine::{ENGINE_VARIABLE, Engine};
pub use error::LocalError;
pub use network::{Network, Side, has_own_network};
pub use pgbouncer::PgBouncer;
pub use port::free_port;
pub use postgres::{Postgres, PostgresOptions};
pub use programs::{cache_folder, faketime, pgbouncer, postgres_folder, redis_server};
pub use redis::{Redis, RedisOptions};
pub use redis_cluster::{ClusterOptions, RedisCluster};
pub use redis_sentinel::{RedisSentinel, SentinelOptions, TlsFiles};
pub use relay::Relay;
pub use scratch::ScratchDir;
pub use watchdog::{Launch, StopSignal, WatchedProcess};
