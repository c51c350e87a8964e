//! Tests with a real server for each.

use crate::{Redis, RedisOptions, ScratchDir};

fn start(scratch: &ScratchDir) -> Redis {
    Redis::start(RedisOptions {
        data_dir: scratch.path().join("redis"),
        settings: vec!["databases 2".to_owned()],
    })
    .unwrap()
}

#[test]
fn killed_server_comes_back_empty_on_the_same_port() {
    let scratch = ScratchDir::create().unwrap();
    let server = start(&scratch);
    let (pid, url) = (server.pid().unwrap(), server.url());
    assert_eq!(server.command("SET a 1").unwrap(), "+OK\r\n");

    server.kill().unwrap();
    assert!(server.command("PING").is_err());
    server.restart().unwrap();

    assert_ne!(server.pid().unwrap(), pid);
    assert_eq!(server.url(), url);
    assert_eq!(server.command("EXISTS a").unwrap(), ":0\r\n");
}

#[test]
fn settings_are_those_of_weir() {
    let scratch = ScratchDir::create().unwrap();
    let server = start(&scratch);
    for (name, value) in [("maxmemory-policy", "noeviction"), ("databases", "2"), ("save", "")] {
        let reply = server.command(&format!("CONFIG GET {name}")).unwrap();
        assert_eq!(reply.split("\r\n").nth(4), Some(value), "{reply}");
    }
}

#[test]
fn paused_server_is_silent_until_resumed() {
    let scratch = ScratchDir::create().unwrap();
    let server = start(&scratch);
    server.pause().unwrap();
    assert!(server.command("PING").is_err());
    server.resume().unwrap();
    assert_eq!(server.command("PING").unwrap(), "+PONG\r\n");
}
