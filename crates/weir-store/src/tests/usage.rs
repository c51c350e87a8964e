//! The usage of tenants by day.

use weir_domain::ceilings::{Ceiling, CeilingValues};

use super::*;
use crate::{RedisUsage, UsageFilter, UsageRow};

const ZEROS: &str = "00000000-0000-0000-0000-000000000000";

/// An installation with an operator and two tenants.
struct Fixture {
    database: TestDatabase,
    operator: UserId,
    tenants: [TenantId; 2],
}

impl Fixture {
    async fn new() -> Self {
        let database = database().await;
        let operator = user(&database.app, "op@example.com").await;
        let mut tx = database.owner.begin("tests", Scope::User(operator)).await.unwrap();
        assert!(tx.users().set_operator(operator, true).await.unwrap());
        tx.commit().await.unwrap();
        let owner = user(&database.app, "ada@example.com").await;
        let (one, _) = tenant(&database.app, owner).await;
        let (other, _) = tenant(&database.app, owner).await;
        Self { database, operator, tenants: [one, other] }
    }

    /// Runs statements as a superuser, each with the first tenant's id for `$TENANT`.
    async fn run(&self, tenant: TenantId, statements: &[&str]) {
        let mut tx = self.database.owner.begin("tests", Scope::Service).await.unwrap();
        let id = crate::convert::uuid(tenant.to_u128()).to_string();
        for statement in statements {
            let sql = statement.replace("$TENANT", &id).replace("$ZEROS", ZEROS);
            unchecked(sqlx::AssertSqlSafe(sql)).execute(tx.connection()).await.unwrap();
        }
        tx.commit().await.unwrap();
    }

    async fn as_operator(&self) -> Tx {
        self.database.app.begin("tests", Scope::User(self.operator)).await.unwrap()
    }

    async fn housekeeping(&self) -> Tx {
        self.database.app.begin("tests", Scope::Service).await.unwrap()
    }

    async fn set(&self, tenant: TenantId, ceiling: Ceiling, value: u64) {
        let mut values = CeilingValues::default();
        values.set(ceiling, Some(value)).unwrap();
        let mut tx = self.as_operator().await;
        tx.enter_tenant(tenant).await.unwrap();
        tx.ceilings().set_of_tenant(tenant, &values).await.unwrap();
        assert_eq!(tx.ceilings().of_tenant(tenant).await.unwrap().get(ceiling), value);
        tx.commit().await.unwrap();
    }

    async fn listed(&self, tenant_id: Option<TenantId>) -> Vec<UsageRow> {
        let filter = UsageFilter { from: 0, to: 1_000_000, tenant_id };
        let page = Page { limit: 1_000, after: None };
        self.as_operator().await.usage().list(&filter, &page).await.unwrap().items
    }
}

#[tokio::test]
async fn checks_are_exact_and_samples_keep_the_greatest_of_the_day() {
    let fixture = Fixture::new().await;
    let [tenant, other] = fixture.tenants;
    // Hours that are rolled up, minutes that are not, and decisions of a rule, which do not count as checks.
    let statements = [
        "INSERT INTO tallies_hours
        SELECT '$TENANT', '$ZEROS', date_trunc('day', now(), 'UTC') - interval '2 hours', 'a', 70, 30, 5, 0, 0",
        "INSERT INTO gate_flushes
        SELECT gen_random_uuid(), gen_random_uuid(), now(), date_trunc('day', now(), 'UTC')",
        "INSERT INTO tallies_minutes
        SELECT '$TENANT', '$ZEROS', date_trunc('day', now(), 'UTC'), 'a', gen_random_uuid(),
            gen_random_uuid(), 4, 1, 0, 0, 0
        FROM generate_series(1, 10) n",
        "INSERT INTO tallies_minutes
        SELECT '$TENANT', gen_random_uuid(), date_trunc('day', now(), 'UTC'), 'a', gen_random_uuid(),
            gen_random_uuid(), 999, 0, 0, 0, 0",
    ];
    fixture.run(tenant, &statements).await;
    for _ in 0..2 {
        let mut tx = fixture.housekeeping().await;
        tx.usage().roll_up(1_000).await.unwrap();
        tx.commit().await.unwrap();
    }
    for (subjects, bytes) in [(10, 1_000), (30, 9_000), (20, 2_000)] {
        let mut tx = fixture.housekeeping().await;
        let sample = RedisUsage { tenant_id: tenant, subjects, bytes };
        assert_eq!(tx.usage().note(&[sample]).await.unwrap(), 0);
        tx.commit().await.unwrap();
    }
    let all = fixture.listed(None).await;
    let today = all.iter().map(|row| row.day).max().unwrap();
    let of = |day| all.iter().find(|row| row.tenant_id == tenant && row.day == day).unwrap();
    assert_eq!((of(today - 1).checks, of(today).checks), (100, 50));
    assert_eq!((of(today).subjects, of(today).redis_bytes), (30, 9_000));
    assert!(of(today).postgres_rows > 0);
    assert_eq!(of(today).tenant_name.as_deref(), Some("Shop"));
    assert!(fixture.listed(Some(other)).await.iter().all(|row| row.tenant_id == other));

    // Only an operator sees the usage.
    let mut tx = tenant_tx(&fixture.database.app, tenant).await;
    let filter = UsageFilter { from: 0, to: 1_000_000, tenant_id: None };
    assert_eq!(tx.usage().list(&filter, &first_page()).await.unwrap().items, []);
}

#[tokio::test]
async fn tenants_above_their_ceiling_of_live_subjects_are_counted() {
    let fixture = Fixture::new().await;
    let [tenant, other] = fixture.tenants;
    fixture.set(tenant, Ceiling::LiveSubjects, 10).await;
    let sample = |tenant_id| RedisUsage { tenant_id, subjects: 11, bytes: 1 };
    let mut tx = fixture.housekeeping().await;
    assert_eq!(tx.usage().note(&[sample(tenant), sample(other)]).await.unwrap(), 1);
}

#[tokio::test]
async fn statistics_are_removed_after_the_days_of_the_tenants_ceiling() {
    let fixture = Fixture::new().await;
    let days = "INSERT INTO tallies_days
        SELECT '$TENANT', '$ZEROS', date_trunc('day', now(), 'UTC') - n * interval '1 day', 'a', 1, 0, 0, 0, 0
        FROM generate_series(1, 20) n";
    for tenant in fixture.tenants {
        fixture.run(tenant, &[days]).await;
    }
    fixture.set(fixture.tenants[0], Ceiling::StatisticsDays, 5).await;
    for removed in [15, 0] {
        let mut tx = fixture.housekeeping().await;
        assert_eq!(tx.usage().keep_days().await.unwrap(), removed);
        tx.commit().await.unwrap();
    }
}
