//! A Redis that a long script of another client blocks.

use std::time::{Duration, Instant};

use super::failures::Own;
use super::fixture::until_up;

const DEADLINE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn redis_that_a_foreign_script_blocks_refuses_as_busy_until_it_is_killed() {
    let own = Own::start().await;
    own.ask_fine().await;
    own.redis.command("CONFIG SET busy-reply-threshold 1").expect("it runs");
    let client = crate::client(&own.redis.url()).expect("a local address");
    let (mut connection, _) = client.connect(DEADLINE).await.expect("accepted");
    // It has no answer until it is killed.
    let script = tokio::spawn(async move {
        redis::cmd("EVAL").arg("while true do end").arg(0).query_async::<()>(&mut connection).await
    });
    let deadline = Instant::now() + DEADLINE;
    while !own.redis.command("GET some").is_ok_and(|reply| reply.starts_with("-BUSY")) {
        assert!(Instant::now() < deadline, "the script does not run");
        tokio::task::yield_now().await;
    }
    own.until_refused_and_down("busy").await;
    own.redis.command("SCRIPT KILL").expect("it answers");
    assert!(script.await.expect("it ends").is_err(), "it was killed");
    until_up(&own.limiter).await;
    assert_eq!(own.ask_fine().await, 999_998, "nothing was taken by what was refused");
}
