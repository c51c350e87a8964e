//! Changes are announced to the gates, and no request waits for the announcement.

use serde_json::json;
use weir_local::{Redis, RedisOptions, ScratchDir};

use super::support::Plane;

/// The number of writes. If each waited for Redis in turn, they would exceed the deadline of a request.
const WRITES: usize = 20;

#[tokio::test]
async fn changes_are_answered_while_redis_is_stalled() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let data_dir = scratch.path().join("redis");
    let options = RedisOptions { data_dir, settings: Vec::new() };
    let redis = Redis::start(options).expect("redis starts");
    let plane = Plane::with_redis(&redis.url()).await;
    let ada = plane.member("ada@example.com").await;
    redis.pause().expect("it ran");
    let writes = (0..WRITES).map(|at| {
        let rule = json!({
            "namespace": "api", "name": format!("rule-{at}"), "count_by": ["user"],
            "limits": [{ "algorithm": "fixed_window", "limit": 5 + at, "window_ms": 60_000 }],
        });
        plane.by(&ada, "POST", "rules").json(&rule).send()
    });
    for answer in futures_util::future::join_all(writes).await {
        answer.expect(201);
    }
    redis.resume().expect("it was paused");
}
