//! `weir audit verify`: verifies the hash chains of the audit log, as the owner of the database.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use weir_domain::id::TenantId;
use weir_store::{ChainHead, ChainId, Store};

use crate::config::DatabaseArgs;
use crate::migrate;

#[derive(Debug, Args)]
pub struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Recompute the hash chains of the audit log; prints the head of each chain and fails if one is broken
    Verify(VerifyArgs),
}

#[derive(Debug, Args)]
struct VerifyArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Only the log of this tenant
    #[arg(long)]
    tenant: Option<TenantId>,
    /// File with the output of an earlier run: its entries must still exist unchanged, unless they were purged
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// The shortest retention that the control planes have had, in days, 30 to 3660: no purge can have removed younger entries
    #[arg(
        long = "audit-days", default_value_t = 30,
        value_parser = clap::value_parser!(u16).range(30..=3660)
    )]
    days: u16,
}

pub async fn run(args: AuditArgs) -> anyhow::Result<()> {
    let AuditCommand::Verify(args) = args.command;
    let recorded = args.against.as_deref().map(read_heads).transpose()?.unwrap_or_default();
    let store = migrate::owner(&args.database.parse()?)?;
    let mut out = std::io::stdout();
    let mut err = std::io::stderr();
    let mut broken = 0;
    let mut verified = 0;
    let mut missing = recorded.clone();
    let mut chains = Chains::new(&store, args.tenant);
    while let Some(chain) = chains.next().await? {
        missing.remove(&chain.to_string());
        let report =
            store.verify_audit_chain(chain, args.days).await.context("read the audit log")?;
        verified += 1;
        let defect = match (report.broken, recorded.get(&chain.to_string())) {
            (Some(defect), _) => Some(defect.to_string()),
            (None, _) if report.head.seq == 0 => Some("there is no such log".to_owned()),
            (None, Some(head)) if !store.audit_chain_holds(chain, head).await? => {
                Some(format!("rewritten: entry {} is not the one printed before", head.seq))
            }
            (None, _) => None,
        };
        if let Some(defect) = defect {
            broken += 1;
            writeln!(err, "{chain}: {defect}")?;
        } else {
            writeln!(out, "{chain} {} {}", report.head.seq, report.head.hash)?;
        }
    }
    if args.tenant.is_none() {
        for chain in missing.keys() {
            broken += 1;
            writeln!(err, "{chain}: the whole log is missing")?;
        }
    }
    if broken > 0 {
        bail!("{broken} of {verified} logs are broken");
    }
    writeln!(err, "{verified} logs verified")?;
    Ok(())
}

/// Reads a file with lines of the form `LOG SEQ HASH`.
fn read_heads(path: &Path) -> anyhow::Result<HashMap<String, ChainHead>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    let mut heads = HashMap::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let parsed = (|| {
            let mut words = line.split_whitespace();
            let chain = words.next()?;
            let seq = words.next()?.parse().ok()?;
            let hash = words.next()?;
            chain.parse::<ChainId>().ok()?;
            Some((chain.to_owned(), ChainHead { seq, hash: hash.to_owned() }))
        })();
        let Some((chain, head)) = parsed else {
            bail!("{}: line {} is not `LOG SEQUENCE HASH`", path.display(), at + 1);
        };
        heads.insert(chain, head);
    }
    Ok(heads)
}

/// The chains to verify, loaded page by page.
struct Chains<'a> {
    store: &'a Store,
    page: std::vec::IntoIter<ChainId>,
    last: Option<ChainId>,
    /// Whether there is possibly another page.
    more: bool,
}

impl<'a> Chains<'a> {
    fn new(store: &'a Store, tenant: Option<TenantId>) -> Self {
        let only: Vec<_> = tenant.map(ChainId::Tenant).into_iter().collect();
        Self { store, more: only.is_empty(), page: only.into_iter(), last: None }
    }

    async fn next(&mut self) -> anyhow::Result<Option<ChainId>> {
        if self.page.len() == 0 && self.more {
            let page = self.store.audit_chains(self.last).await.context("list the audit logs")?;
            self.more = !page.is_empty();
            self.page = page.into_iter();
        }
        let next = self.page.next();
        self.last = next.or(self.last);
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_of_heads_is_read_or_refused_with_the_line() {
        let folder = std::env::temp_dir();
        let path = folder.join(format!("weir-heads-{}", std::process::id()));
        std::fs::write(&path, "installation 3 abc\n\n").expect("written");
        let heads = read_heads(&path).expect("readable");
        assert_eq!(heads["installation"], ChainHead { seq: 3, hash: "abc".to_owned() });
        std::fs::write(&path, "installation 3 abc\nx 1 abc\n").expect("written");
        let refused = read_heads(&path).expect_err("no log").to_string();
        std::fs::remove_file(&path).expect("removed");
        assert!(refused.ends_with("line 2 is not `LOG SEQUENCE HASH`"), "{refused}");
    }
}
