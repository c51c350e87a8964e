//! A control plane for one test, and its users.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::id::UserId;
use weir_domain::matching::subject_key;
use weir_domain::regions::{Region, Regions};
use weir_domain::request::Operation;
use weir_domain::time::{Clock, Micros, Timestamp};
use weir_http::client_address::ClientAddress;
use weir_http::plane::{Plane as Surrounded, PlaneSettings, with_fallbacks};
use weir_http::request_id::RequestIds;
use weir_mail::{Mailer, Outbox, Relay};
use weir_redis::limiter::{DecidingClock, Limiter, LimiterSettings, ScriptCheck};
use weir_redis::signal::Signal;
use weir_region::{LinkSettings, RegionKeys, RegionLinks};
use weir_store::test_support::{TestDatabase, database};
use weir_webhook::{Reach, Sender};

use crate::{
    AccessTokens, Authentication, ControlParts, ControlSettings, ControlState, LoginThrottle, Macs,
    MailParts, Passwords, Random, SigningKey, Signup, WebhookParts, router,
};

pub(super) const PASSWORD: &str = "correct horse";
const DASHBOARD_URL: &str = "https://limits.test";

/// A control plane with a new database. Its clock advances a millisecond with each request, and on demand.
pub(super) struct Plane {
    surrounded: Surrounded,
    pub(super) state: ControlState,
    now_ms: Arc<AtomicI64>,
    pub(super) database: Arc<TestDatabase>,
    limiter: Limiter,
    stop: CancellationToken,
}

/// The answer to a request.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

/// A request that is being built.
pub(super) struct Ask<'a> {
    plane: &'a Plane,
    request: axum::http::request::Builder,
    body: Body,
}

/// A person who signed up with a tenant.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) token: String,
    pub(super) cookie: String,
    pub(super) user: String,
    pub(super) tenant: String,
}

impl Plane {
    pub(super) async fn start() -> Self {
        Self::with(ControlSettings { signup: Signup::Open, ..ControlSettings::default() }).await
    }

    pub(super) async fn with(settings: ControlSettings) -> Self {
        Self::over(Arc::new(database().await), settings, Reach::Anywhere)
    }

    /// Starts a control plane with a clock this far behind that of the database. Deliveries and alerts are due by the earlier
    /// of both clocks, so a test can let this time pass for them.
    pub(super) async fn start_behind(ms: i64) -> Self {
        let plane = Self::start().await;
        plane.advance(-ms);
        plane
    }

    /// Starts a control plane that reaches Redis over this relay, waits long for it, and has reached it.
    pub(super) async fn over_relay() -> (Self, weir_local::Relay) {
        let redis = weir_local::shared::redis();
        let relay = weir_local::Relay::start(redis.port()).expect("a relay");
        let url = redis.url().replace(&redis.port().to_string(), &relay.port().to_string());
        let plane = Self::with_redis(&url).await;
        plane.limiter_up().await;
        (plane, relay)
    }

    /// Starts a control plane with Redis at this address, for which it waits long.
    pub(super) async fn with_redis(url: &str) -> Self {
        let settings = ControlSettings { signup: Signup::Open, ..ControlSettings::default() };
        let redis = (url, Duration::from_secs(10), false);
        Self::over_redis(Arc::new(database().await), settings, Reach::Anywhere, redis)
    }

    /// Starts a control plane whose clock also decides checks, at this time.
    pub(super) async fn deciding_at(ms: i64) -> Self {
        let settings = ControlSettings { signup: Signup::Open, ..ControlSettings::default() };
        let url = weir_local::shared::redis().url();
        let redis = (url.as_str(), Duration::from_secs(2), true);
        let plane = Self::over_redis(Arc::new(database().await), settings, Reach::Anywhere, redis);
        plane.advance(ms - plane.now_ms());
        plane
    }

    /// Starts a control plane that sends webhooks with this reach.
    pub(super) async fn reaching(reach: Reach) -> Self {
        let settings = ControlSettings { signup: Signup::Open, ..ControlSettings::default() };
        Self::over(Arc::new(database().await), settings, reach)
    }

    /// Starts a control plane with this database.
    pub(super) fn on(database: Arc<TestDatabase>) -> Self {
        let settings = ControlSettings { signup: Signup::Open, ..ControlSettings::default() };
        Self::over(database, settings, Reach::Anywhere)
    }

    /// Registers regions with this control plane.
    pub(super) fn has_regions(&self, names: &[&str]) {
        let region = |name: &&str| {
            let gates = vec![format!("https://gate.{name}.example.com")];
            Region { name: (*name).to_owned(), gates }
        };
        let regions = Regions::parse(Some(names[0]), names.iter().map(region).collect());
        self.state.regions.set(&regions.expect("regions")).expect("links");
    }

    /// Another control plane with the same database, which sends webhooks with this reach.
    pub(super) fn also_reaching(&self, reach: Reach) -> Self {
        Self::over(Arc::clone(&self.database), ControlSettings::default(), reach)
    }

    /// Another control plane with the same database and a clock of its own.
    pub(super) fn also(&self, settings: ControlSettings) -> Self {
        Self::over(Arc::clone(&self.database), settings, Reach::Anywhere)
    }

    /// Starts a control plane that queues e-mail. Returns it with the queue.
    pub(super) async fn mailing() -> (Self, Outbox) {
        let settings = ControlSettings { signup: Signup::Open, ..ControlSettings::default() };
        let url = weir_local::shared::redis().url();
        let redis = (url.as_str(), Duration::from_secs(2), false);
        let (mailer, outbox) = Mailer::new();
        let relay = Relay::parse("smtp://127.0.0.1:9", "weir@limits.test").expect("valid");
        let relay = Arc::new(relay);
        let mail = MailParts { mailer, relay, dashboard_url: DASHBOARD_URL.to_owned() };
        let database = Arc::new(database().await);
        (Self::over_parts(database, settings, Reach::Anywhere, redis, Some(mail)), outbox)
    }

    fn over(database: Arc<TestDatabase>, settings: ControlSettings, reach: Reach) -> Self {
        let url = weir_local::shared::redis().url();
        Self::over_redis(database, settings, reach, (&url, Duration::from_secs(2), false))
    }

    fn over_redis(
        database: Arc<TestDatabase>,
        settings: ControlSettings,
        reach: Reach,
        redis: (&str, Duration, bool),
    ) -> Self {
        Self::over_parts(database, settings, reach, redis, None)
    }

    fn over_parts(
        database: Arc<TestDatabase>,
        settings: ControlSettings,
        reach: Reach,
        (redis_url, budget, decides): (&str, Duration, bool),
        mail: Option<MailParts>,
    ) -> Self {
        let now_ms = Arc::new(AtomicI64::new(wall_clock_ms()));
        let stop = CancellationToken::new();
        let redis = weir_redis::client(redis_url).expect("a valid address");
        let clock = Arc::clone(&now_ms);
        let now = move || Timestamp::from_millis(clock.load(Ordering::SeqCst)).as_millis_u64();
        let deciding = decides.then(|| DecidingClock::new(move || Micros::from_ms(now())));
        let limits = LimiterSettings { budget, clock: deciding, ..LimiterSettings::default() };
        let random = counting();
        // Each database has its own key, so tests share no budget of attempts.
        let key = SigningKey::from_seed(&seed(&database.url)).expect("any 32 bytes are a seed");
        let macs = Macs::new(std::slice::from_ref(&key)).expect("usable");
        let clock = Arc::clone(&now_ms);
        let limiter = Limiter::start(redis.clone(), limits, stop.clone());
        let parts = ControlParts {
            store: database.app.clone(),
            signal: Signal::start(redis.clone(), stop.clone()),
            limiter: limiter.clone(),
            regions: Arc::new(no_regions(&key, stop.clone())),
            deferred: weir_redis::deferred::DeferredJobs::new(redis.clone()),
            clock: Clock::new(move || Timestamp::from_millis(clock.load(Ordering::SeqCst))),
            webhooks: WebhookParts {
                sealing: crate::sealing(std::slice::from_ref(&key)).expect("usable"),
                sender: Sender::new(reach).expect("a client"),
            },
            auth: Authentication {
                view_keys: crate::ViewKeys::new(std::slice::from_ref(&key)).expect("usable"),
                tokens: AccessTokens::new(&[key]).expect("usable"),
                passwords: Passwords::new(random.bytes()),
                login_throttle: LoginThrottle::new(redis.clone(), macs.clone()),
                macs,
            },
            mail,
            dashboard_url: Some(DASHBOARD_URL.to_owned()),
            provider: None,
            random: random.clone(),
            settings,
            stop: stop.clone(),
        };
        let surroundings = PlaneSettings {
            request_ids: RequestIds::new(move || u128::from_le_bytes(random.bytes())),
            request_deadline: Some(Duration::from_secs(30)),
        };
        let state = ControlState::new(parts);
        let surrounded = Surrounded::new(with_fallbacks(router(state.clone())), surroundings);
        Self { surrounded, state, now_ms, database, limiter, stop }
    }

    /// Stops the plane.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    pub(super) fn advance(&self, ms: i64) {
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
    }

    /// Waits until no work continues after an answer.
    pub(super) async fn background_idle(&self) {
        let idle = async {
            let local = &self.state.local;
            while !(local.mailed_resets.is_idle()
                && local.mailed_signups.is_idle()
                && local.sightings.is_idle())
            {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), idle).await.expect("the work ends");
    }

    /// Waits until a transaction waits for a lock of another.
    pub(super) async fn until_a_lock_is_awaited(&self) {
        let query = format!(
            "SELECT count(*) FROM pg_stat_activity
            WHERE datname = '{}' AND wait_event_type = 'Lock'",
            self.database.name
        );
        let waits = async || {
            let query = query.clone();
            let counted = tokio::task::spawn_blocking(move || {
                weir_local::shared::postgres().psql("postgres", &["-c", &query])
            });
            counted.await.expect("it runs").expect("Postgres answers").trim() != "0"
        };
        let awaited = async { while !waits().await {} };
        tokio::time::timeout(Duration::from_secs(20), awaited).await.expect("a lock is awaited");
    }

    /// Waits until the counters are available.
    pub(super) async fn limiter_up(&self) {
        let up = async {
            while !self.limiter.up() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), up).await.expect("Redis answers");
    }

    /// Takes one unit of a rule that counts by `user`, as a gate does.
    pub(super) async fn consume(&self, member: &Member, rule: &str, user: &str) {
        self.charge(member, rule, user, (Operation::Consume, 1)).await;
    }

    /// Charges a rule that counts by `user`, as a gate does.
    pub(super) async fn charge(
        &self,
        member: &Member,
        rule: &str,
        user: &str,
        (operation, cost): (Operation, u64),
    ) {
        let tenant = member.tenant.parse().expect("an id");
        let scope = weir_store::Scope::Tenant(tenant);
        let mut tx = self.database.app.begin("tests.consume", scope).await.expect("begin");
        let id = rule.parse().expect("an id");
        let row = tx.rules().find(tenant, id).await.expect("load").expect("there");
        let active =
            crate::rule_service::active_rule(&row, &crate::rule_service::Exceptions::default())
                .expect("valid");
        let values: &[&str] = if active.rule.count_by().is_empty() { &[] } else { &[user] };
        let subject = subject_key(active.rule.count_by(), values);
        let spread = crate::rule_service::spread_by(&row).key(active.rule.count_by(), values);
        let rules = vec![RuleCharge::new(active, subject, spread)];
        let namespace = row.namespace.as_str();
        let asked = ScriptCheck {
            tenant,
            namespace,
            operation,
            cost,
            rules: &rules,
            lease_id: LeaseId::default(),
            idempotency: None,
            charged: None,
        };
        let results = self.limiter.check(&[asked]).await;
        assert!(results[0].is_ok(), "{results:?}");
    }

    pub(super) fn ask(&self, method: &str, path: &str) -> Ask<'_> {
        let client = ClientAddress(IpAddr::from([127, 0, 0, 1]));
        let path = if path.starts_with("/api") || !path.starts_with("/v1") {
            path.to_owned()
        } else {
            format!("/api{path}")
        };
        let request = Request::builder().method(method).uri(path).extension(client);
        Ask { plane: self, request, body: Body::empty() }
    }

    /// Signs up a person with a tenant.
    pub(super) async fn member(&self, email: &str) -> Member {
        let body = json!({ "email": email, "password": PASSWORD, "tenant_name": "Acme" });
        let answer = self.ask("POST", "/v1/auth/signup").json(&body).send().await.expect(201);
        Member {
            token: answer.text("/access_token"),
            user: answer.text("/user/id"),
            tenant: answer.text("/tenant/id"),
            cookie: answer.cookie(),
        }
    }

    /// Signs up a person and makes them an operator.
    pub(super) async fn operator(&self, email: &str) -> Member {
        let member = self.member(email).await;
        let user: UserId = member.user.parse().expect("an id");
        let scope = weir_store::Scope::User(user);
        let mut tx = self.database.owner.begin("tests.operator", scope).await.expect("begin");
        assert!(tx.users().set_operator(user, true).await.expect("update"));
        tx.commit().await.expect("commit");
        member
    }

    /// Creates an API key of a member's tenant. Returns its secret.
    pub(super) async fn key(&self, member: &Member, scopes: &[&str]) -> String {
        let body = json!({ "name": "a key", "scopes": scopes });
        let answer = self.by(member, "POST", "keys").json(&body).send().await.expect(201);
        answer.text("/secret")
    }

    /// A request of a member to a path in their tenant.
    pub(super) fn by(&self, member: &Member, method: &str, path: &str) -> Ask<'_> {
        let slash = if path.is_empty() { "" } else { "/" };
        let path = format!("/v1/tenants/{}{slash}{path}", member.tenant);
        self.ask(method, &path).bearer(&member.token)
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Ask<'_> {
    pub(super) fn bearer(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    pub(super) fn peer(mut self, last: u8) -> Self {
        let ip = IpAddr::from([10, 0, 0, last]);
        self.request = self.request.extension(ClientAddress(ip));
        self
    }

    pub(super) fn json(self, body: &Value) -> Self {
        let asked = self.header("content-type", "application/json");
        Self { body: Body::from(body.to_string()), ..asked }
    }

    /// Sends the request. Returns a body that has not arrived yet.
    pub(super) async fn open(self) -> Body {
        let request = self.request.body(self.body).expect("a valid request");
        let response = self.plane.surrounded.answer(request).await;
        assert_eq!(response.status(), 200);
        response.into_body()
    }

    pub(super) async fn send(self) -> Answer {
        // The clock advances so that ids of later requests sort later.
        self.plane.advance(1);
        let request = self.request.body(self.body).expect("a valid request");
        let response = self.plane.surrounded.answer(request).await;
        let (parts, body) = response.into_parts();
        // A stream does not end, so its body is not awaited.
        let stream =
            parts.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
        let body = if stream { Body::empty() } else { body };
        let bytes = body.collect().await.expect("a whole body").to_bytes();
        let table = parts
            .headers
            .get("content-type")
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/csv"));
        let body = if table {
            String::from_utf8_lossy(&bytes).into_owned().into()
        } else {
            serde_json::from_slice(&bytes).unwrap_or(Value::Null)
        };
        Answer { status: parts.status, headers: parts.headers, body }
    }
}

impl Answer {
    #[track_caller]
    pub(super) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{:#}", self.body);
        self
    }

    /// Expects a problem with this status and code.
    #[track_caller]
    pub(super) fn problem(self, status: u16, code: &str) -> Self {
        let answer = self.expect(status);
        assert_eq!(answer.headers["content-type"], "application/problem+json");
        assert_eq!(answer.body["code"], code, "{:#}", answer.body);
        answer
    }

    /// Expects a 422 with a single field.
    #[track_caller]
    pub(super) fn refused_field(self) -> String {
        self.problem(422, "invalid").text("/fields/0/field")
    }

    #[track_caller]
    pub(super) fn text(&self, pointer: &str) -> String {
        let found = self.body.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_else(|| panic!("no text at {pointer} in {:#}", self.body)).to_owned()
    }

    #[track_caller]
    pub(super) fn etag(&self) -> String {
        self.headers["etag"].to_str().expect("printable").to_owned()
    }

    /// The refresh cookie in the form that a client sends.
    #[track_caller]
    pub(super) fn cookie(&self) -> String {
        let set = self.headers["set-cookie"].to_str().expect("printable");
        set.split(';').next().expect("never empty").to_owned()
    }
}

fn seed(text: &str) -> [u8; 32] {
    use sha2::Digest as _;
    sha2::Sha256::digest(text.as_bytes()).into()
}

/// Unique numbers that look random. They include the time, so that test runs use different keys in Redis.
fn counting() -> Random {
    let next = AtomicU64::new(wall_clock_ms().unsigned_abs() << 20);
    Random::new(move |bytes| {
        for chunk in bytes.chunks_mut(8) {
            let mixed = next.fetch_add(1, Ordering::SeqCst).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            chunk.copy_from_slice(&mixed.to_le_bytes()[..chunk.len()]);
        }
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests are an edge: what they leave in Redis expires by real time"
)]
fn wall_clock_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.expect("after 1970").as_millis()).expect("before the year 292 million")
}

/// The links to the regions of an installation without regions.
fn no_regions(key: &SigningKey, stop: CancellationToken) -> RegionLinks {
    let keys = crate::region_keys(std::slice::from_ref(key)).expect("usable");
    let settings = LinkSettings {
        budget: Duration::from_secs(1),
        keys: RegionKeys::new(&keys).expect("a key"),
        clock: Clock::new(|| Timestamp::from_millis(0)),
        random: |bytes| bytes.fill(1),
    };
    let links = RegionLinks::new(settings, stop);
    links.set(&Regions::default()).expect("nothing to link");
    links
}
