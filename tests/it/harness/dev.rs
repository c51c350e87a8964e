//! `weir dev` as a person runs it in a terminal.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use weir_local::{Launch, StopSignal, WatchedProcess, free_port};

use super::{binary, folder, seconds, until};

/// A running `weir dev --json` and its output.
#[derive(Debug)]
pub struct Dev {
    pub process: WatchedProcess,
    pub said: Value,
}

const READY: std::time::Duration = seconds(60);

impl Dev {
    /// Starts the process in the folder `dev` of `parent`, with the data of an earlier start if there are any, and waits
    /// until it is ready.
    pub async fn start(parent: &Path) -> Self {
        Self::start_with(parent, &[]).await
    }

    /// As [`Self::start`], with more arguments.
    pub async fn start_with(parent: &Path, args: &[&str]) -> Self {
        let folder = folder(parent, "dev");
        // Other accounts can pass through this folder, so the servers store their data in it.
        std::fs::create_dir_all(folder.join("data")).expect("a folder for its data");
        let said = folder.join(format!("said-{}", free_port().expect("a port is free")));
        let launch = Launch::new(binary(), &folder, &folder.join("log"))
            .args(["dev", "--json", "--data-dir", "data", "--redis-budget-ms", "1000"])
            .args(["--base-port", &base_port().to_string()])
            .args(args)
            .stdout(&said)
            .stop_by(StopSignal::Interrupt, seconds(30));
        let process = WatchedProcess::spawn(launch).expect("start weir dev");
        let mut line = Value::Null;
        until(READY, "weir dev is ready", async || {
            let code = process.exit_code();
            assert_eq!(code, None, "weir dev ended: {}", process.log_tail());
            line = serde_json::from_str(process.stdout().trim()).unwrap_or_default();
            line.is_object()
        })
        .await;
        Self { process, said: line }
    }

    /// A text of the output.
    pub fn text(&self, pointer: &str) -> String {
        let found = self.said.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_else(|| panic!("no {pointer} in {}", self.said)).to_owned()
    }

    /// The ports of the planes, of Postgres and of Redis.
    pub fn ports(&self) -> Vec<u16> {
        let urls = ["/control", "/gates/0", "/gates/1", "/database_url", "/redis_url"];
        urls.iter().map(|pointer| port_of(&self.text(pointer))).collect()
    }
}

/// Whether a process listens on this port.
pub fn listens(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// The ids of processes whose command line contains this text.
pub fn processes_with(text: &str) -> Vec<String> {
    let listed = Command::new("ps").args(["-eo", "pid=,args="]).output().expect("there is a ps");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    listed.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
}

/// The first of three ports that are free.
pub fn base_port() -> u16 {
    let free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    let found = (0..100)
        .map(|_| free_port().expect("one of many ports is free"))
        .find(|port| free(port + 1) && free(port + 2));
    found.expect("three neighbours are free")
}

fn port_of(url: &str) -> u16 {
    let rest = url.rsplit_once(':').expect("every address has a port").1;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a port is a number")
}
