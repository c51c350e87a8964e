//! Webhooks: sealed secrets, signatures, retries and the log of deliveries.

use serde_json::json;
use weir_webhook::WebhookSecret;

use super::receiver::Receiver;
use super::support::{Member, Plane};
use crate::alerting::deliver_due;

async fn webhook(plane: &Plane, member: &Member, url: &str) -> (String, WebhookSecret) {
    let body = json!({ "name": "on call", "url": url });
    let made = plane.by(member, "POST", "webhooks").json(&body).send().await.expect(201);
    let secret = WebhookSecret::parse(&made.text("/secret")).expect("a secret");
    (made.text("/webhook/id"), secret)
}

#[tokio::test]
async fn test_message_arrives_signed_and_is_logged() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let receiver = Receiver::start().await;
    let (id, secret) = webhook(&plane, &ada, &receiver.url()).await;
    let list = plane.by(&ada, "GET", "webhooks").send().await.expect(200);
    assert!(!list.body.to_string().contains(&secret.expose()), "shown once");
    let path = format!("webhooks/{id}/test");
    let sent = plane.by(&ada, "POST", &path).send().await.expect(202);
    assert_eq!(sent.text("/state"), "pending");
    assert_eq!(deliver_due(&plane.state).await.expect("sent"), 1);
    let got = receiver.next().await;
    assert_eq!(got.header("webhook-id"), sent.text("/id"));
    let timestamp_s = got.header("webhook-timestamp").parse().expect("seconds");
    assert_eq!(timestamp_s, plane.now_ms().unsigned_abs() / 1000);
    let signature = secret.sign(&got.header("webhook-id"), timestamp_s, &got.body);
    assert_eq!(got.header("webhook-signature"), signature);
    assert_eq!(got.json()["type"], "webhook.test");
    let log = plane.by(&ada, "GET", &format!("webhooks/{id}/deliveries")).send().await.expect(200);
    assert_eq!(log.text("/data/0/state"), "delivered");
    assert_eq!(log.body["data"][0]["response_status"], 200);
    assert_eq!(log.text("/data/0/response"), "thank you");
    assert_eq!(log.text("/data/0/payload"), got.body);
    assert_eq!(deliver_due(&plane.state).await.expect("nothing"), 0, "once");
}

#[tokio::test]
async fn failure_is_tried_again_for_a_day_and_then_by_hand() {
    let plane = Plane::start_behind(7 * 24 * 3600 * 1000).await;
    let ada = plane.member("ada@example.com").await;
    let receiver = Receiver::start().await;
    let (id, _) = webhook(&plane, &ada, &receiver.url()).await;
    // A key lasts longer than a session.
    let ada = Member { token: plane.key(&ada, &["admin"]).await, ..ada };
    receiver.answer(500);
    plane.by(&ada, "POST", &format!("webhooks/{id}/test")).send().await.expect(202);
    let began = plane.now_ms();
    let log = || async {
        let path = format!("webhooks/{id}/deliveries");
        plane.by(&ada, "GET", &path).send().await.expect(200).body["data"][0].clone()
    };
    let mut ids = Vec::new();
    for attempt in 1..=11 {
        assert_eq!(deliver_due(&plane.state).await.expect("sent"), 1, "attempt {attempt}");
        assert_eq!(deliver_due(&plane.state).await.expect("nothing"), 0, "not before its time");
        ids.push(receiver.next().await.header("webhook-id"));
        assert_eq!(log().await["attempts"], attempt);
        plane.advance(10 * 3600 * 1000);
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "every attempt has the same id");
    let given_up = log().await;
    assert_eq!((&given_up["state"], &given_up["response_status"]), (&json!("failed"), &json!(500)));
    assert!(plane.now_ms() - began > 24 * 3600 * 1000);
    assert_eq!(deliver_due(&plane.state).await.expect("nothing"), 0, "given up");

    receiver.answer(200);
    let delivery = given_up["id"].as_str().expect("an id");
    let path = format!("webhooks/{id}/deliveries/{delivery}/retry");
    plane.by(&ada, "POST", &path).send().await.expect(202);
    assert_eq!(deliver_due(&plane.state).await.expect("sent"), 1);
    assert_eq!(receiver.next().await.header("webhook-id"), delivery);
    assert_eq!(log().await["state"], "delivered");
}

#[tokio::test]
async fn two_control_planes_send_each_message_once() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let other = plane.also(crate::ControlSettings::default());
    let receiver = Receiver::start().await;
    let (id, _) = webhook(&plane, &ada, &receiver.url()).await;
    for _ in 0..10 {
        plane.by(&ada, "POST", &format!("webhooks/{id}/test")).send().await.expect(202);
    }
    let (mut sent, mut turns) = (0, 0);
    while sent < 10 && turns < 20 {
        let (ours, theirs) = tokio::join!(deliver_due(&plane.state), deliver_due(&other.state));
        sent += ours.expect("sent") + theirs.expect("sent");
        turns += 1;
    }
    assert_eq!(sent, 10);
    let mut ids = Vec::new();
    for _ in 0..10 {
        ids.push(receiver.next().await.header("webhook-id"));
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 10);
}

#[tokio::test]
async fn rotated_secret_signs_beside_the_one_before_until_the_overlap_ends() {
    let plane = Plane::start_behind(3600 * 1000).await;
    let ada = plane.member("ada@example.com").await;
    let receiver = Receiver::start().await;
    let (id, old) = webhook(&plane, &ada, &receiver.url()).await;
    let rotate = json!({ "overlap_s": 60 });
    let path = format!("webhooks/{id}/rotate");
    let answer = plane.by(&ada, "POST", &path).json(&rotate).send().await.expect(200);
    let new = WebhookSecret::parse(&answer.text("/secret")).expect("a secret");
    assert_ne!(old, new);
    for signers in [vec![&new, &old], vec![&new]] {
        plane.by(&ada, "POST", &format!("webhooks/{id}/test")).send().await.expect(202);
        deliver_due(&plane.state).await.expect("sent");
        let got = receiver.next().await;
        let at = got.header("webhook-timestamp").parse().expect("seconds");
        let sign = |secret: &&WebhookSecret| secret.sign(&got.header("webhook-id"), at, &got.body);
        let signatures: Vec<String> = signers.iter().map(sign).collect();
        assert_eq!(got.header("webhook-signature"), signatures.join(" "));
        plane.advance(61_000);
    }
}

#[tokio::test]
async fn switched_off_webhook_sends_nothing() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let (id, _) = webhook(&plane, &ada, "http://127.0.0.1:9/").await;
    let off = json!({ "name": "off", "url": "http://127.0.0.1:9/", "enabled": false });
    plane.by(&ada, "PUT", &format!("webhooks/{id}")).json(&off).send().await.expect(200);
    plane.by(&ada, "POST", &format!("webhooks/{id}/test")).send().await.expect(202);
    deliver_due(&plane.state).await.expect("sent");
    let log = plane.by(&ada, "GET", &format!("webhooks/{id}/deliveries")).send().await.expect(200);
    assert_eq!(log.text("/data/0/state"), "failed");
    assert_eq!(log.text("/data/0/error"), "the webhook is switched off");
    let audit = plane.by(&ada, "GET", "audit").send().await.expect(200);
    let done: Vec<_> = audit.body["data"].as_array().expect("a list").iter().collect();
    let actions: Vec<_> =
        done.iter().map(|entry| entry["action"].as_str().expect("a text")).collect();
    assert_eq!(actions[..3], ["webhook.test", "webhook.update", "webhook.create"]);
    assert!(!audit.body.to_string().contains("whsec_"));
}

#[tokio::test]
async fn private_addresses_are_refused_by_field_and_no_connection_is_made() {
    use weir_webhook::Reach;
    let plane = Plane::reaching(Reach::Public).await;
    let ada = plane.member("ada@example.com").await;
    let receiver = Receiver::start().await;
    for url in [
        receiver.url(),
        receiver.url().replace("http:", "https:"),
        "https://localhost/".to_owned(),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "https://[::ffff:10.0.0.1]/".to_owned(),
        "https://2130706433/".to_owned(),
        "https://ada:pw@example.com/".to_owned(),
        "https://example.com:25/".to_owned(),
        "nonsense".to_owned(),
    ] {
        let key = "0123456789abcdef0123456789abcdef";
        for body in [
            json!({ "name": "a", "url": url }),
            json!({ "name": "a", "kind": "slack", "url": url }),
            json!({ "name": "a", "kind": "pagerduty", "url": url, "routing_key": key }),
        ] {
            let answer = plane.by(&ada, "POST", "webhooks").json(&body).send().await;
            assert_eq!(answer.refused_field(), "url", "{body}");
        }
    }
    // A webhook that was saved while private addresses were allowed is refused when it is used.
    let lax = plane.also_reaching(Reach::Anywhere);
    let (id, _) = webhook(&lax, &ada, &receiver.url()).await;
    plane.by(&ada, "POST", &format!("webhooks/{id}/test")).send().await.expect(202);
    plane.advance(10_000);
    assert_eq!(deliver_due(&plane.state).await.expect("tried"), 1);
    let log = plane.by(&ada, "GET", &format!("webhooks/{id}/deliveries")).send().await.expect(200);
    assert_eq!(log.text("/data/0/error"), "the URL must begin with `https://`");
    assert_eq!(receiver.count(), 0);
}

#[tokio::test]
async fn slow_receiver_delays_no_other_delivery() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let bob = plane.member("bob@example.com").await;
    let slow = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = slow.local_addr().expect("bound");
    let (stuck, _) = webhook(&plane, &ada, &format!("http://{address}/hook")).await;
    let receiver = Receiver::start().await;
    let (quick, _) = webhook(&plane, &bob, &receiver.url()).await;
    let stop = tokio_util::sync::CancellationToken::new();
    let delivering = tokio::spawn(crate::deliver(plane.state.clone(), stop));
    plane.by(&ada, "POST", &format!("webhooks/{stuck}/test")).send().await.expect(202);
    // The message is being sent and gets no answer.
    let connection = slow.accept().await.expect("a connection");
    plane.by(&bob, "POST", &format!("webhooks/{quick}/test")).send().await.expect(202);
    receiver.next().await;
    let path = format!("webhooks/{stuck}/deliveries");
    let log = plane.by(&ada, "GET", &path).send().await.expect(200);
    assert_eq!(log.text("/data/0/state"), "pending");
    assert_eq!(log.body["data"][0]["attempts"], 0);
    drop(connection);
    delivering.abort();
}
