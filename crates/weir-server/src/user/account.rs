//! The account that a command names, and the audit entry of the command.

use std::io::Write as _;

use anyhow::Context as _;
use clap::Args;
use weir_domain::email::EmailAddress;
use weir_domain::id::{AuditId, UserId};
use weir_domain::quantity::counted;
use weir_domain::time::Timestamp;
use weir_store::{Actor, NewAudit, Scope, Store, Tx, UserRow};

use crate::config::DatabaseArgs;
use crate::{edge, migrate, terminal};

/// An account, and the database that holds it.
#[derive(Debug, Args)]
pub(super) struct AccountArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The e-mail address of the account
    #[arg(long)]
    email: String,
}

impl AccountArgs {
    pub(super) fn email(&self) -> anyhow::Result<EmailAddress> {
        let email = EmailAddress::parse(&self.email);
        email.map_err(|reason| anyhow::anyhow!("--email {reason}"))
    }

    pub(super) fn store(&self) -> anyhow::Result<Store> {
        migrate::owner(&self.database.parse()?)
    }

    /// Reads the account in a transaction that can change it.
    pub(super) async fn open(&self) -> anyhow::Result<(Tx, UserRow)> {
        let email = self.email()?;
        let scope = Scope::Login(email.as_str().to_owned());
        let mut tx = self.store()?.begin("users.manage", scope).await.context("begin")?;
        let user = tx.users().by_email(email.as_str()).await.context("find the account")?;
        let user = user.with_context(|| format!("no account with the address {email}"))?;
        tx.enter_user(user.id).await.context("open the account")?;
        Ok((tx, user))
    }
}

/// Appends an entry about a command to the installation's log.
pub(super) async fn record(
    tx: &mut Tx,
    user_id: UserId,
    email: impl ToString,
    action: &str,
    now: Timestamp,
) -> anyhow::Result<()> {
    let after = serde_json::json!({ "email": email.to_string() });
    let entry = NewAudit {
        action: action.to_owned(),
        object_kind: "user".to_owned(),
        object_id: user_id.to_string(),
        after: Some(after),
        ..entry(now)
    };
    tx.audit().append_about(user_id, &entry);
    Ok(())
}

/// Revokes the pending invitations that the account has made, with an entry in the log of each tenant.
pub(super) async fn revoke_invitations(tx: &mut Tx, now: Timestamp) -> anyhow::Result<u64> {
    let id = || AuditId::new(now, edge::random_u128());
    let revoked = weir_control::revoke_own_invitations(tx, &entry(now), id).await;
    revoked.context("revoke its invitations")
}

/// The sessions and invitations that ended with a change.
pub(super) fn ended(sessions: u64, invitations: u64) -> String {
    let sessions = counted(sessions, "session", "sessions");
    match invitations {
        0 => format!("{sessions} ended"),
        _ => format!("{sessions} and {} ended", counted(invitations, "invitation", "invitations")),
    }
}

fn entry(now: Timestamp) -> NewAudit {
    NewAudit {
        id: AuditId::new(now, edge::random_u128()),
        tenant_id: None,
        actor: Actor::System,
        action: String::new(),
        object_kind: String::new(),
        object_id: String::new(),
        before: None,
        after: None,
        ip: None,
        request_id: "command line".to_owned(),
    }
}

/// Prints a line to standard output.
pub(super) fn say(line: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{}", terminal::escaped(line)).context("write to standard output")
}
