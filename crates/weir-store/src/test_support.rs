//! Creates a migrated database for each test, for this crate and for those that depend on it.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::{OnceCell, mpsc};

use crate::{PoolSettings, Role, RulebookChanges, RulebookVersion, Store, StoreError};

/// The password of both logins. The server belongs to this process.
const PASSWORD: &str = "the-logins-of-a-test";

/// The database of one test.
#[derive(Debug)]
pub struct TestDatabase {
    /// The database's name.
    pub name: String,
    /// The database's URL, with the superuser's login.
    pub url: String,
    /// A pool under the role that migrates.
    pub owner: Store,
    /// A pool under the role of the control plane.
    pub app: Store,
    /// A pool under the role of a gate.
    pub gate: Store,
}

/// Creates a database from a template, which each process migrates once.
///
/// # Panics
/// Panics if Postgres cannot be started, because no test runs without it.
pub async fn database() -> TestDatabase {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    static TEMPLATE: OnceCell<()> = OnceCell::const_new();
    TEMPLATE.get_or_init(migrate_template).await;
    let name = format!("weir_test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let create = format!("CREATE DATABASE {name} TEMPLATE weir_template");
    blocking(move || {
        weir_local::shared::postgres()
            .psql("postgres", &["-c", &create])
            .expect("the template exists and has no connections")
    })
    .await;
    TestDatabase::open(name)
}

/// A database whose control plane and gates are connected through a relay.
///
/// # Panics
/// Panics if no port is free.
pub async fn relayed_database() -> (TestDatabase, weir_local::Relay) {
    let mut database = database().await;
    let port = weir_local::shared::postgres().port();
    let relay = weir_local::Relay::start(port).expect("a port is free");
    let (port, relayed) = (port.to_string(), relay.port().to_string());
    let through = |role| connect(&login_url(&database.name, role).replace(&port, &relayed), role);
    let (app, gate) = (through(Role::App), through(Role::Gate));
    (database.app, database.gate) = (app, gate);
    (database, relay)
}

impl Store {
    /// Waits until no connection is in use, so no rollback is under way.
    pub async fn idle(&self) {
        while self.idle.is_in_use() {
            tokio::task::yield_now().await;
        }
    }

    /// Loads what a gate with this version loads, at once: the changes, or the whole rulebook.
    ///
    /// # Errors
    /// Returns an error if Postgres does.
    pub async fn load_rulebook(
        &self,
        held: Option<RulebookVersion>,
    ) -> Result<RulebookChanges, StoreError> {
        if let Some(held) = held
            && let Some(changes) = self.load_changes(held).await?
        {
            return Ok(changes);
        }
        let (parts, mut received) = mpsc::channel::<RulebookChanges>(1);
        let whole = async {
            let mut whole: Option<RulebookChanges> = None;
            while let Some(part) = received.recv().await {
                match &mut whole {
                    Some(whole) => whole.tenants.extend(part.tenants),
                    None => whole = Some(part),
                }
            }
            whole
        };
        let (loaded, whole) = tokio::join!(self.load_whole(1_000, parts), whole);
        loaded?;
        Ok(whole.expect("there is at least one part"))
    }
}

impl TestDatabase {
    fn open(name: String) -> Self {
        let url = weir_local::shared::postgres().url(&name);
        Self {
            owner: connect(&url, Role::Owner),
            app: connect(&login_url(&name, Role::App), Role::App),
            gate: connect(&login_url(&name, Role::Gate), Role::Gate),
            name,
            url,
        }
    }

    /// Returns this database and a copy of it, as after a restore. Reopens the connections of this database.
    ///
    /// # Panics
    /// Panics if Postgres refuses to copy the database.
    pub async fn fork(self) -> (Self, Self) {
        for store in [&self.owner, &self.app, &self.gate] {
            store.close().await;
        }
        let copy = format!("{}_copy", self.name);
        let statements = [
            format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'",
                self.name
            ),
            format!("CREATE DATABASE {copy} TEMPLATE {}", self.name),
        ];
        blocking(move || {
            for statement in statements {
                weir_local::shared::postgres()
                    .psql("postgres", &["-c", &statement])
                    .expect("the database has no connections");
            }
        })
        .await;
        (Self::open(self.name), Self::open(copy))
    }
}

/// Returns the URL of a database with the login of a plane.
pub fn login_url(database: &str, plane: Role) -> String {
    let login = plane.login().expect("the role of a plane has a login");
    weir_local::shared::postgres().url_as(database, login, PASSWORD)
}

async fn migrate_template() {
    blocking(|| {
        weir_local::shared::postgres()
            .create_database("weir_template")
            .expect("the server belongs to this process");
    })
    .await;
    let owner = connect(&weir_local::shared::postgres().url("weir_template"), Role::Owner);
    owner.migrate().await.expect("the migrations apply to an empty database");
    for plane in [Role::App, Role::Gate] {
        owner.create_login(plane, PASSWORD).await.expect("the owner can create roles");
    }
    owner.close().await;
}

/// Connects under a role, for tests that put a proxy in front of the database.
pub fn connect(url: &str, role: Role) -> Store {
    let settings = PoolSettings { max_connections: 8, ..PoolSettings::default() };
    Store::connect(url, role, &settings).expect("weir-local returns valid URLs")
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("creating a database does not panic")
}
