//! Checks the fields of a webhook, which depend on its kind, before any query.

use std::collections::BTreeSet;

use weir_domain::email::EmailAddress;
use weir_domain::webhook::{ADDRESSES_MAX, ROUTING_KEY_CHARS, WebhookKind, is_routing_key};
use weir_http::problem::Problem;
use weir_webhook::Target;
use weir_wire::problem::FieldProblem;
use weir_wire::webhooks::{RoutingKey, WebhookBody};

use crate::names;
use crate::state::ControlState;

/// A checked webhook.
#[derive(Debug)]
pub(super) struct CheckedWebhook {
    pub(super) name: String,
    pub(super) kind: WebhookKind,
    /// The URL in its normal form; `None` for e-mail.
    pub(super) url: Option<String>,
    pub(super) addresses: Vec<String>,
    /// A new routing key, for PagerDuty.
    pub(super) routing_key: Option<RoutingKey>,
    pub(super) enabled: bool,
}

/// Where events go unless another region is named.
const PAGERDUTY_URL: &str = "https://events.pagerduty.com/v2/enqueue";

impl CheckedWebhook {
    /// The webhook of a body, or all problems of its fields.
    pub(super) fn parse(control: &ControlState, body: WebhookBody) -> Result<Self, Problem> {
        names::name("name", &body.name)?;
        let kind = WebhookKind::from(body.kind);
        let mut problems = Vec::new();
        let mut problem = |field: &str, reason: String| {
            problems.push(FieldProblem::new(field, reason));
        };
        if body.routing_key.is_some() && kind != WebhookKind::Pagerduty {
            problem("routing_key", "belongs to the kind `pagerduty`".to_owned());
        }
        if !body.addresses.is_empty() && kind != WebhookKind::Email {
            problem("addresses", "belongs to the kind `email`".to_owned());
        }
        let url = match (kind, body.url.as_deref()) {
            (kind, url) if kind.is_mail() => {
                if url.is_some() {
                    problem("url", format!("does not belong to the kind `{}`", kind.as_str()));
                }
                None
            }
            (WebhookKind::Pagerduty, None) => Some(PAGERDUTY_URL.to_owned()),
            (_, None) => {
                problem("url", format!("is missing: the kind `{}` needs it", kind.as_str()));
                None
            }
            (_, Some(url)) => match Target::parse(url, control.webhooks.sender.reach()) {
                Ok(target) => Some(target.as_str().to_owned()),
                Err(error) => {
                    problem("url", error.to_string());
                    None
                }
            },
        };
        if let Some(RoutingKey(key)) = &body.routing_key
            && !is_routing_key(key)
        {
            problem("routing_key", format!("must be {ROUTING_KEY_CHARS} letters and digits"));
        }
        if kind.is_mail() && control.mail.is_none() && body.enabled {
            let reason = "must be another one: this server sends no e-mail (WEIR_SMTP_URL)";
            problem("kind", reason.to_owned());
        }
        if kind == WebhookKind::Email && !(1..=ADDRESSES_MAX).contains(&body.addresses.len()) {
            problem("addresses", format!("must be 1 to {ADDRESSES_MAX} e-mail addresses"));
        }
        let mut addresses = BTreeSet::new();
        for (at, text) in body.addresses.iter().enumerate().take(ADDRESSES_MAX) {
            match EmailAddress::parse(text) {
                Ok(address) if addresses.insert(address.as_str().to_owned()) => {}
                Ok(_) => problem(&format!("addresses[{at}]"), "is there twice".to_owned()),
                Err(reason) => problem(&format!("addresses[{at}]"), reason.to_owned()),
            }
        }
        if !problems.is_empty() {
            return Err(Problem::invalid(problems));
        }
        Ok(Self {
            name: body.name,
            kind,
            url,
            addresses: addresses.into_iter().collect(),
            routing_key: body.routing_key,
            enabled: body.enabled,
        })
    }
}
