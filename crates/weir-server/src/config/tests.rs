use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::{Args as _, FromArgMatches as _};

use super::*;
use crate::edge;

fn args(given: &[&str]) -> ServeArgs {
    let command = ServeArgs::augment_args(clap::Command::new("serve").no_binary_name(true));
    let matches = command.get_matches_from(given);
    ServeArgs::from_arg_matches(&matches).expect("the flags exist")
}

/// Each setting with a value that it refuses.
const WRONG: [[&str; 2]; 24] = [
    ["--log", "[["],
    ["--roles", "control,gat"],
    ["--database-connections", "1"],
    ["--redis-url", "http://x"],
    ["--control-addr", "nowhere"],
    ["--signup", "maybe"],
    ["--redis-budget-ms", "0"],
    ["--gate-origins", "javascript:alert(1)"],
    ["--stats", "perhaps"],
    ["--operations-addr", "9090"],
    ["--connections-max", "0"],
    ["--connections-per-address-max", "many"],
    ["--overload-wait-ms", "9"],
    ["--drain-ms", "60001"],
    ["--trusted-proxies", "proxy.example"],
    ["--stats-days", "7,x,90,730"],
    ["--smtp-url", "https://user:hush@mail.example.com"],
    ["--smtp-from", "weir@example.com"],
    ["--dashboard-url", "limits.example.com"],
    ["--decisions", "http://weir:hush@logs.example.com"],
    ["--decisions-share", "1.5"],
    ["--decisions-subjects", "some"],
    ["--otlp-endpoint", "collector:4317"],
    ["--traces-per-second", "0"],
];

#[test]
fn all_problems_are_reported_at_once() {
    let args = args(WRONG.as_flattened());
    let said = Settings::parse(&args).expect_err("nothing of this works").to_string();
    for part in [
        "not `gat`",
        "WEIR_DATABASE_URL (or WEIR_DATABASE_URL_FILE) is missing",
        "WEIR_LOG must be a filter",
        "WEIR_REDIS_URL cannot",
        "WEIR_CONTROL_ADDR must",
        "WEIR_SIGNUP must",
        "WEIR_REDIS_BUDGET_MS must",
        "WEIR_GATE_ORIGINS must",
        "WEIR_STATS must",
        "WEIR_OPERATIONS_ADDR must",
        "WEIR_DATABASE_CONNECTIONS must be from 2 to 1000",
        "WEIR_CONNECTIONS_MAX must be from 1 to 1000000",
        "WEIR_CONNECTIONS_PER_ADDRESS_MAX must be from 1 to 1000000",
        "WEIR_OVERLOAD_WAIT_MS must be from 10 to 60000",
        "WEIR_DRAIN_MS must be from 0 to 60000",
        "WEIR_TRUSTED_PROXIES must list at most 64 addresses and networks such as 10.0.0.0/8, not `proxy.example`",
        "WEIR_STATS_DAYS must",
        "WEIR_JWT_KEY (or WEIR_JWT_KEY_FILE) is missing",
        "WEIR_SMTP_URL must be an address such as smtps://",
        "WEIR_DASHBOARD_URL must",
        "WEIR_DECISIONS must be `stdout`, `file:PATH` or an address with `https://`",
        "WEIR_DECISIONS_SHARE must be more than 0 and at most 1",
        "WEIR_DECISIONS_SUBJECTS must be `hashed` or `plain`",
        "OTEL_EXPORTER_OTLP_ENDPOINT must be an address such as http://127.0.0.1:4317",
        "WEIR_TRACES_PER_SECOND must be from 1 to 10000",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("hush"), "{said}");
}

#[test]
fn gate_needs_no_signing_key_and_debug_shows_no_secret() {
    let args = args(&[
        "--roles",
        "gate",
        "--redis-url",
        "redis://:hush@127.0.0.1:6379",
        "--database-url",
        "postgres://weir:hush@127.0.0.1/weir",
        "--decisions",
        "https://weir:hush@logs.example.com/",
    ]);
    let settings = Settings::parse(&args).expect("enough for a gate");
    assert!(settings.control.is_none());
    let gate = settings.gate.as_ref().expect("a gate is asked for");
    assert_eq!(gate.url, "http://127.0.0.1:8081");
    assert!(!format!("{settings:?}").contains("hush"));
}

#[test]
fn retention_is_parsed_and_finer_statistics_are_never_retained_longer() {
    let retention = |text: &str| {
        let mut problems = Problems::default();
        let parsed = problems.retention(text);
        problems.none().ok().map(|()| (parsed.minutes_days, parsed.hours_days, parsed.days_days))
    };
    assert_eq!(retention("7,90,730"), Some((7, 90, 730)));
    assert_eq!(retention(" 1 , 1 , 1 "), Some((1, 1, 1)));
    for wrong in ["", "7", "7,90", "90,7,730", "0,90,730", "61,90,730", "7,90,4000", "7,90,730,1"] {
        assert_eq!(retention(wrong), None, "{wrong}");
    }
}

#[test]
fn a_signing_key_file_that_every_account_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = weir_local::ScratchDir::create().expect("a scratch folder");
    let file = scratch.path().join("jwt.key");
    std::fs::write(&file, "not a key").expect("a file");
    for (mode, refused) in [(0o644, true), (0o602, true), (0o640, false), (0o400, false)] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&file, mode.clone()).expect("its mode");
        let given = ["--roles", "control", "--jwt-key-file", file.to_str().expect("text")];
        let said = Settings::parse(&args(&given)).expect_err("no database").to_string();
        assert_eq!(said.contains("is open to every account"), refused, "{mode:?}: {said}");
    }
}

/// The problems with these settings of a gate, which are added to the required ones.
fn said_of(more: &[&str]) -> String {
    let needed = ["--roles", "gate", "--redis-url", "redis://127.0.0.1:6379"];
    let settings = Settings::parse(&args(&[&needed, more].concat()));
    settings.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn postgres_on_another_host_must_prove_its_identity_unless_that_is_waived() {
    let remote = ["--database-url", "postgres://gate@db.example.com/weir"];
    let said = said_of(&remote);
    assert!(said.contains("WEIR_DATABASE_URL") && said.contains("sslmode=verify-full"), "{said}");
    assert_eq!(said_of(&[remote[0], remote[1], "--database-insecure", "on"]), "");
    let verified = "postgres://gate@db.example.com/weir?sslmode=verify-full";
    assert_eq!(said_of(&["--database-url", verified]), "");
    assert_eq!(said_of(&["--database-url", "postgres://gate@127.0.0.1/weir"]), "");
    let said = said_of(&[remote[0], remote[1], "--database-insecure", "perhaps"]);
    assert!(said.contains("WEIR_DATABASE_INSECURE must"), "{said}");
}

#[test]
fn address_of_redis_has_one_of_the_known_forms() {
    let problems = |redis_url: &str| {
        let needed = ["--roles", "gate", "--database-url", "postgres://gate@127.0.0.1/weir"];
        let settings = Settings::parse(&args(&[&needed[..], &["--redis-url", redis_url]].concat()));
        settings.err().map(|error| error.to_string()).unwrap_or_default()
    };
    for right in [
        "redis://a",
        "rediss://a",
        "redis-sentinel://a,b:1/main",
        "rediss-sentinel://a/m",
        "redis-cluster://a,b",
        "rediss-cluster://a:7000",
    ] {
        assert_eq!(problems(right), "", "{right}");
    }
    for (wrong, reason) in [
        ("http://a", "scheme must be redis, redis-sentinel or redis-cluster"),
        ("redis://a,b", "several hosts need redis-cluster://, or redis-sentinel://"),
        ("redis-sentinel://a,b", "name of the primary is missing"),
    ] {
        let problem = problems(wrong);
        assert!(problem.contains("WEIR_REDIS_URL cannot be used: "), "{wrong}: {problem}");
        assert!(problem.contains(reason), "{wrong}: {problem}");
    }
}

#[test]
fn process_with_both_planes_needs_a_login_for_each() {
    let both = args(&["--roles", "control,gate", "--database-url", "postgres://a@127.0.0.1/weir"]);
    let said = Settings::parse(&both).expect_err("the gate's is missing").to_string();
    assert!(said.contains("WEIR_GATE_DATABASE_URL"), "{said}");
}

#[test]
fn gate_in_a_region_needs_a_key_unless_its_process_has_the_signing_key() {
    use std::os::unix::fs::PermissionsExt as _;
    let url = ["--database-url", "postgres://gate@127.0.0.1/weir"];
    let region = ["--region", "eu", "--internal-addr", "127.0.0.1:8443"];
    let said = said_of(&[&url[..], &region].concat());
    assert!(said.contains("WEIR_REGION_KEY is needed, because WEIR_REGION is set"), "{said}");
    let said = said_of(&[&url[..], &region[..2]].concat());
    assert!(said.contains("WEIR_INTERNAL_ADDR is needed"), "{said}");
    let scratch = weir_local::ScratchDir::create().expect("a scratch folder");
    let file = scratch.path().join("jwt.key");
    std::fs::write(&file, STANDARD.encode(edge::random_bytes::<32>())).expect("a file");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o400)).expect("its mode");
    let both = ["--roles", "control,gate", "--jwt-key-file", file.to_str().expect("text")];
    let gate_url = ["--gate-database-url", "postgres://gate@127.0.0.1/weir"];
    let redis = ["--redis-url", "redis://127.0.0.1:6379"];
    let settings = [&both[..], &url, &gate_url, &redis, &region].concat();
    let settings = Settings::parse(&args(&settings)).expect("the key is derived");
    assert!(settings.gate.expect("a gate").region.is_some());
}

#[test]
fn staleness_of_a_rulebook_has_bounds() {
    let url = ["--database-url", "postgres://gate@127.0.0.1/weir"];
    let said = |more: &[&str]| said_of(&[&url, more].concat());
    assert_eq!(said(&["--rulebook-max-age-s", "5", "--rulebook-stale", "refuse"]), "");
    for wrong in ["4", "86401", "x"] {
        assert!(said(&["--rulebook-max-age-s", wrong]).contains("from 5 to 86400"), "{wrong}");
    }
    assert!(said(&["--rulebook-stale", "maybe"]).contains("WEIR_RULEBOOK_STALE must"));
}

#[test]
fn passwords_of_logins_have_bounds() {
    let command = MigrateArgs::augment_args(clap::Command::new("migrate").no_binary_name(true));
    let parsed = |password: &str| {
        let url = "postgres://weir@127.0.0.1/weir";
        let given = ["--database-url", url, "--gate-database-password", password];
        let matches = command.clone().get_matches_from(given);
        MigrateArgs::from_arg_matches(&matches).expect("the flags exist").parse()
    };
    assert!(parsed("short").expect_err("too short").to_string().contains("16 to 200 bytes"));
    let migration = parsed("long enough, or so it seems").expect("long enough");
    assert!(migration.control_password.is_none());
    assert!(!format!("{migration:?}").contains("enough"));
}

#[test]
fn mail_needs_a_server_a_sender_and_the_address_of_the_dashboard() {
    let parsed = |given: &[&str]| {
        let mut problems = Problems::default();
        let given = args(given).mail;
        let origin = given.origin(&mut problems);
        let mail = given.parse(&mut problems, origin);
        problems.none().map(|()| mail).map_err(|error| error.to_string())
    };
    assert!(parsed(&[]).expect("nothing is required").is_none());
    assert!(parsed(&["--smtp-url", ""]).expect("an empty variable is none").is_none());
    let url = ["--smtp-url", "smtps://user:hush@mail.example.com"];
    let said = parsed(&url).expect_err("no sender");
    assert!(said.contains("WEIR_SMTP_FROM is missing"), "{said}");
    assert!(said.contains("WEIR_DASHBOARD_URL is missing"), "{said}");
    let from = ["--smtp-from", "Weir <weir@example.com>"];
    let dashboard = ["--dashboard-url", "https://limits.example.com/"];
    let mail = parsed(&[url, from, dashboard].concat()).expect("enough").expect("a server");
    assert_eq!(mail.dashboard_url, "https://limits.example.com");
    assert!(!format!("{mail:?} {:?}", args(&url).mail).contains("hush"));
    let several = ["--dashboard-url", "https://a.example.com,https://b.example.com"];
    let said = parsed(&[url, from, several].concat()).expect_err("two addresses");
    assert!(said.contains("must be one address"), "{said}");
}
