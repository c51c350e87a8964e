//! The recorder: gathers what was counted once a second and writes it down.
//!
//! While Postgres is away it goes on gathering, and writes everything as soon as it can. After the gate
//! has drained it writes once more, so an orderly end loses nothing.

use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use weir_domain::id::GateId;
use weir_domain::time::Timestamp;
use weir_store::{Flush, Scope, Store, StoreError};

use super::book::{Batch, Book};
use super::page::MINUTE_MS;
use crate::state::GateState;

/// Writes one gate's statistics.
#[derive(Debug)]
pub struct Recorder {
    state: GateState,
    store: Store,
    settings: RecorderSettings,
    book: Book,
    turns: u32,
}

/// Whose statistics they are.
#[derive(Debug, Clone, Copy)]
pub struct RecorderSettings {
    /// Which gate this is.
    pub id: GateId,
    /// Which run of it.
    pub boot_id: u128,
}

const EVERY: Duration = Duration::from_secs(1);
/// The busiest subjects are written in every so-manieth turn.
const SKETCHES_EVERY: u32 = 10;
/// Kept checks are written in every so-manieth turn.
const PIECES_EVERY: u32 = 5;
/// And so many in one statement.
const PIECES_AT_ONCE: usize = 100;
const DEADLINE: Duration = Duration::from_secs(10);
const LAST_DEADLINE: Duration = Duration::from_secs(3);

impl Recorder {
    /// A recorder that has gathered nothing yet.
    pub fn new(state: GateState, store: Store, settings: RecorderSettings) -> Self {
        let book = Book::new(settings.boot_id);
        Self { state, store, settings, book, turns: 0 }
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
            self.turns = self.turns.wrapping_add(1);
            let with_sketches = self.turns.is_multiple_of(SKETCHES_EVERY);
            match self.turn(with_sketches, DEADLINE).await {
                Ok(()) if failing => {
                    failing = false;
                    tracing::info!("statistics are written again");
                }
                Ok(()) => {}
                Err(error) => {
                    self.state.meters.stats_failed();
                    if !failing {
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(error, "statistics are kept until they can be written");
                    }
                    failing = true;
                }
            }
        }
        if let Err(error) = self.turn(true, LAST_DEADLINE).await {
            let rows = self.book.row_count();
            let error = &error as &dyn std::error::Error;
            tracing::error!(error, rows, "the last statistics could not be written");
        }
    }

    async fn turn(&mut self, with_sketches: bool, deadline: Duration) -> Result<(), StoreError> {
        let (began, now) = (Instant::now(), self.state.clock.now());
        let lost = self.book.visit(&self.state.tally, now);
        self.state.meters.stats_gathered(lost, self.book.row_count());
        if with_sketches || self.turns.is_multiple_of(PIECES_EVERY) {
            self.book.pieces.cut(now);
        }
        let batch = self.book.batch(with_sketches, now);
        let writing = self.write(&batch, now, began);
        match tokio::time::timeout(deadline, writing).await {
            Ok(done) => done?,
            Err(elapsed) => return Err(StoreError::Unavailable(Box::new(elapsed))),
        }
        self.book.written(&batch, now);
        let left = deadline.saturating_sub(began.elapsed());
        self.write_pieces(now, began, left).await?;
        self.state.meters.stats_written(began.elapsed());
        Ok(())
    }

    async fn write(&self, batch: &Batch, now: Timestamp, began: Instant) -> Result<(), StoreError> {
        let RecorderSettings { id, .. } = self.settings;
        let oldest_minute = batch.rows.iter().map(|row| row.minute).min();
        let mut tx = self.store.begin("tallies.flush", Scope::Gate(id)).await?;
        let flush = self.flush(oldest_minute, now, began);
        tx.tallies().report(&flush).await?;
        tx.tallies().write(&flush, &batch.rows).await?;
        if !batch.unrecorded.is_empty() {
            tx.tallies().write_dropped(&flush, &batch.unrecorded).await?;
        }
        if !batch.sketches.is_empty() {
            tx.top_subjects().write(&flush, &batch.sketches).await?;
        }
        if !batch.denials.is_empty() {
            tx.denials().write(&flush, &batch.denials).await?;
        }
        tx.commit().await?;
        // Apart from the counts: these rows are other people's too, and may have to be waited for.
        if !batch.keys.is_empty() {
            let mut tx = self.store.begin("keys.used", Scope::Gate(id)).await?;
            tx.keys().used(&batch.keys).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    /// Writes kept checks, apart from the counts, which are more important; those that cannot be written
    /// wait.
    async fn write_pieces(
        &mut self,
        now: Timestamp,
        began: Instant,
        deadline: Duration,
    ) -> Result<(), StoreError> {
        let mut rows = self.book.pieces.take();
        while !rows.is_empty() {
            let flush = self.flush(None, now, began);
            let some = rows.len().min(PIECES_AT_ONCE);
            let writing = async {
                let scope = Scope::Gate(self.settings.id);
                let mut tx = self.store.begin("samples.write", scope).await?;
                tx.samples().write(&flush, &rows[..some]).await?;
                tx.commit().await
            };
            let written = match tokio::time::timeout(deadline, writing).await {
                Ok(done) => done,
                Err(elapsed) => Err(StoreError::Unavailable(Box::new(elapsed))),
            };
            if let Err(error) = written {
                self.book.pieces.give_back(rows);
                return Err(error);
            }
            rows.drain(..some);
        }
        Ok(())
    }

    fn flush(&self, oldest_minute: Option<Timestamp>, now: Timestamp, began: Instant) -> Flush {
        let present = now.as_millis().div_euclid(MINUTE_MS) * MINUTE_MS;
        let RecorderSettings { id, boot_id } = self.settings;
        Flush {
            gate_id: id,
            boot_id,
            oldest_minute: oldest_minute.unwrap_or(Timestamp::from_millis(present)),
            age: began.elapsed(),
        }
    }
}
