//! `weir user sessions` and `weir sessions end`: end the sessions of one account, or of all.

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use weir_domain::id::AuditId;
use weir_domain::quantity::counted;
use weir_store::{Actor, NewAudit, Scope};

use super::account::{AccountArgs, record, say};
use crate::config::DatabaseArgs;
use crate::{edge, migrate};

#[derive(Debug, Args)]
pub(super) struct OfAccountArgs {
    #[command(flatten)]
    account: AccountArgs,
    /// End all sessions of the account
    #[arg(long)]
    end: bool,
}

#[derive(Debug, Args)]
pub struct SessionsArgs {
    #[command(subcommand)]
    command: SessionsCommand,
}

#[derive(Debug, Subcommand)]
enum SessionsCommand {
    /// End the sessions of all accounts: after a restore of the database, or when the signing key has leaked
    End(EndArgs),
}

#[derive(Debug, Args)]
struct EndArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// End the sessions of all accounts
    #[arg(long)]
    all: bool,
}

/// Runs `weir user sessions`.
pub(super) async fn of_account(args: &OfAccountArgs) -> anyhow::Result<()> {
    let (mut tx, user) = args.account.open().await?;
    let now = edge::clock().now();
    if args.end {
        let ended = tx.sessions().revoke_all(user.id, None, now).await.context("end them")?;
        record(&mut tx, user.id, &user.email, "user.sessions_end", now).await?;
        tx.commit().await.context("commit")?;
        return say(&format!("{}  {} ended", user.email, counted(ended, "session", "sessions")));
    }
    let sessions = tx.sessions().list(user.id, now).await.context("list the sessions")?;
    for session in &sessions {
        let network = session.network.as_deref().unwrap_or("unknown network");
        say(&format!("{}  {network}  {}", session.id, session.user_agent))?;
    }
    say(&format!("{}  {}", user.email, counted(sessions.len() as u64, "session", "sessions")))
}

/// Runs `weir sessions end`.
pub async fn run(args: SessionsArgs) -> anyhow::Result<()> {
    let SessionsCommand::End(args) = args.command;
    if !args.all {
        bail!("pass --all, or use `weir user sessions --email … --end` for one account");
    }
    let store = migrate::owner(&args.database.parse()?)?;
    let now = edge::clock().now();
    let mut tx = store.begin("sessions.end_all", Scope::Service).await.context("begin")?;
    let ended = tx.sessions().revoke_everybody(now).await.context("end the sessions")?;
    let entry = NewAudit {
        id: AuditId::new(now, edge::random_u128()),
        tenant_id: None,
        actor: Actor::System,
        action: "sessions.end_all".to_owned(),
        object_kind: "installation".to_owned(),
        object_id: String::new(),
        before: None,
        after: Some(serde_json::json!({ "ended": ended })),
        ip: None,
        request_id: "command line".to_owned(),
    };
    tx.audit().append(&entry);
    tx.commit().await.context("commit")?;
    say(&format!("{} ended", counted(ended, "session", "sessions")))
}
