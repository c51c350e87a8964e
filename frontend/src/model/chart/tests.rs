use serde_json::json;
use weir_domain::time::Timestamp;
use weir_wire::time::DateTime;

use super::*;

const UTC: fn(i64) -> i64 = |_| 0;

fn data(series: &Series) -> ChartData {
    ChartData::of(series, &OUTCOMES)
}

/// Four minutes from 22:40 on, of which the last is not complete.
fn series() -> Series {
    serde_json::from_value(json!({
        "start": "2026-11-21T22:40:00Z", "step_s": 60, "starts": null,
        "allowed": [10, 20, 30, 4], "denied": [0, 5, 5, 1], "shadow_denied": [1, 0, 0, 0],
        "degraded": [0, 3, 4, 0], "refunded": [0, 0, 0, 0], "as_of": "2026-11-21T22:43:20Z", "dropped": 0
    }))
    .expect("a series")
}

#[test]
fn the_open_step_is_found() {
    assert_eq!(data(&series()).first_open_step(), Some(3));
    let later = Timestamp::from_millis(i64::MAX);
    let past = Series { as_of: DateTime(later), ..series() };
    assert_eq!(data(&past).first_open_step(), None);
}

#[test]
fn the_chart_of_a_young_tenant_begins_at_its_first_check() {
    let mut counts = vec![0; 20];
    counts[15] = 4;
    let late = Series { allowed: counts, denied: vec![0; 20], degraded: vec![0; 20], ..series() };
    let late = data(&Series { shadow_denied: vec![0; 20], ..late });
    let start_ms = late.timeline.start_ms();
    assert_eq!(late.first_check_ms(), Some(start_ms + 15 * 60_000));
    let shown = late.clone().since(start_ms + 8 * 60_000);
    assert_eq!(shown.timeline.start_ms(), start_ms + 8 * 60_000);
    assert_eq!((shown.timeline.steps(), shown.layers[0].counts[7]), (12, 4));
    assert_eq!(late.since(start_ms + 15 * 60_000).timeline.steps(), 10, "not only a few steps");
    let id = TenantId::new(Timestamp::from_millis(1_700_000_000_000), 7);
    assert_eq!(created_ms(&id.to_string()), Some(1_700_000_000_000));
}

#[test]
fn outages_join_neighbouring_steps_and_single_slow_calls_are_none() {
    let away = |degraded: [u64; 4]| {
        let series = Series { degraded: degraded.to_vec(), allowed: vec![90; 4], ..series() };
        let outages = data(&series).outages().into_iter();
        outages.map(|outage| outage.until_ms.unwrap_or(0) - outage.at_ms).collect::<Vec<_>>()
    };
    assert_eq!(away([0, 30, 40, 0]), [120_000]);
    assert_eq!(away([30, 0, 40, 0]), [60_000, 60_000]);
    assert_eq!(away([1, 2, 5, 0]), [0; 0], "Redis was slow");
}

#[test]
fn the_legend_filters_layers() {
    let all = Hidden::default();
    let without = all.toggle(0, 3);
    assert!(!without.is_shown(0) && without.is_shown(1));
    assert_eq!(without.toggle(0, 3), all);
    assert_eq!(without.toggle(1, 3).toggle(2, 3), all, "something is shown");
    let only = all.solo(1, 3);
    assert_eq!([0, 1, 2].map(|layer| only.is_shown(layer)), [false, true, false]);
    assert_eq!(only.solo(1, 3), all);
    let [shown, filtered] = [all, only].map(|hidden| data(&series()).stack(None, hidden));
    assert_eq!(shown.axis.ticks(), [0, 10, 20, 30]);
    assert_eq!((filtered.axis.ticks().last(), filtered.areas[0].as_str()), (Some(&4), ""));
}

#[test]
fn the_compared_period_is_a_line_on_the_same_axis() {
    let before = data(&Series { allowed: vec![90; 4], ..series() });
    let stack = data(&series()).stack(Some(&before), Hidden::default());
    assert_eq!(stack.axis.ticks(), [0, 20, 40, 60, 80]);
    assert_eq!((stack.areas.len(), stack.lines.len()), (2, 2));
    assert!(stack.lines[1].starts_with("M0 "));
    assert!(stack.lines[1].ends_with("H10000"));
}

#[test]
fn texts_name_unit_range_and_values() {
    let now = data(&series());
    assert_eq!(now.unit(), "per minute");
    assert_eq!(now.extent(UTC), "Sat 21 Nov, 22:40–22:44, 1 min steps");
    assert_eq!(data(&Series { step_s: 300, ..series() }).unit(), "per 5 minutes");
    let later = |_| 90 * 60_000;
    assert_eq!(span(0, 86_400_000, 3_600_000, later), "Thu 1 Jan, 01:30 – Fri 2 Jan, 01:30");
    assert_eq!(span(0, 86_400_000, 86_400_000, UTC), "Thu 1 Jan");
    assert_eq!(span(0, 172_800_000, 86_400_000, UTC), "Thu 1 Jan – Fri 2 Jan");
    assert_eq!(
        now.readout(3, "22:43").as_deref(),
        Some("22:43: 4 allowed, 1 denied, 0 would be denied (not complete yet)")
    );
    let two = ChartData::of(&series(), &OUTCOMES[..2]);
    assert_eq!(two.readout(0, "22:40").as_deref(), Some("22:40: 10 allowed, 0 denied"));
    assert_eq!(now.readout(9, ""), None);
    assert_eq!(now.total(&now.layers[1]), (11, "15%".to_owned()));
    assert_eq!(now.whole(1), 25);
}
