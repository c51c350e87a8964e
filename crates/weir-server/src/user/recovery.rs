//! `weir user reset`, `remove-second-factor` and `unlink`: let people into their accounts again.

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::Args;
use weir_domain::quantity::counted;
use weir_wire::second_factors::ResetToken;

use super::account::{self, AccountArgs, record, say};
use crate::edge;

/// The lifetime of an issued token: one hour.
const TOKEN_MS: i64 = 60 * 60 * 1000;

/// Arguments of `weir user reset`.
#[derive(Debug, Args)]
pub(super) struct ResetArgs {
    #[command(flatten)]
    account: AccountArgs,
    /// The address of the dashboard for the link, such as <https://limits.example.com>
    #[arg(long, env = "WEIR_DASHBOARD_URL", default_value = "https://<your dashboard>")]
    dashboard_url: String,
}

/// Runs `weir user reset`.
pub(super) async fn reset(args: &ResetArgs) -> anyhow::Result<()> {
    let (mut tx, user) = args.account.open().await?;
    if user.disabled {
        bail!("the account of {} is disabled: enable it first", user.email);
    }
    let now = edge::clock().now();
    let token = format!("reset_{}", URL_SAFE_NO_PAD.encode(edge::random_bytes::<32>()));
    let token = ResetToken(token);
    let digest = weir_control::reset_digest(&token);
    let stored = tx.password_resets().replace(user.id, &digest, now.plus_ms(TOKEN_MS)).await;
    stored.context("store the token")?;
    record(&mut tx, user.id, &user.email, "user.password_reset_issue", now).await?;
    tx.commit().await.context("commit")?;
    say(&format!("token: {}", token.0))?;
    let link = weir_control::reset_link(args.dashboard_url.trim_end_matches('/'), &token);
    say(&format!("send it to the person as the link {link}; it is good for one hour, once"))
}

/// Runs `weir user remove-second-factor`.
pub(super) async fn remove_second_factor(args: &AccountArgs) -> anyhow::Result<()> {
    let (mut tx, user) = args.open().await?;
    if !tx.second_factors().delete(user.id).await.context("remove the second factor")? {
        bail!("the account of {} has no second factor", user.email);
    }
    let now = edge::clock().now();
    let ended = tx.sessions().revoke_all(user.id, None, now).await.context("end its sessions")?;
    record(&mut tx, user.id, &user.email, "user.second_factor_remove", now).await?;
    tx.commit().await.context("commit")?;
    say(&format!(
        "{}  second factor removed, {} ended",
        user.email,
        counted(ended, "session", "sessions")
    ))
}

/// Runs `weir user unlink`. The next identity with the verified address of the account is linked to it.
pub(super) async fn unlink(args: &AccountArgs) -> anyhow::Result<()> {
    let (mut tx, user) = args.open().await?;
    if tx.identities().unlink(user.id).await.context("remove the identity")? == 0 {
        bail!("the account of {} is not linked to an identity at a provider", user.email);
    }
    let now = edge::clock().now();
    let ended = tx.sessions().revoke_all(user.id, None, now).await.context("end its sessions")?;
    let revoked = account::revoke_invitations(&mut tx, now).await?;
    record(&mut tx, user.id, &user.email, "user.identity_unlink", now).await?;
    tx.commit().await.context("commit")?;
    say(&format!("{}  unlinked, {}", user.email, account::ended(ended, revoked)))
}
