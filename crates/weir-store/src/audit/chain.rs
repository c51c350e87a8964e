//! Verifies the hash chains of the audit log, with bounded memory. Requires the owner's role, which sees all chains.

use std::fmt;

use uuid::Uuid;
use weir_domain::id::{TenantId, UserId};

use crate::connection::PooledConnection;
use crate::convert::{signed, unsigned, uuid};
use crate::error::StoreError;

/// The log that a chain belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainId {
    /// A tenant's log.
    Tenant(TenantId),
    /// A person's log.
    Person(UserId),
    /// The installation's log.
    Installation,
}

/// The newest entry of a chain. A copy stored elsewhere proves later that no entry up to it was rewritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainHead {
    /// The sequence number.
    pub seq: u64,
    /// The SHA-256 in hexadecimal digits.
    pub hash: String,
}

/// The result of verifying a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReport {
    /// The number of entries read.
    pub entries: u64,
    /// The newest entry according to the table of chains.
    pub head: ChainHead,
    /// The first defect.
    pub broken: Option<ChainBreak>,
}

/// The first defect of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChainBreak {
    /// The entry's content or hash, or the hash of the entry before it, was changed.
    #[error("entry {0} or the hash of the entry before it was changed")]
    Changed(u64),
    /// The entry is missing, but later entries or the head exist.
    #[error("entry {0} is missing")]
    Missing(u64),
    /// The newest entry is not the one that the table of chains names as the head.
    #[error("entry {0} is not the head that was recorded with it")]
    Head(u64),
    /// This entry records the purge of entries that were younger than the retention.
    #[error("entry {seq} records a purge of entries that were less than {days} days old")]
    Early {
        /// The entry `audit.purge`.
        seq: u64,
        /// The retention.
        days: u16,
    },
    /// Entries up to this one are missing, and no entry of the chain records that they were purged.
    #[error("entries up to {0} are gone and no entry `audit.purge` states it")]
    Purge(u64),
}

/// Entries read by one statement.
const PAGE: i64 = 1000;

struct Head {
    seq: i64,
    hash: Vec<u8>,
    purged_seq: i64,
    purged_hash: Vec<u8>,
    purge_recorded: bool,
}

struct Link {
    seq: i64,
    hash: Vec<u8>,
    expected: Vec<u8>,
}

/// Lists the chains after this one, in the order of their ids.
pub(crate) async fn chains(
    conn: &mut PooledConnection,
    after: Option<ChainId>,
) -> Result<Vec<ChainId>, StoreError> {
    let rows = sqlx::query!(
        r#"-- audit.chains
        SELECT chain AS "chain!", kind AS "kind!" FROM (
            (
                SELECT c.chain, c.kind FROM audit_chains c
                WHERE $1::uuid IS NULL OR c.chain > $1
                ORDER BY c.chain LIMIT $2
            )
            UNION
            -- Entries whose chain was removed.
            (
                SELECT DISTINCT e.chain, CASE
                    WHEN e.tenant_id IS NOT NULL THEN 'tenant'
                    WHEN e.user_id IS NOT NULL THEN 'person'
                    ELSE 'installation'
                END
                FROM audit_entries e
                WHERE ($1::uuid IS NULL OR e.chain > $1)
                    AND NOT EXISTS (SELECT FROM audit_chains c WHERE c.chain = e.chain)
                ORDER BY e.chain LIMIT $2
            )
        ) found
        ORDER BY chain LIMIT $2"#,
        after.map(ChainId::stored),
        PAGE,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| ChainId::of(row.chain, &row.kind)).collect())
}

/// Verifies a chain from its first entry to its head. No purge of it can have removed an entry before it was `days` old.
pub(crate) async fn verify(
    conn: &mut PooledConnection,
    chain: ChainId,
    days: u16,
) -> Result<ChainReport, StoreError> {
    let head = head(conn, chain).await?;
    let mut report = ChainReport { entries: 0, head: ChainHead::of(&head), broken: None };
    if head.purged_seq > 0 && !head.purge_recorded {
        report.broken = Some(ChainBreak::Purge(unsigned(head.purged_seq)));
        return Ok(report);
    }
    let mut seq = head.purged_seq;
    let mut hash = head.purged_hash;
    loop {
        let links = links(conn, chain, seq, &hash).await?;
        if links.is_empty() {
            break;
        }
        for link in links {
            report.broken = if link.seq != seq + 1 {
                Some(ChainBreak::Missing(unsigned(seq + 1)))
            } else if link.hash == link.expected {
                None
            } else {
                Some(ChainBreak::Changed(unsigned(link.seq)))
            };
            if report.broken.is_some() {
                return Ok(report);
            }
            report.entries += 1;
            (seq, hash) = (link.seq, link.hash);
        }
    }
    if seq < head.seq {
        report.broken = Some(ChainBreak::Missing(unsigned(seq + 1)));
    } else if seq > head.seq || hash != head.hash {
        report.broken = Some(ChainBreak::Head(unsigned(seq)));
    } else if let Some(seq) = early_purge(conn, chain, days).await? {
        report.broken = Some(ChainBreak::Early { seq: unsigned(seq), days });
    }
    Ok(report)
}

/// The first entry that records a purge of younger entries. The time of a purge is its own, as the database assigned it.
async fn early_purge(
    conn: &mut PooledConnection,
    chain: ChainId,
    days: u16,
) -> Result<Option<i64>, StoreError> {
    let seq = sqlx::query_scalar!(
        "-- audit.early_purge
        SELECT min(e.seq) FROM audit_entries e
        WHERE e.chain = $1
            AND e.action = 'audit.purge'
            AND e.actor_kind = 'system'
            AND CASE jsonb_typeof(e.after -> 'newest_at_s') WHEN 'number' THEN
                (e.after ->> 'newest_at_s')::numeric > extract(epoch FROM e.at) - $2::integer * 86400
            END",
        chain.stored(),
        i32::from(days),
    )
    .fetch_one(conn)
    .await?;
    Ok(seq)
}

/// Whether an entry that was once the head still exists with the same hash, or was purged since.
pub(crate) async fn holds(
    conn: &mut PooledConnection,
    chain: ChainId,
    head: &ChainHead,
) -> Result<bool, StoreError> {
    let holds = sqlx::query_scalar!(
        r#"-- audit.holds
        SELECT EXISTS (
            SELECT FROM audit_entries e
            WHERE e.chain = $1 AND e.seq = $2 AND encode(e.hash, 'hex') = $3
        ) OR EXISTS (
            SELECT FROM audit_chains c
            WHERE c.chain = $1 AND (
                c.purged_seq > $2 OR c.purged_seq = $2 AND encode(c.purged_hash, 'hex') = $3
            )
        ) AS "holds!""#,
        chain.stored(),
        signed(head.seq),
        head.hash,
    )
    .fetch_one(conn)
    .await?;
    Ok(holds)
}

async fn head(conn: &mut PooledConnection, chain: ChainId) -> Result<Head, StoreError> {
    let head = sqlx::query_as!(
        Head,
        r#"-- audit.head
        SELECT
            c.seq,
            c.hash,
            c.purged_seq,
            c.purged_hash,
            EXISTS (
                SELECT FROM audit_entries e
                WHERE e.chain = c.chain
                    AND e.seq > c.purged_seq
                    AND e.action = 'audit.purge'
                    AND e.actor_kind = 'system'
                    AND e.after ->> 'to_seq' = c.purged_seq::text
                    AND e.after ->> 'hash' = encode(c.purged_hash, 'hex')
            ) AS "purge_recorded!"
        FROM audit_chains c
        WHERE c.chain = $1"#,
        chain.stored(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(head.unwrap_or(Head {
        seq: 0,
        hash: Vec::new(),
        purged_seq: 0,
        purged_hash: Vec::new(),
        purge_recorded: false,
    }))
}

/// The next entries, each with the hash that follows from its content and from the hash stored before it. The content is
/// composed as by the database's function `weir_audit_hash`, which is not called because it could have been replaced.
async fn links(
    conn: &mut PooledConnection,
    chain: ChainId,
    after: i64,
    hash: &[u8],
) -> Result<Vec<Link>, StoreError> {
    let links = sqlx::query_as!(
        Link,
        r#"-- audit.links
        SELECT
            e.seq,
            e.hash,
            sha256(
                coalesce(lag(e.hash) OVER (ORDER BY e.seq), $3) || convert_to(
                    jsonb_build_array(
                        e.chain,
                        e.seq,
                        e.id,
                        e.tenant_id,
                        e.user_id,
                        e.actor_kind,
                        e.actor_id,
                        e.actor_label,
                        e.action,
                        e.object_kind,
                        e.object_id,
                        e.before,
                        e.after,
                        e.ip,
                        e.request_id,
                        to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')
                    )::text, 'UTF8'
                )
            ) AS "expected!"
        FROM audit_entries e
        WHERE e.chain = $1 AND e.seq > $2
        ORDER BY e.seq
        LIMIT $4"#,
        chain.stored(),
        after,
        hash,
        PAGE,
    )
    .fetch_all(conn)
    .await?;
    Ok(links)
}

impl ChainHead {
    fn of(head: &Head) -> Self {
        Self { seq: unsigned(head.seq), hash: hex::encode(&head.hash) }
    }
}

impl ChainId {
    fn of(chain: Uuid, kind: &str) -> Self {
        match kind {
            "tenant" => Self::Tenant(TenantId::from_u128(chain.as_u128())),
            "person" => Self::Person(UserId::from_u128(chain.as_u128())),
            _ => Self::Installation,
        }
    }

    fn stored(self) -> Uuid {
        match self {
            Self::Tenant(id) => uuid(id.to_u128()),
            Self::Person(id) => uuid(id.to_u128()),
            Self::Installation => Uuid::nil(),
        }
    }
}

impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tenant(id) => id.fmt(f),
            Self::Person(id) => id.fmt(f),
            Self::Installation => f.write_str("installation"),
        }
    }
}

impl std::str::FromStr for ChainId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "installation" {
            return Ok(Self::Installation);
        }
        let person = || text.parse().map(Self::Person).map_err(|_| ());
        text.parse().map(Self::Tenant).or_else(|_| person())
    }
}
