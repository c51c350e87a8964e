//! Concurrent checks travel together: what arrives while calls are in flight waits, and the next call carries it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::{Instant as Deadline, timeout_at};

use crate::answer::{Answer, read_answer, read_batch_entries};
use crate::error::{Error, Kind};
use crate::options::Options;
use crate::transport::{Call, Reply, Transport};

pub(crate) const BATCH_MAX: usize = 100;
/// A gate reads 64 KiB; this leaves room for what is around the checks.
const LENGTH_MAX: usize = (64 << 10) - 16;

/// Sends a check at once while fewer than `max_in_flight` calls are in flight. Otherwise it waits in order.
#[derive(Clone)]
pub(crate) struct Batcher {
    shared: Arc<Shared>,
}

struct Shared {
    options: Options,
    transport: Arc<Transport>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Pending>,
    /// Calls with checks that are undecided.
    in_flight: usize,
    /// All calls: an abandoned one continues, so that a late answer does not cost its connection.
    live: usize,
}

/// An answer, and the time before the request was sent.
type Decided = (Answer, Instant);

/// A check that waits or is in flight.
struct Pending {
    json: Vec<u8>,
    repeatable: bool,
    deadline: Deadline,
    /// Of the caller's span.
    traceparent: Option<String>,
    /// Whether a batch with this check was refused because of it.
    alone: bool,
    reply: oneshot::Sender<Result<Decided, Error>>,
}

impl std::fmt::Debug for Batcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Batcher")
    }
}

impl Batcher {
    pub fn new(options: Options, transport: Arc<Transport>) -> Self {
        Self { shared: Arc::new(Shared { options, transport, state: Mutex::default() }) }
    }

    /// The decision of a check of this JSON. A caller that gives up ends neither the call nor the checks beside its own.
    pub async fn ask(&self, json: Vec<u8>, repeatable: bool) -> Result<Decided, Error> {
        let deadline = Deadline::now() + self.shared.options.timeout;
        let (reply, decided) = oneshot::channel();
        let traceparent = (self.shared.options.traceparent)();
        self.enqueue(Pending { json, repeatable, deadline, traceparent, alone: false, reply })?;
        timeout_at(deadline, decided)
            .await
            .unwrap_or_else(|_| Ok(Err(Error::late())))
            .unwrap_or_else(|_| Err(Error::new(Kind::Connection, "the runtime shut down")))
    }

    fn enqueue(&self, check: Pending) -> Result<(), Error> {
        let Options { max_waiting, .. } = self.shared.options;
        let mut state = self.lock();
        if !self.can_send(&state) && state.queue.len() >= max_waiting {
            state.queue.retain(|check| !check.reply.is_closed());
            if state.queue.len() >= max_waiting {
                let message = format!("{max_waiting} checks wait already");
                return Err(Error::new(Kind::Overload, message));
            }
        }
        state.queue.push_back(check);
        self.send_next(&mut state);
        Ok(())
    }

    fn can_send(&self, state: &State) -> bool {
        let most = self.shared.options.max_in_flight;
        state.in_flight < most && state.live < 2 * most
    }

    fn send_next(&self, state: &mut State) {
        while self.can_send(state) {
            let checks = take(&mut state.queue);
            if checks.is_empty() {
                return;
            }
            state.in_flight += 1;
            state.live += 1;
            tokio::spawn(self.clone().call(checks));
        }
    }

    async fn call(self, mut checks: Vec<Pending>) {
        let sent_at = (self.shared.options.now)();
        let transport = Arc::clone(&self.shared.transport);
        let latest = checks.iter().map(|check| check.deadline).max();
        let left = latest.map_or(Duration::ZERO, |latest| latest - Deadline::now());
        let single = checks.len() == 1;
        let mut call = Call::post(
            if single { "/check" } else { "/check/batch" },
            checks.iter().all(|check| check.repeatable),
        );
        // A call has one parent; a batch is a part of the trace of its first check.
        call.traceparent = checks.first().and_then(|check| check.traceparent.clone());
        // No check is in time any longer by then.
        call.timeout = Some(left + self.shared.options.timeout);
        let mut exchange = pin!(transport.send_json(call, body(&checks)));
        let mut abandoned = false;
        let reply = poll_fn(|context| {
            if let Poll::Ready(reply) = exchange.as_mut().poll(context) {
                return Poll::Ready(reply);
            }
            let mut all = checks.iter_mut();
            if !abandoned && all.all(|check| check.reply.poll_closed(context).is_ready()) {
                abandoned = true;
                let mut state = self.lock();
                state.in_flight -= 1;
                self.send_next(&mut state);
            }
            Poll::Pending
        })
        .await;
        let outcomes = outcomes(reply, checks.len());
        let mut late = Vec::new();
        {
            let mut state = self.lock();
            state.live -= 1;
            state.in_flight -= usize::from(!abandoned);
            match outcomes {
                Err(error) if !single && error.kind == Kind::Refused => {
                    send_again(&mut state.queue, checks, &error);
                }
                outcomes => late = settle(checks, outcomes, sent_at),
            }
            self.send_next(&mut state);
        }
        for lease in late {
            // Nobody else can end it. One that is not released ends by itself.
            let _ = transport.post("/release", &json!({ "lease": lease }), true).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The oldest checks that wait, as many as one call can carry.
fn take(queue: &mut VecDeque<Pending>) -> Vec<Pending> {
    let mut taken: Vec<Pending> = Vec::new();
    let mut length = 0;
    while let Some(check) = queue.pop_front() {
        if check.reply.is_closed() {
            continue;
        }
        length += check.json.len() + 1;
        // The checks of a refused batch are sent again, so those that can be repeated travel apart.
        let fits = taken.first().is_none_or(|first| {
            let small = taken.len() < BATCH_MAX && length <= LENGTH_MAX;
            small && !first.alone && !check.alone && first.repeatable == check.repeatable
        });
        if !fits {
            queue.push_front(check);
            break;
        }
        taken.push(check);
    }
    taken
}

/// The JSON of a call.
fn body(checks: &[Pending]) -> Vec<u8> {
    if let [check] = checks {
        return check.json.clone();
    }
    let each: Vec<&[u8]> = checks.iter().map(|check| check.json.as_slice()).collect();
    [b"{\"checks\":[".as_slice(), &each.join(&b','), b"]}"].concat()
}

/// The outcome of each check. An entry of a batch that is no answer fails its own check alone.
fn outcomes(
    reply: Result<Reply, Error>,
    count: usize,
) -> Result<Vec<Result<Answer, Error>>, Error> {
    let reply = reply?;
    let status = reply.status;
    if status != 200 && status != 429 {
        return Err(Error::problem(status, &reply.content));
    }
    if count == 1 {
        let answer = read_answer(&reply)?;
        let wanted = if answer.allowed { 200 } else { 429 };
        return if status == wanted {
            Ok(vec![Ok(answer)])
        } else {
            Err(Error::does_not_fit(status))
        };
    }
    if status != 200 {
        return Err(Error::does_not_fit(status));
    }
    read_batch_entries(&reply, count)
}

/// Replies to each check. Returns the leases of checks that were given up.
fn settle(
    checks: Vec<Pending>,
    outcomes: Result<Vec<Result<Answer, Error>>, Error>,
    sent_at: Instant,
) -> Vec<String> {
    let outcomes = outcomes.unwrap_or_else(|error| vec![Err(error); checks.len()]);
    let mut late = Vec::new();
    for (check, outcome) in checks.into_iter().zip(outcomes) {
        let decided = outcome.map(|answer| (answer, sent_at));
        if let Err(Ok((answer, _))) = check.reply.send(decided) {
            late.extend(answer.leases.into_iter().map(|lease| lease.id));
        }
    }
    late
}

/// Puts the checks of a refused batch back, the wrong ones alone.
fn send_again(queue: &mut VecDeque<Pending>, checks: Vec<Pending>, error: &Error) {
    let wrong: Vec<usize> = error.fields.iter().filter_map(|one| position(&one.field)).collect();
    let named = wrong.iter().any(|at| *at < checks.len());
    for (at, mut check) in checks.into_iter().enumerate().rev() {
        check.alone = !named || wrong.contains(&at);
        queue.push_front(check);
    }
}

/// The position in `checks[3].cost`.
fn position(field: &str) -> Option<usize> {
    field.strip_prefix("checks[")?.split_once(']')?.0.parse().ok()
}
