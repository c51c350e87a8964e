//! `weir user create`: accounts where sign-up is closed, and operators.

use std::io::{IsTerminal as _, Read as _, Write as _};

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use weir_control::Passwords;
use weir_domain::id::UserId;
use weir_store::{Constraint, NewUser, Scope, StoreError};

use crate::config::DatabaseArgs;
use crate::{edge, migrate};

#[derive(Debug, Args)]
pub struct UserArgs {
    #[command(subcommand)]
    command: UserCommand,
}

#[derive(Debug, Subcommand)]
enum UserCommand {
    /// Make an account; the password is read from standard input, or made and printed once
    Create(CreateArgs),
}

#[derive(Debug, Args)]
struct CreateArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Names the account
    #[arg(long)]
    email: String,
    /// May list and suspend all tenants
    #[arg(long)]
    operator: bool,
}

pub async fn run(args: UserArgs) -> anyhow::Result<()> {
    let UserCommand::Create(args) = args.command;
    let store = migrate::owner(&args.database.parse()?)?;
    let given = password_from_stdin()?;
    let password = given.clone().unwrap_or_else(random_password);
    Passwords::accept(&password, &args.email)
        .map_err(|why| anyhow::anyhow!("the password {why}"))?;
    let hash =
        Passwords::new(edge::random_bytes()).hash(password.clone(), edge::random_bytes()).await;
    let now = edge::clock().now();
    let user = NewUser {
        id: UserId::new(now, edge::random_u128()),
        email: args.email.clone(),
        name: String::new(),
        password_hash: hash,
        now,
    };
    let mut tx = store.begin("users.create", Scope::User(user.id)).await.context("begin")?;
    match tx.users().insert(&user).await {
        Err(StoreError::Conflict(Constraint::UserEmail)) => {
            bail!("there is an account of {} already", args.email)
        }
        other => other.context("insert the account")?,
    };
    if args.operator {
        tx.users().set_operator(user.id, true).await.context("make the account an operator")?;
    }
    tx.commit().await.context("commit")?;
    let mut out = std::io::stdout();
    writeln!(out, "{}  {}", user.id, args.email)?;
    if given.is_none() {
        writeln!(out, "password: {password}")?;
    }
    Ok(())
}

/// The first line of standard input, unless a person sits there.
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

/// Eighteen letters and digits that are hard to mistake for one another.
pub fn random_password() -> String {
    const LETTERS: &[u8; 31] = b"abcdefghjkmnpqrstuvwxyz23456789";
    let bytes: [u8; 18] = edge::random_bytes();
    bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 31)])).collect()
}
