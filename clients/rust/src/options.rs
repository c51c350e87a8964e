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
pub(crate) type OnDegraded = Arc<dyn Fn(&Error) + Send + Sync>;
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
    pub(crate) on_degraded: OnDegraded,
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
            on_degraded: Arc::new(|_| {}),
            now: Arc::new(Instant::now),
            sleep: Arc::new(|pause| Box::pin(tokio::time::sleep(pause))),
        }
    }

    /// The time for one call with its repeat, at most a minute; 100 ms if not given.
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

    /// Called for every decision that was left to [`OnError`]: count it, so that an open gate is noticed.
    #[must_use]
    pub fn on_degraded(mut self, on_degraded: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.on_degraded = Arc::new(on_degraded);
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
        self.url.truncate(self.url.trim_end_matches('/').len());
        Ok(self)
    }
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
