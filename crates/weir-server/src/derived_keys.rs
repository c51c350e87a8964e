//! `weir webhook-key` and `weir region-key`: print keys that are derived from the signing key. Gates need them, and need not know
//! the signing key.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use weir_region::RegionKey;
use weir_webhook::SealingKey;

use crate::config;

#[derive(Debug, Args)]
pub struct DerivedKeyArgs {
    /// File that contains the signing key (the key itself goes into `WEIR_JWT_KEY`)
    #[arg(long, env = "WEIR_JWT_KEY_FILE")]
    jwt_key_file: Option<PathBuf>,
}

/// Prints the key that opens the secrets of webhooks.
pub fn print_webhook_key(args: &DerivedKeyArgs) -> anyhow::Result<()> {
    let keys = config::signing_keys(args.jwt_key_file.as_ref())?;
    print(weir_control::sealing_keys(&keys)?.iter().map(SealingKey::expose))
}

/// Prints the key that signs calls between regions.
pub fn print_region_key(args: &DerivedKeyArgs) -> anyhow::Result<()> {
    let keys = config::signing_keys(args.jwt_key_file.as_ref())?;
    print(weir_control::region_keys(&keys)?.iter().map(RegionKey::expose))
}

fn print(keys: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let texts: Vec<_> = keys.collect();
    writeln!(std::io::stdout(), "{}", texts.join(",")).context("write to standard output")
}
