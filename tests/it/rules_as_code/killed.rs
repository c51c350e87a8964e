//! An apply whose control plane is killed in the midst of it: nothing of it is there or all of it, and the next one succeeds.

use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{PATIENT_MS, Server, Stack, Tenant, seconds, until};

/// The rows that an apply needs and a lock can hold back, and whether the commit was sent by then: the log of the tenant, after
/// the first change, and the version of the rulebook, which travels with the commit.
const HELD: [(&str, bool); 2] = [
    (
        "SELECT FROM audit_chains c WHERE c.kind = 'tenant' AND c.chain IN (
        SELECT e.chain FROM audit_entries e WHERE e.object_id = 'TENANT'
    ) FOR UPDATE",
        false,
    ),
    ("SELECT FROM rulebook_versions FOR UPDATE", true),
];

/// Waits until another transaction waits for this one.
const UNTIL_BLOCKED: &str = "DO $$
    BEGIN
        FOR turn IN 1..3000 LOOP
            IF EXISTS (
                SELECT FROM pg_locks
                WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))
            ) THEN
                RETURN;
            END IF;
            PERFORM pg_sleep(0.01);
        END LOOP;
        RAISE EXCEPTION 'nothing waits for the lock';
    END
    $$";

fn rule(name: &str, limit: u64) -> Value {
    let limits = json!([{ "algorithm": "fixed_window", "limit": limit, "window_ms": 60_000 }]);
    json!({ "rule": { "namespace": "api", "name": name, "limits": limits } })
}

/// The state that an apply changes: the rules, the log and the version.
type State = (Value, Value, u64);

async fn state(tenant: &Tenant<'_>) -> State {
    let get = async |path: &str| tenant.admin(Method::GET, path, &Value::Null).await.expect(200);
    let rules = get("/rules").await.body["data"].clone();
    let log = get("/audit?order=asc&limit=200").await.body["data"].clone();
    (rules, log, get("/replicas").await.number("/tenant_version"))
}

/// Holds a row, lets an apply begin, and kills its control plane as soon as it waits for the row.
async fn kill_in_apply(
    stack: &'static Stack,
    plane: &Server,
    held: &str,
    marker: &Path,
    apply: Apply,
) {
    let touch = format!("\\! touch {}", marker.display());
    let kill = format!("\\! kill -s KILL {}", plane.pid());
    let commands = ["BEGIN", held, &touch, UNTIL_BLOCKED, &kill, "ROLLBACK"].map(str::to_owned);
    let killing = tokio::task::spawn_blocking(move || {
        let arguments: Vec<&str> = commands.iter().flat_map(|command| ["-c", command]).collect();
        stack.postgres.psql("weir", &arguments)
    });
    until(seconds(30), "the row is held", async || marker.exists()).await;
    let answer = apply.send().await;
    assert!(answer.is_err(), "the process was killed before it answered: {answer:?}");
    let killed = killing.await.expect("the session ends");
    killed.unwrap_or_else(|error| panic!("{error}"));
    until(seconds(20), "the process ends", async || plane.exit_code().is_some()).await;
    stack.until_no_transaction().await;
}

/// A request that is sent later.
struct Apply(reqwest::RequestBuilder);

impl Apply {
    fn new(tenant: &Tenant<'_>, plane: &Server, body: &Value) -> Self {
        let url = format!("{}/api/v1/tenants/{}/apply", plane.url, tenant.id);
        Self(tenant.http.request(Method::POST, &url).bearer_auth(&tenant.token).json(body))
    }

    async fn send(self) -> Result<u16, reqwest::Error> {
        self.0.send().await.map(|answer| answer.status().as_u16())
    }
}

#[tokio::test]
async fn killed_apply_changes_nothing_or_everything_and_the_next_one_everything() {
    // The session that holds a row runs on a thread of its own.
    let stack: &'static Stack = Box::leak(Box::new(Stack::start(PATIENT_MS).await));
    let plane = stack.another_control(stack.control_url());
    stack.until_ready(&plane).await;
    let tenant = Tenant::sign_up(stack).await;
    let first = json!({ "set": "repo", "rules": [rule("a", 5), rule("b", 5), rule("c", 5)] });
    tenant.admin(Method::POST, "/apply", &first).await.expect(200);
    let before = state(&tenant).await;
    let wanted: Vec<Value> = (0..20).map(|nth| rule(&format!("new-{nth}"), 7)).collect();
    let wanted = [vec![rule("a", 6)], wanted].concat();
    let wanted = json!({ "set": "repo", "prune": true, "rules": wanted });
    for (round, (held, is_sent)) in HELD.iter().enumerate() {
        let marker = stack.scratch.path().join(format!("held-{round}"));
        let apply = Apply::new(&tenant, &plane, &wanted);
        kill_in_apply(stack, &plane, &held.replace("TENANT", &tenant.id), &marker, apply).await;
        let after = state(&tenant).await;
        if *is_sent {
            is_whole(&before, &after);
        } else {
            assert_eq!(after, before, "killed while it waited for: {held}");
        }
        plane.start_again();
        stack.until_ready(&plane).await;
    }
    let applied = Apply::new(&tenant, &plane, &wanted).send().await.expect("answered");
    assert_eq!(applied, 200);
    is_whole(&before, &state(&tenant).await);
}

/// Checks that each change of the apply is there once.
fn is_whole(before: &State, (rules, log, version): &State) {
    let names: Vec<_> = rules.as_array().expect("rules").iter().map(|rule| &rule["name"]).collect();
    assert_eq!(names.len(), 21, "{names:?}");
    assert!(!names.contains(&&json!("b")) && !names.contains(&&json!("c")), "{names:?}");
    let entries = |log: &Value| log.as_array().map_or(0, Vec::len);
    assert_eq!(entries(log), entries(&before.1) + 20 + 1 + 2, "an entry for each change");
    assert!(*version > before.2);
}
