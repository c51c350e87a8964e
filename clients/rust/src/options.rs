//! The options of a client.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::request::CheckRequest;

const TIMEOUT_DEFAULT: Duration = Duration::from_millis(100);
const TIMEOUT_MAX: Duration = Duration::from_secs(60);
const CACHE_SIZE_DEFAULT: usize = 10_000;
const CACHE_SIZE_MAX: usize = 1_000_000;
const MAX_IN_FLIGHT_DEFAULT: usize = 4;
const MAX_IN_FLIGHT_MAX: usize = 64;
const MAX_WAITING_DEFAULT: usize = 10_000;
const MAX_WAITING_MAX: usize = 1_000_000;
const RETRY_SPREAD_DEFAULT: Duration = Duration::from_secs(1);

/// The decision about an action for which no gate decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Permits the action.
    Allow,
    /// Refuses the action.
    Deny,
}

/// The decision if no gate makes one. There is no default, because either choice hurts somebody.
#[derive(Clone)]
pub enum OnError {
    /// Permits the action.
    Allow,
    /// Refuses the action.
    Deny,
    /// Chooses by the failure and the request.
    Choose(Arc<ChooseFn>),
}

/// A function that chooses by the failure and the request.
pub(crate) type ChooseFn = dyn Fn(&Error, &CheckRequest) -> Choice + Send + Sync;
pub(crate) type Traceparent = Arc<dyn Fn() -> Option<String> + Send + Sync>;
/// Answers a request in place of a gate, by its path and body, with a status and a body.
pub(crate) type InMemory =
    Arc<dyn Fn(&str, Option<&[u8]>) -> Result<(u16, Vec<u8>), Error> + Send + Sync>;
pub(crate) type OnDegraded = Arc<dyn Fn(&Error) + Send + Sync>;
pub(crate) type Random = Arc<dyn Fn() -> f64 + Send + Sync>;
pub(crate) type Now = Arc<dyn Fn() -> Instant + Send + Sync>;
pub(crate) type Sleep =
    Arc<dyn Fn(Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

impl OnError {
    /// Chooses by the failure and the request.
    pub fn choose(
        choose: impl Fn(&Error, &CheckRequest) -> Choice + Send + Sync + 'static,
    ) -> Self {
        Self::Choose(Arc::new(choose))
    }

    pub(crate) fn choice(&self, error: &Error, request: &CheckRequest) -> Choice {
        match self {
            Self::Allow => Choice::Allow,
            Self::Deny => Choice::Deny,
            Self::Choose(choose) => choose(error, request),
        }
    }
}

impl fmt::Debug for OnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "Allow",
            Self::Deny => "Deny",
            Self::Choose(_) => "Choose(…)",
        })
    }
}

/// The options of a [`crate::Weir`].
#[derive(Clone)]
pub struct Options {
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) on_error: OnError,
    pub(crate) timeout: Duration,
    pub(crate) retry: bool,
    pub(crate) cache_size: usize,
    pub(crate) max_in_flight: usize,
    pub(crate) max_waiting: usize,
    pub(crate) retry_spread: Duration,
    pub(crate) random: Random,
    pub(crate) on_degraded: OnDegraded,
    pub(crate) traceparent: Traceparent,
    pub(crate) http: Option<reqwest::Client>,
    pub(crate) in_memory: Option<InMemory>,
    pub(crate) now: Now,
    pub(crate) sleep: Sleep,
}

impl Options {
    /// The address of a gate or of the load balancer before the gates, an API key with the scope `check`, and what decides if no gate
    /// does.
    pub fn new(url: impl Into<String>, key: impl Into<String>, on_error: OnError) -> Self {
        Self {
            url: url.into(),
            key: key.into(),
            on_error,
            timeout: TIMEOUT_DEFAULT,
            retry: false,
            cache_size: CACHE_SIZE_DEFAULT,
            max_in_flight: MAX_IN_FLIGHT_DEFAULT,
            max_waiting: MAX_WAITING_DEFAULT,
            retry_spread: RETRY_SPREAD_DEFAULT,
            random: Arc::new(random),
            on_degraded: Arc::new(|_| {}),
            traceparent: Arc::new(|| None),
            http: None,
            in_memory: None,
            now: Arc::new(Instant::now),
            sleep: Arc::new(|pause| Box::pin(tokio::time::sleep(pause))),
        }
    }

    /// The time for one call with its repeat, of a check with its waiting too; at most a minute; 100 ms if not given.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Whether a call is repeated once if its connection fails. Each check then carries an idempotency key, which costs Redis a key for a
    /// minute and excludes the gate's shortcuts. Peeks are always repeated.
    #[must_use]
    pub fn retry(mut self, retry: bool) -> Self {
        self.retry = retry;
        self
    }

    /// The number of denials that are repeated without asking while the gate permits it; 10,000 if not given, none if 0.
    #[must_use]
    pub fn cache_size(mut self, cache_size: usize) -> Self {
        self.cache_size = cache_size;
        self
    }

    /// The number of calls of checks that are in flight at a time, 1 to 64; 4 if not given. A check that finds fewer is sent at once.
    /// Otherwise it waits, and the next call carries all that wait.
    #[must_use]
    pub fn max_in_flight(mut self, max_in_flight: usize) -> Self {
        self.max_in_flight = max_in_flight;
        self
    }

    /// The number of checks that wait, at most 1,000,000; 10,000 if not given. [`OnError`] decides about one more.
    #[must_use]
    pub fn max_waiting(mut self, max_waiting: usize) -> Self {
        self.max_waiting = max_waiting;
        self
    }

    /// The longest time, at most a minute, for which a wait lasts longer than a denial says, so that those who were denied together do not
    /// return together; a second if not given. It never exceeds the time that the denial says.
    #[must_use]
    pub fn retry_spread(mut self, retry_spread: Duration) -> Self {
        self.retry_spread = retry_spread;
        self
    }

    /// Replaces the numbers from 0 to less than 1 of `retry_spread`. For tests.
    #[must_use]
    pub fn random(mut self, random: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        self.random = Arc::new(random);
        self
    }

    /// Called for every decision that was left to [`OnError`]: count it, so that an open gate is noticed.
    #[must_use]
    pub fn on_degraded(mut self, on_degraded: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.on_degraded = Arc::new(on_degraded);
        self
    }

    /// The `traceparent` of the present span, which each call carries, so that the gate's trace continues the program's. A call of several
    /// checks carries that of the first one.
    #[must_use]
    pub fn traceparent(
        mut self,
        traceparent: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.traceparent = Arc::new(traceparent);
        self
    }

    /// Replaces the HTTP client, for a client certificate or a proxy. It should follow no redirect, which would send the API key to another
    /// address.
    #[must_use]
    pub fn http_client(mut self, http: reqwest::Client) -> Self {
        self.http = Some(http);
        self
    }

    /// Replaces the clock by which cached denials and waits end. For tests.
    #[must_use]
    pub fn now(mut self, now: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        self.now = Arc::new(now);
        self
    }

    /// Replaces the pauses of waits. For tests.
    #[must_use]
    pub fn sleep<F>(mut self, sleep: impl Fn(Duration) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.sleep = Arc::new(move |pause| Box::pin(sleep(pause)));
        self
    }

    /// The options with an address that paths can be appended to.
    pub(crate) fn checked(mut self) -> Result<Self, WrongOption> {
        let address = reqwest::Url::parse(&self.url).ok();
        if !address.is_some_and(|address| is_address(&address)) {
            return Err(WrongOption(
                "url: an http or https address without user, query and fragment is needed",
            ));
        }
        if self.key.is_empty() || !self.key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(WrongOption("key: an API key is needed"));
        }
        if self.timeout < Duration::from_millis(1) || self.timeout > TIMEOUT_MAX {
            return Err(WrongOption("timeout: 1 ms to a minute"));
        }
        if self.cache_size > CACHE_SIZE_MAX {
            return Err(WrongOption("cache_size: at most 1,000,000"));
        }
        if !(1..=MAX_IN_FLIGHT_MAX).contains(&self.max_in_flight) {
            return Err(WrongOption("max_in_flight: 1 to 64"));
        }
        if self.max_waiting > MAX_WAITING_MAX {
            return Err(WrongOption("max_waiting: at most 1,000,000"));
        }
        if self.retry_spread > TIMEOUT_MAX {
            return Err(WrongOption("retry_spread: at most a minute"));
        }
        self.url.truncate(self.url.trim_end_matches('/').len());
        Ok(self)
    }
}

fn random() -> f64 {
    let bits = getrandom::u32().expect("the system has random numbers");
    f64::from(bits) / (f64::from(u32::MAX) + 1.0)
}

fn is_address(address: &reqwest::Url) -> bool {
    matches!(address.scheme(), "http" | "https")
        && address.has_host()
        && address.username().is_empty()
        && address.password().is_none()
        && address.query().is_none()
        && address.fragment().is_none()
}

impl fmt::Debug for Options {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("url", &self.url)
            .field("on_error", &self.on_error)
            .field("timeout", &self.timeout)
            .field("retry", &self.retry)
            .field("cache_size", &self.cache_size)
            .finish_non_exhaustive()
    }
}

/// An option that is wrong. The text names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongOption(pub(crate) &'static str);

impl fmt::Display for WrongOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for WrongOption {}
