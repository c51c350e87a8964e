//! The recorder: collects the counts of all shards once a second and writes them to Postgres.
//!
//! While Postgres is away the recorder continues to collect, and writes everything as soon as it can. After the gate has
//! drained it writes once more, to Postgres or, while that is away, to a file for the next run. So a gate that stops in
//! order loses no counts.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use weir_domain::id::GateId;
use weir_domain::time::Timestamp;
use weir_store::{Flush, Scope, Store, StoreError};

use super::accumulator::{TallyAccumulator, TallyBatch};
use super::leftover::{Leftover, LeftoverFile};
use super::minute_counts::MINUTE_MS;
use crate::state::GateState;

/// Writes one gate's statistics.
#[derive(Debug)]
pub struct Recorder {
    state: GateState,
    store: Store,
    settings: RecorderSettings,
    accumulator: TallyAccumulator,
    turns: u32,
    file: Option<LeftoverFile>,
    /// The counts that earlier runs could not write.
    leftovers: Vec<Leftover>,
}

/// The gate and the run that the statistics belong to.
#[derive(Debug, Clone)]
pub struct RecorderSettings {
    /// The id of the gate.
    pub id: GateId,
    /// The id of the run.
    pub boot_id: u128,
    /// The region of the gate, if it is in one.
    pub region: Option<String>,
    /// The folder for counts that cannot be written at the end. `None` means that they are lost.
    pub state_dir: Option<PathBuf>,
}

const EVERY: Duration = Duration::from_secs(1);
/// The busiest subjects are written in the first turn and in every n-th after it.
const SKETCHES_EVERY: u32 = 10;
/// Recorded checks and the counts of customers are written every n-th turn.
const SAMPLES_EVERY: u32 = 5;
/// The most batches of recorded checks in one statement.
const SAMPLES_PER_STATEMENT: usize = 100;
const DEADLINE: Duration = Duration::from_secs(6);
const LAST_DEADLINE: Duration = Duration::from_secs(3);

impl Recorder {
    /// A recorder that has collected nothing yet.
    pub fn new(state: GateState, store: &Store, settings: RecorderSettings) -> Self {
        let accumulator = TallyAccumulator::new(settings.boot_id);
        let store = store.with_answer_timeout(DEADLINE);
        let file = settings.state_dir.as_deref().map(LeftoverFile::new);
        let leftovers = file.as_ref().map_or(Ok(Vec::new()), LeftoverFile::read);
        let leftovers = leftovers.unwrap_or_else(|error| {
            tracing::error!(%error, "could not read the statistics of earlier runs");
            Vec::new()
        });
        Self { state, store, settings, accumulator, turns: 0, file, leftovers }
    }

    /// Records until the gate has `drained`, and then once more.
    pub async fn run(mut self, drained: CancellationToken) {
        let mut turns = tokio::time::interval(EVERY);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut failing = false;
        loop {
            tokio::select! {
                () = drained.cancelled() => break,
                _ = turns.tick() => {}
            }
            let with_sketches = self.turns.is_multiple_of(SKETCHES_EVERY);
            self.turns = self.turns.wrapping_add(1);
            match self.turn(with_sketches, DEADLINE).await {
                Ok(()) if failing => {
                    failing = false;
                    tracing::info!("writing statistics again");
                }
                Ok(()) => {}
                Err(error) => {
                    self.state.meters.stats.failed();
                    if !failing {
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(error, "could not write statistics; will retry");
                    }
                    failing = true;
                }
            }
        }
        if let Err(error) = self.turn(true, LAST_DEADLINE).await {
            self.leave(&error.reason());
        }
    }

    /// Writes the counts that are not in Postgres to the file for the next run.
    fn leave(&mut self, reason: &str) {
        let RecorderSettings { id: gate_id, boot_id, ref region, .. } = self.settings;
        let TallyBatch { rows, unrecorded, .. } =
            self.accumulator.batch(false, self.state.clock.now());
        let customers = self.accumulator.customers.take_all();
        let count = rows.len() + customers.iter().map(|batch| batch.rows.len()).sum::<usize>();
        let mut runs = std::mem::take(&mut self.leftovers);
        if count > 0 || !unrecorded.is_empty() {
            let region = region.clone();
            runs.push(Leftover { gate_id, boot_id, region, rows, unrecorded, customers });
        }
        match self.file.as_ref().map(|file| file.write(&runs)) {
            Some(Ok(())) => {
                tracing::warn!(
                    reason,
                    rows = count,
                    "could not write statistics; left for the next run"
                );
            }
            Some(Err(error)) => {
                tracing::error!(%error, reason, rows = count, "statistics are lost");
            }
            None => tracing::error!(
                reason,
                rows = count,
                "statistics are lost: no state directory is configured"
            ),
        }
    }

    /// Writes the counts that earlier runs left.
    async fn write_leftovers(&mut self) -> Result<(), StoreError> {
        while let Some(run) = self.leftovers.first() {
            let minutes = run.rows.iter().map(|row| row.minute);
            let oldest = minutes.chain(run.unrecorded.iter().map(|drop| drop.minute)).min();
            let flush = Flush {
                gate_id: run.gate_id,
                boot_id: run.boot_id,
                region: run.region.clone(),
                oldest_minute: oldest.unwrap_or_else(|| self.state.clock.now()),
                age: Duration::ZERO,
            };
            let mut tx = self.store.begin("tallies.leftover", Scope::Gate(run.gate_id)).await?;
            tx.tallies().report(&flush).await?;
            tx.tallies().write(&flush, &run.rows).await?;
            tx.tallies().write_dropped(&flush, &run.unrecorded).await?;
            for batch in &run.customers {
                tx.customer_days().count(run.boot_id, batch.number, &batch.rows).await?;
            }
            tx.commit().await?;
            self.leftovers.remove(0);
            if let Some(Err(error)) = self.file.as_ref().map(|file| file.write(&self.leftovers)) {
                tracing::warn!(%error, "could not delete written statistics from disk; writing them again is harmless");
            }
        }
        Ok(())
    }

    async fn turn(&mut self, with_sketches: bool, deadline: Duration) -> Result<(), StoreError> {
        let began = Instant::now();
        let now = self.state.clock.now();
        let lost = self.accumulator.collect(&self.state.tally, now);
        self.state.meters.stats.collected(lost, self.accumulator.row_count());
        let traffic = std::mem::take(&mut self.accumulator.traffic);
        self.state.traffic.add(traffic, self.state.meters.decided_from_memory(), began);
        let in_turn = with_sketches || self.turns.is_multiple_of(SAMPLES_EVERY);
        if in_turn {
            self.accumulator.samples.cut(now);
        }
        let batch = self.accumulator.batch(with_sketches, now);
        let writing = self.write(&batch, with_sketches, now, began);
        until_deadline(deadline, writing).await?;
        self.accumulator.written(&batch, now);
        if in_turn {
            self.write_customers(began, deadline).await?;
        }
        let left = deadline.saturating_sub(began.elapsed());
        self.write_samples(now, began, left).await?;
        let left = deadline.saturating_sub(began.elapsed());
        until_deadline(left, self.write_leftovers()).await?;
        self.state.meters.stats.written(began.elapsed(), now);
        Ok(())
    }

    async fn write(
        &self,
        batch: &TallyBatch,
        with_sketches: bool,
        now: Timestamp,
        began: Instant,
    ) -> Result<(), StoreError> {
        let RecorderSettings { id, .. } = self.settings;
        let oldest_minute = batch.rows.iter().map(|row| row.minute).min();
        let mut tx = self.store.begin("tallies.flush", Scope::Gate(id)).await?;
        let flush = self.flush(oldest_minute, now, began);
        tx.tallies().report(&flush).await?;
        tx.tallies().write(&flush, &batch.rows).await?;
        if !batch.steps.is_empty() {
            tx.tallies().write_steps(&flush, &batch.steps).await?;
        }
        if !batch.unrecorded.is_empty() {
            tx.tallies().write_dropped(&flush, &batch.unrecorded).await?;
        }
        // Without sketches too: it notes until when there are none.
        if with_sketches {
            tx.top_subjects().write(&flush, &batch.sketches).await?;
        }
        if !batch.denials.is_empty() {
            tx.denials().write(&flush, &batch.denials).await?;
        }
        tx.commit().await?;
        // In a transaction of its own: other gates write these rows too, so it can wait for their locks.
        if !batch.keys.is_empty() {
            let mut tx = self.store.begin("keys.used", Scope::Gate(id)).await?;
            tx.keys().used(&batch.keys).await?;
            tx.keys().count_requests(&flush, &batch.key_hours).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    /// Adds the counts of customers, batch by batch until the deadline.
    async fn write_customers(
        &mut self,
        began: Instant,
        deadline: Duration,
    ) -> Result<(), StoreError> {
        let RecorderSettings { id, boot_id, .. } = self.settings;
        while let Some(batch) = self.accumulator.customers.batch() {
            let writing = async {
                let mut tx = self.store.begin("customers.count", Scope::Gate(id)).await?;
                tx.customer_days().count(boot_id, batch.number, &batch.rows).await?;
                tx.commit().await
            };
            let left = deadline.saturating_sub(began.elapsed());
            until_deadline(left, writing).await?;
            self.accumulator.customers.written();
        }
        Ok(())
    }

    /// Writes recorded checks, apart from the counts, which are more important. Those that cannot be written are restored.
    async fn write_samples(
        &mut self,
        now: Timestamp,
        began: Instant,
        deadline: Duration,
    ) -> Result<(), StoreError> {
        let mut rows = self.accumulator.samples.take();
        while !rows.is_empty() {
            let flush = self.flush(None, now, began);
            let count = rows.len().min(SAMPLES_PER_STATEMENT);
            let writing = async {
                let scope = Scope::Gate(self.settings.id);
                let mut tx = self.store.begin("samples.write", scope).await?;
                tx.samples().write(&flush, &rows[..count]).await?;
                tx.commit().await
            };
            if let Err(error) = until_deadline(deadline, writing).await {
                self.accumulator.samples.restore(rows);
                return Err(error);
            }
            rows.drain(..count);
        }
        Ok(())
    }

    fn flush(&self, oldest_minute: Option<Timestamp>, now: Timestamp, began: Instant) -> Flush {
        let present = now.as_millis().div_euclid(MINUTE_MS) * MINUTE_MS;
        let RecorderSettings { id, boot_id, ref region, .. } = self.settings;
        Flush {
            gate_id: id,
            boot_id,
            region: region.clone(),
            oldest_minute: oldest_minute.unwrap_or(Timestamp::from_millis(present)),
            age: began.elapsed(),
        }
    }
}

/// The result of a write. One that lasts longer than the deadline has failed.
async fn until_deadline(
    deadline: Duration,
    writing: impl Future<Output = Result<(), StoreError>>,
) -> Result<(), StoreError> {
    match tokio::time::timeout(deadline, writing).await {
        Ok(done) => done,
        Err(elapsed) => Err(StoreError::Unavailable(Box::new(elapsed))),
    }
}
