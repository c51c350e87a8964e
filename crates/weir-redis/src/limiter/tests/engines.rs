//! The tests of the limiter on other engines. Each test of this file runs others of this program again, in a process with
//! another variable in its environment.

use std::process::Command;

use weir_local::{ENGINE_VARIABLE, Engine};

/// The tests that run again, by the beginning of their names. Those of times, outages and waits would take too long.
const TESTS: [&str; 11] = [
    "batching::",
    "clock_steps::",
    "edges::",
    "guarantees::",
    "idempotency::",
    "refunds::",
    "subject_hashes::",
    "twin::",
    "unreadable::",
    "waits::no_window_holds_more_than_the_limit",
    "worked_examples::",
];

/// Tests of Sentinels and of a cluster.
const SEVERAL_SERVERS: [&str; 4] = [
    "client::tests::killed_primary_is_replaced_and_admissions_stay_bounded",
    "limiter::tests::cluster::serving::checks_of_all_buckets",
    "limiter::tests::cluster::moving_slots::",
    "limiter::tests::cluster::failover::killed_primary",
];

fn run_again(engine: Engine) {
    let this = std::env::current_exe().expect("the program of the tests");
    let mut tests = TESTS.map(|tests| format!("limiter::tests::{tests}")).to_vec();
    tests.extend(SEVERAL_SERVERS.map(str::to_owned));
    let mut again = Command::new(this);
    // One at a time, so that the tests beside this one have the time that they would have without it.
    again.args(&tests).args(["--test-threads", "1"]);
    again.env(ENGINE_VARIABLE, engine.name());
    let output = again.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{engine:?}: {text}");
    for tests in tests {
        assert!(text.contains(&tests), "no test has a name that begins with {tests}: {text}");
    }
}

#[test]
fn redis_8() {
    run_again(Engine::Redis8);
}

#[test]
fn valkey_9() {
    run_again(Engine::Valkey9);
}
