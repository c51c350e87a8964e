//! Delivers the decisions that a gate exports.
//!
//! Each line is written once. What cannot be written is lost and counted, so a receiver that is away costs no memory.

use std::io::{self, Write as _};
use std::time::Duration;

use anyhow::Context as _;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, redirect};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt as _;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use weir_gate::DecisionLines;

use crate::config::Destination;

/// Delivers lines to one destination.
#[derive(Debug)]
pub struct Delivery {
    sink: Sink,
    /// Whether the last delivery failed.
    fails: bool,
}

#[derive(Debug)]
enum Sink {
    /// With the last write, if it has not ended.
    Stdout(Option<JoinHandle<io::Result<()>>>),
    File(File),
    Http(Client, SecretString),
}

/// The longest time for one delivery, and for opening a file: a pipe can have no reader.
const DEADLINE: Duration = Duration::from_secs(5);
/// The pause between two requests, in which lines gather.
const HTTP_PAUSE: Duration = Duration::from_secs(1);

impl Delivery {
    /// Opens the destination.
    pub async fn open(to: Destination) -> anyhow::Result<Self> {
        let sink = match to {
            Destination::Stdout => Sink::Stdout(None),
            Destination::File(path) => {
                let mut options = OpenOptions::new();
                let opened = timeout(DEADLINE, options.create(true).append(true).open(&path)).await;
                let file = opened.map_err(|_| io::Error::from(io::ErrorKind::TimedOut)).flatten();
                Sink::File(file.with_context(|| format!("open {}", path.display()))?)
            }
            Destination::Http(url) => {
                let client = Client::builder().timeout(DEADLINE).no_proxy();
                let client = client.redirect(redirect::Policy::none());
                Sink::Http(client.build().context("make a client of HTTP")?, url)
            }
        };
        Ok(Self { sink, fails: false })
    }

    /// Delivers lines until `drained`, and then those that are left.
    pub async fn run(mut self, mut lines: DecisionLines, drained: CancellationToken) {
        let mut text = String::new();
        loop {
            text.clear();
            let next = async {
                if matches!(self.sink, Sink::Http(..)) {
                    tokio::time::sleep(HTTP_PAUSE).await;
                }
                lines.next(&mut text).await
            };
            let Some(count) = drained.run_until_cancelled(next).await else { break };
            self.deliver(&lines, &text, count).await;
        }
        // A batch that was taken when `drained` was cancelled is still in `text`.
        let taken = text.lines().count();
        let count = taken + lines.rest(&mut text);
        if count > 0 {
            self.deliver(&lines, &text, count).await;
        }
    }

    async fn deliver(&mut self, lines: &DecisionLines, text: &str, count: usize) {
        let fails = self.fails;
        let delivered = async {
            match &mut self.sink {
                Sink::Stdout(writing) => print(writing, text.to_owned()).await,
                Sink::File(file) => Ok(append(file, text, fails).await?),
                Sink::Http(client, url) => post(client, url, text).await,
            }
        };
        let delivered = timeout(DEADLINE, delivered).await.map_err(anyhow::Error::from).flatten();
        match delivered {
            Ok(()) => {
                lines.delivered(count);
                if self.fails {
                    tracing::info!("exporting decisions again");
                }
                self.fails = false;
            }
            Err(error) => {
                lines.lost(count);
                if !self.fails {
                    tracing::warn!(
                        cause = format!("{error:#}"),
                        "could not export decisions; they are lost"
                    );
                }
                self.fails = true;
            }
        }
    }
}

/// Writes to standard output, on a thread that can wait for its reader. One that still waits is awaited first, so there is one
/// at a time.
async fn print(
    writing: &mut Option<JoinHandle<io::Result<()>>>,
    text: String,
) -> anyhow::Result<()> {
    if let Some(former) = writing {
        drop(former.await);
    }
    let write = move || {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    };
    let written = writing.insert(tokio::task::spawn_blocking(write)).await;
    *writing = None;
    Ok(written??)
}

/// After a failure the file possibly ends within a line. A blank line does not harm readers of JSON lines.
async fn append(file: &mut File, text: &str, after_failure: bool) -> io::Result<()> {
    if after_failure {
        file.write_all(b"\n").await?;
    }
    file.write_all(text.as_bytes()).await?;
    file.flush().await
}

/// Sends lines as one request. The error does not contain the address, which can have a password.
async fn post(client: &Client, url: &SecretString, text: &str) -> anyhow::Result<()> {
    let request = client.post(url.expose_secret()).header(CONTENT_TYPE, "application/x-ndjson");
    let answer = request.body(text.to_owned()).send().await.map_err(reqwest::Error::without_url)?;
    answer.error_for_status().map_err(reqwest::Error::without_url)?;
    Ok(())
}
