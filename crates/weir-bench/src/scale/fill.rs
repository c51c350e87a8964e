//! Fills the database in one change: one tenant or rule is created through the API and copied in SQL.

use anyhow::Result;

use crate::fixture::{Fixture, Tenant};
use crate::variants;

/// Creates tenants with ten rules and one key each.
pub async fn tenants(fixture: &Fixture, count: u32) -> Result<()> {
    let model = fixture.tenant("model").await?;
    for at in 0..10 {
        let mut rule = variants::rule(&format!("rule-{at}"), &[variants::bucket(100)]);
        rule["match"] = variants::route(&format!("/route/{at}"));
        fixture.rule(&model, &rule).await?;
    }
    let copies = count.saturating_sub(1);
    fixture
        .sql(&format!(
            "BEGIN;
            UPDATE rulebook_versions SET version = version + 1;
            -- Without triggers: one version for all copies.
            SET LOCAL session_replication_role = replica;
            -- `(f(x)).*` would call the function once for each column.
            INSERT INTO tenants SELECT copy.*
            FROM tenants t, rulebook_versions v, generate_series(1, {copies}) n,
                LATERAL jsonb_populate_record(t, jsonb_build_object(
                    'id', gen_random_uuid(), 'name', 'copy-' || n, 'version', v.version)) copy
            WHERE t.name = 'model';
            INSERT INTO api_keys SELECT copy.*
            FROM api_keys k JOIN tenants t ON t.id = k.tenant_id, tenants c,
                LATERAL jsonb_populate_record(k, jsonb_build_object(
                    'tenant_id', c.id, 'sequence', c.sequence, 'id', gen_random_uuid(),
                    'digest', '\\x' || encode(sha256(c.name::bytea), 'hex'))) copy
            WHERE t.name = 'model' AND c.name LIKE 'copy-%';
            -- Every tenant has names and capacities of its own, so that the gate shares no more than real rules permit.
            INSERT INTO rules SELECT copy.*
            FROM rules r JOIN tenants t ON t.id = r.tenant_id, tenants c,
                LATERAL (SELECT r.name || substr(c.name, 5) AS name) own,
                LATERAL jsonb_populate_record(r, jsonb_build_object(
                    'tenant_id', c.id, 'sequence', c.sequence,
                    'id', gen_random_uuid(), 'name', own.name,
                    'spec', jsonb_set(
                        r.spec || jsonb_build_object('name', own.name),
                        '{{limits,0,capacity}}', to_jsonb(substr(c.name, 6)::bigint)))) copy
            WHERE t.name = 'model' AND c.name LIKE 'copy-%';
            -- All rows of a tenant are from one change.
            INSERT INTO tenant_changes
            SELECT c.id, c.sequence, c.version FROM tenants c WHERE c.name LIKE 'copy-%';
            COMMIT;
            ANALYZE;"
        ))
        .await
        .map(drop)
}

/// Creates rules of one tenant that no check matches.
pub async fn rules(fixture: &Fixture, tenant: &Tenant, count: u32) -> Result<()> {
    let mut cold = variants::rule("cold-0", &[variants::bucket(100)]);
    cold["match"] = variants::route("/cold/0");
    fixture.rule(tenant, &cold).await?;
    fixture.copy_cold_rule(tenant, count.saturating_sub(2)).await
}
