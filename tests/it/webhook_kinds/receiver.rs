//! A receiver that refuses bodies that Slack or PagerDuty would refuse, by their published rules. It is not one of them.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// Answers as Slack at `/slack` and as PagerDuty at `/pagerduty`, and records what it accepts.
pub struct Receiver {
    pub url: String,
    accepted: Accepted,
}

/// The path and the body of each message.
type Accepted = Arc<Mutex<Vec<(String, Value)>>>;

impl Receiver {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it has an address"));
        let accepted = Accepted::default();
        let receiving = Arc::clone(&accepted);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let Some((path, body)) = read(&mut stream) else { continue };
                let (refusal, status, said) = match path.as_str() {
                    "/slack" => (refusal_of_slack(&body), "200 OK", "ok"),
                    _ => (refusal_of_pagerduty(&body), "202 Accepted", r#"{"status":"success"}"#),
                };
                let (status, said) = match &refusal {
                    None => (status, said),
                    Some(reason) => ("400 Bad Request", reason.as_str()),
                };
                if refusal.is_none() {
                    let mut accepted = receiving.lock().unwrap_or_else(PoisonError::into_inner);
                    accepted.push((path, body));
                }
                let length = said.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{said}"
                );
                stream.write_all(answer.as_bytes()).expect("the sender waits");
            }
        });
        Self { url, accepted }
    }

    /// The bodies that were accepted at a path, in their order.
    pub fn accepted(&self, path: &str) -> Vec<Value> {
        let accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        let at_path = accepted.iter().filter(|(at, _)| at == path);
        at_path.map(|(_, body)| body.clone()).collect()
    }
}

/// The rules of incoming webhooks and of Block Kit, as far as Weir uses it.
fn refusal_of_slack(body: &Value) -> Option<String> {
    let is_text = |value: &Value, most: usize| {
        value.as_str().is_some_and(|text| (1..=most).contains(&text.chars().count()))
    };
    let is_object = |object: &Value| {
        matches!(object["type"].as_str(), Some("mrkdwn" | "plain_text"))
            && is_text(&object["text"], 3000)
    };
    let is_block = |block: &Value| match block["type"].as_str() {
        Some("section") => is_object(&block["text"]),
        Some("context") => block["elements"].as_array().is_some_and(|elements| {
            (1..=10).contains(&elements.len()) && elements.iter().all(is_object)
        }),
        _ => false,
    };
    let blocks = body["blocks"].as_array().map_or(&[][..], Vec::as_slice);
    let known = ["text", "blocks"];
    let fields = body.as_object()?;
    let right = fields.keys().all(|field| known.contains(&field.as_str()))
        && is_text(&body["text"], 40_000)
        && blocks.len() <= 50
        && blocks.iter().all(is_block);
    (!right).then(|| "invalid_payload".to_owned())
}

/// The rules of the Events API v2.
fn refusal_of_pagerduty(event: &Value) -> Option<String> {
    let text = |value: &Value, most: usize| {
        value.as_str().is_some_and(|text| (1..=most).contains(&text.chars().count()))
    };
    let payload = &event["payload"];
    let severities = ["critical", "error", "warning", "info"];
    let is_severity = |severity: &str| severities.contains(&severity);
    let is_link = |link: &Value| text(&link["href"], 2000) && text(&link["text"], 1000);
    let mut wrong = Vec::new();
    if event["routing_key"].as_str().is_none_or(|key| key.len() != 32) {
        wrong.push("routing_key");
    }
    if !text(&event["dedup_key"], 255) {
        wrong.push("dedup_key");
    }
    match event["event_action"].as_str() {
        Some("resolve" | "acknowledge") => {}
        Some("trigger") => {
            let right = [
                ("summary", text(&payload["summary"], 1024)),
                ("source", text(&payload["source"], 255)),
                ("severity", payload["severity"].as_str().is_some_and(is_severity)),
                ("links", event["links"].as_array().is_none_or(|links| links.iter().all(is_link))),
            ];
            wrong.extend(right.iter().filter(|(_, right)| !right).map(|(field, _)| *field));
        }
        _ => wrong.push("event_action"),
    }
    (!wrong.is_empty()).then(|| format!("invalid event: {}", wrong.join(", ")))
}

/// Reads the path and the JSON of a request. `None` if its sender left.
fn read(stream: &mut TcpStream) -> Option<(String, Value)> {
    let (mut text, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let length = stream.read(&mut part).ok().filter(|length| *length > 0)?;
        text.extend_from_slice(&part[..length]);
        let read = String::from_utf8_lossy(&text);
        let Some((head, body)) = read.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
        if body.len() < length.parse().ok()? {
            continue;
        }
        let path = head.split(' ').nth(1)?;
        return Some((path.to_owned(), serde_json::from_str(body).unwrap_or_default()));
    }
}
