//! The export of decisions as lines of JSON, for programs that store them. No request waits for it.
//!
//! The gate puts lines into a bounded queue. If the queue is full, lines are dropped and counted.

mod line;

use std::sync::atomic::{AtomicU32, Ordering};

use metrics::Counter;
use tokio::sync::mpsc;

use crate::tally::DecisionEvent;

/// What the lines hold, and of how many decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecisionExportSettings {
    /// The share of decisions that are exported.
    pub share: Share,
    /// How lines name the subjects.
    pub subjects: ShownSubjects,
}

/// A share, from more than nothing to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(
    /// In 2^-32. `None` for all.
    Option<u32>,
);

/// How the lines of exported decisions name subjects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownSubjects {
    /// As digests.
    Hashed,
    /// As the attributes by which rules count.
    Plain,
}

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

impl Share {
    /// The share of this number, which must be greater than 0 and at most 1.
    pub fn new(share: f64) -> Option<Self> {
        if !(share > 0.0 && share <= 1.0) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the number is between 0 and 2^32, and a float is rounded to the next one in bounds"
        )]
        let fraction = (share * f64::from(u32::MAX)).ceil() as u32;
        Some(Self((share < 1.0).then_some(fraction)))
    }
}

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
        let Share(Some(fraction)) = self.settings.share else { return true };
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
