//! The signature of messages, with one that Weir sent.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use weir_ratelimit::{
    CheckRequest, DeferRequest, OnError, SIGNATURE_TOLERANCE, is_from_weir, is_from_weir_at,
};

use crate::support::{GENEROUS, RUN, client, needed, of_gate};

type Headers = reqwest::header::HeaderMap;

#[tokio::test]
async fn message_of_a_deferred_job_is_recognised_and_nothing_else_is() {
    let secret = needed("WEIR_WEBHOOK_SECRET");
    let check = CheckRequest::new("conformance");
    let payload = json!({ "to": "Zoë" });
    let key = format!("signed-{}", *RUN);
    let job = DeferRequest::new(check, needed("WEIR_WEBHOOK"), payload.clone(), key);
    let deferral = client(of_gate(OnError::Deny)).defer(&job).await.expect("a deferral");
    let id = deferral.job.expect("a job").id;
    let (headers, body) = message(&id).await;
    let data = &serde_json::from_str::<Value>(&body).expect("JSON")["data"];
    assert_eq!((&data["deferred"], &data["payload"]), (&json!(id), &payload));
    let body = body.as_bytes();
    assert_eq!(is_from_weir(&secret, &headers, body), Ok(true));

    let value = |name: &str| headers[name].to_str().expect("printable").to_owned();
    let seconds: u64 = value("webhook-timestamp").parse().expect("a number");
    let sent = UNIX_EPOCH + Duration::from_secs(seconds);
    let given = value("webhook-signature");
    let more = Duration::from_secs(1);
    let cases: [(&str, String, SystemTime, bool); 13] = [
        ("webhook-id", id.clone(), sent + SIGNATURE_TOLERANCE, true),
        ("webhook-signature", format!("v1,AAAA {given}"), sent, true),
        ("webhook-id", id.clone(), sent + SIGNATURE_TOLERANCE + more, false),
        ("webhook-id", id.clone(), sent - SIGNATURE_TOLERANCE - more, false),
        ("webhook-id", "deferred_x".to_owned(), sent, false),
        ("webhook-timestamp", (seconds + 1).to_string(), sent, false),
        ("webhook-timestamp", format!("+{seconds}"), sent, false),
        ("webhook-timestamp", String::new(), sent, false),
        ("webhook-signature", String::new(), sent, false),
        ("webhook-signature", "v1,".to_owned(), sent, false),
        ("webhook-signature", "v1,%%%".to_owned(), sent, false),
        ("webhook-signature", given.replace("v1,", "v2,"), sent, false),
        ("webhook-signature", format!("{}{given}", "v1,AAAA ".repeat(8)), sent, false),
    ];
    for (name, value, at, expected) in cases {
        let mut changed = headers.clone();
        changed.insert(
            name.parse::<reqwest::header::HeaderName>().expect("a name"),
            value.parse().expect("a value"),
        );
        let found = is_from_weir_at(at, &secret, &changed, body);
        assert_eq!(found, Ok(expected), "{name}: {value}");
    }
    let other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    assert_eq!(is_from_weir_at(sent, other, &headers, body), Ok(false));
    assert_eq!(is_from_weir_at(sent, &secret, &headers, b"{}"), Ok(false));
    for wrong in ["", "whsec_", "whsec_%"] {
        assert!(is_from_weir(wrong, &headers, body).is_err(), "{wrong}");
    }
}

#[test]
fn signature_is_that_of_standard_webhooks() {
    let mut headers = Headers::new();
    for (name, value) in [
        ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
        ("webhook-timestamp", "1614265330"),
        ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
    ] {
        headers.insert(name, value.parse().expect("a value"));
    }
    let at = UNIX_EPOCH + Duration::from_secs(1_614_265_330);
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    assert_eq!(is_from_weir_at(at, secret, &headers, b"{\"test\": 2432232314}"), Ok(true));
}

/// The message of a job that the stub received.
async fn message(job: &str) -> (Headers, String) {
    let deadline = Instant::now() + GENEROUS;
    loop {
        let url = format!("{}/webhook/{job}", needed("WEIR_STUB"));
        let found: Value = reqwest::get(url).await.expect("the stub").json().await.expect("JSON");
        if let Some(named) = found["headers"].as_object() {
            let mut headers = Headers::new();
            for (name, value) in named {
                let name: reqwest::header::HeaderName = name.parse().expect("a name");
                headers.insert(name, value.as_str().expect("a text").parse().expect("a value"));
            }
            return (headers, found["body"].as_str().expect("a text").to_owned());
        }
        assert!(Instant::now() < deadline, "the job never arrived");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
