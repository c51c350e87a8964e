//! `weir user confirm` and `weir user pending`: sign-ups that wait for confirmation.

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::Args;
use weir_domain::id::AuditId;
use weir_store::{Actor, NewAudit, Scope};

use super::account::{AccountArgs, say};
use crate::config::DatabaseArgs;
use crate::{edge, migrate};

#[derive(Debug, Args)]
pub(super) struct PendingArgs {
    #[command(flatten)]
    database: DatabaseArgs,
}

/// The lifetime of an issued token: 24 hours.
const TOKEN_MS: i64 = 24 * 60 * 60 * 1000;

/// Runs `weir user confirm`.
pub(super) async fn confirm(args: &AccountArgs) -> anyhow::Result<()> {
    let email = args.email()?;
    let scope = Scope::Login(email.as_str().to_owned());
    let mut tx = args.store()?.begin("signups.issue", scope).await.context("begin")?;
    if tx.users().by_email(email.as_str()).await.context("find the account")?.is_some() {
        bail!("an account with the address {email} already exists: the person can sign in");
    }
    let now = edge::clock().now();
    let token = format!("signup_{}", URL_SAFE_NO_PAD.encode(edge::random_bytes::<32>()));
    let digest = weir_control::signup_digest(&token);
    let expires_at = now.plus_ms(TOKEN_MS);
    let issued = tx.signups().issue(email.as_str(), &digest, now, expires_at).await;
    let signup = issued.context("issue the token")?;
    let signup = signup.with_context(|| format!("no pending sign-up of {email}"))?;
    let entry = NewAudit {
        id: AuditId::new(now, edge::random_u128()),
        tenant_id: None,
        actor: Actor::System,
        action: "signup.confirm".to_owned(),
        object_kind: "signup".to_owned(),
        object_id: String::new(),
        before: None,
        after: Some(
            serde_json::json!({ "email": signup.email, "tenant_name": signup.tenant_name }),
        ),
        ip: None,
        request_id: "command line".to_owned(),
    };
    tx.audit().append(&entry);
    tx.commit().await.context("commit")?;
    say(&format!("token: {token}"))?;
    say(
        "send it to the address as the link https://<your dashboard>/confirm#<token>; it is good for 24 hours, once",
    )
}

/// Runs `weir user pending`.
pub(super) async fn pending(args: &PendingArgs) -> anyhow::Result<()> {
    let store = migrate::owner(&args.database.parse()?)?;
    let mut tx = store.begin("signups.list", Scope::Service).await.context("begin")?;
    let signups = tx.signups().list(edge::clock().now()).await.context("list the sign-ups")?;
    for signup in &signups {
        let issued = if signup.issued { "token issued" } else { "no token yet" };
        say(&format!("{}  {issued}  {:?}", signup.email, signup.tenant_name))?;
    }
    say(&format!("{} sign-ups wait", signups.len()))
}
