//! The tests of the limiter on every engine, with functions and with scripts. Each test of this file runs others of this
//! program again, in a process with other variables in its environment.

use std::process::Command;

use weir_local::{ENGINE_VARIABLE, Engine};

use super::fixture::PROGRAM_VARIABLE;

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

/// Tests of Sentinels and of a cluster, which are the same by function and by script.
const SEVERAL_SERVERS: [&str; 4] = [
    "client::tests::killed_primary_is_replaced_and_admissions_stay_bounded",
    "limiter::tests::cluster::serving::checks_of_all_buckets",
    "limiter::tests::cluster::moving_slots::",
    "limiter::tests::cluster::failover::killed_primary",
];

fn run_again(engine: Engine, program: &str) {
    let this = std::env::current_exe().expect("the program of the tests");
    let mut tests = TESTS.map(|tests| format!("limiter::tests::{tests}")).to_vec();
    if program == "function" {
        tests.extend(SEVERAL_SERVERS.map(str::to_owned));
    }
    let mut again = Command::new(this);
    // One at a time, so that the tests beside this one have the time that they would have without it.
    again.args(&tests).args(["--test-threads", "1"]);
    again.env(ENGINE_VARIABLE, engine.name()).env(PROGRAM_VARIABLE, program);
    let output = again.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{engine:?} by {program}: {text}");
    for tests in tests {
        assert!(text.contains(&tests), "no test has a name that begins with {tests}: {text}");
    }
}

#[test]
fn installed_redis_by_script() {
    run_again(Engine::Installed, "script");
}

#[test]
fn redis_8_by_function() {
    run_again(Engine::Redis8, "function");
}

#[test]
fn redis_8_by_script() {
    run_again(Engine::Redis8, "script");
}

#[test]
fn valkey_9_by_function() {
    run_again(Engine::Valkey9, "function");
}

#[test]
fn valkey_9_by_script() {
    run_again(Engine::Valkey9, "script");
}
