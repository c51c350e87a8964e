//! The calls of a client.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::answer::{Answer, read_answer, read_batch};
use crate::batcher::{BATCH_MAX, Batcher};
use crate::cache::DenialCache;
use crate::error::{Error, Kind};
use crate::options::{Options, WrongOption};
use crate::request::CheckRequest;
use crate::transport::Transport;

/// A client of Weir's gates. Holds no limits: every decision is a gate's, or that of [`crate::OnError`]. Clones share connections and
/// cached denials.
#[derive(Debug, Clone)]
pub struct Weir {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) transport: Arc<Transport>,
    pub(crate) cache: DenialCache,
    batcher: Batcher,
}

#[derive(Serialize)]
struct Batch<'a> {
    checks: &'a [CheckRequest],
}

#[derive(Clone, Copy)]
enum Report {
    Record,
    Refund,
}

impl Weir {
    /// A client, or the option that is wrong.
    pub fn new(options: Options) -> Result<Self, WrongOption> {
        let options = options.checked()?;
        let transport = Arc::new(Transport::new(&options)?);
        let cache = DenialCache::new(options.cache_size);
        let batcher = Batcher::new(options.clone(), Arc::clone(&transport));
        Ok(Self { shared: Arc::new(Shared { options, transport, cache, batcher }) })
    }

    /// Asks whether an action is allowed, and takes its cost if it is. A denial is an answer, not an error.
    ///
    /// If no gate decides, [`crate::OnError`] does and the answer's `degraded` is [`crate::Degraded::Client`]. The only error is of the
    /// kind [`Kind::Refused`]: the request itself is wrong. Checks that begin during others travel together.
    pub async fn check(&self, request: &CheckRequest) -> Result<Answer, Error> {
        let Shared { options, cache, batcher, .. } = &*self.shared;
        let generation = cache.generation();
        let key = request.cache_key();
        if let Some(answer) = key.as_ref().and_then(|key| cache.get(key, (options.now)())) {
            return Ok(answer);
        }
        let mut sent = request.clone();
        if options.retry {
            sent = sent.with_retry_key();
        }
        let repeatable = sent.peek || sent.idempotency_key.is_some();
        let json = serde_json::to_vec(&sent).expect("maps of texts are JSON");
        match batcher.ask(json, repeatable).await {
            Ok((answer, sent_at)) => {
                if let Some(key) = key {
                    cache.insert(key, &answer, sent_at, generation);
                }
                Ok(answer)
            }
            Err(error) => self.degraded(error, request),
        }
    }

    /// The answer of a check that takes nothing.
    pub async fn peek(&self, request: &CheckRequest) -> Result<Answer, Error> {
        self.check(&request.clone().peek()).await
    }

    /// Takes units that were used already, even if fewer are left. Fails if no gate confirms it. `charged` of the answer is the number of
    /// units that each matching limit took. It is 0 while Redis is away, and `buffered` says whether the gate charges them later.
    pub async fn record(&self, request: &CheckRequest) -> Result<Answer, Error> {
        self.report(Report::Record, request).await
    }

    /// Returns units to every matching limit. Fails if no gate confirms it. With the charge of the answer to the check, units return only
    /// where they were taken: not to a window that began later.
    pub async fn refund(&self, request: &CheckRequest) -> Result<Answer, Error> {
        let outcome = self.report(Report::Refund, request).await;
        // Any cached denial may have ended, because rules count by some of the attributes only.
        self.shared.cache.clear();
        outcome
    }

    /// Up to 100 independent checks in one request, decided in order. If no gate decides, [`crate::OnError`] answers each.
    pub async fn batch(&self, requests: &[CheckRequest]) -> Result<Vec<Answer>, Error> {
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        if requests.len() > BATCH_MAX {
            return Err(Error::new(Kind::Refused, format!("requests: at most {BATCH_MAX}")));
        }
        match self.decide_batch(requests).await {
            Ok(answers) => Ok(answers),
            Err(error) => {
                requests.iter().map(|request| self.degraded(error.clone(), request)).collect()
            }
        }
    }

    /// Checks until the action is allowed, and waits as the answers say, after a denial up to `retry_spread` longer. Returns the denial if
    /// the action cannot be allowed before `longest`. The delay of a leaky bucket is waited for in full, because its units are already taken.
    pub async fn wait(&self, request: &CheckRequest, longest: Duration) -> Result<Answer, Error> {
        let Options { now, sleep, .. } = &self.shared.options;
        let begun = now();
        loop {
            let answer = self.check(request).await?;
            let ms = if answer.allowed { Some(answer.delay_ms) } else { answer.retry_after_ms };
            let Some(pause) = ms.map(Duration::from_millis) else { return Ok(answer) };
            let left = longest.checked_sub(now() - begun + pause);
            let spread = match left {
                _ if answer.allowed => Duration::ZERO,
                Some(left) => self.spread(pause).min(left),
                None => return Ok(answer),
            };
            if !pause.is_zero() {
                sleep(pause + spread).await;
            }
            if answer.allowed {
                return Ok(answer);
            }
        }
    }

    /// A random time after a promise, so that those who were denied together do not return together.
    fn spread(&self, promise: Duration) -> Duration {
        let Options { retry_spread, random, .. } = &self.shared.options;
        let spread = promise.min(*retry_spread).mul_f64(random().clamp(0.0, 1.0));
        Duration::from_millis(u64::try_from(spread.as_millis()).unwrap_or(u64::MAX))
    }

    async fn report(&self, report: Report, request: &CheckRequest) -> Result<Answer, Error> {
        let Shared { options, transport, .. } = &*self.shared;
        let mut request = request.clone();
        // Only a check can be a peek.
        request.peek = false;
        if options.retry {
            request = request.with_retry_key();
        }
        let reply = transport.post(report.path(), &request, options.retry).await?;
        let (answer, status) = (read_answer(&reply)?, reply.status);
        if report.fits(status, &answer) { Ok(answer) } else { Err(Error::does_not_fit(status)) }
    }

    async fn decide_batch(&self, requests: &[CheckRequest]) -> Result<Vec<Answer>, Error> {
        let Shared { options, transport, .. } = &*self.shared;
        let mut keyed = requests.to_vec();
        if options.retry {
            keyed = keyed.into_iter().map(CheckRequest::with_retry_key).collect();
        }
        let reply =
            transport.post("/check/batch", &Batch { checks: &keyed }, options.retry).await?;
        if reply.status != 200 {
            return Err(Error::does_not_fit(reply.status));
        }
        read_batch(&reply, requests.len())
    }

    /// The answer of `OnError`, or the error of a wrong request.
    pub(crate) fn degraded(&self, error: Error, request: &CheckRequest) -> Result<Answer, Error> {
        if error.kind == Kind::Refused {
            return Err(error);
        }
        let options = &self.shared.options;
        (options.on_degraded)(&error);
        let choice = options.on_error.choice(&error, request);
        Ok(Answer::of_client(choice, error))
    }
}

impl Report {
    fn path(self) -> &'static str {
        match self {
            Self::Record => "/record",
            Self::Refund => "/refund",
        }
    }

    /// Whether the answer can have this status.
    fn fits(self, status: u16, answer: &Answer) -> bool {
        match self {
            _ if status == 429 => !answer.allowed,
            // A record names the units that it took.
            Self::Record => answer.charged.is_some(),
            // A report is no admission, so it is 200 either way.
            Self::Refund => true,
        }
    }
}
