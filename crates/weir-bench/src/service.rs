//! A measured process, which ends with its owner.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::net::TcpStream;
use weir_local::{Launch, WatchedProcess, free_port};

/// One running HTTP service on loopback.
#[derive(Debug)]
pub struct Service {
    process: WatchedProcess,
    /// The host and port.
    pub address: String,
}

impl Service {
    /// Starts a program with an address, and waits until it answers.
    pub async fn start(
        program: &Path,
        log: &Path,
        command: impl FnOnce(&str, Launch) -> Launch,
    ) -> Result<Self> {
        let address = format!("127.0.0.1:{}", free_port()?);
        let folder = log.parent().unwrap_or(Path::new("/"));
        let launch = command(&address, Launch::new(program, folder, log));
        let process = WatchedProcess::spawn(launch)?;
        for _ in 0..START_POLLS {
            if let Some(code) = process.exit_code() {
                bail!("{} ended with {code}: {}", program.display(), process.log_tail());
            }
            if TcpStream::connect(&address).await.is_ok() {
                return Ok(Self { process, address });
            }
            tokio::time::sleep(POLL).await;
        }
        bail!("{} does not listen: {}", program.display(), process.log_tail());
    }

    /// Asks the process to end, and waits for it.
    pub fn stop(&self) {
        tokio::task::block_in_place(|| self.process.stop());
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }
}

pub const POLL: Duration = Duration::from_millis(5);
const START_POLLS: u32 = 12_000;
