//! Tests of addresses of every class, of published signatures, and of real connections.

use std::net::IpAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

const PRIVATE: [&str; 43] = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.31.196.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
];
const PUBLIC: [&str; 10] = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "193.0.0.1",
    "2606:4700::1111",
    "2a00:1450:4001::8a",
];

#[test]
fn only_addresses_of_the_public_internet_are_public() {
    for text in PRIVATE {
        let address: IpAddr = text.parse().expect(text);
        assert!(!is_public(address), "{text}");
        let host = if address.is_ipv6() { format!("[{text}]") } else { text.to_owned() };
        let url = format!("https://{host}/hook");
        assert_eq!(Target::parse(&url, Reach::Public), Err(InvalidTarget::NotPublic), "{url}");
        assert!(Target::parse(&url, Reach::Anywhere).is_ok(), "{url}");
    }
    for text in PUBLIC {
        assert!(is_public(text.parse().expect(text)), "{text}");
    }
}

#[test]
fn targets_are_public_and_encrypted_however_they_are_spelt() {
    use InvalidTarget::{Credentials, Form, NotPublic, Port, PrivateName, Scheme};
    for (text, wrong) in [
        ("", Form),
        ("hooks", Form),
        ("https://", Form),
        ("https://exa mple.com/", Form),
        ("http://example.com/", Scheme),
        ("ftp://example.com/", Scheme),
        ("file:///etc/passwd", Scheme),
        ("https://ada@example.com/", Credentials),
        ("https://ada:pw@example.com/", Credentials),
        ("https://localhost/", PrivateName),
        ("https://LOCALHOST./", PrivateName),
        ("https://a.localhost/", PrivateName),
        ("https://postgres/", PrivateName),
        ("https://metadata.google.internal/", PrivateName),
        ("https://printer.local/", PrivateName),
        ("https://2130706433/", NotPublic),
        ("https://0x7f.1/", NotPublic),
        ("https://0177.0.0.1/", NotPublic),
        ("https://127.1/", NotPublic),
        ("https://127.0.0.1./", NotPublic),
        ("https://①②⑦.⓪.⓪.①/", NotPublic),
        ("https://example.com:22/", Port),
        ("https://example.com:80/", Port),
        ("https://example.com:0/", Port),
    ] {
        assert_eq!(Target::parse(text, Reach::Public), Err(wrong), "{text}");
    }
    let long = format!("https://example.com/{}", "a".repeat(2000));
    assert_eq!(Target::parse(&long, Reach::Public), Err(Form));
    let target = Target::parse("https://Example.com:8443/a?b=c#d", Reach::Public).expect("fine");
    assert_eq!(target.as_str(), "https://example.com:8443/a?b=c");
}

#[test]
fn signature_is_that_of_standard_webhooks() {
    let secret = WebhookSecret::new(*b"0123456789abcdef0123456789abcdef");
    assert_eq!(secret.expose(), "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=");
    assert_eq!(WebhookSecret::parse(&secret.expose()), Ok(secret.clone()));
    assert_eq!(WebhookSecret::parse("whsec_abc"), Err(InvalidSecret));
    let signature = secret.sign("msg_1", 1_614_265_330, r#"{"test":2432232314}"#);
    assert_eq!(signature, EXPECTED);
    assert_eq!(format!("{secret:?}"), "WebhookSecret(…)");
}

/// `printf '%s' 'msg_1.1614265330.{"test":2432232314}' | openssl dgst -sha256 -hmac … -binary | base64`
const EXPECTED: &str = "v1,jeIGzz79yccvzSyn7yUwEE30hZxIvF/7Dl8gIINkoOI=";

/// Answers one request with `answer`, and returns the request.
async fn receiver(answer: &'static str) -> (u16, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut asked = vec![0; 8192];
        let mut length = 0;
        while !asked[..length].ends_with(b"{}") {
            length += stream.read(&mut asked[length..]).await.expect("a request");
        }
        stream.write_all(answer.as_bytes()).await.expect("an answer");
        String::from_utf8_lossy(&asked[..length]).into_owned()
    });
    (port, task)
}

fn message(secrets: &[WebhookSecret]) -> Message<'_> {
    Message { id: "delivery_1", timestamp_s: 1_700_000_000, body: "{}", secrets }
}

#[tokio::test]
async fn message_arrives_signed_by_each_secret_and_its_answer_is_recorded() {
    let sender = Sender::new(Reach::Anywhere).expect("a client");
    let (port, task) = receiver("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nthank").await;
    let secrets = [WebhookSecret::new([1; 32]), WebhookSecret::new([2; 32])];
    let attempt = sender.send(&format!("http://localhost:{port}/h"), &message(&secrets)).await;
    assert!(attempt.succeeded(), "{attempt:?}");
    assert_eq!(attempt.response, "thank");
    let asked = task.await.expect("served");
    let both = secrets.map(|secret| secret.sign("delivery_1", 1_700_000_000, "{}")).join(" ");
    for part in
        ["POST /h ", "webhook-id: delivery_1", "webhook-timestamp: 1700000000", both.as_str()]
    {
        assert!(asked.contains(part), "{part} in {asked}");
    }
}

#[tokio::test]
async fn redirects_are_not_followed_and_long_answers_are_cut() {
    let sender = Sender::new(Reach::Anywhere).expect("a client");
    let (port, _) = receiver("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\n\r\n").await;
    let attempt = sender.send(&format!("http://127.0.0.1:{port}/"), &message(&[])).await;
    assert_eq!(attempt.status, Some(302));
    assert_eq!(attempt.error.as_deref(), Some("redirects are not followed"));
    assert!(!attempt.succeeded());
    let long: &'static str =
        Box::leak(format!("HTTP/1.1 500 No\r\n\r\n{}", "a".repeat(100_000)).into_boxed_str());
    let (port, _) = receiver(long).await;
    let attempt = sender.send(&format!("http://127.0.0.1:{port}/"), &message(&[])).await;
    assert_eq!((attempt.status, attempt.response.len()), (Some(500), RESPONSE_BYTES_MAX));
}

#[tokio::test]
async fn silence_ends() {
    let sender =
        Sender::with_deadline(Reach::Anywhere, Duration::from_millis(50)).expect("a client");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let attempt = sender.send(&format!("http://127.0.0.1:{port}/"), &message(&[])).await;
    assert_eq!(attempt.error.as_deref(), Some("no answer within 50 ms"));
}

/// The check of the text cannot detect a public name with a private address.
#[tokio::test]
async fn name_that_leads_to_a_private_address_is_refused_before_a_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let client = sender::builder(Reach::Public, Duration::from_secs(5)).build().expect("a client");
    let url = format!("http://localhost:{port}/");
    let error = client.get(&url).send().await.expect_err("refused");
    let mut chain = Vec::new();
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(error) = cause {
        chain.push(error.to_string());
        cause = error.source();
    }
    assert!(chain.iter().any(|cause| cause.contains("not public")), "{chain:?}");
    let accepted = tokio::time::timeout(Duration::ZERO, listener.accept()).await;
    assert!(accepted.is_err(), "nobody connected");
    for url in [format!("https://127.0.0.1:{port}/"), format!("https://[::1]:{port}/")] {
        let attempt = Sender::new(Reach::Public).expect("a client").send(&url, &message(&[])).await;
        assert!(attempt.error.expect("refused").contains("public"), "{url}");
    }
    let accepted = tokio::time::timeout(Duration::ZERO, listener.accept()).await;
    assert!(accepted.is_err(), "nobody connected");
}
