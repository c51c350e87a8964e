//! Open loop: requests leave at a fixed rate, and each latency is measured from the moment at which its request was due. A
//! service that stalls therefore cannot hide the stall by receiving fewer requests.

mod answers;
mod units;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use hdrhistogram::Histogram;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::task::JoinSet;

use crate::steady::answers::Listener;
use crate::variants::{SUBJECTS, Variant};
use units::{histogram, micros};

/// The rate and the length of a run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub per_second: f64,
    pub connections: u16,
    pub warm_up: Duration,
    pub length: Duration,
}

/// The result of one run, in microseconds.
#[derive(Debug)]
pub struct SteadyRun {
    pub latencies: Histogram<u64>,
    /// The delays that the client itself added while a connection was free.
    pub client_lag: Histogram<u64>,
    /// The number of answers with an unexpected status.
    pub unexpected: u64,
    /// The number of requests that got no answer or were never sent.
    pub unanswered: u64,
}

/// Sends requests for all subjects to one variant at this rate.
pub async fn run(variant: &Variant, plan: Plan) -> Result<SteadyRun> {
    run_for(variant, plan, SUBJECTS).await
}

/// Sends requests for this number of subjects.
pub async fn run_for(variant: &Variant, plan: Plan, subjects: u32) -> Result<SteadyRun> {
    let requests: Vec<Vec<u8>> = (1..=subjects).map(|subject| request(variant, subject)).collect();
    let (free, freed) = channel();
    let begun = Instant::now() + Duration::from_millis(50);
    let mut listeners = JoinSet::new();
    let mut lines = Vec::new();
    for at in 0..usize::from(plan.connections) {
        let stream = TcpStream::connect(&variant.address).await.context("connect")?;
        stream.set_nodelay(true)?;
        let (reader, writer) = stream.into_split();
        writer.writable().await?;
        let due_us = Arc::new(AtomicU64::new(0));
        lines.push(Connection { writer, due_us: Arc::clone(&due_us) });
        let expected = if variant.refuses { 429 } else { 200 };
        let from_us = micros(plan.warm_up);
        let listener = Listener { at, begun, due_us, from_us, expected, free: free.clone() };
        listeners.spawn(listener.run(reader));
    }
    let pacer = Pacer { lines, requests, begun, plan };
    let (client_lag, unanswered) =
        tokio::task::spawn_blocking(move || pacer.run(&free, &freed)).await??;
    let mut run = SteadyRun { latencies: histogram(), client_lag, unexpected: 0, unanswered };
    while let Some(heard) = listeners.join_next().await {
        let heard = heard??;
        run.latencies.add(&heard.latencies)?;
        run.unexpected += heard.unexpected;
    }
    Ok(run)
}

/// The pacer's part of one connection.
struct Connection {
    writer: OwnedWriteHalf,
    /// The time at which the present request was due, in microseconds since the start.
    due_us: Arc<AtomicU64>,
}

/// Sends each request when it is due, on a free connection or on the next one that becomes free.
struct Pacer {
    lines: Vec<Connection>,
    requests: Vec<Vec<u8>>,
    begun: Instant,
    plan: Plan,
}

impl Pacer {
    /// Returns the delays of the client and the number of lost requests. When it returns, the connections close, which ends
    /// their readers.
    fn run(self, free: &Sender<usize>, freed: &Receiver<usize>) -> Result<(Histogram<u64>, u64)> {
        for at in 0..self.lines.len() {
            free.send(at).context("the channel is ours")?;
        }
        let mut lag = histogram();
        let total = (self.plan.warm_up + self.plan.length).as_secs_f64() * self.plan.per_second;
        let mut idle: VecDeque<usize> = VecDeque::new();
        for nth in 0_u32.. {
            if f64::from(nth) >= total {
                break;
            }
            let due = Duration::from_secs_f64(f64::from(nth) / self.plan.per_second);
            idle.extend(freed.try_iter());
            let waited = idle.is_empty();
            if waited {
                let Ok(at) = freed.recv_timeout(ANSWER_LIMIT) else {
                    bail!("no connection got an answer for {} s", ANSWER_LIMIT.as_secs());
                };
                idle.push_back(at);
            }
            wait_until(self.begun + due);
            let late = self.begun.elapsed().saturating_sub(due);
            if !waited {
                lag.saturating_record(micros(late));
            }
            let at = idle.pop_front().context("one was waited for")?;
            self.send(at, nth, due)?;
        }
        let mut missing = self.lines.len() - idle.len();
        while missing > 0 && freed.recv_timeout(ANSWER_LIMIT).is_ok() {
            missing -= 1;
        }
        Ok((lag, u64::try_from(missing)?))
    }

    fn send(&self, at: usize, nth: u32, due: Duration) -> Result<()> {
        let line = &self.lines[at];
        line.due_us.store(micros(due), Ordering::Release);
        // As in the closed loop, the order of the subjects defeats caches.
        let subject = u64::from(nth) * 7919 % u64::try_from(self.requests.len())?;
        let request = &self.requests[usize::try_from(subject)?];
        let sent = line.writer.try_write(request).context("send a request")?;
        anyhow::ensure!(sent == request.len(), "a request did not fit into an empty connection");
        Ok(())
    }
}

/// Parks the thread. A busy loop would take a core from the measured processes.
fn wait_until(moment: Instant) {
    loop {
        let ahead = moment.saturating_duration_since(Instant::now());
        if ahead.is_zero() {
            return;
        }
        std::thread::park_timeout(ahead);
    }
}

fn request(variant: &Variant, subject: u32) -> Vec<u8> {
    let Variant { path, address, body, .. } = variant;
    let with_subject = |text: &str| text.replace("SUBJECT", &subject.to_string());
    let (path, body, (header, key)) =
        (with_subject(path), with_subject(body), variant.key_header());
    format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\n{header}: {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

const ANSWER_LIMIT: Duration = Duration::from_secs(10);
