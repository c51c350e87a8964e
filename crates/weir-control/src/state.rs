//! The state that handlers and background tasks share, in named parts.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use weir_domain::time::{Clock, Timestamp};
use weir_mail::{Mailer, Relay};
use weir_redis::deferred::DeferredJobs;
use weir_redis::limiter::Limiter;
use weir_redis::signal::Signal;
use weir_region::RegionLinks;
use weir_store::{Retention, Store};
use weir_webhook::{Sealing, Sender};

use crate::actor::denials::Denials;
use crate::after_answer::AfterAnswer;
use crate::ceilings::admin_rate::AdminRates;
use crate::login_throttle::LoginThrottle;
use crate::login_throttle::refused_logins::RefusedLogins;
use crate::macs::Macs;
use crate::meters::Meters;
use crate::passwords::Passwords;
use crate::stats::live::watchers::Live;
use crate::tenant_limiter::TenantLimiter;
use crate::tokens::AccessTokens;
use crate::view_keys::ViewKeys;

/// The handles of the control plane. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ControlState {
    parts: Arc<ControlParts>,
    /// The state of this process alone.
    pub(crate) local: Arc<LocalState>,
}

/// The parts of [`ControlState`] that the process supplies.
#[derive(Debug)]
pub struct ControlParts {
    /// The store, which contains all SQL.
    pub store: Store,
    /// The signal, which announces changes of the rulebook to the gates.
    pub signal: Signal,
    /// The limiter, which inspects and resets counters.
    pub limiter: Limiter,
    /// The links to the regions, if there are any. Then their gates inspect and reset counters instead.
    pub regions: Arc<RegionLinks>,
    /// The queues of deferred jobs.
    pub deferred: DeferredJobs,
    /// The clock of every time stamp.
    pub clock: Clock,
    /// The source of ids and secrets.
    pub random: Random,
    /// The parts that authenticate callers.
    pub auth: Authentication,
    /// The parts that send webhooks.
    pub webhooks: WebhookParts,
    /// The parts that send e-mail; without them none is sent.
    pub mail: Option<MailParts>,
    /// The origin of the dashboard, for links in the messages of alerts; without it they have none. A request cannot change it.
    pub dashboard_url: Option<String>,
    /// The OpenID Connect provider with which people can sign in, if there is one.
    pub provider: Option<ProviderParts>,
    /// The settings.
    pub settings: ControlSettings,
    /// The token that is cancelled when the plane must stop. Streams then end.
    pub stop: CancellationToken,
}

/// The parts that authenticate people.
#[derive(Debug)]
pub struct Authentication {
    /// The signer and verifier of access tokens.
    pub tokens: AccessTokens,
    /// The hasher and verifier of passwords.
    pub passwords: Passwords,
    /// The tags that prove that this installation wrote a text.
    pub macs: Macs,
    /// The keys of the tokens of customers.
    pub view_keys: ViewKeys,
    /// The throttle of attempts with passwords.
    pub login_throttle: LoginThrottle,
}

/// The parts that send webhooks.
#[derive(Debug)]
pub struct WebhookParts {
    /// The encryption of the secrets that sign messages.
    pub sealing: Sealing,
    /// The sender of messages to the addresses of tenants.
    pub sender: Sender,
}

/// The parts that send e-mail.
#[derive(Debug)]
pub struct MailParts {
    /// The queue of messages.
    pub mailer: Mailer,
    /// The server that takes the messages of alerts, which have a queue in Postgres.
    pub relay: Arc<Relay>,
    /// The origin of the dashboard, for links. A request cannot change it.
    pub dashboard_url: String,
}

/// The provider with which people can sign in.
#[derive(Debug)]
pub struct ProviderParts {
    /// The name on the button.
    pub name: String,
    /// The provider.
    pub oidc: weir_oidc::Provider,
}

/// Counts and limits of this process alone. Other control planes have their own.
#[derive(Debug, Default)]
pub(crate) struct LocalState {
    pub(crate) meters: Meters,
    /// The streams of live statistics.
    pub(crate) live: Arc<Live>,
    /// The rates of admin requests of each tenant.
    pub(crate) admin_rates: AdminRates,
    /// The limiter of what-if runs.
    pub(crate) simulations: TenantLimiter<2, 2>,
    /// The limiter of bulk writes of overrides. There are few at a time, so that they leave most of the pool to other requests.
    pub(crate) bulk_writes: TenantLimiter<3, 1>,
    /// The denials of the last minute.
    pub(crate) denials: Denials,
    /// The limiter of records of refused sign-ins.
    pub(crate) refused_logins: RefusedLogins,
    /// Password resets that are being mailed.
    pub(crate) mailed_resets: AfterAnswer<16>,
    /// Sign-ups that are being mailed.
    pub(crate) mailed_signups: AfterAnswer<16>,
    /// Records of the time at which people were seen.
    pub(crate) sightings: AfterAnswer<2>,
}

/// Settings of the control plane.
#[derive(Debug, Clone, Copy)]
pub struct ControlSettings {
    /// The sign-up policy for accounts and tenants.
    pub signup: Signup,
    /// The time after its last refresh at which a session ends, in milliseconds.
    pub session_idle_ms: i64,
    /// The time after its start at which a session ends in any case, in milliseconds.
    pub session_absolute_ms: i64,
    /// The time for which the previous refresh token remains valid, for tabs that refresh at once, in milliseconds.
    pub refresh_grace_ms: u64,
    /// The most rules of a namespace.
    pub rules_per_namespace_max: u64,
    /// The most rules of a tenant.
    pub rules_per_tenant_max: u64,
    /// The most overrides of a tenant.
    pub overrides_per_tenant_max: u64,
    /// The most tenants of a person. Operators can create more.
    pub tenants_per_person_max: u64,
    /// The time for which statistics are retained.
    pub retention: Retention,
    /// The number of days for which audit entries are retained.
    pub audit_days: u16,
}

/// The default retention of audit entries, in days: three years.
pub const AUDIT_DAYS: u16 = 1095;

/// The sign-up policy for accounts and tenants. Invitations are independent of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signup {
    /// Only `weir user create` creates accounts, and only operators create tenants.
    Closed,
    /// Everyone can request an account. It is created when a client presents the token that `weir user confirm` issues for
    /// the address. No answer depends on whether the address has an account.
    Confirmed,
    /// Everyone can create an account at once. The answer reveals whether the address already had one.
    Open,
}

/// A source of randomness that is suitable for secrets.
#[derive(Clone)]
pub struct Random(Arc<Fill>);

type Fill = dyn Fn(&mut [u8]) + Send + Sync;

impl Default for ControlSettings {
    fn default() -> Self {
        const DAY_MS: i64 = 24 * 60 * 60 * 1000;
        Self {
            signup: Signup::Closed,
            session_idle_ms: 7 * DAY_MS,
            session_absolute_ms: 30 * DAY_MS,
            refresh_grace_ms: 10_000,
            rules_per_namespace_max: 1000,
            rules_per_tenant_max: 10_000,
            overrides_per_tenant_max: 100_000,
            tenants_per_person_max: 100,
            retention: Retention::default(),
            audit_days: AUDIT_DAYS,
        }
    }
}

impl ControlState {
    /// Builds the state from its parts.
    pub fn new(parts: ControlParts) -> Self {
        Self { parts: Arc::new(parts), local: Arc::default() }
    }

    /// The metrics of this process.
    pub(crate) fn meters(&self) -> &Meters {
        &self.local.meters
    }

    /// A new id of any kind: `state.id(RuleId::new)`.
    pub(crate) fn id<T>(&self, make: fn(Timestamp, u128) -> T) -> T {
        make(self.clock.now(), u128::from_le_bytes(self.random.bytes()))
    }
}

impl Deref for ControlState {
    type Target = ControlParts;

    fn deref(&self) -> &ControlParts {
        &self.parts
    }
}

impl Random {
    /// A source that fills slices with `fill`.
    pub fn new(fill: impl Fn(&mut [u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(fill))
    }

    /// `N` random bytes.
    pub(crate) fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        (self.0)(&mut bytes);
        bytes
    }
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Random")
    }
}
