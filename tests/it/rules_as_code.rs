//! Rules as code: the commands with real files, their exit codes, and the gates that serve the result.

mod alerts;
mod ci;
mod customers;
mod killed;
mod overrides;
mod profiles;
mod schema;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Output;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Stack, Tenant, folder, shared, weir};

/// A tenant with a key for automation, and a folder of files.
struct Automation<'a> {
    tenant: Tenant<'a>,
    key: String,
    folder: PathBuf,
}

/// A command that has ended.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

impl<'a> Automation<'a> {
    async fn start(stack: &'a Stack, name: &str) -> Self {
        let tenant = Tenant::sign_up(stack).await;
        let (_, key, _) = tenant.make_key(&["write", "check"]).await;
        let folder = folder(&std::env::temp_dir(), &format!("weir-{name}-{}", tenant.id));
        Self { tenant, key, folder }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).expect("a file of the test");
    }

    /// Runs a command with the address of the tenant and, if it has files, with the folder.
    async fn run(&self, args: &[&str]) -> Ended {
        let folder = self.folder.display().to_string();
        let mut args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        if ["check", "diff", "apply"].contains(&args[0].as_str()) {
            args.extend(["-f".to_owned(), folder]);
        }
        let env = [
            ("WEIR_URL", self.tenant.stack.control.url.clone()),
            ("WEIR_GATE_URL", self.tenant.stack.gates[0].url.clone()),
            ("WEIR_TENANT", self.tenant.id.clone()),
            ("WEIR_KEY", self.key.clone()),
        ];
        let ended = tokio::task::spawn_blocking(move || {
            let args: Vec<_> = args.iter().map(String::as_str).collect();
            let env: Vec<_> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
            Ended::from(weir(&args, &env, ""))
        });
        ended.await.expect("a command that ends")
    }
}

impl Drop for Automation<'_> {
    fn drop(&mut self) {
        // A folder that stays does no harm.
        drop(fs::remove_dir_all(&self.folder));
    }
}

impl Ended {
    /// Expects an exit code.
    #[track_caller]
    fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// The output as JSON.
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A file with a rule that limits the requests of a user per hour.
fn manifest(name: &str, limit: u64) -> String {
    format!(
        "apiVersion: weir/v1\nkind: Rule\nmetadata: {{ namespace: api, name: {name} }}\nspec:\n  \
         count_by: [user]\n  limits:\n    - {{ algorithm: sliding_window_log, limit: {limit}, window: 1h }}\n"
    )
}

/// A file with an approximate rule, whose gates hold 1 % of 5,000 units.
const APPROXIMATE: &str = "apiVersion: weir/v1\nkind: Rule\nmetadata: { namespace: api, name: bursts }\nspec:\n  \
     count_by: [user]\n  consistency: approximate\n  limits:\n    - { algorithm: token_bucket, capacity: 5000, \
     refill_tokens: 100, refill_interval: 1s }\n";

#[tokio::test]
async fn bound_of_an_approximate_rule_is_stated_by_a_check_and_by_the_api() {
    let here = Automation::start(shared().await, "bound").await;
    here.write("a.yaml", APPROXIMATE);
    let bound = "Approximate consistency: each gate holds up to 50 units";
    let checked = here.run(&["check"]).await.expect(0);
    assert!(checked.err.contains("a.yaml:6:") && checked.err.contains(bound), "{checked:?}");
    let checked = here.run(&["check", "--output", "json"]).await.expect(0).json();
    assert!(checked["bounds"][0]["text"].as_str().is_some_and(|text| text.contains(bound)));

    here.run(&["apply"]).await.expect(0);
    let rules = here.tenant.admin(Method::GET, "/rules", &Value::Null).await.expect(200).body;
    let rule = &rules["data"][0];
    assert!(rule["bound"].as_str().is_some_and(|text| text.contains(bound)), "{rule}");
    let exported = here.run(&["export"]).await.expect(0);
    assert!(exported.out.contains("consistency: approximate"), "{exported:?}");

    // Without a bound there is no approximation.
    let refused = APPROXIMATE.replace("token_bucket", "leaky_bucket").replace("refill", "drain");
    here.write("a.yaml", &refused.replace("drain_tokens", "drain_units"));
    let refused = here.run(&["check"]).await.expect(2);
    assert!(
        refused.err.contains("a.yaml:6:") && refused.err.contains("`consistency`"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn files_are_checked_planned_applied_exported_and_pruned() {
    let here = Automation::start(shared().await, "files").await;
    here.write("a.yaml", &manifest("login", 2));
    here.write("b.yml", &format!("{}---\n{}", manifest("export", 5), manifest("pay", 7)));
    here.write("notes.txt", "not a file with rules");
    assert!(here.run(&["check"]).await.expect(0).out.contains("3 rules are valid"));
    let diff = here.run(&["diff"]).await.expect(1);
    assert!(diff.out.contains("+ api/login") && diff.out.contains("3 to create"), "{diff:?}");
    assert!(!diff.out.contains('\u{1b}'), "colours without a terminal: {diff:?}");

    let applied = here.run(&["apply", "--set", "shop"]).await.expect(0);
    assert!(applied.out.contains("applied as version"), "{applied:?}");
    assert!(applied.err.contains("live on "), "{applied:?}");
    let unchanged = here.run(&["apply", "--set", "shop"]).await.expect(0);
    assert!(unchanged.out.contains("3 unchanged"), "{unchanged:?}");
    here.run(&["diff", "--set", "shop"]).await.expect(0);

    // The gates decide by the files, as `weir ask` shows.
    let ask = ["ask", "--namespace", "api", "user=u-1"];
    here.run(&ask).await.expect(0);
    assert!(here.run(&ask).await.expect(0).out.contains("allowed, 0 left"));
    let denied = here.run(&ask).await.expect(1);
    assert!(denied.out.starts_with("denied by login, retry in "), "{denied:?}");

    // An edit by a person shows with its author, and what is exported is what is there.
    let list = here.tenant.admin(Method::GET, "/rules?search=login", &Value::Null).await;
    let rule = &list.expect(200).body["data"][0];
    let edited = json!({ "namespace": "api", "name": "login", "count_by": ["user"],
        "limits": [{ "algorithm": "sliding_window_log", "limit": 9, "window_ms": 3_600_000 }] });
    let path = format!("/rules/{}", rule["id"].as_str().expect("an id"));
    here.tenant.admin_if_match(Method::PUT, &path, Some("\"1\""), &edited).await.expect(200);
    let edited = here.tenant.admin(Method::GET, "/rules", &Value::Null).await.expect(200);
    let edited =
        edited.body["data"].as_array().expect("rules").iter().filter(|rule| rule["edited"] == true);
    assert_eq!(edited.map(|rule| &rule["name"]).collect::<Vec<_>>(), ["login"]);
    let drift = here.run(&["diff", "--set", "shop"]).await.expect(1);
    assert!(
        drift.out.contains("~ api/login") && drift.out.contains("last changed by person-"),
        "{drift:?}"
    );
    let exported = here.run(&["export"]).await.expect(0);
    fs::remove_file(here.folder.join("b.yml")).expect("a file of the test");
    here.write("a.yaml", &exported.out);
    here.run(&["diff", "--set", "shop"]).await.expect(0);
    assert_eq!(here.run(&["export"]).await.expect(0).out, exported.out);

    here.write("a.yaml", &manifest("login", 9));
    here.run(&["diff", "--set", "shop"]).await.expect(0);
    let pruned =
        here.run(&["apply", "--set", "shop", "--prune", "--output", "json"]).await.expect(0);
    assert_eq!(pruned.json()["deleted"].as_array().map(Vec::len), Some(2), "{pruned:?}");
}

#[tokio::test]
async fn every_error_exits_with_2_names_its_place_and_changes_nothing() {
    let here = Automation::start(shared().await, "errors").await;
    here.write("a.yaml", &manifest("login", 2).replace("count_by", "countBy"));
    let place = format!("{}:5:3: ", here.folder.join("a.yaml").display());
    for command in ["check", "diff", "apply"] {
        let ended = here.run(&[command]).await.expect(2);
        assert!(ended.err.starts_with(&place) && ended.err.contains("unknown field"), "{ended:?}");
    }
    let json = here.run(&["check", "--output", "json"]).await.expect(2).json();
    assert_eq!((&json["errors"][0]["line"], &json["errors"][0]["column"]), (&json!(5), &json!(3)));

    // One rule in two files.
    here.write("a.yaml", &manifest("login", 2));
    here.write("b.yaml", &manifest("login", 3));
    let twice = here.run(&["check"]).await.expect(2);
    assert!(twice.err.contains("b.yaml:3:29: the rule `api/login` is also in "), "{twice:?}");

    // Errors that only the server can find have their place too.
    fs::remove_file(here.folder.join("b.yaml")).expect("a file of the test");
    here.run(&["apply", "--set", "one"]).await.expect(0);
    here.write("a.yaml", &manifest("login", 3));
    let foreign = here.run(&["apply", "--set", "other"]).await.expect(2);
    assert!(foreign.err.contains("a.yaml:3:29: `name` is a rule of the set `one`"), "{foreign:?}");
    here.run(&["apply", "--set", "other", "--adopt"]).await.expect(0);

    // More deletions than allowed.
    let many: Vec<_> = (0..7).map(|nth| manifest(&format!("r-{nth}"), 1)).collect();
    here.write("a.yaml", &many.join("---\n"));
    here.run(&["apply", "--set", "many"]).await.expect(0);
    here.write("a.yaml", &manifest("r-0", 1));
    let refused = here.run(&["apply", "--set", "many", "--prune"]).await.expect(2);
    assert!(refused.err.contains("deletes 6 objects, and `allow_deletes` is 5"), "{refused:?}");
    let all = here.tenant.admin(Method::GET, "/rules", &Value::Null).await.expect(200);
    assert_eq!(all.body["data"].as_array().map(Vec::len), Some(8));

    fs::remove_file(here.folder.join("a.yaml")).expect("a file of the test");
    here.run(&["apply", "--prune"]).await.expect(2);
    here.run(&["diff", "--no-such-option"]).await.expect(2);
    let mut stranger = Automation::start(shared().await, "stranger").await;
    "weir_wrong".clone_into(&mut stranger.key);
    stranger.write("a.yaml", &manifest("login", 2));
    stranger.run(&["diff"]).await.expect(2);
    stranger.run(&["ask", "user=u-1"]).await.expect(2);
}

#[tokio::test]
async fn file_of_envoy_becomes_rules_that_decide_as_it_says() {
    let here = Automation::start(shared().await, "envoy").await;
    let file = here.folder.join("limits.txt");
    let text = "domain: messaging\ndescriptors:\n  - key: message_type\n    value: marketing\n    \
                rate_limit:\n      unit: day\n      requests_per_unit: 5\n";
    fs::write(&file, text).expect("a file of the test");
    let import = ["import", "envoy", &file.display().to_string()];
    let imported = here.run(&import).await.expect(0);
    here.write("a.yaml", &imported.out);
    here.run(&["apply"]).await.expect(0);
    let ask = |kind: &str| {
        let kind = format!("message_type={kind}");
        let here = &here;
        async move {
            here.run(&["ask", "--namespace", "messaging", "descriptor=message_type", &kind]).await
        }
    };
    for _ in 0..5 {
        ask("marketing").await.expect(0);
    }
    let denied = ask("marketing").await.expect(1);
    assert!(denied.out.starts_with("denied by message-type-marketing"), "{denied:?}");
    ask("news").await.expect(0);

    fs::write(&file, text.replace("    rate_limit", "    metadata: { a: b }\n    rate_limit"))
        .expect("a file");
    let left_out = here.run(&import).await.expect(3);
    assert!(left_out.err.contains("limits.txt:5:5: `metadata`"), "{left_out:?}");
    fs::write(&file, text.replace("  - key", "\t- key")).expect("a file of the test");
    assert!(here.run(&import).await.expect(2).err.contains("limits.txt:3:"));

    // Names that would be the same are reported, and none replaces another.
    let files = ["one.txt", "other.txt"].map(|name| here.folder.join(name).display().to_string());
    let both = async |one: String, other: String| {
        fs::write(&files[0], one).expect("a file of the test");
        fs::write(&files[1], other).expect("a file of the test");
        here.run(&["import", "envoy", &files[0], &files[1]]).await
    };
    let twice = both(text.to_owned(), text.replace(": 5", ": 7")).await.expect(3);
    let reason = "other.txt: another rule is messaging/message-type-marketing too (left out)";
    assert!(twice.err.contains(reason) && !twice.out.contains("limit: 7"), "{twice:?}");
    let of = |domain: &str| text.replace("domain: messaging", &format!("domain: {domain}"));
    let same = both(of("edge.v1"), of("edge/v1")).await.expect(2);
    let reason = "the domains `edge.v1` and `edge/v1` would both be the namespace edge-v1";
    assert!(same.err.contains(reason) && same.out.is_empty(), "{same:?}");
}

#[tokio::test]
async fn completions_and_help_need_no_server() {
    let here = Automation::start(shared().await, "shell").await;
    for shell in ["bash", "zsh", "fish"] {
        let script = here.run(&["completions", shell]).await.expect(0);
        assert!(script.out.contains("apply") && script.out.contains("weir"), "{shell}");
    }
}

#[tokio::test]
async fn server_checks_what_files_alone_do_not_show() {
    let here = Automation::start(shared().await, "check-server").await;
    let spread = json!({ "spread_by": ["region"] });
    here.tenant
        .admin_if_match(Method::PUT, "/namespaces/api", Some("\"0\""), &spread)
        .await
        .expect(200);
    here.write("a.yaml", &manifest("login", 2));
    here.run(&["check"]).await.expect(0);
    let refused = here.run(&["check", "--server"]).await.expect(2);
    assert!(refused.err.contains("region") || refused.out.contains("region"), "{refused:?}");
    let fitting = manifest("login", 2).replace("[user]", "[region, user]");
    here.write("a.yaml", &fitting);
    here.run(&["check", "--server"]).await.expect(0);
    let rules = here.tenant.admin(Method::GET, "/rules", &Value::Null).await.expect(200);
    assert_eq!(rules.body["data"], json!([]), "a check changes nothing");
}

#[tokio::test]
async fn wrong_addresses_and_keys_are_named_by_their_settings() {
    let stack = shared().await;
    let here = Automation::start(stack, "addresses").await;
    here.write("rule.yaml", &manifest("per-user", 5));
    let (control, gate) = (stack.control.url.as_str(), stack.gates[0].url.as_str());
    for command in [&["export"][..], &["diff"], &["apply", "--yes"], &["check", "--server"]] {
        let ended = here.run(&[command, &["--url", gate]].concat()).await.expect(2);
        let text = format!("{gate} is a gate; WEIR_URL names the control plane");
        assert!(ended.err.contains(&text), "{command:?}: {ended:?}");
    }
    let ended = here.run(&["ask", "--url", control, "user=u"]).await.expect(2);
    assert!(
        ended.err.contains(&format!("{control} is no gate; WEIR_GATE_URL names one")),
        "{ended:?}"
    );
    for command in [&["export"][..], &["ask", "user=u"]] {
        let ended = here.run(&[command, &["--key", "weir_wrong"]].concat()).await.expect(2);
        assert!(ended.err.contains("does not accept the key of WEIR_KEY"), "{ended:?}");
    }
    // One key serves both: `weir dev` prints such a one.
    here.run(&["export"]).await.expect(0);
    here.run(&["ask", "user=u"]).await.expect(0);
}

/// A server that has been taken over, or is another one than it seems.
#[tokio::test]
async fn names_of_a_hostile_server_write_no_file_elsewhere_and_no_escapes() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let outside = std::env::temp_dir().join(format!("weir-outside-{}", std::process::id()));
    let rule = |namespace: &str, name: &str| {
        json!({
            "id": "rule_00000000000000000000000001", "namespace": namespace, "name": name,
            "count_by": [], "limits": [{ "algorithm": "fixed_window", "limit": 1, "window_ms": 1000 }],
            "revision": 1, "rulebook_version": 1, "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        })
    };
    let names = [
        ("..", "evil"),
        ("../../tmp", "evil"),
        (outside.to_str().expect("text"), "evil"),
        ("api", "../../evil"),
        ("api", outside.to_str().expect("text")),
        ("api", "\u{1b}]0;owned\u{7}\u{9b}2J"),
    ];
    let bodies: Vec<_> = names.iter().map(|(namespace, name)| rule(namespace, name)).collect();
    std::thread::spawn(move || {
        for body in bodies {
            let page = |data: Value| json!({ "data": data, "next_cursor": null }).to_string();
            for answer in [page(json!([body])), page(json!([])), page(json!([]))] {
                let Ok((mut stream, _)) = listener.accept() else { return };
                let mut head = [0; 4096];
                let _ = stream.read(&mut head);
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{answer}",
                    answer.len()
                );
            }
        }
    });
    let folder = folder(&std::env::temp_dir(), &format!("weir-hostile-{}", std::process::id()));
    let (dir, env) = (
        folder.join("rules"),
        [("WEIR_URL", url.as_str()), ("WEIR_TENANT", "tenant_x"), ("WEIR_KEY", "weir_x")],
    );
    let dir = dir.display().to_string();
    for name in names {
        let args = ["export", "--without-overrides", "--without-alerts", "--dir", &dir];
        let ended = Ended::from(weir(&args, &env, "")).expect(2);
        assert!(ended.err.contains("cannot be a file"), "{name:?}: {ended:?}");
        assert!(!ended.err.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{name:?}: {ended:?}");
    }
    let written = fs::read_dir(&dir).expect("the folder").flatten();
    let files = written.filter(|entry| entry.path().is_file()).count();
    assert_eq!((files, outside.exists(), folder.join("evil.yaml").exists()), (0, false, false));
    drop(fs::remove_dir_all(folder));
}
