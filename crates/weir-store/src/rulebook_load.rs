//! Loads the rulebook for gates, in one snapshot of the database.
//!
//! Changes come at once: they are at most those of 10,000 versions. The whole rulebook comes in parts of some 10,000 rows,
//! ordered by tenant, so that neither side ever holds all rows. The rows of a tenant are never divided.

use std::collections::HashMap;

use sqlx::query;
use uuid::Uuid;
use weir_domain::ceilings::Ceiling;
use weir_domain::id::TenantId;

use crate::assignments::{self, ServedAssignment};
use crate::connection::PooledConnection;
use crate::convert::{signed, unsigned};
use crate::error::StoreError;
use crate::keys::{self, KeyRow};
use crate::message::{Answers, statement};
use crate::namespaces;
use crate::overrides::{self, ServedOverride};
use crate::plans::{self, ServedPlan};
use crate::profiles::{self, ServedProfile};
use crate::rulebook::{self, RemainingIds, RulebookChanges, RulebookVersion, TenantChanges};
use crate::rules::{self, ServedRule};
use crate::served::TenantRange;

/// The columns of a tenant as Postgres returns them.
#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    suspended: bool,
    record_checks: bool,
    enforced: bool,
    checks_per_second: Option<i64>,
    version: i64,
    removed_version: i64,
    customer_attribute: Option<String>,
    customer_view: Option<String>,
}

/// A statement that returns [`Row`]s: its name, the condition, and the argument of the condition after the name of the ceiling.
/// `$with` is the macro that makes it.
macro_rules! tenants_with {
    ($with:ident, $name:literal, $condition:literal $(, $argument:expr)+) => {
        $with!(
            "-- "
                + $name
                + "
                SELECT
                    id,
                    suspended,
                    record_checks,
                    enforced,
                    (
                        SELECT c.value FROM tenant_ceilings c
                        WHERE c.tenant_id = tenants.id AND c.name = $1
                    ) AS checks_per_second,
                    version,
                    removed_version,
                    customer_attribute,
                    (customer_view #- '{view,logo}')::text AS customer_view
                FROM tenants
                WHERE "
                + $condition
                + "
                ORDER BY id",
            Ceiling::ChecksPerSecond.as_str(),
            $($argument),+
        )
    };
}

macro_rules! tenant_rows {
    ($($statement:tt)*) => {
        sqlx::query_as!(Row, $($statement)*)
    };
}

/// The statements of [`changes`].
pub(crate) fn change_statements(held: RulebookVersion) -> Vec<String> {
    let since = signed(held.number);
    vec![
        rulebook::known_statement(held),
        rulebook::version_statement(),
        installation_statement(),
        tenants_with!(statement, "rulebook.tenants_since", "version > $2", since),
        keys::changed_statement(since),
        rules::changed_statement(since),
        overrides::changed_statement(since),
        profiles::changed_statement(since),
        plans::changed_statement(since),
        assignments::changed_statement(since),
        namespaces::changed_spread_statement(since),
        rules::remaining_statement(since),
        overrides::remaining_statement(since),
        profiles::remaining_statement(since),
        plans::remaining_statement(since),
        deleted_statement(since),
    ]
}

/// The changes after version `since`. `None` if the history of the database does not contain this version.
pub(crate) fn changes(
    answers: &mut Answers,
    since: i64,
) -> Result<Option<RulebookChanges>, StoreError> {
    if !answers.value::<bool>()? {
        return Ok(None);
    }
    let version = rulebook::version_of(answers)?.0;
    let installation = answers.row()?.ok_or_else(|| StoreError::corrupt("no installation"))?;
    let mut changes = without_tenants(version, false, installation);
    let tenants: Vec<Row> = answers.rows()?;
    let lost_rows: Vec<_> = tenants.iter().map(|row| row.removed_version > since).collect();
    let rows = Rows {
        keys: keys::changed(answers)?,
        rules: rules::changed(answers)?,
        overrides: overrides::changed(answers)?,
        profiles: profiles::changed(answers)?,
        plans: plans::changed(answers)?,
        assignments: assignments::changed(answers)?,
        spread: namespaces::changed_spread(answers)?,
    };
    changes.tenants = rows.of(tenants);
    let mut rules = grouped(rules::remaining(answers)?);
    let mut overrides = grouped(overrides::remaining(answers)?);
    let mut profiles = grouped(profiles::remaining(answers)?);
    let mut plans = grouped(plans::remaining(answers)?);
    for (tenant, _) in changes.tenants.iter_mut().zip(lost_rows).filter(|(_, lost)| *lost) {
        let rules = rules.remove(&tenant.tenant_id).unwrap_or_default();
        let overrides = overrides.remove(&tenant.tenant_id).unwrap_or_default();
        let profiles = profiles.remove(&tenant.tenant_id).unwrap_or_default();
        let plans = plans.remove(&tenant.tenant_id).unwrap_or_default();
        tenant.remaining = Some(RemainingIds { rules, overrides, profiles, plans });
    }
    let deleted = answers.rows::<(Uuid,)>()?.into_iter();
    changes.deleted = deleted.map(|(id,)| TenantId::from_u128(id.as_u128())).collect();
    Ok(Some(changes))
}

/// The state of a load of the whole rulebook.
#[derive(Debug)]
pub(crate) struct WholeLoad {
    empty: RulebookChanges,
    rows_per_part: u32,
    /// The last tenant that was loaded. `None` after the last part.
    after: Option<Uuid>,
}

impl WholeLoad {
    /// Begins to load the rulebook. A part has at most this number of rows of each table, unless a single tenant has more.
    pub(crate) async fn begin(
        conn: &mut PooledConnection,
        rows_per_part: u32,
    ) -> Result<Self, StoreError> {
        let version = rulebook::version(conn).await?;
        let empty = without_tenants(version, true, installation(conn).await?);
        Ok(Self { empty, rows_per_part: rows_per_part.max(1), after: Some(Uuid::nil()) })
    }

    /// Loads the next part. There is at least one.
    pub(crate) async fn next(
        &mut self,
        conn: &mut PooledConnection,
    ) -> Result<Option<RulebookChanges>, StoreError> {
        let Some(after) = self.after else { return Ok(None) };
        let end = part_end(conn, after, self.rows_per_part).await?;
        let range = TenantRange { after, until: end.unwrap_or_else(Uuid::max) };
        let tenants = tenants_with!(
            tenant_rows,
            "rulebook.tenants",
            "id > $2 AND id <= $3",
            range.after,
            range.until
        )
        .fetch_all(&mut *conn)
        .await?;
        let rows = Rows {
            keys: keys::of_tenants(conn, range).await?,
            rules: rules::of_tenants(conn, range).await?,
            overrides: overrides::of_tenants(conn, range).await?,
            profiles: profiles::of_tenants(conn, range).await?,
            plans: plans::of_tenants(conn, range).await?,
            assignments: assignments::of_tenants(conn, range).await?,
            spread: namespaces::spread_of_tenants(conn, range).await?,
        };
        let tenants = rows.of(tenants);
        self.after = end;
        Ok(Some(RulebookChanges { tenants, ..self.empty.clone() }))
    }
}

/// The last tenant of the part after a tenant: the first one with which a table reaches `rows`. `None` for the last part.
async fn part_end(
    conn: &mut PooledConnection,
    after: Uuid,
    rows: u32,
) -> Result<Option<Uuid>, StoreError> {
    let end = sqlx::query_scalar!(
        r#"-- rulebook.part_end
        SELECT least(
            (SELECT id FROM tenants WHERE id > $1 ORDER BY id OFFSET $2 LIMIT 1),
            (SELECT tenant_id FROM api_keys WHERE tenant_id > $1 ORDER BY tenant_id OFFSET $2 LIMIT 1),
            (SELECT tenant_id FROM rules WHERE tenant_id > $1 ORDER BY tenant_id OFFSET $2 LIMIT 1),
            (SELECT tenant_id FROM overrides WHERE tenant_id > $1 ORDER BY tenant_id OFFSET $2 LIMIT 1),
            (SELECT tenant_id FROM profiles WHERE tenant_id > $1 ORDER BY tenant_id OFFSET $2 LIMIT 1),
            (SELECT tenant_id FROM assignments WHERE tenant_id > $1 ORDER BY tenant_id OFFSET $2 LIMIT 1)
        ) AS "end""#,
        after,
        i64::from(rows) - 1,
    )
    .fetch_one(conn)
    .await?;
    Ok(end)
}

/// The settings of all tenants: whether rules are enforced, the default ceiling of checks per second, and the regions.
type Settings = (bool, Option<i64>, String);

/// Everything but the tenants.
fn without_tenants(
    version: RulebookVersion,
    whole: bool,
    (enforced, checks_per_second, regions): Settings,
) -> RulebookChanges {
    let default = || Ceiling::ChecksPerSecond.default_value();
    let checks_per_second = checks_per_second.map_or_else(default, unsigned);
    let tenants = Vec::new();
    let deleted = Vec::new();
    let regions = regions.into();
    RulebookChanges { version, whole, enforced, checks_per_second, regions, tenants, deleted }
}

/// The rows of some tenants.
struct Rows {
    keys: Vec<KeyRow>,
    rules: Vec<(TenantId, ServedRule)>,
    overrides: Vec<(TenantId, ServedOverride)>,
    profiles: Vec<(TenantId, ServedProfile)>,
    plans: Vec<(TenantId, ServedPlan)>,
    assignments: Vec<(TenantId, ServedAssignment)>,
    spread: Vec<(TenantId, (String, Vec<String>))>,
}

impl Rows {
    /// The tenants with their rows.
    fn of(self, tenants: Vec<Row>) -> Vec<TenantChanges> {
        let mut keys = grouped(self.keys.into_iter().map(|key| (key.tenant_id, key)));
        let mut rules = grouped(self.rules);
        let mut overrides = grouped(self.overrides);
        let mut profiles = grouped(self.profiles);
        let mut plans = grouped(self.plans);
        let mut assignments = grouped(self.assignments);
        let mut spread = grouped(self.spread);
        let tenants = tenants.into_iter().map(|row| {
            let tenant_id = TenantId::from_u128(row.id.as_u128());
            TenantChanges {
                tenant_id,
                suspended: row.suspended,
                record_checks: row.record_checks,
                enforced: row.enforced,
                checks_per_second: row.checks_per_second.map(unsigned),
                version: unsigned(row.version),
                keys: keys.remove(&tenant_id).unwrap_or_default(),
                rules: rules.remove(&tenant_id).unwrap_or_default(),
                overrides: overrides.remove(&tenant_id).unwrap_or_default(),
                profiles: profiles.remove(&tenant_id).unwrap_or_default(),
                spread: spread.remove(&tenant_id).unwrap_or_default(),
                customer_attribute: row.customer_attribute,
                customer_view: row.customer_view.map(Into::into),
                plans: plans.remove(&tenant_id).unwrap_or_default(),
                assignments: assignments.remove(&tenant_id).unwrap_or_default(),
                remaining: None,
            }
        });
        tenants.collect()
    }
}

fn deleted_statement(since: i64) -> String {
    statement!(
        "-- rulebook.deleted
        SELECT tenant_id FROM deleted_tenants WHERE version > $1 ORDER BY version",
        since,
    )
}

/// The statement of the installation, as [`without_tenants`] takes it. `$with` is the macro that makes it.
macro_rules! installation_with {
    ($with:ident) => {
        $with!(
            "-- rulebook.installation
            SELECT
                enforced,
                (SELECT value FROM default_ceilings WHERE name = $1) AS checks_per_second,
                regions::text AS \"regions!\"
            FROM installation",
            Ceiling::ChecksPerSecond.as_str(),
        )
    };
}

fn installation_statement() -> String {
    installation_with!(statement)
}

async fn installation(conn: &mut PooledConnection) -> Result<Settings, StoreError> {
    let row = installation_with!(query).fetch_one(conn).await?;
    Ok((row.enforced, row.checks_per_second, row.regions))
}

fn grouped<T>(rows: impl IntoIterator<Item = (TenantId, T)>) -> HashMap<TenantId, Vec<T>> {
    let mut groups: HashMap<TenantId, Vec<T>> = HashMap::new();
    for (tenant_id, row) in rows {
        groups.entry(tenant_id).or_default().push(row);
    }
    groups
}
