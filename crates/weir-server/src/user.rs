//! `weir user`: commands for accounts, which operators of the installation run as the owner of the database.

use std::io::{IsTerminal as _, Read as _};

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use weir_control::Passwords;
use weir_domain::email::EmailAddress;
use weir_domain::id::UserId;
use weir_domain::quantity::counted;
use weir_store::{Constraint, NewUser, Scope, StoreError};

use self::account::{AccountArgs, record, say};
use crate::edge;

mod account;
mod recovery;
mod sessions;
mod signups;

pub use sessions::{SessionsArgs, run as run_sessions};

#[derive(Debug, Args)]
pub struct UserArgs {
    #[command(subcommand)]
    command: UserCommand,
}

#[derive(Debug, Subcommand)]
enum UserCommand {
    /// Create an account; the password is read from standard input, or generated and printed once
    Create(CreateArgs),
    /// Issue the token that finishes a sign-up (`WEIR_SIGNUP=confirmed`); it is printed once
    Confirm(AccountArgs),
    /// List the pending sign-ups
    Pending(signups::PendingArgs),
    /// Disable an account: all its sessions end, and nobody can sign in to it
    Disable(AccountArgs),
    /// Enable an account again
    Enable(AccountArgs),
    /// Set a new password, read from standard input, or generated and printed once; all sessions end
    Password(AccountArgs),
    /// Issue the token with which a person sets a new password; it is printed once
    #[command(visible_alias = "reset-password")]
    Reset(recovery::ResetArgs),
    /// Remove the second factor of an account whose owner lost it; all sessions end
    RemoveSecondFactor(AccountArgs),
    /// Unlink an account from the OpenID Connect provider: all sessions end, and the next sign-in links it again
    Unlink(AccountArgs),
    /// Make an account an operator, who can list and suspend all tenants
    Operator(OperatorArgs),
    /// List the sessions of an account, or end them
    Sessions(sessions::OfAccountArgs),
}

#[derive(Debug, Args)]
struct CreateArgs {
    #[command(flatten)]
    account: AccountArgs,
    /// The account can list and suspend all tenants
    #[arg(long)]
    operator: bool,
}

#[derive(Debug, Args)]
struct OperatorArgs {
    #[command(flatten)]
    account: AccountArgs,
    /// Revoke the operator role of the account
    #[arg(long)]
    revoke: bool,
}

pub async fn run(args: UserArgs) -> anyhow::Result<()> {
    match args.command {
        UserCommand::Create(args) => create(args).await,
        UserCommand::Confirm(account) => signups::confirm(&account).await,
        UserCommand::Pending(args) => signups::pending(&args).await,
        UserCommand::Disable(account) => set_disabled(&account, true).await,
        UserCommand::Enable(account) => set_disabled(&account, false).await,
        UserCommand::Password(account) => set_password(&account).await,
        UserCommand::Reset(args) => recovery::reset(&args).await,
        UserCommand::RemoveSecondFactor(account) => recovery::remove_second_factor(&account).await,
        UserCommand::Unlink(account) => recovery::unlink(&account).await,
        UserCommand::Operator(args) => set_operator(&args).await,
        UserCommand::Sessions(args) => sessions::of_account(&args).await,
    }
}

async fn create(args: CreateArgs) -> anyhow::Result<()> {
    let email = args.account.email()?;
    let store = args.account.store()?;
    let (password, shown) = new_password(&email)?;
    let now = edge::clock().now();
    let user = NewUser {
        id: UserId::new(now, edge::random_u128()),
        email: email.as_str().to_owned(),
        name: String::new(),
        password_hash: hash(password).await?,
        now,
    };
    let mut tx = store.begin("users.create", Scope::User(user.id)).await.context("begin")?;
    match tx.users().insert(&user).await {
        Err(StoreError::Conflict(Constraint::UserEmail)) => {
            bail!("an account with the address {email} already exists")
        }
        other => other.context("insert the account")?,
    };
    if args.operator {
        tx.users().set_operator(user.id, true).await.context("make the account an operator")?;
    }
    record(&mut tx, user.id, &email, "user.create", now).await?;
    tx.commit().await.context("commit")?;
    say(&format!("{}  {email}", user.id))?;
    shown.map_or(Ok(()), |password| say(&format!("password: {password}")))
}

async fn set_disabled(account: &AccountArgs, disabled: bool) -> anyhow::Result<()> {
    let (mut tx, user) = account.open().await?;
    let now = edge::clock().now();
    let done = tx.users().set_disabled(user.id, disabled.then_some(now)).await;
    done.context("change the account")?;
    let ended = tx.sessions().revoke_all(user.id, None, now).await.context("end its sessions")?;
    let action = if disabled { "user.disable" } else { "user.enable" };
    let revoked = if disabled { account::revoke_invitations(&mut tx, now).await? } else { 0 };
    record(&mut tx, user.id, &user.email, action, now).await?;
    tx.commit().await.context("commit")?;
    let done = if disabled { "disabled" } else { "enabled" };
    say(&format!("{}  {done}, {}", user.email, account::ended(ended, revoked)))
}

async fn set_password(account: &AccountArgs) -> anyhow::Result<()> {
    let (password, shown) = new_password(&account.email()?)?;
    let hash = hash(password).await?;
    let (mut tx, user) = account.open().await?;
    let now = edge::clock().now();
    tx.users().set_password(user.id, &hash).await.context("set the password")?;
    let ended = tx.sessions().revoke_all(user.id, None, now).await.context("end its sessions")?;
    record(&mut tx, user.id, &user.email, "user.password_reset", now).await?;
    tx.commit().await.context("commit")?;
    say(&format!("{}  password set, {} ended", user.email, counted(ended, "session", "sessions")))?;
    shown.map_or(Ok(()), |password| say(&format!("password: {password}")))
}

async fn set_operator(args: &OperatorArgs) -> anyhow::Result<()> {
    let (mut tx, user) = args.account.open().await?;
    let now = edge::clock().now();
    tx.users().set_operator(user.id, !args.revoke).await.context("change the account")?;
    let action = if args.revoke { "user.operator_revoke" } else { "user.operator" };
    record(&mut tx, user.id, &user.email, action, now).await?;
    tx.commit().await.context("commit")?;
    let is = if args.revoke { "no operator any more" } else { "an operator" };
    say(&format!("{}  {is}", user.email))
}

async fn hash(password: String) -> anyhow::Result<String> {
    let passwords = Passwords::new(edge::random_bytes());
    passwords.hash(password, edge::random_bytes(), None).await.context("hash the password")
}

/// The password from standard input, or a random one with a copy to print.
fn new_password(email: &EmailAddress) -> anyhow::Result<(String, Option<String>)> {
    let Some(given) = password_from_stdin()? else {
        let password = random_password();
        return Ok((password.clone(), Some(password)));
    };
    Passwords::accept(&given, email.as_str())
        .map_err(|why| anyhow::anyhow!("the password {why}"))?;
    Ok((given, None))
}

/// The first line of standard input, unless it is a terminal.
fn password_from_stdin() -> anyhow::Result<Option<String>> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Ok(None);
    }
    let mut text = String::new();
    stdin.lock().take(1024).read_to_string(&mut text).context("read the password")?;
    let line = text.lines().next().unwrap_or_default().to_owned();
    Ok((!line.is_empty()).then_some(line))
}

/// A password of eighteen letters and digits that are hard to confuse.
pub fn random_password() -> String {
    const LETTERS: &[u8; 31] = b"abcdefghjkmnpqrstuvwxyz23456789";
    let bytes: [u8; 18] = edge::random_bytes();
    bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 31)])).collect()
}
