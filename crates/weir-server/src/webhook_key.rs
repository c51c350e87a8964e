//! `weir webhook-key`: prints the key that opens the secrets of webhooks. Gates need it to sign deferred jobs, and need not know
//! the signing key, from which it is derived.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use weir_webhook::SealingKey;

use crate::config;

#[derive(Debug, Args)]
pub struct WebhookKeyArgs {
    /// File that contains the signing key (the key itself goes into `WEIR_JWT_KEY`)
    #[arg(long, env = "WEIR_JWT_KEY_FILE")]
    jwt_key_file: Option<PathBuf>,
}

pub fn run(args: &WebhookKeyArgs) -> anyhow::Result<()> {
    let keys = config::signing_keys(args.jwt_key_file.as_ref())?;
    let texts: Vec<_> = weir_control::sealing_keys(&keys)?.iter().map(SealingKey::expose).collect();
    writeln!(std::io::stdout(), "{}", texts.join(",")).context("write to standard output")
}
