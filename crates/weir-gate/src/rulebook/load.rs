//! Rows of Postgres into the stored form that is compiled and copied to disk.

use weir_store::{KeyRow, TenantRows};
use weir_wire::stored::{StoredKey, StoredOverride, StoredRule, StoredTenant};

/// The stored form of a tenant's rows.
pub(crate) fn stored(rows: TenantRows) -> StoredTenant {
    StoredTenant {
        id: rows.tenant_id.to_string(),
        suspended: rows.suspended,
        record_checks: rows.record_checks,
        version: rows.version,
        keys: rows.keys.iter().flat_map(keys).collect(),
        rules: rows
            .rules
            .into_iter()
            .map(|row| StoredRule {
                id: row.id.to_string(),
                slots: row.slots.iter().filter_map(|&slot| u16::try_from(slot).ok()).collect(),
                body: row.spec,
            })
            .collect(),
        overrides: rows
            .overrides
            .into_iter()
            .map(|row| StoredOverride { id: row.id.to_string(), body: row.spec })
            .collect(),
    }
}

/// A key's present secret, and the one before while both work.
fn keys(row: &KeyRow) -> impl Iterator<Item = StoredKey> {
    let expires_at_ms = row.expires_at.map(weir_domain::time::Timestamp::as_millis);
    let key = |digest, expires_at_ms| StoredKey {
        id: row.id.to_string(),
        digest,
        scopes: row.scopes.clone(),
        expires_at_ms,
    };
    let present = key(row.digest, expires_at_ms);
    let previous = row.previous.as_ref().map(|previous| {
        let until_ms = previous.expires_at.as_millis();
        key(previous.digest, Some(expires_at_ms.map_or(until_ms, |it| it.min(until_ms))))
    });
    std::iter::once(present).chain(previous)
}
