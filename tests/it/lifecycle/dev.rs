//! `weir dev` leaves no processes behind, however it ends, and finds its data again.

use serde_json::json;
use weir_local::ScratchDir;

use crate::harness::{Dev, Http, listens, processes_with, seconds, send_signal, until};

#[tokio::test]
async fn weir_dev_stops_everything_it_started_and_comes_back_with_the_same_demo() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let first = Dev::start(scratch.path()).await;
    assert_serves(&first).await;
    let ports = first.ports();
    assert!(ports.iter().all(|port| listens(*port)), "{}", first.said);
    let data = data_folders(&scratch);
    assert!(!processes_with(&data).is_empty(), "no server works in {data}");

    send_signal(first.process.pid(), "INT");
    assert_eq!(first.process.wait_exit(seconds(30)), Some(0), "{}", first.process.log_tail());
    // After Ctrl-C, all its servers end before it does. The shells that watched them end when they notice that.
    assert!(ports.iter().all(|port| !listens(*port)), "{}", first.said);
    until_no_process_has(&data).await;

    let second = Dev::start(scratch.path()).await;
    for what in ["/api_key", "/email", "/password", "/tenant"] {
        assert_eq!(second.text(what), first.text(what), "{what}");
    }
    assert_serves(&second).await;

    let ports = second.ports();
    send_signal(second.process.pid(), "KILL");
    assert_eq!(second.process.wait_exit(seconds(10)), Some(128 + 9));
    until(seconds(40), "Postgres and Redis end after a crash of their owner", async || {
        ports.iter().all(|port| !listens(*port)) && processes_with(&data).is_empty()
    })
    .await;

    let third = Dev::start(scratch.path()).await;
    assert_eq!(third.text("/api_key"), first.text("/api_key"), "the data outlived the crash");
    assert_serves(&third).await;
    third.process.stop();
}

#[tokio::test]
async fn weir_dev_with_sentinels_or_a_cluster_serves_and_leaves_no_process_behind() {
    for kind in ["sentinel", "cluster"] {
        let scratch = ScratchDir::create().expect("a scratch folder");
        let dev = Dev::start_with(scratch.path(), &["--redis", kind]).await;
        let url = dev.text("/redis_url");
        assert!(url.starts_with(&format!("redis-{kind}://")), "{}", dev.said);
        assert_serves(&dev).await;
        send_signal(dev.process.pid(), "INT");
        assert_eq!(dev.process.wait_exit(seconds(60)), Some(0), "{}", dev.process.log_tail());
        until_no_process_has(&data_folders(&scratch)).await;
    }
}

async fn until_no_process_has(data: &str) {
    until(seconds(10), "no process is left", async || processes_with(data).is_empty()).await;
}

/// Sign-in works, and both gates know the demo's key and rules.
async fn assert_serves(dev: &Dev) {
    let http = Http::new();
    let login = json!({ "email": dev.text("/email"), "password": dev.text("/password") });
    let url = format!("{}/api/v1/auth/login", dev.text("/control"));
    http.post(&url, "nobody", &login).await.expect(200);
    let check = json!({ "namespace": "api", "mode": "peek",
        "attributes": { "user": "u-17", "route": "/login" } });
    for gate in ["/gates/0", "/gates/1"] {
        let url = format!("{}/check", dev.text(gate));
        let reply = http.post(&url, &dev.text("/api_key"), &check).await.expect(200);
        assert_eq!(reply.number("/limit"), 5);
    }
}

/// A text that the command lines of its servers contain.
fn data_folders(scratch: &ScratchDir) -> String {
    scratch.path().join("dev").join("data").display().to_string()
}
