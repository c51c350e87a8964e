//! The message about a sign-up that must be confirmed. It is prepared after the answer, so neither the answer nor its time depends on
//! whether the address has an account.

use weir_domain::email::EmailAddress;
use weir_store::{NewSignup, Scope, StoreError};

use super::signup_token::{new_token, signup_digest};
use crate::login_throttle::Attempt;
use crate::state::ControlState;

/// Sends the message, if the installation sends e-mail.
pub(super) fn mail_later(control: &ControlState, email: &EmailAddress, new: NewSignup) {
    if control.mail.is_none() {
        return;
    }
    let worker = control.clone();
    let email = email.clone();
    let started = control.local.mailed_signups.run(async move {
        if let Err(error) = mail(&worker, &email, &new).await {
            tracing::warn!(%error, "could not issue a sign-up token");
        }
    });
    if !started {
        tracing::warn!("did not send a sign-up e-mail: too many are in progress");
    }
}

/// Sends the token of the sign-up or, if the address has an account that is not disabled, says that it has one.
async fn mail(
    control: &ControlState,
    email: &EmailAddress,
    new: &NewSignup,
) -> Result<(), StoreError> {
    let Some(parts) = &control.mail else { return Ok(()) };
    if control.auth.login_throttle.admit(&Attempt::signup_mail(email), new.now).await.is_err() {
        return Ok(());
    }
    let id = format!("signup_{}", hex::encode(control.random.bytes::<16>()));
    let scope = Scope::Login(new.email.clone());
    let mut tx = control.store.begin("signups.issue_mailed", scope).await?;
    if let Some(user) = tx.users().by_email(&new.email).await? {
        if !user.disabled {
            parts.mailer.send(parts.existing_account(&new.email, id, new.now));
        }
        return Ok(());
    }
    let token = new_token(&control.random);
    if tx.signups().issue_mailed(new, &signup_digest(&token.0)).await? {
        tx.commit().await?;
        parts.mailer.send(parts.confirm_signup(new, &token, id));
    }
    Ok(())
}
