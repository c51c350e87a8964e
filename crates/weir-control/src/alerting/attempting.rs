//! One attempt to send a delivery, as the kind of its webhook demands.

use std::time::{Duration, Instant};

use weir_domain::time::Timestamp;
use weir_domain::webhook::WebhookKind;
use weir_store::{Due, Sending};
use weir_webhook::{Attempt, Message, WebhookSecret, webhook_owner};

use crate::alerting::outgoing;
use crate::state::ControlState;

/// The time that the SMTP server has for a message, the same as that of other receivers.
const MAIL_DEADLINE: Duration = Duration::from_secs(10);

/// Makes one attempt, or returns the reason why none can succeed.
pub(super) async fn attempt(
    control: &ControlState,
    due: Due,
    sending: &Sending,
) -> Result<Attempt, String> {
    if !sending.enabled {
        return Err("the webhook is switched off".to_owned());
    }
    let now = control.clock.now();
    let id = due.id.to_string();
    let mut secrets = Vec::new();
    let mut body = sending.payload.clone();
    match sending.webhook_kind {
        WebhookKind::Standard => secrets = signers(control, due, sending, now)?,
        WebhookKind::Slack => {}
        WebhookKind::Pagerduty => {
            let key = open(control, due, sending, sending.secret.as_deref())
                .and_then(|key| String::from_utf8(key).ok());
            let key = key.ok_or(
                "the routing key was sealed under a signing key that is gone: enter it again",
            )?;
            body = outgoing::with_key(&body, &key).ok_or("the stored event cannot be read")?;
        }
        WebhookKind::Email | WebhookKind::CustomerEmail => {
            return mail(control, id, sending, now).await;
        }
    }
    let url = sending.url.as_deref().ok_or("the webhook has no URL")?;
    let timestamp_s = now.as_millis_u64() / 1000;
    let message = Message { id: &id, timestamp_s, body: &body, secrets: &secrets };
    Ok(control.webhooks.sender.send(url, &message).await)
}

/// The secrets that sign now.
fn signers(
    control: &ControlState,
    due: Due,
    sending: &Sending,
    now: Timestamp,
) -> Result<Vec<WebhookSecret>, String> {
    let secret =
        |sealed: Option<&[u8]>| WebhookSecret::of_bytes(&open(control, due, sending, sealed)?).ok();
    let unknown = "the secret was sealed under a signing key that is gone: rotate the secret";
    let mut secrets = vec![secret(sending.secret.as_deref()).ok_or(unknown)?];
    let previous = sending.previous.iter().filter(|previous| previous.expires_at > now);
    secrets.extend(previous.filter_map(|previous| secret(Some(&previous.secret))));
    Ok(secrets)
}

fn open(
    control: &ControlState,
    due: Due,
    sending: &Sending,
    sealed: Option<&[u8]>,
) -> Option<Vec<u8>> {
    let owner = webhook_owner(due.tenant_id, sending.webhook_id);
    control.webhooks.sealing.open(&owner, sealed?)
}

/// Sends a message over the SMTP server. It is not sent again after a refusal for good.
async fn mail(
    control: &ControlState,
    id: String,
    sending: &Sending,
    now: Timestamp,
) -> Result<Attempt, String> {
    let Some(parts) = control.mail.as_ref() else {
        // Another control plane can have other settings.
        let error = "this server sends no e-mail (WEIR_SMTP_URL)".to_owned();
        return Ok(Attempt {
            status: None,
            response: String::new(),
            error: Some(error),
            took_ms: 0,
        });
    };
    let mail = outgoing::mail_of(id, &sending.payload, now);
    let mail = mail.ok_or("the stored message cannot be read")?;
    let began = Instant::now();
    let sent = parts.relay.send(&mail, MAIL_DEADLINE).await;
    let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    match sent {
        Ok(code) => {
            let response = "the SMTP server accepted the message".to_owned();
            Ok(Attempt { status: Some(code), response, error: None, took_ms })
        }
        Err(error) if error.is_passing() => {
            let error = Some(error.to_string());
            Ok(Attempt { status: None, response: String::new(), error, took_ms })
        }
        Err(error) => Err(error.to_string()),
    }
}
