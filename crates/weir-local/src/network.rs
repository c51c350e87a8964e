//! A network with two sides that can be parted: two network namespaces of Linux, joined by a bridge.
//!
//! The bridge is in the namespace of this process, which reaches both sides at all times. Sides that are parted lose each
//! other's packets, as in a network that fails: connections stay open, and nothing arrives.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::{Launch, LocalError, ScratchDir, WatchedProcess};

/// Both sides. The namespaces end with the last of their threads and processes.
#[derive(Debug)]
pub struct Network([Side; 2]);

/// One side: what its threads start, listens and connects there.
#[derive(Debug, Clone)]
pub struct Side {
    address: Ipv4Addr,
    /// The end of its cable at the bridge.
    port: String,
    namespace: Arc<File>,
}

/// The variable of the environment by which a test knows that it runs in a network of its own.
const OWN_NETWORK_VARIABLE: &str = "WEIR_TEST_OWN_NETWORK";
/// The longest time for a test in a network of its own.
const TEST_LIMIT: Duration = Duration::from_mins(6);
const BRIDGE: &str = "weir";

/// Whether this process has a network of its own. If not, it runs the test with this name again in a process that has one,
/// which needs no rights of root where users can create namespaces.
///
/// # Panics
/// If the test fails, or the machine permits no network of its own.
pub fn has_own_network(test: &str) -> bool {
    if std::env::var_os(OWN_NETWORK_VARIABLE).is_some() {
        return true;
    }
    let program = std::env::current_exe().expect("a test has a program");
    let scratch = ScratchDir::create().expect("a scratch folder");
    let log = scratch.path().join("log");
    let user = ["--user", "--map-current-user", "--keep-caps"];
    let is_root = rustix::process::geteuid().is_root();
    let launch = Launch::new("unshare", scratch.path(), &log)
        .args(user.iter().filter(|_| !is_root))
        .args(["--net", "--"])
        .args([program])
        .args(["--exact", test, "--nocapture"])
        .env(OWN_NETWORK_VARIABLE, "1");
    let process = WatchedProcess::spawn(launch).expect("sh runs");
    let code = process.wait_exit(TEST_LIMIT);
    let output = std::fs::read_to_string(&log).unwrap_or_default();
    assert!(
        code == Some(0) && output.contains("1 passed"),
        "{test} needs Linux with unshare and ip (util-linux, iproute2), and root or the right to create user namespaces. \
         It ended with {code:?}:\n{output}"
    );
    // The figures of the test.
    eprint!("{output}");
    false
}

impl Network {
    /// Joins two new namespaces. This process must have a network of its own.
    pub fn start() -> Result<Self, LocalError> {
        ip(&["link", "set", "lo", "up"])?;
        ip(&["link", "add", BRIDGE, "type", "bridge"])?;
        ip(&["addr", "add", "10.77.0.254/24", "dev", BRIDGE])?;
        ip(&["link", "set", BRIDGE, "up"])?;
        Ok(Self([Side::join(1)?, Side::join(2)?]))
    }

    pub fn sides(&self) -> &[Side; 2] {
        &self.0
    }

    /// From now on no packet of one side reaches the other.
    pub fn part(&self) -> Result<(), LocalError> {
        self.isolate("on")
    }

    pub fn heal(&self) -> Result<(), LocalError> {
        self.isolate("off")
    }

    /// Ports of a bridge that are isolated reach the bridge, and not each other.
    fn isolate(&self, state: &str) -> Result<(), LocalError> {
        self.0.iter().try_for_each(|side| {
            ip(&["link", "set", &side.port, "type", "bridge_slave", "isolated", state])
        })
    }
}

impl Side {
    fn join(number: u8) -> Result<Self, LocalError> {
        let failed = |error: std::io::Error| failed("unshare", &error.to_string());
        // It holds the namespace until this process has opened it.
        let mut holder = Command::new("unshare")
            .args(["--net", "sh", "-c", "echo && exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let held = holder.stdin.take();
        let ready = holder.stdout.take().map(BufReader::new);
        ready.expect("it is piped").read_line(&mut String::new()).map_err(failed)?;
        let id = holder.id().to_string();
        let namespace = File::open(format!("/proc/{id}/ns/net")).map_err(failed)?;
        let (address, port) = (Ipv4Addr::new(10, 77, 0, number), format!("side{number}"));
        ip(&["link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", &id])?;
        ip(&["link", "set", &port, "master", BRIDGE, "up"])?;
        drop(held);
        holder.wait().map_err(failed)?;
        let side = Self { address, port, namespace: Arc::new(namespace) };
        let addressed = std::thread::scope(|scope| scope.spawn(|| side.address_it()).join());
        addressed.map_err(|_| LocalError::NotRunning)??;
        Ok(side)
    }

    fn address_it(&self) -> Result<(), LocalError> {
        self.enter()?;
        ip(&["link", "set", "lo", "up"])?;
        ip(&["addr", "add", &format!("{}/24", self.address), "dev", "eth0"])?;
        ip(&["link", "set", "eth0", "up"])
    }

    /// The address of its servers.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Moves the calling thread, and the threads and processes that it starts, to this side.
    #[cfg(target_os = "linux")]
    pub fn enter(&self) -> Result<(), LocalError> {
        use std::os::fd::AsFd as _;

        use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
        let moved =
            move_into_link_name_space(self.namespace.as_fd(), Some(LinkNameSpaceType::Network));
        moved.map_err(|error| failed("setns", &error.to_string()))
    }

    #[cfg(not(target_os = "linux"))]
    pub fn enter(&self) -> Result<(), LocalError> {
        Err(failed("setns", "there are no network namespaces on this system"))
    }
}

fn ip(words: &[&str]) -> Result<(), LocalError> {
    let program = format!("ip {}", words.join(" "));
    let output = Command::new("ip").args(words).output();
    let output = output.map_err(|error| failed(&program, &error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(&program, &String::from_utf8_lossy(&output.stderr)))
}

fn failed(program: &str, output: &str) -> LocalError {
    LocalError::Failed { program: program.to_owned(), output: output.to_owned() }
}
