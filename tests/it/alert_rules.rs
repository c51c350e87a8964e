//! Each alert rule of the guide fires when its metric says so, and stays silent otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use weir_local::ScratchDir;

use crate::metrics::{document, document_path, promtool};

/// An alert, and series with healthy and with faulty values for 90 minutes, one a minute. `A+BxN` begins at A and adds B each
/// minute; `_` is no value. The clock begins at 0.
type Row = (&'static str, &'static [(&'static str, &'static str, &'static str)]);

const ROWS: [Row; 32] = [
    ("WeirChecksWithoutRedis", &[("weir_degraded_checks_total", "5x90", "0+6x90")]),
    (
        "WeirGateDown",
        &[
            (r#"up{job="gates",instance="a"}"#, "1x90", "1x80 0x9"),
            (r#"weir_redis_up{job="gates",instance="a"}"#, "1x90", "1x80 _x9"),
            // Another program.
            (r#"up{job="shop",instance="a"}"#, "0x90", "0x90"),
        ],
    ),
    ("WeirNoGate", &[("weir_redis_up", "1x90", "_x90")]),
    ("WeirGateWithoutRedis", &[("weir_redis_up", "1x90", "0x90")]),
    ("WeirRedisLostData", &[("weir_redis_data_lost_total", "3x90", "0x84 1x5")]),
    ("WeirRedisEvicts", &[("weir_redis_evicted_keys_total", "3x90", "0x84 1x5")]),
    (
        "WeirRedisSlow",
        &[
            (r#"weir_redis_script_seconds_bucket{le="0.008"}"#, "0+100x90", "0x90"),
            (r#"weir_redis_script_seconds_bucket{le="0.01"}"#, "0+100x90", "0+100x90"),
            (r#"weir_redis_script_seconds_bucket{le="+Inf"}"#, "0+100x90", "0+100x90"),
        ],
    ),
    (
        "WeirRegionWithoutHome",
        &[
            ("weir_home_checks_total", "0+60x90", "0+60x90"),
            ("weir_home_failed_checks_total", "0+6x90", "0+60x90"),
        ],
    ),
    ("WeirRegionFailsAtHome", &[("weir_home_failed_checks_total", "3x90", "0+6x90")]),
    ("WeirProxiesUnanswered", &[("weir_authorize_errors_total", "2x90", "0+6x90")]),
    (
        "WeirCallersRefused",
        &[
            (r#"weir_refused_callers_total{interface="rls"}"#, "2x90", "0+6x90"),
            // Callers of `/check` see their own 401.
            (r#"weir_refused_callers_total{interface="check"}"#, "0+6x90", "_x90"),
        ],
    ),
    ("WeirOverloaded", &[("weir_shed_requests_total", "2x90", "0+6x90")]),
    (
        "WeirChecksSlow",
        &[
            (r#"weir_check_seconds_bucket{le="0.01"}"#, "0+100x90", "0x90"),
            (r#"weir_check_seconds_bucket{le="0.02"}"#, "0+100x90", "0+100x90"),
            (r#"weir_check_seconds_bucket{le="+Inf"}"#, "0+100x90", "0+100x90"),
        ],
    ),
    ("WeirRulebookOld", &[("weir_rulebook_age_seconds", "1x90", "100x90")]),
    (
        "WeirRulebooksDiffer",
        &[
            (r#"weir_rulebook_version{instance="a"}"#, "7x90", "7x90"),
            (r#"weir_rulebook_version{instance="b"}"#, "7x90", "6x90"),
        ],
    ),
    ("WeirRulesLeftOut", &[("weir_rulebook_left_out", "0x90", "1x90")]),
    ("WeirRulebookStale", &[("weir_rulebook_stale", "0x90", "1x90")]),
    ("WeirRulebookCopyOld", &[("weir_rulebook_copy_age_seconds", "5x90", "700x90")]),
    ("WeirClockWrong", &[("weir_clock_offset_seconds", "0.2x90", "-3600x90")]),
    ("WeirNoControlPlane", &[(ALERTS, "0+60x90", "_x90")]),
    ("WeirControlTaskStalled", &[(ALERTS, "0+60x90", "0+60x80 4800x10")]),
    ("WeirPartitionsMissing", &[("weir_control_statistics_partitions_ahead", "7x90", "1x90")]),
    ("WeirGateDoesNotRecord", &[("weir_stats_last_success_timestamp_seconds", "0+60x90", "60x90")]),
    ("WeirStatisticsLost", &[("weir_stats_dropped_total", "4x90", "0+1x90")]),
    ("WeirStatisticsNotWritten", &[("weir_stats_flush_failures_total", "4x90", "0+60x90")]),
    ("WeirStatisticsNotRolledUp", &[("weir_control_roll_up_failures_total", "4x90", "0+1x90")]),
    ("WeirAdminApiFails", &[(r#"weir_control_requests_total{status="5xx"}"#, "4x90", "0+60x90")]),
    ("WeirAlertsNotLookedAt", &[("weir_alert_evaluation_failures_total", "4x90", "0+5x90")]),
    (
        "WeirWebhooksFail",
        &[
            (r#"weir_webhook_deliveries_total{result="delivered"}"#, "0+10x90", "0x90"),
            (r#"weir_webhook_deliveries_total{result="failed"}"#, "0+1x90", "0+10x90"),
        ],
    ),
    (
        "WeirChargesDropped",
        &[(r#"weir_buffered_charges_total{event="dropped"}"#, "4x90", "0+1x90")],
    ),
    (
        "WeirDeferredJobsFail",
        &[
            (r#"weir_deferred_jobs_total{event="delivered"}"#, "0+10x90", "0x90"),
            (r#"weir_deferred_jobs_total{event="undelivered"}"#, "0+1x90", "0+10x90"),
        ],
    ),
    ("WeirTenantOverLiveSubjects", &[("weir_tenants_over_live_subjects", "0x90", "1x90")]),
];

const ALERTS: &str = r#"weir_control_task_last_success_timestamp_seconds{task="alerts"}"#;

/// A group of `promtool test rules`: these series, and the expression that has exactly these samples after 90 minutes.
fn group(series: &BTreeMap<&str, &str>, expression: &str, samples: &str) -> String {
    let mut text = "  - interval: 1m\n    input_series:\n".to_owned();
    for (name, values) in series {
        writeln!(text, "      - {{ series: '{name}', values: '{values}' }}").expect("a string");
    }
    text.push_str("    promql_expr_test:\n");
    writeln!(text, "      - expr: '{expression}'\n        eval_time: 90m").expect("a string");
    writeln!(text, "        exp_samples: {samples}").expect("a string");
    text
}

#[test]
fn each_alert_fires_on_its_fault_and_none_while_all_is_well() {
    let rules = document("prometheus-alerts.yml");
    let named = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    let tested: BTreeSet<_> = ROWS.iter().map(|(alert, _)| *alert).collect();
    assert_eq!(named.collect::<BTreeSet<_>>(), tested);

    let path = document_path("prometheus-alerts.yml");
    let mut text = format!("rule_files: ['{}']\nevaluation_interval: 1m\ntests:\n", path.display());
    let all = ROWS.iter().flat_map(|(_, series)| *series);
    let healthy = all.map(|(name, healthy, _)| (*name, *healthy)).collect();
    text += &group(&healthy, r#"ALERTS{alertstate="firing"}"#, "[]");
    for (alert, series) in ROWS {
        let faulty = series.iter().map(|(name, _, faulty)| (*name, *faulty)).collect();
        let fires = format!(r#"count(ALERTS{{alertname="{alert}",alertstate="firing"}})"#);
        text += &group(&faulty, &fires, "[{ labels: '{}', value: 1 }]");
    }
    let scratch = ScratchDir::create().expect("a scratch folder");
    let file = scratch.path().join("tests.yml");
    std::fs::write(&file, text).expect("writable");
    promtool(&["test", "rules", &file.display().to_string()], "");
}
