//! A link to the gates of a region: from another gate to the home, or from a control plane to each region.
//!
//! While a call is on its way, further checks wait, and the next call carries all of them. Several calls are in flight, because
//! the way is long. A gate of the home that does not answer rests; while all rest, checks fail at once.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::Client;
use reqwest::header::CONTENT_TYPE;
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use weir_domain::time::Clock;
use weir_redis::error::RedisError;

use crate::answer::AnswerMessage;
use crate::bits::Bits;
use crate::message::{CALL_BYTES_MAX, CHECKS_PER_CALL_MAX, Call, CallAnswer, Work};
use crate::{PATH, RegionKeys, SIGNATURE_HEADER};

/// The link of one process to a region. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Link {
    queue: mpsc::Sender<QueuedWork>,
    shared: Arc<Shared>,
}

/// The settings of a link.
#[derive(Clone)]
pub struct LinkSettings {
    /// The longest wait for the region.
    pub budget: Duration,
    /// The keys of calls.
    pub keys: RegionKeys,
    /// The clock of this process.
    pub clock: Clock,
    /// Fills a slice with random bytes.
    pub random: fn(&mut [u8]),
}

#[derive(Debug)]
struct Shared {
    settings: LinkSettings,
    client: Client,
    gates: Mutex<Vec<Gate>>,
    /// Wakes the task that asks the gates whether they answer.
    changed: Notify,
    /// A random number of this run.
    sender: u64,
    /// The number of calls so far.
    calls: AtomicU64,
}

/// A gate of the region.
#[derive(Debug, Clone)]
struct Gate {
    address: String,
    /// Its present run. `None` while it does not answer.
    run: Option<Bits>,
    /// Whether it did not answer the last time.
    failed: bool,
}

/// Work that waits for a call.
#[derive(Debug)]
struct QueuedWork {
    work: Work,
    deadline: Instant,
    reply: oneshot::Sender<Result<Vec<AnswerMessage>, RedisError>>,
}

/// Work beyond these fails at once.
const QUEUE_MAX: usize = 10_000;
const CALLS_IN_FLIGHT: usize = 16;
/// The interval of the calls that ask each gate of the home whether it answers.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// A gate that does not answer such a call in this time rests, so a cut is noticed within two seconds.
const ASK_DEADLINE: Duration = Duration::from_secs(1);

impl Link {
    /// A link without gates, and the task that sends its calls until `stop`.
    pub fn new(
        settings: LinkSettings,
        stop: CancellationToken,
    ) -> Result<(Self, impl Future<Output = ()> + Send + 'static), reqwest::Error> {
        let client = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(ASK_DEADLINE)
            .http2_prior_knowledge()
            // A connection whose other end is gone is noticed and replaced.
            .http2_keep_alive_interval(ASK_EVERY)
            .http2_keep_alive_timeout(ASK_DEADLINE)
            .http2_keep_alive_while_idle(true)
            .build()?;
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let mut sender = [0; 8];
        (settings.random)(&mut sender);
        let sender = u64::from_be_bytes(sender);
        let (gates, changed, calls) = (Mutex::default(), Notify::new(), AtomicU64::new(0));
        let shared = Arc::new(Shared { settings, client, gates, changed, sender, calls });
        let link = Self { queue, shared: Arc::clone(&shared) };
        let task = async move {
            let asking = shared.clone().ask_for_ever();
            let sending = shared.send_all(waiting);
            stop.run_until_cancelled(async { tokio::join!(asking, sending) }).await;
        };
        Ok((link, task))
    }

    /// Sets the addresses of the region's gates. New ones are asked at once.
    pub fn set_gates(&self, addresses: &[String]) {
        let mut gates = self.shared.gates();
        if gates.iter().map(|gate| &gate.address).eq(addresses) {
            return;
        }
        let known = std::mem::take(&mut *gates);
        let gate = |address: &String| {
            let known = known.iter().find(|gate| gate.address == *address).cloned();
            known.unwrap_or_else(|| Gate { address: address.clone(), run: None, failed: false })
        };
        gates.extend(addresses.iter().map(gate));
        self.shared.changed.notify_one();
    }

    /// Whether the region has gates, of which none answers.
    pub fn is_away(&self) -> bool {
        let gates = self.shared.gates();
        !gates.is_empty() && gates.iter().all(|gate| gate.run.is_none())
    }

    /// Whether a gate of the region answers.
    pub fn up(&self) -> bool {
        self.shared.gates().iter().any(|gate| gate.run.is_some())
    }

    /// Lets the region do work. Never waits longer than the budget, or `wait_max` if that is shorter.
    pub async fn ask(
        &self,
        work: Work,
        wait_max: Option<Duration>,
    ) -> Result<Vec<AnswerMessage>, RedisError> {
        if !self.up() {
            return Err(RedisError::Away);
        }
        let budget = self.shared.settings.budget;
        let deadline = Instant::now() + wait_max.map_or(budget, |wait_max| wait_max.min(budget));
        let (reply, answer) = oneshot::channel();
        let waiting = QueuedWork { work, deadline, reply };
        self.queue.try_send(waiting).map_err(|_| RedisError::Overloaded)?;
        match tokio::time::timeout_at(deadline, answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(RedisError::Away),
            Err(_) => Err(RedisError::Timeout),
        }
    }
}

impl Shared {
    fn gates(&self) -> MutexGuard<'_, Vec<Gate>> {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks each gate again and again whether it answers, and for its present run.
    async fn ask_for_ever(self: Arc<Self>) {
        loop {
            let addresses: Vec<_> = self.gates().iter().map(|gate| gate.address.clone()).collect();
            let mut asked = tokio::task::JoinSet::new();
            for address in addresses {
                let shared = Arc::clone(&self);
                asked.spawn(async move {
                    let asking = shared.send(&address, None, &[]);
                    let answer = tokio::time::timeout(ASK_DEADLINE, asking).await;
                    let found = match answer {
                        Ok(Ok(Some(answer))) => Ok(answer.from),
                        Ok(Ok(None)) => Err("its answer is none of a gate".to_owned()),
                        Ok(Err(error)) => Err(error.to_string()),
                        Err(_) => Err("no answer within a second".to_owned()),
                    };
                    shared.note(&address, found);
                });
            }
            asked.join_all().await;
            let _ = tokio::time::timeout(ASK_EVERY, self.changed.notified()).await;
        }
    }

    /// Notes the run of a gate, or the reason why it does not answer. The log names the first reason of several.
    fn note(&self, address: &str, found: Result<Bits, String>) {
        let mut gates = self.gates();
        let Some(gate) = gates.iter_mut().find(|gate| gate.address == address) else { return };
        match &found {
            Ok(_) if gate.run.is_none() => {
                tracing::info!(address, "a gate of another region answers");
            }
            Err(reason) if gate.run.is_some() || !gate.failed => {
                tracing::warn!(address, reason, "a gate of another region does not answer");
            }
            _ => {}
        }
        gate.failed = found.is_err();
        gate.run = found.ok();
    }

    /// Sends what waits, in calls.
    async fn send_all(self: Arc<Self>, mut waiting: mpsc::Receiver<QueuedWork>) {
        let in_flight = Arc::new(Semaphore::new(CALLS_IN_FLIGHT));
        let mut turn = 0_usize;
        let mut left = None;
        loop {
            let Ok(permit) = Arc::clone(&in_flight).acquire_owned().await else { return };
            let first = match left.take() {
                Some(first) => first,
                None => match waiting.recv().await {
                    Some(first) => first,
                    None => return,
                },
            };
            let mut checks = first.work.len();
            let mut group = vec![first];
            while let Ok(next) = waiting.try_recv() {
                checks += next.work.len();
                if checks > CHECKS_PER_CALL_MAX {
                    left = Some(next);
                    break;
                }
                group.push(next);
            }
            turn = turn.wrapping_add(1);
            let shared = Arc::clone(&self);
            tokio::spawn(async move {
                shared.call(group, turn).await;
                drop(permit);
            });
        }
    }

    /// Sends one call to a gate of the home, and gives the answers to those who wait.
    async fn call(&self, mut group: Vec<QueuedWork>, turn: usize) {
        group.retain(|waiting| waiting.deadline > Instant::now() && !waiting.reply.is_closed());
        let Some(deadline) = group.iter().map(|waiting| waiting.deadline).max() else { return };
        let gates: Vec<_> =
            self.gates().iter().filter(|gate| gate.run.is_some()).cloned().collect();
        let (work, replies): (Vec<_>, Vec<_>) =
            group.into_iter().map(|waiting| (waiting.work, waiting.reply)).unzip();
        let mut failure = RedisError::Away;
        for at in 0..gates.len() {
            let gate = &gates[(turn + at) % gates.len()];
            let sending = self.send(&gate.address, gate.run, &work);
            match tokio::time::timeout_at(deadline, sending).await {
                Ok(Ok(Some(answer))) if answer.done && answer.answers.len() == work.len() => {
                    let each = work.iter().zip(replies).zip(answer.answers);
                    for ((work, reply), answers) in each {
                        let fits = answers.len() == work.len();
                        let bad = RedisError::BadReply("a call's answer of another length");
                        drop(reply.send(if fits { Ok(answers) } else { Err(bad) }));
                    }
                    return;
                }
                // It did nothing: it was restarted, or its region is not the home.
                Ok(Ok(Some(answer))) if !answer.done => self.note(&gate.address, Ok(answer.from)),
                Ok(Err(error)) if error.is_connect() => {
                    self.note(&gate.address, Err(error.to_string()));
                }
                Ok(Err(error)) if error.is_status() => {}
                Ok(_) | Err(_) => {
                    failure = RedisError::Timeout;
                    break;
                }
            }
        }
        for reply in replies {
            drop(reply.send(Err(failure.clone())));
        }
    }

    /// Makes a call. `None`: the answer is none of a gate.
    async fn send(
        &self,
        address: &str,
        to: Option<Bits>,
        work: &[Work],
    ) -> Result<Option<CallAnswer>, reqwest::Error> {
        let count = self.calls.fetch_add(1, Ordering::Relaxed);
        let number = Bits(u128::from(self.sender) << 64 | u128::from(count));
        let time_ms = self.settings.clock.now().as_millis();
        let call = Call { to, time_ms, number, work: work.into() };
        let body = serde_json::to_vec(&call).expect("a call is JSON");
        debug_assert!(body.len() <= CALL_BYTES_MAX, "checks and their number have bounds");
        let request = self
            .client
            .post(format!("{address}{PATH}"))
            .header(CONTENT_TYPE, "application/json")
            .header(SIGNATURE_HEADER, self.settings.keys.sign(&body))
            .body(body);
        let mut answer = request.send().await?.error_for_status()?;
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > CALL_BYTES_MAX {
                return Ok(None);
            }
        }
        Ok(serde_json::from_slice(&bytes).ok())
    }
}

impl fmt::Debug for LinkSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LinkSettings({:?})", self.budget)
    }
}
