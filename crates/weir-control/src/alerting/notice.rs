//! The text about an event, or about several of one alert, for people: a sentence, the first subjects, and a link.

mod quoting;
mod sentences;

use weir_domain::id::TenantId;
use weir_domain::time::Timestamp;

use crate::alerting::message::{AlertName, Resolved, RuleName, ShareReached, WebhookMessage};

pub(super) use quoting::Quoting;
pub(super) use sentences::used_percent;
use sentences::{denial_share, quotas, resolved};

/// A notice, in the form of one kind of webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) event: Event,
    /// The same for all notices of an alert, so that a receiver recognises its end.
    pub(super) dedup_key: String,
    /// One sentence without a full stop.
    pub(super) headline: String,
    /// The first subjects, and the number of the others; or further facts.
    pub(super) lines: Vec<String>,
    pub(super) alert: Option<String>,
    pub(super) rule: Option<String>,
    pub(super) namespace: Option<String>,
    /// The page of the dashboard about it, if its address is known.
    pub(super) link: Option<String>,
    pub(super) tenant_id: TenantId,
    pub(super) at: Timestamp,
}

/// The meaning of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// Nothing happened.
    Test,
    /// Something will be denied soon.
    Warning,
    /// Something is denied.
    Error,
    /// The end of what was announced.
    Resolved,
}

/// The place of a notice.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoticeContext<'a> {
    pub(super) tenant_id: TenantId,
    /// The id of the webhook.
    pub(super) webhook: &'a str,
    /// The origin of the dashboard, if it is known.
    pub(super) dashboard_url: Option<&'a str>,
    pub(super) at: Timestamp,
}

impl Notice {
    /// The notice about messages of one alert, all of the same kind; `None` without messages.
    pub(super) fn of(
        messages: &[&WebhookMessage],
        quoting: Quoting,
        context: NoticeContext<'_>,
    ) -> Option<Self> {
        Some(match messages.first()? {
            WebhookMessage::Test { webhook } => {
                let name = quoting.name(webhook);
                let headline = format!("Test of the webhook {name}: nothing is wrong");
                let key = format!("weir/{}/test", context.webhook);
                Self::new(context, Event::Test, key, headline, Vec::new())
            }
            WebhookMessage::Quota(first) => {
                let reached = messages.iter().copied().filter_map(WebhookMessage::quota).collect();
                let (is_used_up, headline, lines) = quotas(reached, quoting);
                let event = if is_used_up { Event::Error } else { Event::Warning };
                let notice = Self::new(context, event, key(&first.alert), headline, lines);
                notice.about(&first.alert, Some(&first.rule), None, (quoting, context))
            }
            WebhookMessage::DenialShare(share) => {
                let (headline, lines) = denial_share(share, quoting);
                let ShareReached { alert, rule, namespace, .. } = share;
                let notice = Self::new(context, Event::Error, key(alert), headline, lines);
                notice.about(alert, rule.as_ref(), namespace.as_deref(), (quoting, context))
            }
            WebhookMessage::Resolved(end) => {
                let (headline, lines) = resolved(end, quoting);
                let Resolved { alert, rule, namespace, .. } = end;
                let notice = Self::new(context, Event::Resolved, key(alert), headline, lines);
                notice.about(alert, rule.as_ref(), namespace.as_deref(), (quoting, context))
            }
        })
    }

    fn new(
        context: NoticeContext<'_>,
        event: Event,
        dedup_key: String,
        headline: String,
        lines: Vec<String>,
    ) -> Self {
        Self {
            event,
            dedup_key,
            headline,
            lines,
            alert: None,
            rule: None,
            namespace: None,
            link: context.page("alerts"),
            tenant_id: context.tenant_id,
            at: context.at,
        }
    }

    /// The notice with the names of what it is about, and with a link to the page of the rule, if there is one.
    fn about(
        self,
        alert: &AlertName,
        rule: Option<&RuleName>,
        namespace: Option<&str>,
        (quoting, context): (Quoting, NoticeContext<'_>),
    ) -> Self {
        let namespace = namespace.or(rule.map(|rule| rule.namespace.as_str()));
        let link = rule.and_then(|rule| context.page(&format!("rules/{}", rule.id)));
        Self {
            alert: Some(quoting.name(&alert.name)),
            rule: rule.map(|rule| quoting.name(&rule.name)),
            namespace: namespace.map(str::to_owned),
            link: link.or(self.link),
            ..self
        }
    }
}

impl NoticeContext<'_> {
    /// The address of a page of the tenant.
    fn page(&self, path: &str) -> Option<String> {
        let origin = self.dashboard_url?;
        Some(format!("{origin}/t/{}/{path}", self.tenant_id))
    }
}

/// The key of all notices of an alert.
pub(super) fn key(alert: &AlertName) -> String {
    format!("weir/{}", alert.id)
}
