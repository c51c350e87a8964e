//! Documents, dashboards and alert rules use only metrics of a real scrape, which `promtool` accepts.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Tenant, shared};

const FILES: [&str; 3] = ["metrics.md", "grafana-dashboard.json", "prometheus-alerts.yml"];

/// A file of the guide for operators.
pub fn document_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/operate").join(name)
}

pub fn document(name: &str) -> String {
    let text = std::fs::read_to_string(document_path(name));
    text.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names of metrics in a text, without the suffixes that Prometheus adds for histograms.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let bare = |word: &str| {
        let parts = ["_bucket", "_sum", "_count"];
        let bare = parts.iter().find_map(|part| word.strip_suffix(part));
        bare.unwrap_or(word).to_owned()
    };
    words.filter(|word| word.starts_with("weir_")).map(bare).collect()
}

async fn scrape(tenant: &Tenant<'_>, url: &str) -> String {
    let request = tenant.http.request(Method::GET, &format!("{url}/metrics"));
    let response = request.send().await.expect("a scrape");
    assert_eq!(response.status(), 200);
    response.text().await.expect("text")
}

#[tokio::test]
async fn every_metric_that_is_named_exists_and_none_has_a_label_that_grows() {
    let stack = shared().await;
    let tenant = Tenant::sign_up(stack).await;
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 }]);
    tenant.rule(&json!({ "name": "some", "count_by": ["user"], "limits": limits })).await;
    tenant.check(0, &json!({ "attributes": { "user": "u-canary" } })).await.expect(200);
    let gate = scrape(&tenant, &stack.gates[0].url).await;
    let control = scrape(&tenant, &stack.control.url).await;
    let scraped: BTreeSet<_> = names(&gate).union(&names(&control)).cloned().collect();
    for file in FILES {
        let named = names(&document(file));
        assert!(named.len() >= 10, "{file} names {named:?}");
        let missing: Vec<_> = named.difference(&scraped).collect();
        assert!(missing.is_empty(), "{file} names what is not there: {missing:?}");
    }
    let undocumented: Vec<_> =
        scraped.difference(&names(&document("metrics.md"))).cloned().collect();
    assert!(undocumented.is_empty(), "not in metrics.md: {undocumented:?}");

    let known = [
        "outcome",
        "answer",
        "kind",
        "status",
        "result",
        "le",
        "quantile",
        "listener",
        "reason",
        "task",
        "primary",
        "interface",
        "code",
        "operation",
        "event",
    ];
    for line in gate.lines().chain(control.lines()).filter(|line| !line.starts_with('#')) {
        let labels = line.split_once('{').map_or("", |(_, rest)| rest);
        let labels = labels.rsplit_once('}').map_or("", |(labels, _)| labels);
        for label in labels.split(',').filter_map(|label| label.split_once('=')) {
            assert!(known.contains(&label.0), "{line}");
        }
        assert!(!line.contains(&tenant.id) && !line.contains("u-canary"), "{line}");
    }
}

/// Runs `promtool`, which `cargo xtask setup --for test` installs, and requires that it finds nothing.
pub fn promtool(args: &[&str], input: &str) {
    let mut command = Command::new("promtool");
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut tool = command.spawn().expect("promtool is missing: cargo xtask setup --for test");
    tool.stdin.take().expect("piped").write_all(input.as_bytes()).expect("it reads its input");
    let output = tool.wait_with_output().expect("a child can be waited for");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "promtool {args:?}: {errors}");
}

#[tokio::test]
async fn promtool_accepts_the_metrics_of_both_planes_and_the_alert_rules() {
    let stack = shared().await;
    let tenant = Tenant::sign_up(stack).await;
    tenant.check(0, &json!({ "attributes": { "user": "u-1" } })).await.expect(200);
    let gate = scrape(&tenant, &stack.gates[0].url).await;
    let control = scrape(&tenant, &stack.control.url).await;
    for text in [&gate, &control] {
        promtool(&["check", "metrics"], text);
        let families = text.lines().filter(|line| line.starts_with("# TYPE ")).count();
        let helps = text.lines().filter(|line| line.starts_with("# HELP ")).count();
        assert!(families > 10 && families == helps, "{families} families, {helps} help texts");
    }
    let rules = document_path("prometheus-alerts.yml");
    promtool(&["check", "rules", &rules.display().to_string()], "");
}

#[test]
fn promtool_accepts_the_configuration_of_the_page() {
    let page = document("metrics.md");
    let block = page.split_once("```yaml\n").and_then(|(_, rest)| rest.split_once("```\n"));
    let scratch = weir_local::ScratchDir::create().expect("a scratch folder");
    let file = scratch.path().join("prometheus.yml");
    std::fs::write(&file, block.expect("the page has the configuration").0).expect("writable");
    let rules = scratch.path().join("prometheus-alerts.yml");
    std::fs::write(rules, document("prometheus-alerts.yml")).expect("writable");
    promtool(&["check", "config", &file.display().to_string()], "");
}

#[test]
fn dashboard_is_json_and_its_panels_ask_something() {
    let dashboard: Value =
        serde_json::from_str(&document("grafana-dashboard.json")).expect("a dashboard is JSON");
    for variable in dashboard["templating"]["list"].as_array().expect("variables") {
        let is_pattern = variable["type"] == "textbox";
        assert!(
            !is_pattern || variable["query"] == ".*",
            "jobs have other names elsewhere: {variable}"
        );
    }
    let panels = dashboard["panels"].as_array().expect("panels");
    for panel in panels {
        let targets = panel["targets"].as_array().expect("targets");
        assert!(!targets.is_empty(), "{}", panel["title"]);
        for target in targets {
            let expression = target["expr"].as_str().expect("an expression");
            assert!(!names(expression).is_empty(), "{}", panel["title"]);
            let count = |sign: char| expression.chars().filter(|c| *c == sign).count();
            assert_eq!(count('('), count(')'), "{expression}");
            assert_eq!(count('{'), count('}'), "{expression}");
        }
    }
}
