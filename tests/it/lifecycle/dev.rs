//! `weir dev` leaves no processes behind, however it ends, and finds its data again.

use std::cell::Cell;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use weir_local::ScratchDir;

use crate::harness::{
    Dev, Http, Reply, listens, processes_with, seconds, send, send_signal, until, weir,
};

#[tokio::test]
async fn weir_dev_stops_everything_it_started_and_comes_back_with_the_same_demo() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let first = Dev::start(scratch.path()).await;
    assert_serves(&first).await;
    let ports = first.ports();
    assert!(ports.iter().all(|port| listens(*port)), "{}", first.said);
    let data = data_folders(&scratch);
    assert!(!processes_with(&data).is_empty(), "no server works in {data}");

    send_signal(first.process.pid(), "INT");
    assert_eq!(first.process.wait_exit(seconds(30)), Some(0), "{}", first.process.log_tail());
    // After Ctrl-C, all its servers end before it does. The shells that watched them end when they notice that.
    assert!(ports.iter().all(|port| !listens(*port)), "{}", first.said);
    until_no_process_has(&data).await;

    let second = Dev::start(scratch.path()).await;
    for what in ["/api_key", "/email", "/password", "/tenant"] {
        assert_eq!(second.text(what), first.text(what), "{what}");
    }
    assert_serves(&second).await;

    let ports = second.ports();
    send_signal(second.process.pid(), "KILL");
    assert_eq!(second.process.wait_exit(seconds(10)), Some(128 + 9));
    until(seconds(40), "Postgres and Redis end after a crash of their owner", async || {
        ports.iter().all(|port| !listens(*port)) && processes_with(&data).is_empty()
    })
    .await;

    let third = Dev::start(scratch.path()).await;
    assert_eq!(third.text("/api_key"), first.text("/api_key"), "the data outlived the crash");
    assert_serves(&third).await;
    third.process.stop();
}

#[tokio::test]
async fn weir_dev_with_sentinels_or_a_cluster_serves_and_leaves_no_process_behind() {
    for kind in ["sentinel", "cluster"] {
        let scratch = ScratchDir::create().expect("a scratch folder");
        let dev = Dev::start_with(scratch.path(), &["--redis", kind]).await;
        let url = dev.text("/redis_url");
        assert!(url.starts_with(&format!("redis-{kind}://")), "{}", dev.said);
        assert_serves(&dev).await;
        send_signal(dev.process.pid(), "INT");
        assert_eq!(dev.process.wait_exit(seconds(60)), Some(0), "{}", dev.process.log_tail());
        until_no_process_has(&data_folders(&scratch)).await;
    }
}

#[tokio::test]
async fn weir_dev_with_a_delay_between_regions_lets_the_far_one_wait_for_the_home() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    for (args, sentence) in [
        (&["--region-delay-ms", "150"][..], "--region-delay-ms needs several regions"),
        (&["--regions", "2", "--region-delay-ms", "10001"], "is not in 0..=10000"),
    ] {
        let refused = weir(&[&["dev"], args].concat(), &[], "");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains(sentence), "{said}");
    }
    let args = ["--regions", "2", "--gates", "1", "--region-delay-ms", "200"];
    let dev = Dev::start_with(scratch.path(), &args).await;
    let http = Http::new();
    let login = json!({ "email": dev.text("/email"), "password": dev.text("/password") });
    let api = format!("{}/api/v1", dev.text("/control"));
    let session = http.post(&format!("{api}/auth/login"), "nobody", &login).await.expect(200);
    let rule = json!({ "namespace": "both", "name": "all", "count_by": [], "reach": "world",
        "limits": [{ "algorithm": "fixed_window", "limit": 1_000, "window_ms": 60_000 }] });
    let rules = format!("{api}/tenants/{}/rules", dev.text("/tenant"));
    http.post(&rules, &session.text("/access_token"), &rule).await.expect(201);
    let check = json!({ "namespace": "both", "attributes": {} });
    let (eu, us) = (dev.text("/regions/0/gates/0"), dev.text("/regions/1/gates/0"));
    let sent = [&eu, &us].map(|gate| (gate, Cell::new(0)));
    let ask = async |gate: &String| {
        let (_, count) = sent.iter().find(|(of, _)| *of == gate).expect("a gate");
        count.set(count.get() + 1);
        let began = Instant::now();
        let reply = http.post(&format!("{gate}/check"), &dev.text("/api_key"), &check).await;
        (reply.expect(200), began.elapsed())
    };
    for gate in [&eu, &us] {
        until(seconds(20), "the home decides", async || {
            let (reply, _) = ask(gate).await;
            reply.body["limits"][0]["limit"] == 1_000 && reply.body["degraded"].is_null()
        })
        .await;
    }
    let (far, took) = ask(&us).await;
    assert!(far.body["degraded"].is_null(), "{}", far.body);
    assert!(took >= Duration::from_millis(200), "{took:?} for a round trip of 200 ms");
    for (region, (_, sent)) in ["eu", "us"].into_iter().zip(&sent) {
        let path = format!("{api}/tenants/{}/stats/summary?region={region}", dev.text("/tenant"));
        until(seconds(20), "the region has the checks that were sent to it", async || {
            let read = http.request(Method::GET, &path).bearer_auth(session.text("/access_token"));
            send(read).await.expect(200).body["counts"]["allowed"] == sent.get()
        })
        .await;
    }
    dev.process.stop();
}

#[tokio::test]
async fn weir_dev_demo_makes_its_tenant_once_and_sends_traffic_until_it_ends() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let args = ["--demo", "--gates", "1"];
    let first = Dev::start_with(scratch.path(), &args).await;
    let api = DemoApi::sign_in(&first).await;
    let past = past_of(&first);
    let generated = api.get(&format!("/stats/summary?{past}")).await;
    let [allowed, denied] = ["allowed", "denied"].map(|what| count(&generated, what));
    assert!(allowed > 5_000 && denied > 100, "{}", generated.body);
    let series = api.get(&format!("/stats/series?step_s=60&{past}")).await;
    let sum = |what: &str| -> u64 {
        let counts = series.body[what].as_array().expect("counts");
        counts.iter().filter_map(Value::as_u64).sum()
    };
    assert_eq!([sum("allowed"), sum("denied")], [allowed, denied], "the chart and the totals");
    let top = api.get(&format!("/stats/top?by=rule&{past}")).await;
    assert_eq!(top.text("/data/0/rule"), "api-per-customer");
    assert!(top.number("/data/0/denied") <= denied, "{}", top.body);

    until(seconds(60), "real checks are counted", async || {
        count(&api.get("/stats/summary").await, "allowed") > 50
            && count(&api.get(&format!("/stats/summary?{past}")).await, "allowed") == allowed
    })
    .await;
    until(seconds(90), "the burst of the first rule was lowered", async || {
        let rules = api.get("/rules?search=api-per-customer").await;
        rules.number("/data/0/limits/0/capacity") == 15
    })
    .await;
    send_signal(first.process.pid(), "INT");
    assert_eq!(first.process.wait_exit(seconds(30)), Some(0), "{}", first.process.log_tail());

    let second = Dev::start_with(scratch.path(), &args).await;
    assert_eq!(second.text("/traffic/tenant"), first.text("/traffic/tenant"));
    let api = DemoApi::sign_in(&second).await;
    let again = api.get(&format!("/stats/summary?{past}")).await;
    assert_eq!(again.body["counts"], generated.body["counts"], "nothing is written twice");
    assert_eq!(api.tenants().await, ["Demo", "Demo, generated past"]);
    second.process.stop();
}

/// The admin API, for the tenant with traffic.
struct DemoApi {
    http: Http,
    control: String,
    tenant: String,
    token: String,
}

impl DemoApi {
    async fn sign_in(dev: &Dev) -> Self {
        let http = Http::new();
        let control = format!("{}/api/v1", dev.text("/control"));
        let login = json!({ "email": dev.text("/email"), "password": dev.text("/password") });
        let reply = http.post(&format!("{control}/auth/login"), "nobody", &login).await.expect(200);
        let token = reply.text("/access_token");
        Self { http, control, tenant: dev.text("/traffic/tenant"), token }
    }

    async fn get(&self, path: &str) -> Reply {
        self.read(&format!("/tenants/{}{path}", self.tenant)).await
    }

    async fn read(&self, path: &str) -> Reply {
        let request = self.http.request(Method::GET, &format!("{}{path}", self.control));
        send(request.bearer_auth(&self.token)).await.expect(200)
    }

    /// The names of the account's tenants.
    async fn tenants(&self) -> Vec<String> {
        let me = self.read("/me").await;
        let tenants = me.body["memberships"].as_array().expect("memberships").iter();
        let mut names: Vec<String> =
            tenants.map(|one| one["tenant_name"].as_str().expect("a name").to_owned()).collect();
        names.sort();
        names
    }
}

/// The query for the last generated hour.
fn past_of(dev: &Dev) -> String {
    format!("to={}", dev.text("/traffic/generated_until"))
}

fn count(summary: &Reply, what: &str) -> u64 {
    summary.number(&format!("/counts/{what}"))
}

async fn until_no_process_has(data: &str) {
    until(seconds(10), "no process is left", async || processes_with(data).is_empty()).await;
}

/// Sign-in works, and both gates know the demo's key and rules.
async fn assert_serves(dev: &Dev) {
    let http = Http::new();
    let login = json!({ "email": dev.text("/email"), "password": dev.text("/password") });
    let url = format!("{}/api/v1/auth/login", dev.text("/control"));
    http.post(&url, "nobody", &login).await.expect(200);
    let check = json!({ "namespace": "api", "mode": "peek",
        "attributes": { "user": "u-17", "route": "/login" } });
    for gate in ["/gates/0", "/gates/1"] {
        let url = format!("{}/check", dev.text(gate));
        let reply = http.post(&url, &dev.text("/api_key"), &check).await.expect(200);
        assert_eq!(reply.number("/limit"), 5);
    }
}

/// A text that the command lines of its servers contain.
fn data_folders(scratch: &ScratchDir) -> String {
    scratch.path().join("dev").join("data").display().to_string()
}
