//! Fills the database in one change: one tenant or rule is created through the API and copied in SQL.

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use serde_json::json;

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

/// Puts customers on a plan that names the rule `hot`. Returns the id of the plan. The digests are those that the control plane
/// writes: names have one length, which is a part of them.
pub async fn customers(fixture: &Fixture, tenant: &Tenant, count: u32) -> Result<String> {
    let path = format!("/tenants/{}", tenant.id);
    let attribute = json!({ "customer_attribute": "user" });
    let (status, answer) = fixture.send(Method::PATCH, &path, Some(&attribute)).await?;
    ensure!(status.is_success(), "PATCH {path} answered {status}: {answer}");
    let limits = [variants::bucket(2_000_000)];
    let rules = json!([{ "namespace": "api", "rule": "hot", "limits": limits }]);
    let plan = json!({ "name": "bench", "rules": rules });
    let plan = fixture.post(&format!("{path}/plans"), &plan).await?;
    let plan = plan["id"].as_str().context("the id of the plan")?.to_owned();
    let name = &tenant.name;
    fixture
        .sql(&format!(
            "INSERT INTO tenant_ceilings (tenant_id, name, value)
            SELECT id, 'assignments', 1000000 FROM tenants WHERE name = '{name}'"
        ))
        .await?;
    // As many in a transaction as a bulk write has.
    fixture
        .sql(&format!(
            "DO $$
            BEGIN
                FOR part IN 0..{count} - 1 BY 5000 LOOP
                    INSERT INTO assignments
                        (tenant_id, id, customer, customer_key, plan_id, starts_at, note, created_at)
                    SELECT t.id, gen_random_uuid(), c.name,
                        substr(sha256('\\x010400000000000000'::bytea || 'user'::bytea
                            || '\\x0900000000000000'::bytea || c.name::bytea), 1, 16),
                        p.id, now() - interval '1 minute', '', now()
                    FROM tenants t
                        JOIN plans p ON p.tenant_id = t.id,
                        generate_series(part, least(part + 5000, {count}) - 1) n,
                        LATERAL (SELECT 'c-' || lpad(n::text, 7, '0') AS name) c
                    WHERE t.name = '{name}';
                    COMMIT;
                END LOOP;
            END $$"
        ))
        .await?;
    fixture.sql("ANALYZE").await?;
    Ok(plan)
}

/// The name of a customer.
pub fn customer(nth: u32) -> String {
    format!("c-{nth:07}")
}
