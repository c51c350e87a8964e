//! An owner leaves no process behind, however it ends.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use weir_local::{Launch, ScratchDir, WatchedProcess};

#[test]
fn killed_owner_leaves_no_server_behind() {
    let scratch = ScratchDir::create().unwrap();
    let (mut owner, pids) = hold(scratch.path());
    owner.kill().unwrap();
    owner.wait().unwrap();
    await_gone(&pids);
}

#[test]
fn killed_owner_leaves_no_paused_server_behind() {
    let scratch = ScratchDir::create().unwrap();
    let (mut owner, pids) = hold(scratch.path());
    for pid in &pids {
        let stopped = Command::new("kill").args(["-s", "STOP", pid]).status();
        assert!(stopped.unwrap().success());
    }
    owner.kill().unwrap();
    owner.wait().unwrap();
    await_gone(&pids);
}

#[test]
fn watched_process_ends_with_its_code_and_output() {
    let scratch = ScratchDir::create().unwrap();
    let launch = Launch::new("/bin/sh", scratch.path(), &scratch.path().join("log"))
        .args(["-c", "echo $GREETING; echo trouble >&2; exit 3"])
        .env("GREETING", "hello")
        .stdout(&scratch.path().join("out"));
    let process = WatchedProcess::spawn(launch).unwrap();
    assert_eq!(process.wait_exit(Duration::from_secs(20)), Some(3));
    assert_eq!(process.stdout(), "hello\n");
    assert_eq!(process.log_tail(), "trouble");
}

#[test]
fn watched_process_that_ignores_the_signal_is_killed() {
    let scratch = ScratchDir::create().unwrap();
    let launch = Launch::new("/bin/sh", scratch.path(), &scratch.path().join("log"))
        .args(["-c", "trap '' TERM; echo up; while :; do sleep 1; done"])
        .stop_by(weir_local::StopSignal::Terminate, Duration::from_secs(1));
    let process = WatchedProcess::spawn(launch).unwrap();
    until(|| process.stdout() == "up\n");
    assert_eq!(process.stop(), 128 + 9);
}

#[test]
fn scratch_folder_goes_with_its_owner() {
    let scratch = ScratchDir::create().unwrap();
    let path = scratch.path().to_owned();
    std::fs::write(path.join("file"), "x").unwrap();
    drop(scratch);
    assert!(!path.exists());
}

fn hold(folder: &Path) -> (Child, Vec<String>) {
    let mut owner = Command::new(example()).arg(folder).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pids: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    assert_eq!(pids.len(), 2, "the owner did not start: {line:?}");
    (owner, pids)
}

/// `target/debug/examples/hold`, built along with this test in `target/debug/deps`.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().with_file_name("examples").join("hold")
}

fn await_gone(pids: &[String]) {
    until(|| {
        pids.iter().all(|pid| {
            let alive = Command::new("kill").args(["-0", pid]).stderr(Stdio::null()).status();
            !alive.unwrap().success()
        })
    });
}

fn until(condition: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < until, "still not so after 30 s");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}
