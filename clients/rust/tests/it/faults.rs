//! Gates that are frozen or gone, with the real program; options.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::task::JoinSet;
use weir_ratelimit::{
    Attributes, CheckRequest, Choice, Degraded, Kind, OnError, Options, Weir, safe_attributes,
};

use crate::support::{
    GENEROUS, RUN, cases, client, closed_port, needed, of, of_gate, stub, subject,
};

/// A gate that is stopped until this is dropped.
struct Frozen(Pid);

impl Frozen {
    fn new() -> Self {
        let id = needed("WEIR_PID").parse().ok().and_then(Pid::from_raw).expect("a process");
        kill_process(id, Signal::STOP).expect("a signal");
        Self(id)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        kill_process(self.0, Signal::CONT).expect("a signal");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_gate_leaves_the_decision_to_on_error_and_is_used_again_when_it_continues() {
    let patient = client(of_gate(OnError::Deny));
    let peek = patient.peek(&subject()).await.expect("an answer");
    assert_eq!(peek.degraded, None, "{peek:?}");
    let frozen = Frozen::new();
    let timeouts = Arc::new(AtomicUsize::new(0));
    for (on_error, allowed) in [(OnError::Deny, false), (OnError::Allow, true)] {
        let count = Arc::clone(&timeouts);
        let options =
            of_gate(on_error).timeout(Duration::from_millis(100)).on_degraded(move |error| {
                count.fetch_add(usize::from(error.kind == Kind::Timeout), Ordering::Relaxed);
            });
        let weir = client(options);
        let answers = at_once(20, || {
            let weir = weir.clone();
            async move { weir.check(&subject()).await.expect("an answer") }
        });
        for answer in answers.await {
            assert_eq!((answer.allowed, answer.degraded), (allowed, Some(Degraded::Client)));
            assert_eq!(answer.error.map(|error| error.kind), Some(Kind::Timeout));
        }
        let refund = weir.refund(&subject()).await.expect_err("no gate confirms it");
        assert_eq!(refund.kind, Kind::Timeout);
    }
    assert_eq!(timeouts.load(Ordering::Relaxed), 40);
    drop(frozen);
    let peek = patient.peek(&subject()).await.expect("an answer");
    assert_eq!(peek.degraded, None, "{peek:?}");
}

#[tokio::test]
async fn on_error_can_be_a_function_of_the_error_and_the_request() {
    let expensive = CheckRequest::new("a").cost(2);
    let choice = expensive.clone();
    let on_error = OnError::choose(move |error, request| {
        if error.kind == Kind::Connection && *request == choice {
            Choice::Allow
        } else {
            Choice::Deny
        }
    });
    let weir = client(of(closed_port(), on_error));
    assert!(weir.check(&expensive).await.expect("an answer").allowed);
    assert!(!weir.check(&CheckRequest::new("a")).await.expect("an answer").allowed);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_calls_leave_no_socket_open() {
    let before = sockets();
    for url in [needed("WEIR_GATE_URL"), closed_port()] {
        let weir = client(of(url, OnError::Deny));
        at_once(8, || {
            let weir = weir.clone();
            async move {
                for _ in 0..625 {
                    weir.peek(&subject()).await.expect("an answer");
                }
            }
        })
        .await;
        // A call that opens a connection can get one that was returned meanwhile: then both stay open for a while.
        assert!(sockets() <= before + 16, "{} of {before}", sockets());
    }
    let deadline = Instant::now() + GENEROUS;
    while sockets() > before {
        assert!(Instant::now() < deadline, "{} of {before}", sockets());
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn cached_denial_counts_down_and_ends_when_the_permission_does() {
    let permitted =
        |row: &serde_json::Value| row["name"] == "a denial is repeated as the gate permits";
    let position = cases().iter().position(permitted).expect("the case");
    let (start, passed_ms) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let clock = Arc::clone(&passed_ms);
    let options = of(stub(position, &format!("{}-clock", *RUN)), OnError::Deny);
    let weir =
        client(options.now(move || start + Duration::from_millis(clock.load(Ordering::Relaxed))));
    for (ms, expected) in
        [(0, (false, false, 60_000)), (999, (false, true, 59_001)), (1_000, (true, false, 0))]
    {
        passed_ms.store(ms, Ordering::Relaxed);
        let answer = weir.check(&CheckRequest::new("a")).await.expect("an answer");
        assert_eq!(
            (answer.allowed, answer.cached, answer.retry_after_ms.expect("a time")),
            expected
        );
    }
}

#[test]
fn options_that_matter_must_be_right() {
    let url = |url| Options::new(url, "k", OnError::Deny);
    let key = |key| Options::new("http://localhost:1", key, OnError::Deny);
    assert!(Weir::new(url("http://localhost:1/gate/")).is_ok());
    let wrong = [
        ("url", url("localhost:1")),
        ("url", url("ftp://a")),
        ("url", url("")),
        ("url", url("http://a/?token=b")),
        ("url", url("http://user:password@a")),
        ("key", key("")),
        ("key", key("a\nb")),
        ("timeout", key("k").timeout(Duration::ZERO)),
        ("timeout", key("k").timeout(Duration::from_millis(60_001))),
        ("cache_size", key("k").cache_size(1_000_001)),
    ];
    for (name, options) in wrong {
        let shown = format!("{options:?}");
        let error = Weir::new(options).expect_err(&shown);
        assert!(error.to_string().starts_with(name), "{shown}: {error}");
    }
    assert!(!format!("{:?}", key("secret")).contains("secret"));
}

#[test]
fn values_that_a_gate_refuses_become_their_digest() {
    let longest = "ü".repeat(256);
    let values = [
        ("a", "plain"),
        ("b", &format!("{longest}ü")),
        ("c", "nul\0"),
        ("d", "\u{85}"),
        ("e", &longest),
    ];
    let attributes: Attributes =
        values.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let safe = safe_attributes(attributes);
    assert_eq!((safe["a"].as_str(), safe["e"].as_str()), ("plain", longest.as_str()));
    for name in ["b", "c", "d"] {
        let digest = safe[name].strip_prefix("sha256:").expect("a digest");
        assert!(
            digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{digest}"
        );
    }
}

async fn at_once<F: Future<Output: Send + 'static> + Send + 'static>(
    count: usize,
    make: impl Fn() -> F,
) -> Vec<F::Output> {
    (0..count).map(|_| make()).collect::<JoinSet<_>>().join_all().await
}

/// The number of open ones of this process; 0 where the system does not say.
fn sockets() -> usize {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return 0 };
    let targets = entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
}
