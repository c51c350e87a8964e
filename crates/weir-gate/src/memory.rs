//! Decisions from memory: leases, the cache of denials, and the maps and the clock of both.

pub(crate) mod denial_cache;
pub(crate) mod lease_keeper;
pub(crate) mod leases;
pub(crate) mod monotonic;
pub(crate) mod sharded;
pub(crate) mod tenant_map;
pub(crate) mod usage_cache;
