//! Exported decisions: their counts equal the statistics.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::process::Command;
use std::sync::{Arc, Mutex};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::harness::{
    GateSettings, Server, Stack, Tenant, metric, metrics, seconds, shared, until,
};

const CHECKS: u64 = 60;

/// Starts a gate with these settings, and a tenant with a limit of two a day for each user.
async fn start(settings: Vec<(&'static str, String)>) -> (&'static Stack, Tenant<'static>, Server) {
    let stack = shared().await;
    let tenant = Tenant::sign_up(stack).await;
    let gate = stack.gate(GateSettings { env: settings, ..GateSettings::default() });
    stack.until_ready(&gate).await;
    let limit = json!({ "algorithm": "sliding_window_log", "limit": 2, "window_ms": 86_400_000 });
    let rule =
        tenant.rule(&json!({ "name": "per-user", "count_by": ["user"], "limits": [limit] })).await;
    tenant.settled_on(&gate, rule.version).await;
    (stack, tenant, gate)
}

/// Sends checks of twelve users. Each has five, so three of each are denied.
async fn send_checks(tenant: &Tenant<'_>, gate: &Server) {
    for at in 0..CHECKS {
        let body = json!({ "attributes": { "user": format!("user-{}", at % 12) } });
        tenant.ask(gate, "/check", &body).await;
    }
}

fn counts(lines: &[Value]) -> BTreeMap<bool, u64> {
    let mut counts = BTreeMap::new();
    for line in lines {
        *counts.entry(line["allowed"] == true).or_default() += 1;
    }
    counts
}

fn parse(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

#[tokio::test]
async fn lines_of_a_file_equal_the_statistics() {
    let stack = shared().await;
    let path = stack.scratch.path().join("decisions.ndjson");
    let to = format!("file:{}", path.display());
    let (_, tenant, gate) = start(vec![("WEIR_DECISIONS", to)]).await;
    send_checks(&tenant, &gate).await;
    let line = format!("weir_exported_decisions_total {CHECKS}");
    until(seconds(30), "the decisions are exported", async || {
        metrics(&gate.url).await.lines().any(|found| found == line)
    })
    .await;
    let text = std::fs::read_to_string(&path).expect("the file of the gate");
    assert!(!text.contains("user-1"), "subjects are digests");
    let lines = parse(&text);
    let own = |line: &&Value| line["tenant"] == tenant.id.as_str();
    assert_eq!(lines.iter().filter(own).count() as u64, CHECKS);
    let exported = counts(&lines);
    assert_eq!(exported, BTreeMap::from([(false, 36), (true, 24)]));
    let subjects: std::collections::BTreeSet<_> =
        lines.iter().map(|line| line["rules"][0]["subject"].to_string()).collect();
    assert_eq!(subjects.len(), 12, "one digest for each user");

    until(seconds(60), "the statistics count the same", async || {
        let summary = tenant.admin(Method::GET, "/stats/summary", &Value::Null).await.expect(200);
        let count = |name: &str| summary.body["counts"][name].as_u64();
        (count("allowed"), count("denied")) == (Some(exported[&true]), Some(exported[&false]))
    })
    .await;
    assert_eq!(gate.stop(), 0, "{}", gate.log());
}

/// A receiver that answers every request with 200 and stores the bodies.
async fn receive(listener: TcpListener, bodies: Arc<Mutex<String>>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        while let Some(body) = body_of(&mut stream).await {
            bodies.lock().expect("no panic").push_str(&body);
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(answer).await.expect("the gate reads");
        }
    }
}

/// The body of the next request. `None` if the connection ends.
async fn body_of(stream: &mut TcpStream) -> Option<String> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.and_then(|text| text.parse().ok()).expect("a length");
            if body.len() >= length {
                return Some(body.to_owned());
            }
        }
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
}

#[tokio::test]
async fn share_is_sent_to_an_address_with_the_attributes_that_were_asked_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let bodies = Arc::new(Mutex::new(String::new()));
    let receiver = tokio::spawn(receive(listener, Arc::clone(&bodies)));
    let (_, tenant, gate) = start(vec![
        ("WEIR_DECISIONS", format!("http://{address}/decisions")),
        ("WEIR_DECISIONS_SHARE", "0.5".to_owned()),
        ("WEIR_DECISIONS_SUBJECTS", "plain".to_owned()),
    ])
    .await;
    send_checks(&tenant, &gate).await;
    until(seconds(30), "half of the decisions are sent", async || {
        bodies.lock().expect("no panic").lines().count() as u64 >= CHECKS / 2
    })
    .await;
    // The end of the process sends what is left.
    assert_eq!(gate.stop(), 0, "{}", gate.log());
    let lines = parse(&bodies.lock().expect("no panic"));
    assert_eq!(lines.len() as u64, CHECKS / 2);
    assert!(lines.iter().all(|line| line["rules"][0]["subject"]["user"].is_string()));
    receiver.abort();
}

#[tokio::test]
async fn receiver_that_is_away_loses_lines_and_delays_no_check() {
    let free = weir_local::free_port().expect("a port is free");
    let to = format!("http://127.0.0.1:{free}/");
    let (_, tenant, gate) = start(vec![("WEIR_DECISIONS", to)]).await;
    send_checks(&tenant, &gate).await;
    let line = format!("weir_dropped_decisions_total {CHECKS}");
    until(seconds(30), "the decisions are lost", async || {
        metrics(&gate.url).await.lines().any(|found| found == line)
    })
    .await;
    assert!(gate.log().contains("could not export decisions; they are lost"), "{}", gate.log());
}

#[tokio::test]
async fn pipe_that_nobody_reads_loses_lines_and_keeps_no_process_alive() {
    let stack = shared().await;
    let path = stack.scratch.path().join("decisions.pipe");
    let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
    assert!(made.success());
    let reader = OpenOptions::new().read(true).write(true).open(&path).expect("a pipe");
    let to = format!("file:{}", path.display());
    let (_, tenant, gate) = start(vec![("WEIR_DECISIONS", to)]).await;
    let check = json!({ "attributes": { "user": "ada" } });
    for _ in 0..10 {
        // More than the 64 KiB that a pipe holds.
        let batch = json!({ "checks": vec![&check; 100] });
        tenant.ask(&gate, "/check/batch", &batch).await.expect(200);
    }
    until(seconds(60), "lines are lost", async || {
        metric(&gate.url, "weir_dropped_decisions_total").await > 0
    })
    .await;
    assert!(gate.log().contains("could not export decisions; they are lost"), "{}", gate.log());
    assert_eq!(gate.stop(), 0, "{}", gate.log());
    drop(reader);
}
