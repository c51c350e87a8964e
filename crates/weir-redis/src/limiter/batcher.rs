//! The batcher: one connection with one call in flight. The next call takes the checks that were queued meanwhile, by turns
//! of the tenants and up to its size.
//!
//! The batcher enforces the deadlines of all checks, in flight and queued, so that no caller needs a timer. A check that
//! possibly ran is never sent again.
//!
//! The batcher is also the circuit breaker. Closed: checks are sent. Open: checks fail at once with `Away` while this task
//! probes (half-open) until a fresh connection answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connector::{Connected, Connector};
use super::in_flight::{encoded, reply_in_time, reply_other_period};
use super::pending::{PendingCheck, Reply};
use super::program::is_unknown;
use super::queue::FairQueue;
use super::refusals::Refusals;
use super::script;
use super::settings::LimiterSettings;
use super::status::Status;
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
    timeouts_in_a_row: u32,
    was_up: bool,
}

/// Calls without an answer after which Redis counts as away.
const TIMEOUTS_UNTIL_DOWN: u32 = 3;
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
        Self { settings, queue, status, connector, refusals, timeouts_in_a_row: 0, was_up: false }
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
            self.timeouts_in_a_row = 0;
            queue.accept();
            let served = match self.probed(probed) {
                Ok(()) => self.serve_until_moved(&mut connected).await,
                Err(error) => Err(error),
            };
            let Err(error) = served else { return };
            queue.refuse();
            self.status.set_up(false);
            tracing::warn!(reason = error.label(), cause = error.cause(), "redis is away");
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
        while self.wait_for_checks(connected, moved).await? {
            if moved.load(Ordering::Relaxed) {
                return Err(RedisError::NotPrimary);
            }
            let drained = self.queue.drain(connected.pace.cost_max(), Instant::now());
            for mut late in drained.expired {
                late.reply(Err(RedisError::Timeout));
            }
            self.decide(connected, drained.batch).await?;
        }
        Ok(())
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

    /// Decides a batch in one call. An error means that the connection can no longer be used.
    async fn decide(
        &mut self,
        connected: &mut Connected,
        mut batch: Vec<PendingCheck>,
    ) -> Result<(), RedisError> {
        while !batch.is_empty() {
            match self.call(connected, &mut batch).await {
                Ok(script::Reply::Answers(all)) => {
                    self.answered();
                    for (mut pending, answers) in batch.into_iter().zip(all) {
                        pending.reply(Ok(Reply::Answers(answers)));
                    }
                    return Ok(());
                }
                Ok(script::Reply::OtherPeriod(now)) => {
                    self.answered();
                    // The script compared periods before it read or wrote anything, so the other checks are sent again.
                    batch = reply_other_period(batch, now);
                }
                Err(error) => return self.failed(error, batch),
            }
        }
        Ok(())
    }

    async fn call(
        &self,
        connected: &mut Connected,
        batch: &mut [PendingCheck],
    ) -> Result<script::Reply, RedisError> {
        let Connected { connection, pace, program, .. } = connected;
        let (clock, grace_ms) = self.settings.clock_and_grace();
        let call = program.call(&encoded(batch), clock, grace_ms);
        let sent = Instant::now();
        let mut value = reply_in_time(call.query_async(connection), batch, &self.queue).await;
        if value.as_ref().is_err_and(is_unknown) {
            // Redis ran nothing of a program that it does not have, so the call is sent again.
            self.status.count_script_load();
            let again = program.load_and_call(&encoded(batch), clock, grace_ms);
            value = reply_in_time(again.query_async(connection), batch, &self.queue).await;
        } else if value.is_ok() {
            pace.measured(batch.iter().map(|pending| pending.cost).sum(), sent.elapsed());
        }
        script::reply(&encoded(batch), value?)
    }

    /// Notes that Redis decided something.
    fn answered(&mut self) {
        self.timeouts_in_a_row = 0;
        self.refusals.answered();
        if !self.status.set_up(true) {
            if self.was_up {
                tracing::warn!("redis answers again");
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
    fn failed(&mut self, error: RedisError, batch: Vec<PendingCheck>) -> Result<(), RedisError> {
        let timeout = matches!(error, RedisError::Timeout);
        self.timeouts_in_a_row = if timeout { self.timeouts_in_a_row + 1 } else { 0 };
        let down = error.wants_reconnection() || self.timeouts_in_a_row >= TIMEOUTS_UNTIL_DOWN;
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
        if matches!(error, RedisError::Refused(_) | RedisError::BadReply(_)) {
            self.refused(&error);
        }
        Ok(())
    }

    /// Notes that Redis refused something or that its reply was unreadable. The connection remains in use.
    fn refused(&mut self, error: &RedisError) {
        if self.refusals.refused(error, Instant::now()) && self.status.set_up(false) {
            tracing::warn!(reason = error.label(), "redis refuses everything");
        }
    }
}
