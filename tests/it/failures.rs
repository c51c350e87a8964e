//! Every row of the guide's table "When something fails" has a test. A row without a test, and a test that no longer
//! exists, fail here.

use std::path::PathBuf;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{PATIENT_MS, Stack, Tenant};

/// The first cell of each row, and the file and the name of its test.
const ROWS: [(&str, &str, &str); 28] = [
    (
        "Redis is stopped or stalls",
        "tests/it/redis_outage.rs",
        "rules_answer_by_themselves_while_redis_is_away_and_recover_alone",
    ),
    (
        "one primary of a [cluster](redis.md#cluster) is away",
        "crates/weir-redis/src/limiter/tests/cluster/failover.rs",
        "killed_primary_degrades_only_its_buckets_until_its_replica_serves",
    ),
    (
        "slots of a cluster move",
        "crates/weir-redis/src/limiter/tests/cluster/moving_slots.rs",
        "slots_that_move_under_load_charge_nothing_twice_and_admit_exactly_the_limit",
    ),
    (
        "Redis restarts empty, or is emptied",
        "tests/it/redis_refusals.rs",
        "lost_data_is_counted_and_a_flood_of_signals_costs_few_looks_at_postgres",
    ),
    (
        "Redis' memory is full, or it refuses for another reason",
        "crates/weir-redis/src/limiter/tests/failures.rs",
        "full_redis_is_down_after_a_second_of_refusals_and_up_with_the_first_good_answer",
    ),
    (
        "Redis' memory is full, or it refuses for another reason",
        "tests/it/redis_refusals.rs",
        "redis_that_refuses_everything_is_reported_by_its_reason_until_the_first_good_answer",
    ),
    (
        "one tenant floods the gates",
        "crates/weir-redis/src/limiter/tests/failures.rs",
        "tenant_that_floods_the_limiter_fails_no_check_of_another",
    ),
    (
        "Redis forgets its functions",
        "tests/it/redis_outage.rs",
        "assert_flushed_script_costs_nothing",
    ),
    (
        "Redis' clock steps back",
        "crates/weir-redis/src/limiter/tests/clock_steps.rs",
        "clock_set_back_again_and_again_admits_nothing_more",
    ),
    (
        "a key in Redis holds another type than it should, or a damaged value",
        "crates/weir-redis/src/limiter/tests/unreadable.rs",
        "key_of_a_wrong_type_makes_its_check_unreadable_and_other_checks_are_decided_as_always",
    ),
    (
        "Postgres is away, or frozen",
        "tests/it/postgres_silence.rs",
        "admin_api_answers_503_to_every_call_while_postgres_is_frozen",
    ),
    (
        "Postgres is away, or frozen",
        "tests/it/postgres_outage.rs",
        "gates_decide_without_postgres_and_restart_from_their_disk_copies",
    ),
    (
        "connections to Postgres go silent",
        "tests/it/postgres_silence.rs",
        "revoked_key_is_refused_by_a_gate_with_silent_connections",
    ),
    (
        "Postgres is read-only, or its disk is full",
        "tests/it/postgres_refusals.rs",
        "read_only_postgres_is_unavailable_and_not_our_mistake",
    ),
    (
        "Postgres is read-only, or its disk is full",
        "tests/it/postgres_refusals.rs",
        "full_disk_of_postgres_is_unavailable_and_logged_once",
    ),
    (
        "Postgres fails over to another host of `WEIR_DATABASE_URL`",
        "crates/weir-store/src/tests/hosts.rs",
        "host_in_recovery_is_skipped_and_used_once_it_is_promoted",
    ),
    (
        "a stored rule cannot be read",
        "tests/it/postgres_refusals.rs",
        "unreadable_rule_is_listed_and_gates_apply_its_last_readable_revision",
    ),
    (
        "the control plane is away",
        "tests/it/failures.rs",
        "gates_go_on_deciding_while_the_control_plane_is_away",
    ),
    (
        "the SMTP server is silent, refuses or is away",
        "tests/it/mail.rs",
        "a_server_that_is_silent_or_away_delays_no_answer",
    ),
    (
        "the signal is lost",
        "tests/it/rule_propagation.rs",
        "gate_that_may_not_subscribe_follows_within_3_s",
    ),
    (
        "the signal is flooded",
        "tests/it/redis_refusals.rs",
        "lost_data_is_counted_and_a_flood_of_signals_costs_few_looks_at_postgres",
    ),
    (
        "a process is overloaded",
        "crates/weir-http/src/serve/tests/room.rs",
        "requests_that_waited_too_long_are_refused_at_once_and_later_ones_are_answered",
    ),
    ("connections run out", "tests/it/listeners.rs", "idle_connections_keep_no_honest_client_out"),
    ("a gate is killed", "tests/it/statistics.rs", "lost_by_killing"),
    (
        "a gate is stopped (SIGTERM), or loses its subscription to Redis",
        "tests/it/leases.rs",
        "leased_units_come_back_after_a_lost_subscription_a_stall_and_a_stop",
    ),
    (
        "more is refunded than was consumed",
        "crates/weir-redis/src/limiter/tests/guarantees.rs",
        "refund_never_lifts_above_full_and_makes_no_key",
    ),
    (
        "the window of a leased rule is edited",
        "tests/it/shortcuts.rs",
        "reset_and_edit_of_a_leased_rule_admit_nothing_twice",
    ),
    (
        "limits themselves do harm",
        "tests/it/ceilings.rs",
        "limits_that_are_turned_off_let_every_check_pass_on_every_gate",
    ),
];

fn file(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_row_of_the_guide_has_a_test() {
    let page = file("docs/operate/failures.md");
    let rows: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| "))
        .filter_map(|line| line.split(" | ").next())
        .filter(|cell| *cell != "event" && !cell.starts_with("---"))
        .collect();
    assert!(rows.len() > 8, "{rows:?}");
    for row in &rows {
        assert!(ROWS.iter().any(|(known, ..)| known == row), "no test is named for: {row}");
    }
    for (row, path, test) in ROWS {
        assert!(rows.contains(&row), "the guide has no such row: {row}");
        assert!(file(path).contains(&format!("fn {test}(")), "{path} has no {test}");
    }
}

#[tokio::test]
async fn gates_go_on_deciding_while_the_control_plane_is_away() {
    let stack = Stack::start(PATIENT_MS).await;
    let tenant = Tenant::sign_up(&stack).await;
    let limits = json!([{ "algorithm": "sliding_window_log", "limit": 4, "window_ms": 3_600_000 }]);
    tenant.rule(&json!({ "name": "per-user", "count_by": ["user"], "limits": limits })).await;
    assert_eq!(stack.control.stop(), 0);
    let mut passed = 0;
    for at in 0..10 {
        let body = json!({ "attributes": { "user": "ann" } });
        let reply = tenant.check(at % 2, &body).await;
        assert!(reply.body["degraded"].is_null(), "{}", reply.body);
        passed += usize::from(reply.allowed());
    }
    assert_eq!(passed, 4);
    stack.control.start_again();
    stack.until_ready(&stack.control).await;
    tenant.admin(Method::GET, "/rules", &Value::Null).await.expect(200);
}
