//! The batcher: one connection to one primary. While Redis is near, one call is in flight, and the next one takes the checks that were queued
//! meanwhile, by turns of the tenants and up to its size. While Redis is distant, some calls are in flight, so that a check
//! waits for about one round trip and not for two (`pace`).
//!
//! The batcher enforces the deadlines of all checks, in flight and queued, so that no caller needs a timer. A check that
//! possibly ran is never sent again.
//!
//! The batcher is also the circuit breaker. Closed: checks are sent. Open: checks fail at once with `Away` while this task
//! probes (half-open) until a fresh connection answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redis::Value;
use smallvec::{SmallVec, smallvec};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connector::{Connected, Connector};
use super::in_flight::{
    Event, InFlight, PendingReplies, Round, encoded, reply_other_period, took_its_cost,
};
use super::pending::{Batching, Calls, PendingCheck, Reply, calls_by_bucket};
use super::program::{Request, is_unknown};
use super::queue::FairQueue;
use super::redirect::Redirect;
use super::refusals::Refusals;
use super::script_reply::{self, ScriptReply};
use super::settings::LimiterSettings;
use super::status::Status;
use super::timeouts::Timeouts;
use crate::client::Client;
use crate::error::RedisError;

/// The task that calls Redis.
#[derive(Debug)]
pub(super) struct Batcher {
    settings: LimiterSettings,
    queue: Arc<FairQueue>,
    status: Arc<Status>,
    connector: Connector,
    refusals: Refusals,
    timeouts: Timeouts,
    was_up: bool,
}

/// The end of a call.
enum CallEnd {
    /// The checks have their replies. `as_estimated` means that Redis did the work that was estimated.
    Decided { as_estimated: bool },
    /// These checks are sent again, because the call held periods of another time.
    Repeated(Vec<PendingCheck>),
}

/// Time without a check after which Redis is probed.
const IDLE: Duration = Duration::from_millis(500);

impl Batcher {
    pub(super) fn new(
        client: Client,
        settings: LimiterSettings,
        queue: Arc<FairQueue>,
        status: Arc<Status>,
    ) -> Self {
        let connector = Connector::new(client, settings.clone(), Arc::clone(&status));
        let refusals = Refusals::default();
        let timeouts = Timeouts::default();
        Self { settings, queue, status, connector, refusals, timeouts, was_up: false }
    }

    /// Works until `stop`, or until the queue is closed.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        stop.run_until_cancelled(self.work()).await;
        self.queue.close();
        self.status.set_up(false);
    }

    async fn work(&mut self) {
        let queue = Arc::clone(&self.queue);
        loop {
            let (mut connected, probed) = tokio::select! {
                connected = self.connector.connect() => connected,
                // A queue that refuses checks receives none, so it was closed.
                _ = queue.arrival() => return,
            };
            self.timeouts.answered();
            queue.accept();
            let served = match self.probed(probed) {
                Ok(()) => self.serve_until_moved(&mut connected).await,
                Err(error) => Err(error),
            };
            let Err(error) = served else { return };
            queue.refuse();
            self.status.set_up(false);
            let node = self.connector.client().node().map(tracing::field::display);
            tracing::warn!(
                node,
                reason = error.label(),
                cause = error.cause(),
                "lost the connection to Redis"
            );
        }
    }

    /// Serves the queue until it is closed, or until the Sentinels name another primary.
    async fn serve_until_moved(&mut self, connected: &mut Connected) -> Result<(), RedisError> {
        let (client, server) = (self.connector.client().clone(), connected.server.clone());
        // A call in flight is awaited, so that its checks have their answers.
        let moved = AtomicBool::new(false);
        let compare = async {
            client.moved(&server).await;
            moved.store(true, Ordering::Relaxed);
            std::future::pending().await
        };
        tokio::select! {
            served = self.serve(connected, &moved) => served,
            never = compare => never,
        }
    }

    /// Serves the queue until it is closed. An error means that the connection can no longer be used.
    async fn serve(
        &mut self,
        connected: &mut Connected,
        moved: &AtomicBool,
    ) -> Result<(), RedisError> {
        let mut in_flight = InFlight::default();
        let served = self.serve_calls(connected, moved, &mut in_flight).await;
        if let Err(error) = &served {
            self.queue.refuse();
            in_flight.fail(error);
        }
        served
    }

    async fn serve_calls(
        &mut self,
        connected: &mut Connected,
        moved: &AtomicBool,
        in_flight: &mut InFlight,
    ) -> Result<(), RedisError> {
        let queue = Arc::clone(&self.queue);
        loop {
            if in_flight.is_empty() {
                if !self.wait_for_checks(connected, moved).await? {
                    return Ok(());
                }
                if moved.load(Ordering::Relaxed) {
                    return Err(RedisError::NotPrimary);
                }
                self.send_next(connected, in_flight);
                continue;
            }
            let send_at = if moved.load(Ordering::Relaxed) {
                None
            } else {
                connected.pace.send_at(in_flight.rounds(), in_flight.last_sent())
            };
            match in_flight.next(&queue, send_at).await {
                Event::Sendable => self.send_next(connected, in_flight),
                Event::Answered(round, results) => {
                    self.answer(connected, in_flight, round, results)?;
                }
            }
        }
    }

    /// Sends the next round, if there are checks for it: one call, or in a cluster one call for each bucket.
    fn send_next(&mut self, connected: &Connected, in_flight: &mut InFlight) {
        let drained = self.queue.drain(connected.pace.cost_max(), Instant::now());
        for mut late in drained.expired {
            late.reply(Err(RedisError::Timeout));
        }
        if drained.batch.is_empty() {
            return;
        }
        let calls = if self.connector.client().node().is_none() {
            smallvec![drained.batch]
        } else {
            calls_by_bucket(drained.batch)
        };
        self.send(connected, in_flight, calls, false);
    }

    fn send(
        &self,
        connected: &Connected,
        in_flight: &mut InFlight,
        calls: Calls,
        with_program: bool,
    ) {
        let mut connection = connected.connection.clone();
        let mut request = Request::new(with_program);
        for batch in &calls {
            let asking = batch.iter().any(|pending| pending.batching == Batching::AloneAfterAsking);
            request.add(&encoded(batch), self.settings.clock_and_grace(), asking);
        }
        let replies: PendingReplies =
            Box::pin(async move { request.query_async(&mut connection).await });
        in_flight.add(calls, replies, with_program);
    }

    /// Waits for checks. Returns false if the queue was closed. A connection that broke while it was idle costs no check.
    async fn wait_for_checks(
        &mut self,
        connected: &mut Connected,
        moved: &AtomicBool,
    ) -> Result<bool, RedisError> {
        let queue = Arc::clone(&self.queue);
        loop {
            if let Ok(open) = tokio::time::timeout(IDLE, queue.arrival()).await {
                return Ok(open);
            }
            tokio::select! {
                open = queue.arrival() => return Ok(open),
                probed = self.connector.probe(connected) => self.probed(probed)?,
            }
            if moved.load(Ordering::Relaxed) {
                return Err(RedisError::NotPrimary);
            }
        }
    }

    /// Replies to the checks of a round. An error means that the connection can no longer be used.
    fn answer(
        &mut self,
        connected: &mut Connected,
        in_flight: &mut InFlight,
        round: Round,
        results: SmallVec<[Result<Value, RedisError>; 1]>,
    ) -> Result<(), RedisError> {
        let Round { sent, alone, with_program, .. } = round;
        let (cost, answered) = (round.cost(), Instant::now());
        let (mut unknown, mut repeated) = (Calls::new(), Calls::new());
        let mut as_estimated = !with_program;
        // All calls are answered before the connection is given up.
        let mut outcome = Ok(());
        let mut results = results.into_iter();
        for batch in round.calls {
            let result = results.next().unwrap_or(Err(RedisError::BadReply("too few answers")));
            if !with_program && result.as_ref().is_err_and(is_unknown) {
                unknown.push(batch);
                continue;
            }
            match self.answer_call(batch, (sent, answered), result) {
                Ok(CallEnd::Decided { as_estimated: call }) => as_estimated &= call,
                Ok(CallEnd::Repeated(checks)) => repeated.push(checks),
                Err(error) => outcome = Err(error),
            }
        }
        outcome?;
        if as_estimated && unknown.is_empty() && repeated.is_empty() {
            connected.pace.measured(cost, sent, answered, alone);
        }
        if !unknown.is_empty() {
            // Redis ran nothing of a program that it does not have, so the calls are sent again.
            self.status.count_script_load();
            self.send(connected, in_flight, unknown, true);
        }
        repeated.retain(|checks| !checks.is_empty());
        if !repeated.is_empty() {
            self.send(connected, in_flight, repeated, false);
        }
        Ok(())
    }

    /// Replies to the checks of one call. An error means that the connection can no longer be used.
    fn answer_call(
        &mut self,
        batch: Vec<PendingCheck>,
        (sent, answered): (Instant, Instant),
        result: Result<Value, RedisError>,
    ) -> Result<CallEnd, RedisError> {
        let took = answered.saturating_duration_since(sent);
        self.status.count_call(took);
        self.trace(&batch, took, result.as_ref().err());
        match result.and_then(|value| script_reply::read(&encoded(&batch), value)) {
            Ok(ScriptReply::Answers(all)) => {
                self.answered();
                let as_estimated = took_its_cost(&all);
                for (mut pending, answers) in batch.into_iter().zip(all) {
                    pending.reply(Ok(Reply::Answers(answers)));
                }
                Ok(CallEnd::Decided { as_estimated })
            }
            Ok(ScriptReply::OtherPeriod(now)) => {
                self.answered();
                // The script compared periods before it read or wrote anything, so the other checks can be sent again.
                Ok(CallEnd::Repeated(reply_other_period(batch, now)))
            }
            Err(error) => {
                self.failed(error, batch, sent).map(|()| CallEnd::Decided { as_estimated: false })
            }
        }
    }

    /// Adds the span of a call that served traced checks.
    fn trace(&self, batch: &[PendingCheck], took: Duration, error: Option<&RedisError>) {
        let Some(traces) = &self.settings.traces else { return };
        let served = batch.iter().filter_map(|pending| pending.span.as_deref());
        let checks = batch.iter().map(|pending| pending.checks).sum();
        traces.script_called(served, took, checks, error.map(RedisError::label));
    }

    /// Notes that Redis decided something.
    fn answered(&mut self) {
        self.timeouts.answered();
        self.refusals.answered();
        if !self.status.set_up(true) {
            if self.was_up {
                let node = self.connector.client().node().map(tracing::field::display);
                tracing::warn!(node, "Redis is reachable again");
            }
            self.was_up = true;
        }
    }

    /// Notes the result of a probe. An error means that the connection can no longer be used.
    fn probed(&mut self, probed: Result<(), RedisError>) -> Result<(), RedisError> {
        match probed {
            Ok(()) => self.answered(),
            Err(error @ RedisError::Refused(_)) if !error.wants_reconnection() => {
                self.refused(&error);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Replies with the error, and repeats nothing. An error means that the connection can no longer be used.
    fn failed(
        &mut self,
        error: RedisError,
        batch: Vec<PendingCheck>,
        sent: Instant,
    ) -> Result<(), RedisError> {
        let stalled = if matches!(error, RedisError::Timeout) {
            self.timeouts.timed_out(sent, Instant::now())
        } else {
            self.timeouts.answered();
            false
        };
        let down = error.wants_reconnection() || stalled;
        if down {
            // Set before callers receive the error, so that their next checks fail at once, like those in the queue.
            self.status.set_up(false);
            self.queue.refuse();
        }
        for mut pending in batch {
            pending.reply(Err(error.clone()));
        }
        if down {
            return Err(error);
        }
        let redirected = self.connector.client().node().is_some() && Redirect::is(&error);
        if matches!(error, RedisError::Refused(_) | RedisError::BadReply(_)) && !redirected {
            self.refused(&error);
        }
        Ok(())
    }

    /// Notes that Redis refused something or that its reply was unreadable. The connection remains in use.
    fn refused(&mut self, error: &RedisError) {
        if self.refusals.refused(error, Instant::now()) && self.status.set_up(false) {
            let node = self.connector.client().node().map(tracing::field::display);
            tracing::warn!(node, reason = error.label(), "Redis rejects all commands");
        }
    }
}
