//! The export of decisions as lines of JSON, for programs that store them. No request waits for it.
//!
//! The gate puts lines into a bounded queue. If the queue is full, lines are dropped and counted.

mod line;
mod settings;

use std::sync::atomic::{AtomicU32, Ordering};

use metrics::Counter;
use tokio::sync::mpsc;

use crate::tally::DecisionEvent;

pub use self::settings::{DecisionExportSettings, Share, ShownSubjects};

/// The lines to deliver, in the order of the decisions.
#[derive(Debug)]
pub struct DecisionLines {
    queue: mpsc::Receiver<String>,
    exported: Counter,
    dropped: Counter,
}

/// The export of a gate.
#[derive(Debug)]
pub(crate) struct DecisionExport {
    settings: DecisionExportSettings,
    queue: mpsc::Sender<String>,
    dropped: Counter,
    /// The part of a line that is due, in 2^-32.
    due: AtomicU32,
}

/// The most lines that wait: about 4 MB.
const QUEUE_MAX: usize = 10_000;
/// The most lines that are delivered together.
const BATCH_MAX: usize = QUEUE_MAX;

impl DecisionExport {
    pub(crate) fn new(
        settings: DecisionExportSettings,
        exported: Counter,
        dropped: Counter,
    ) -> (Self, DecisionLines) {
        let (sender, queue) = mpsc::channel(QUEUE_MAX);
        let lines = DecisionLines { queue, exported, dropped: dropped.clone() };
        (Self { settings, queue: sender, dropped, due: AtomicU32::new(0) }, lines)
    }

    /// Exports a decision if it is part of the share.
    pub(crate) fn offer(&self, event: &DecisionEvent<'_>) {
        if !self.is_due() {
            return;
        }
        // Checked first, because a line that nobody takes need not be written.
        let Ok(place) = self.queue.try_reserve() else {
            self.dropped.increment(1);
            return;
        };
        place.send(line::of(event, self.settings.subjects));
    }

    /// Whether the next decision is part of the share. Every n-th is, so that counts times n are exact.
    fn is_due(&self) -> bool {
        let Some(fraction) = self.settings.share.fraction() else { return true };
        let before = self.due.fetch_add(fraction, Ordering::Relaxed);
        before.checked_add(fraction).is_none()
    }
}

impl DecisionLines {
    /// Waits for lines, and moves some of them to `text`, each with its end. Returns their number; 0 if the gate is gone.
    pub async fn next(&mut self, text: &mut String) -> usize {
        let mut lines = Vec::new();
        let count = self.queue.recv_many(&mut lines, BATCH_MAX).await;
        for line in lines {
            text.push_str(&line);
            text.push('\n');
        }
        count
    }

    /// The same without waiting, for the end of the process.
    pub fn rest(&mut self, text: &mut String) -> usize {
        let mut count = 0;
        while let Ok(line) = self.queue.try_recv() {
            text.push_str(&line);
            text.push('\n');
            count += 1;
        }
        count
    }

    /// Counts lines that were delivered.
    pub fn delivered(&self, lines: usize) {
        self.exported.increment(lines as u64);
    }

    /// Counts lines that could not be delivered.
    pub fn lost(&self, lines: usize) {
        self.dropped.increment(lines as u64);
    }
}

#[cfg(test)]
mod tests;
