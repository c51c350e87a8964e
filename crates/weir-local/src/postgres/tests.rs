//! Tests with a real server for each.

use crate::{Account, LocalError, Postgres, PostgresOptions, ScratchDir};

fn start(scratch: &ScratchDir) -> Postgres {
    Postgres::start(PostgresOptions { data_dir: scratch.path().join("postgres"), durable: false })
        .unwrap()
}

#[test]
fn data_and_port_survive_a_kill_and_a_restart() {
    let scratch = ScratchDir::create().unwrap();
    let server = start(&scratch);
    server.create_database("orders").unwrap();
    server.psql("orders", &["-c", "CREATE TABLE kept (n int)"]).unwrap();
    let (pid, url) = (server.pid().unwrap(), server.url("orders"));

    server.kill().unwrap();
    assert_eq!(server.pid(), None);
    assert!(server.psql("orders", &["-c", "SELECT 1"]).is_err());
    server.restart().unwrap();

    assert_ne!(server.pid().unwrap(), pid);
    assert_eq!(server.url("orders"), url);
    let rows = server.psql("orders", &["-c", "SELECT count(*) FROM kept"]);
    assert_eq!(rows.unwrap(), "0");
}

#[test]
fn password_is_demanded() {
    let scratch = ScratchDir::create().unwrap();
    let mut server = start(&scratch);
    server.password = "wrong".to_owned();
    let refused = server.psql("postgres", &["-c", "SELECT 1"]);
    assert!(matches!(refused, Err(LocalError::Failed { output, .. })
        if output.contains("password authentication failed")));
}

#[test]
fn paused_server_answers_after_resume() {
    let scratch = ScratchDir::create().unwrap();
    let server = start(&scratch);
    server.pause().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.psql("postgres", &["-c", "SELECT 7"]));
        assert!(!waiting.is_finished());
        server.resume().unwrap();
        assert_eq!(waiting.join().unwrap().unwrap(), "7");
    });
}

#[test]
fn second_owner_continues_with_the_same_data() {
    let scratch = ScratchDir::create().unwrap();
    let first = start(&scratch);
    first.create_database("kept").unwrap();
    let url = first.url("kept");
    drop(first);
    let second = start(&scratch);
    assert_eq!(second.url("kept"), url);
    second.psql("kept", &["-c", "SELECT 1"]).unwrap();
}

#[test]
fn never_runs_as_root() {
    assert!(Account::for_servers().unwrap().uid() != 0);
}

#[test]
fn strange_database_names_are_refused() {
    let scratch = ScratchDir::create().unwrap();
    let server = start(&scratch);
    for name in ["", "a b", "x; DROP DATABASE y", "Großes"] {
        assert!(matches!(server.create_database(name), Err(LocalError::Name(_))));
    }
}
