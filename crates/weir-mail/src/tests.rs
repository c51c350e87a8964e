//! Addresses of relays, and servers that refuse, stall or hang up. `tests/it/mail.rs` uses a real server.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use weir_domain::time::Timestamp;

use crate::outbox::{Pace, QUEUED_MAX};
use crate::{InvalidRelay, Mail, MailCounts, Mailer, Relay};

const FROM: &str = "Weir <weir@example.com>";
const FAST: Pace = Pace {
    deadline: Duration::from_millis(200),
    pauses: [Duration::from_millis(1), Duration::from_millis(2), Duration::from_millis(3)],
};
const PATIENT: Pace = Pace { deadline: Duration::from_secs(20), ..FAST };

fn mail(id: &str) -> Mail {
    Mail {
        id: id.to_owned(),
        at: Timestamp::from_millis(1_790_000_000_000),
        to: "ada@example.com".to_owned(),
        subject: "Grüße".to_owned(),
        text: "A text\r\n.\r\nwith a lone dot".to_owned(),
    }
}

/// A server that answers the MAIL commands of all connections with these lines, one after the other, and then with 250.
/// Returns its port and the lines that it received.
async fn server(replies: &[&'static str]) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let received = Arc::new(Mutex::new(Vec::new()));
    let lines = Arc::clone(&received);
    let mut replies: Vec<_> = replies.iter().rev().copied().collect();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            converse(stream, &mut replies, &lines).await;
        }
    });
    (port, received)
}

async fn converse(
    mut stream: TcpStream,
    replies: &mut Vec<&'static str>,
    received: &Mutex<Vec<String>>,
) {
    let (read, mut write) = stream.split();
    let mut lines = BufReader::new(read).lines();
    let mut reply = "220 ready";
    let mut in_data = false;
    loop {
        if !reply.is_empty() && write.write_all(format!("{reply}\r\n").as_bytes()).await.is_err() {
            return;
        }
        let Ok(Some(line)) = lines.next_line().await else { return };
        received.lock().expect("no panic holds it").push(line.clone());
        reply = match line.split_whitespace().next().unwrap_or_default() {
            "." if in_data => {
                in_data = false;
                "250 taken"
            }
            _ if in_data => "",
            "EHLO" => "250 8BITMIME",
            "DATA" => {
                in_data = true;
                "354 go on"
            }
            "MAIL" => replies.pop().unwrap_or("250 ok"),
            "QUIT" => "221 bye",
            _ => "250 ok",
        };
    }
}

/// Sends one message to a port and returns the counts once all attempts were made.
async fn counts(port: u16, pace: Pace) -> MailCounts {
    let (mailer, outbox) = Mailer::new();
    assert!(mailer.send(mail("mail_1")));
    let relay = Relay::parse(&format!("smtp://127.0.0.1:{port}"), FROM).expect("a relay");
    let stop = CancellationToken::new();
    let task = tokio::spawn(outbox.deliver_at(pace, Arc::new(relay), stop.clone()));
    let began = Instant::now();
    while mailer.counts().sent + mailer.counts().failed == 0 {
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", mailer.counts());
        tokio::task::yield_now().await;
    }
    stop.cancel();
    task.await.expect("no panic");
    mailer.counts()
}

#[test]
fn address_of_a_relay_has_one_of_the_known_forms_and_errors_repeat_nothing_of_it() {
    for right in [
        "smtp://127.0.0.1",
        "smtp://[::1]:2525/",
        "smtps://mail.example.com",
        "smtps://user:p%40ss@mail.example.com:465",
        "smtp://user:hush@mail.example.com",
    ] {
        let relay = Relay::parse(right, FROM).expect(right);
        assert!(!format!("{relay:?}").contains("hush"));
    }
    for (wrong, reason) in [
        ("", InvalidRelay::Url),
        ("mail.example.com", InvalidRelay::Url),
        ("http://mail.example.com", InvalidRelay::Url),
        ("smtp://", InvalidRelay::Url),
        ("smtp://mail.example.com/hush", InvalidRelay::Url),
        ("smtp://mail.example.com?tls=hush", InvalidRelay::Url),
        ("smtps://user@mail.example.com", InvalidRelay::Credentials),
        ("smtps://:hush@mail.example.com", InvalidRelay::Credentials),
        ("smtps://user:%ff@mail.example.com", InvalidRelay::Credentials),
    ] {
        let error = Relay::parse(wrong, FROM).expect_err(wrong);
        assert_eq!(error, reason, "{wrong}");
        assert!(!error.to_string().contains("hush"));
    }
    for from in ["", "weir", "weir@", "Weir <weir>"] {
        let error = Relay::parse("smtp://127.0.0.1", from).expect_err(from);
        assert_eq!(error, InvalidRelay::From, "{from}");
    }
}

#[tokio::test]
async fn a_deferred_message_is_sent_again_with_the_same_id() {
    let (port, received) = server(&["450 later", "421 busy"]).await;
    let counts = counts(port, PATIENT).await;
    assert_eq!(counts, MailCounts { sent: 1, retried: 2, ..MailCounts::default() });
    let lines = received.lock().expect("no panic holds it").clone();
    let has = |line: &str| lines.iter().any(|received| received == line);
    assert!(has("EHLO example.com") && has("Message-ID: <mail_1@example.com>"), "{lines:?}");
    assert!(has("Auto-Submitted: auto-generated") && has("To: ada@example.com"), "{lines:?}");
    assert!(has("Date: Mon, 21 Sep 2026 14:13:20 +0000"), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("Grüße")), "headers are ASCII: {lines:?}");
    assert!(has(".."), "a lone dot does not end the message: {lines:?}");
}

#[tokio::test]
async fn a_refused_message_is_not_sent_again() {
    let (port, received) = server(&["550 no such recipient"]).await;
    let counts = counts(port, PATIENT).await;
    assert_eq!(counts, MailCounts { failed: 1, ..MailCounts::default() });
    let lines = received.lock().expect("no panic holds it").clone();
    assert_eq!(lines.iter().filter(|line| line.starts_with("MAIL")).count(), 1, "{lines:?}");
}

#[tokio::test]
async fn an_attempt_ends_at_its_deadline_and_the_attempts_are_bounded() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
    let port = silent.local_addr().expect("it is bound").port();
    let given_up = MailCounts { retried: 3, failed: 1, ..MailCounts::default() };
    assert_eq!(counts(port, FAST).await, given_up);
    drop(silent);
    assert_eq!(counts(port, FAST).await, given_up, "nothing listens");
}

#[tokio::test]
async fn a_queue_that_is_full_drops_messages_without_waiting() {
    let (mailer, mut outbox) = Mailer::new();
    for count in 0..QUEUED_MAX {
        assert!(mailer.send(mail(&format!("mail_{count}"))));
    }
    assert!(!mailer.send(mail("mail_more")));
    assert_eq!(mailer.counts().dropped, 1);
    let first = outbox.next().await.expect("queued");
    assert_eq!(format!("{first:?}"), "Mail { id: \"mail_0\", .. }");
    drop(outbox);
    assert!(!mailer.send(mail("mail_late")));
}
