//! The queue of messages, and the task that sends them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::mail::Mail;
use crate::relay::Relay;
use crate::send_error::SendError;

/// The entrance of the queue. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Mailer {
    queue: mpsc::Sender<Mail>,
    counters: Arc<Counters>,
}

/// The exit of the queue. If it is dropped, nothing is accepted.
#[derive(Debug)]
pub struct Outbox {
    queue: mpsc::Receiver<Mail>,
    counters: Arc<Counters>,
}

/// The numbers of messages and attempts since the start of the process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MailCounts {
    /// Messages that the server accepted.
    pub sent: u64,
    /// Attempts that failed and were repeated.
    pub retried: u64,
    /// Messages that were given up.
    pub failed: u64,
    /// Messages that were not accepted because the queue was full.
    pub dropped: u64,
}

#[derive(Debug, Default)]
struct Counters {
    sent: AtomicU64,
    retried: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
}

/// The times of the attempts to send a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// The deadline of one attempt.
    pub(crate) deadline: Duration,
    /// The pauses before the second and later attempts.
    pub(crate) pauses: [Duration; 3],
}

/// The most messages that wait.
pub(crate) const QUEUED_MAX: usize = 200;
/// The most messages that are being sent, with those that wait for another attempt.
const SENDING_MAX: usize = 16;
/// The time for which messages are still sent after the process began to stop.
const LAST_SENDS: Duration = Duration::from_secs(3);
const PACE: Pace = Pace {
    deadline: Duration::from_secs(20),
    pauses: [Duration::from_secs(2), Duration::from_secs(15), Duration::from_mins(1)],
};

impl Mailer {
    /// An empty queue.
    pub fn new() -> (Self, Outbox) {
        let (sender, receiver) = mpsc::channel(QUEUED_MAX);
        let counters = Arc::<Counters>::default();
        let mailer = Self { queue: sender, counters: Arc::clone(&counters) };
        (mailer, Outbox { queue: receiver, counters })
    }

    /// Queues a message, without waiting. Returns false if the queue is full or the process is about to end.
    pub fn send(&self, mail: Mail) -> bool {
        let accepted = self.queue.try_send(mail);
        if accepted.is_err() {
            self.counters.dropped.fetch_add(1, Ordering::Relaxed);
            tracing::warn!("dropped an e-mail: the queue for the SMTP server is full");
        }
        accepted.is_ok()
    }

    /// The numbers of messages so far.
    pub fn counts(&self) -> MailCounts {
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters { sent, retried, failed, dropped } = &*self.counters;
        MailCounts {
            sent: number(sent),
            retried: number(retried),
            failed: number(failed),
            dropped: number(dropped),
        }
    }
}

impl Outbox {
    /// The next message, for a caller that sends it itself. `None` once there is no mailer.
    pub async fn next(&mut self) -> Option<Mail> {
        self.queue.recv().await
    }

    /// The number of messages that wait.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Sends messages until `stop`, and those that are being sent then for a few seconds more.
    pub async fn deliver(self, relay: Arc<Relay>, stop: CancellationToken) {
        self.deliver_at(PACE, relay, stop).await;
    }

    pub(crate) async fn deliver_at(
        mut self,
        pace: Pace,
        relay: Arc<Relay>,
        stop: CancellationToken,
    ) {
        let mut sending = JoinSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = sending.join_next() => {}
                queued = self.queue.recv(), if sending.len() < SENDING_MAX => {
                    let Some(mail) = queued else { break };
                    let (relay, counters) = (Arc::clone(&relay), Arc::clone(&self.counters));
                    sending.spawn(deliver_one(relay, mail, pace, counters, stop.clone()));
                }
            }
        }
        let last = async { while sending.join_next().await.is_some() {} };
        drop(tokio::time::timeout(LAST_SENDS, last).await);
        let lost = self.queue.len() + sending.len();
        if lost > 0 {
            tracing::warn!(lost, "shut down with unsent e-mails");
        }
    }
}

/// Sends one message, with at most four attempts.
async fn deliver_one(
    relay: Arc<Relay>,
    mail: Mail,
    pace: Pace,
    counters: Arc<Counters>,
    stop: CancellationToken,
) {
    let mut pauses = pace.pauses.into_iter();
    loop {
        let Err(error) = relay.send(&mail, pace.deadline).await else {
            counters.sent.fetch_add(1, Ordering::Relaxed);
            tracing::info!(mail = mail.id, "sent an e-mail");
            return;
        };
        let pause = pauses.next().filter(|_| error.is_passing() && !stop.is_cancelled());
        let Some(pause) = pause else { return give_up(&mail, &error, &counters) };
        counters.retried.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(mail = mail.id, %error, "could not send an e-mail; will retry");
        if stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            return give_up(&mail, &error, &counters);
        }
    }
}

fn give_up(mail: &Mail, error: &SendError, counters: &Counters) {
    counters.failed.fetch_add(1, Ordering::Relaxed);
    tracing::error!(mail = mail.id, %error, "could not send an e-mail");
}
