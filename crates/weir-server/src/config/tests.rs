use clap::{Args as _, FromArgMatches as _};

use super::*;

fn args(given: &[&str]) -> ServeArgs {
    let command = ServeArgs::augment_args(clap::Command::new("serve").no_binary_name(true));
    let matches = command.get_matches_from(given);
    ServeArgs::from_arg_matches(&matches).expect("the flags exist")
}

#[test]
fn all_problems_are_reported_at_once() {
    let args = args(&[
        "--roles",
        "control,gat",
        "--redis-url",
        "http://x",
        "--control-addr",
        "nowhere",
        "--signup",
        "maybe",
        "--redis-budget-ms",
        "0",
        "--gate-origins",
        "javascript:alert(1)",
        "--stats",
        "perhaps",
        "--trusted-proxies",
        "proxy.example",
        "--stats-days",
        "7,x,90,730",
    ]);
    let said = Settings::parse(&args).expect_err("nothing of this works").to_string();
    for part in [
        "not `gat`",
        "WEIR_DATABASE_URL (or WEIR_DATABASE_URL_FILE) is missing",
        "WEIR_REDIS_URL cannot",
        "WEIR_CONTROL_ADDR must",
        "WEIR_SIGNUP must",
        "WEIR_REDIS_BUDGET_MS must",
        "WEIR_GATE_ORIGINS must",
        "WEIR_STATS must",
        "WEIR_TRUSTED_PROXIES must list at most 64 addresses and networks such as 10.0.0.0/8, not `proxy.example`",
        "WEIR_STATS_DAYS must",
        "WEIR_JWT_KEY (or WEIR_JWT_KEY_FILE) is missing",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
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
    ]);
    let settings = Settings::parse(&args).expect("enough for a gate");
    assert!(settings.control.is_none());
    let gate = settings.gate.as_ref().expect("a gate is asked for");
    assert_eq!(gate.url, "http://127.0.0.1:8081");
    assert!(!format!("{settings:?}").contains("hush"));
}

#[test]
fn statistics_are_kept_for_as_long_as_is_said_and_never_the_finer_for_longer() {
    let kept = |text: &str| {
        let mut problems = Problems::default();
        let kept = problems.retention(text);
        problems.none().ok().map(|()| (kept.minutes_days, kept.hours_days, kept.days_days))
    };
    assert_eq!(kept("7,90,730"), Some((7, 90, 730)));
    assert_eq!(kept(" 1 , 1 , 1 "), Some((1, 1, 1)));
    for wrong in ["", "7", "7,90", "90,7,730", "0,90,730", "61,90,730", "7,90,4000", "7,90,730,1"] {
        assert_eq!(kept(wrong), None, "{wrong}");
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
