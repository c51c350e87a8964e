//! The metrics of the control plane. Their labels are bounded and never contain a tenant, a key or a person.

use std::fmt;
use std::time::Duration;

use axum::http::StatusCode;
use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use weir_domain::time::Timestamp;
use weir_mail::MailCounts;
use weir_store::DeliveryState;

/// The counters of one control plane.
pub(crate) struct Meters {
    handle: PrometheusHandle,
    /// Counts of answers by the first digit of their status, from 1.
    answers: [Counter; 5],
    seconds: Histogram,
    unannounced: Counter,
    not_rolled_up: Counter,
    watchers: Gauge,
    /// Counts of attempts that succeeded, that will be retried, and that were the last.
    deliveries: [Counter; 3],
    /// Counts by kind: quota, share.
    alerts: [Counter; 2],
    not_evaluated: Counter,
    /// The times of the last successes, in the order of [`BackgroundTask`].
    last_successes: [Gauge; 6],
    /// Counts of messages: sent, retried, failed, dropped.
    mails: [Counter; 4],
    partitions_ahead: Gauge,
    live_subjects: Gauge,
    over_live_subjects: Gauge,
}

/// A background task of a control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BackgroundTask {
    /// Deletes expired rows.
    Sweep,
    /// Rolls statistics up and maintains their tables.
    Statistics,
    /// Evaluates alerts.
    Alerts,
    /// Sends webhooks.
    Deliveries,
    /// Samples Redis and writes the usage of tenants.
    Usage,
    /// Reads the counters of quotas and stores their usage.
    Quotas,
}

const METADATA: Metadata<'static> = Metadata::new("weir_control", Level::INFO, None);
const TASKS: [&str; 6] = ["sweep", "statistics", "alerts", "deliveries", "usage", "quotas"];
const ALERT_KINDS: [&str; 2] = ["quota", "denial_share"];
const BUCKETS_S: [f64; 8] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

impl Default for Meters {
    fn default() -> Self {
        let recorder = PrometheusBuilder::new()
            .set_buckets(&BUCKETS_S)
            .expect("there are buckets")
            .build_recorder();
        let labelled = |name: &'static str, help: &'static str, label, value| {
            recorder.describe_counter(name.into(), None, help.into());
            let key = Key::from_parts(name, vec![Label::from_static_parts(label, value)]);
            recorder.register_counter(&key, &METADATA)
        };
        let counter = |name: &'static str, help: &'static str| {
            recorder.describe_counter(name.into(), None, help.into());
            recorder.register_counter(&Key::from_static_name(name), &METADATA)
        };
        let gauge = |name: &'static str, help: &'static str| {
            recorder.describe_gauge(name.into(), None, help.into());
            recorder.register_gauge(&Key::from_static_name(name), &METADATA)
        };
        let (seconds, last_success) =
            ("weir_control_request_seconds", "weir_control_task_last_success_timestamp_seconds");
        recorder.describe_histogram(
            seconds.into(),
            None,
            "Seconds from the request to the response.".into(),
        );
        let help = "Unix time at which each background task last succeeded.";
        recorder.describe_gauge(last_success.into(), None, help.into());
        Self {
            answers: ["1xx", "2xx", "3xx", "4xx", "5xx"].map(|class| {
                let help = "Responses by status class.";
                labelled("weir_control_requests_total", help, "status", class)
            }),
            seconds: recorder.register_histogram(&Key::from_static_name(seconds), &METADATA),
            unannounced: counter(
                "weir_control_signal_failures_total",
                "Changes whose signal could not be sent. Gates find them at their next poll.",
            ),
            not_rolled_up: counter(
                "weir_control_roll_up_failures_total",
                "Failed attempts to roll up statistics. The control plane retries.",
            ),
            watchers: gauge("weir_control_live_watchers", "Open stats/live streams."),
            deliveries: ["delivered", "retried", "failed"].map(|result| {
                let help = "Webhook delivery attempts by result.";
                labelled("weir_webhook_deliveries_total", help, "result", result)
            }),
            mails: ["sent", "retried", "failed", "dropped"].map(|result| {
                let help = "E-mail delivery attempts by result.";
                labelled("weir_mails_total", help, "result", result)
            }),
            alerts: ALERT_KINDS.map(|kind| {
                let help = "Alerts that fired, by kind.";
                labelled("weir_alerts_fired_total", help, "kind", kind)
            }),
            not_evaluated: counter(
                "weir_alert_evaluation_failures_total",
                "Failed evaluations of alerts. The control plane retries.",
            ),
            last_successes: TASKS.map(|task| {
                let labels = vec![Label::from_static_parts("task", task)];
                recorder.register_gauge(&Key::from_parts(last_success, labels), &METADATA)
            }),
            partitions_ahead: gauge(
                "weir_control_statistics_partitions_ahead",
                "Days, today included, that have a partition for statistics.",
            ),
            live_subjects: gauge(
                "weir_live_subjects",
                "Subjects with a counter in Redis, estimated once per hour.",
            ),
            over_live_subjects: gauge(
                "weir_tenants_over_live_subjects",
                "Tenants with more live subjects than their ceiling.",
            ),
            handle: recorder.handle(),
        }
    }
}

impl Meters {
    /// Records that a round of a background task succeeded. It is also called once at the start, so that a task that never
    /// succeeds is visible too.
    pub(crate) fn succeeded(&self, task: BackgroundTask, now: Timestamp) {
        #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
        self.last_successes[task as usize].set(now.as_millis() as f64 / 1000.0);
    }

    /// Records the number of days, from today on, for which partitions of the statistics exist. Today is included.
    pub(crate) fn partitions_ahead(&self, days: u32) {
        self.partitions_ahead.set(f64::from(days));
    }

    /// Records a sample of Redis: the number of subjects, and of tenants with more subjects than their ceiling.
    pub(crate) fn subjects_sampled(&self, subjects: u64, tenants_over: u64) {
        #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
        self.live_subjects.set(subjects as f64);
        #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
        self.over_live_subjects.set(tenants_over as f64);
    }

    /// Records that statistics could not be rolled up. The roll-up is retried.
    pub(crate) fn roll_up_failed(&self) {
        self.not_rolled_up.increment(1);
    }

    /// Records the result of a message that was sent to a webhook.
    pub(crate) fn delivered(&self, state: DeliveryState) {
        let [delivered, retried, failed] = &self.deliveries;
        match state {
            DeliveryState::Delivered => delivered.increment(1),
            DeliveryState::Pending => retried.increment(1),
            DeliveryState::Failed => failed.increment(1),
        }
    }

    /// Records the number of findings that alerts of a kind announced.
    pub(crate) fn alerted(&self, kind: &str, findings: usize) {
        for (known, counter) in ALERT_KINDS.iter().zip(&self.alerts) {
            if *known == kind {
                counter.increment(findings as u64);
            }
        }
    }

    /// Records that an alert could not be evaluated. The evaluation is retried.
    pub(crate) fn evaluation_failed(&self) {
        self.not_evaluated.increment(1);
    }

    /// Records the answer to a request.
    pub(crate) fn answered(&self, status: StatusCode, took: Duration) {
        if let Some(counter) = self.answers.get(usize::from(status.as_u16() / 100).wrapping_sub(1))
        {
            counter.increment(1);
        }
        self.seconds.record(took.as_secs_f64());
    }
}

impl Meters {
    /// Sets the values that other modules hold, and renders all metrics in Prometheus' text format.
    pub(crate) fn render(
        &self,
        watchers: usize,
        signal_failures: u64,
        mails: MailCounts,
    ) -> String {
        #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
        self.watchers.set(watchers as f64);
        self.unannounced.absolute(signal_failures);
        let MailCounts { sent, retried, failed, dropped } = mails;
        for (counter, count) in self.mails.iter().zip([sent, retried, failed, dropped]) {
            counter.absolute(count);
        }
        self.handle.run_upkeep();
        self.handle.render()
    }
}

impl fmt::Debug for Meters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meters")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_by_the_class_of_their_status() {
        let meters = Meters::default();
        for status in [StatusCode::OK, StatusCode::CREATED, StatusCode::NOT_FOUND] {
            meters.answered(status, Duration::from_millis(3));
        }
        let text = meters.handle.render();
        assert!(text.contains("weir_control_requests_total{status=\"2xx\"} 2"), "{text}");
        assert!(text.contains("weir_control_requests_total{status=\"4xx\"} 1"), "{text}");
        assert!(text.contains("weir_control_request_seconds_count 3"), "{text}");
    }
}
