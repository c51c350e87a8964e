//! Two control planes over one database: killed at any time, they deliver each event with one id.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{
    PATIENT_MS, Server, Stack, Tenant, print, seconds, send_signal, shared, signing_key, until,
};

/// The rounds of the test. In each, both control planes are killed while one of them sends.
const ROUNDS: usize = 3;

/// A receiver of webhooks that counts the messages by their id, and leaves some without an answer.
struct Receiver {
    url: String,
    shared: Arc<Mutex<Received>>,
}

#[derive(Default)]
struct Received {
    counts: BTreeMap<String, usize>,
    /// Whether messages are left without an answer.
    holds: bool,
    held: Vec<TcpStream>,
}

impl Receiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/", listener.local_addr().expect("it has an address"));
        let shared = Arc::<Mutex<Received>>::default();
        let receiving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let Some(id) = message_id(&mut stream) else { continue };
                let mut received = receiving.lock().unwrap_or_else(PoisonError::into_inner);
                *received.counts.entry(id).or_default() += 1;
                if received.holds {
                    received.held.push(stream);
                    continue;
                }
                let ok = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                drop(stream.write_all(ok.as_bytes()));
            }
        });
        Self { url, shared }
    }

    fn received(&self) -> MutexGuard<'_, Received> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, id: &str) -> usize {
        self.received().counts.get(id).copied().unwrap_or_default()
    }
}

/// Reads a message. Its body is one line of JSON and comes last.
fn message_id(stream: &mut TcpStream) -> Option<String> {
    let (mut text, mut part) = (Vec::new(), [0; 4096]);
    while !text.ends_with(b"}") {
        match stream.read(&mut part) {
            Ok(count @ 1..) => text.extend_from_slice(&part[..count]),
            _ => return None,
        }
    }
    let text = String::from_utf8_lossy(&text);
    let header = text.lines().find_map(|line| line.strip_prefix("webhook-id: "));
    header.map(|id| id.trim().to_owned())
}

/// Kills a process, without a chance to finish anything, and starts it again.
async fn kill_and_restart(stack: &Stack, planes: [&Server; 2]) {
    for plane in planes {
        send_signal(plane.pid(), "KILL");
    }
    for plane in planes {
        until(seconds(20), "the process ends", async || plane.exit_code().is_some()).await;
        plane.start_again();
    }
    for plane in planes {
        stack.until_ready(plane).await;
    }
}

#[tokio::test]
async fn each_event_arrives_with_one_id_although_two_control_planes_are_killed_while_they_send() {
    let mut stack = Stack::start(PATIENT_MS).await;
    let [one, other] = [(); 2].map(|()| stack.another_control(stack.control_url()));
    for plane in [&one, &other] {
        stack.until_ready(plane).await;
    }
    // The first control plane sends to public addresses only.
    assert_eq!(std::mem::replace(&mut stack.control, one).stop(), 0);
    let tenant = Tenant::sign_up(&stack).await;
    let receiver = Receiver::start();
    let webhook = json!({ "name": "to us", "url": receiver.url });
    let webhook = tenant.admin(Method::POST, "/webhooks", &webhook).await.expect(201);
    let test = format!("/webhooks/{}/test", webhook.text("/webhook/id"));
    let event =
        async || tenant.admin(Method::POST, &test, &Value::Null).await.expect(202).text("/id");
    let (mut answered, mut interrupted) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let id = event().await;
        until(seconds(30), "the message arrives", async || receiver.count(&id) == 1).await;
        answered.push(id);
        receiver.received().holds = true;
        let id = event().await;
        until(seconds(30), "the message arrives", async || receiver.count(&id) == 1).await;
        interrupted.push(id);
        kill_and_restart(&stack, [&stack.control, &other]).await;
        let mut received = receiver.received();
        received.holds = false;
        received.held.clear();
    }
    // The lease of a delivery outlasts the process that held it by at most a minute.
    for id in &interrupted {
        until(seconds(150), "the message arrives again", async || receiver.count(id) >= 2).await;
    }
    let path = format!("/webhooks/{}/deliveries", webhook.text("/webhook/id"));
    until(seconds(60), "all deliveries are recorded", async || {
        let log = tenant.admin(Method::GET, &path, &Value::Null).await.expect(200);
        let data = log.body["data"].as_array().expect("a list");
        data.len() == 2 * ROUNDS && data.iter().all(|delivery| delivery["state"] == "delivered")
    })
    .await;
    let counts = receiver.received().counts.clone();
    print(&format!("{} kills, messages by delivery: {:?}", 2 * ROUNDS, counts.values()));
    assert_eq!(counts.len(), 2 * ROUNDS, "one id for each event: {counts:?}");
    for id in answered.iter().chain(&interrupted) {
        assert!((1..=1 + 2 * ROUNDS).contains(&counts[id]), "{counts:?}");
    }
}

#[tokio::test]
async fn plane_with_another_signing_key_reports_it_once() {
    let stack = shared().await;
    let tenant = Tenant::sign_up(stack).await;
    let stranger = stack.control_with_key(&signing_key());
    stack.until_ready(&stranger).await;
    let url = format!("{}/api/v1/tenants/{}", stranger.url, tenant.id);
    for _ in 0..3 {
        let refused = tenant.http.request(Method::GET, &url).bearer_auth(&tenant.token);
        assert_eq!(crate::harness::send(refused).await.expect(401).problem(), "unauthenticated");
    }
    let log = stranger.log();
    assert_eq!(log.matches("need the same WEIR_JWT_KEY").count(), 1, "{log}");
    assert!(!stack.control.log().contains("need the same WEIR_JWT_KEY"));
}
