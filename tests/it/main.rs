//! Black-box tests over HTTP only, with the real binary, Postgres and Redis. One file for each promise.

mod harness;

mod accounts;
mod alert_rules;
mod audit;
mod ceilings;
mod check_flow;
mod concurrency;
mod control_planes;
mod dashboard;
mod exactness;
mod failures;
mod guide;
mod leases;
mod lifecycle;
mod listeners;
mod local_counters;
mod mail;
mod malformed;
mod metrics;
mod postgres_failover;
mod postgres_outage;
mod postgres_refusals;
mod postgres_silence;
mod proxies;
mod redis_cluster;
mod redis_outage;
mod redis_refusals;
mod redis_tls;
mod rule_propagation;
mod rules_as_code;
mod shortcuts;
mod spread;
mod statistics;
mod tour;
mod what_if;
