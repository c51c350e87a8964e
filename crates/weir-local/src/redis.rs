//! A Redis server that listens on loopback only, with a password and without persistence. When its memory is full, it refuses
//! writes instead of evicting counters.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::port::is_free;
use crate::postgres::pause_between_polls;
use crate::programs::faketime;
use crate::{
    Account, Engine, Launch, LocalError, StopSignal, WatchedProcess, folder, free_port, secret,
};

/// The server's folder, and more lines of its configuration, such as cluster mode or memory limits.
#[derive(Debug, Clone, Default)]
pub struct RedisOptions {
    pub data_dir: PathBuf,
    pub settings: Vec<String>,
}

/// A running server. Dropping it stops the server and discards its data.
#[derive(Debug)]
pub struct Redis {
    program: PathBuf,
    data_dir: PathBuf,
    account: Account,
    password: String,
    address: Ipv4Addr,
    port: u16,
    sentinel: bool,
    clock_s: i64,
    process: Mutex<Option<WatchedProcess>>,
}

/// The engine of a server, the difference of its clock from that of the machine, and its address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Host {
    pub(crate) engine: Engine,
    pub(crate) clock_s: i64,
    pub(crate) address: Ipv4Addr,
}

/// A server that belongs to a group of servers with one password.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    pub(crate) password: &'a str,
    /// Whether the server is a Sentinel, which stores no keys.
    pub(crate) sentinel: bool,
}

impl Redis {
    pub fn start(options: RedisOptions) -> Result<Self, LocalError> {
        Self::start_member(options, None)
    }

    /// Starts the engine of this machine, whatever that of the test run is: only this one speaks TLS.
    pub fn start_installed(options: RedisOptions) -> Result<Self, LocalError> {
        let (engine, address) = (Engine::Installed, Ipv4Addr::LOCALHOST);
        Self::start_on(Host { engine, clock_s: 0, address }, options, None)
    }

    pub(crate) fn start_member(
        options: RedisOptions,
        member: Option<&Member<'_>>,
    ) -> Result<Self, LocalError> {
        let engine = Engine::of_environment()?;
        Self::start_on(Host { engine, clock_s: 0, address: Ipv4Addr::LOCALHOST }, options, member)
    }

    pub(crate) fn start_on(
        host: Host,
        options: RedisOptions,
        member: Option<&Member<'_>>,
    ) -> Result<Self, LocalError> {
        let RedisOptions { data_dir, settings } = options;
        let account = Account::for_servers()?;
        let program = host.engine.program(&account)?;
        let data_dir = folder::prepare(&data_dir, &account)?;
        let password = match member {
            Some(member) => member.password.to_owned(),
            None => secret::load_or_make(&data_dir.join("password"), &account)?,
        };
        let sentinel = member.is_some_and(|member| member.sentinel);
        let port_file = data_dir.join("port");
        let last = fs::read_to_string(&port_file).ok();
        let last = last.and_then(|text| text.trim().parse().ok());
        let port = match last.filter(|port| is_free(*port)) {
            Some(port) => port,
            None => free_port()?,
        };
        folder::write_private(&port_file, &port.to_string(), &account)?;
        let Host { clock_s, address, .. } = host;
        let server = Self {
            program,
            data_dir,
            account,
            password,
            address,
            port,
            sentinel,
            clock_s,
            process: Mutex::new(None),
        };
        server.configure(&settings)?;
        server.run()?;
        Ok(server)
    }

    /// The address of the server, with its password.
    pub fn url(&self) -> String {
        format!("redis://:{}@{}/0", self.password, self.address())
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn host(&self) -> Ipv4Addr {
        self.address
    }

    pub fn password(&self) -> &str {
        &self.password
    }

    /// The folder in use. It differs from the requested one if the account of the server cannot reach that.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The address of the server without its password.
    pub fn address(&self) -> String {
        format!("{}:{}", self.address, self.port)
    }

    /// The id of the server's process, if it runs.
    pub fn pid(&self) -> Option<u32> {
        self.with(WatchedProcess::pid).ok()
    }

    /// Sends one command of plain words. Returns the first bytes of the reply.
    pub fn command(&self, words: &str) -> Result<String, LocalError> {
        self.ask(words).map_err(|source| LocalError::Failed {
            program: "redis-server".to_owned(),
            output: source.to_string(),
        })
    }

    pub fn stop(&self) -> Result<(), LocalError> {
        self.with(WatchedProcess::stop)?;
        self.forget();
        Ok(())
    }

    /// Kills the server, as a crash would.
    pub fn kill(&self) -> Result<(), LocalError> {
        self.with(WatchedProcess::kill)?;
        self.forget();
        Ok(())
    }

    /// Freezes the server: connections stay open and nothing answers.
    pub fn pause(&self) -> Result<(), LocalError> {
        self.with(WatchedProcess::pause)
    }

    pub fn resume(&self) -> Result<(), LocalError> {
        self.with(WatchedProcess::resume)
    }

    /// Starts the server again, empty, on the same port. Stops it first if it runs.
    pub fn restart(&self) -> Result<(), LocalError> {
        if self.pid().is_some() {
            self.stop()?;
        }
        self.run()
    }

    /// Writes the settings to a file. Every user of the machine can read the arguments of a process.
    fn configure(&self, settings: &[String]) -> Result<(), LocalError> {
        let mut text = format!(
            "bind {}\nport {}\nrequirepass {}\nmasterauth {}\n",
            self.address, self.port, self.password, self.password
        );
        text.push_str("daemonize no\nsave \"\"\nappendonly no\nmaxmemory-policy noeviction\n");
        for line in settings {
            text.push_str(line);
            text.push('\n');
        }
        folder::write_private(&self.data_dir.join("redis.conf"), &text, &self.account)
    }

    fn run(&self) -> Result<(), LocalError> {
        let log = self.data_dir.join("redis.log");
        let launch = if self.clock_s == 0 {
            Launch::new(&self.program, &self.data_dir, &log)
        } else {
            Launch::new("/usr/bin/env", &self.data_dir, &log)
                .args([
                    format!("LD_PRELOAD={}", faketime()?.display()),
                    format!("FAKETIME={:+}s", self.clock_s),
                ])
                .args(["DONT_FAKE_MONOTONIC=1"])
                .args([&self.program])
        };
        let launch = launch
            .args([self.data_dir.join("redis.conf")])
            .args(self.sentinel.then_some("--sentinel"))
            .run_as(self.account.clone())
            .stop_by(StopSignal::Terminate, Duration::from_secs(5));
        let process = WatchedProcess::spawn(launch)?;
        process.go_first();
        let until = Instant::now() + START_LIMIT;
        while !self.ask("PING").is_ok_and(|reply| reply.contains("PONG")) {
            if let Some(code) = process.exit_code() {
                return Err(LocalError::Ended {
                    program: "redis-server",
                    code,
                    log: process.log_tail(),
                });
            }
            if Instant::now() >= until {
                return Err(LocalError::NotReady {
                    program: "redis-server",
                    waited: START_LIMIT,
                    log: process.log_tail(),
                });
            }
            pause_between_polls();
        }
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
        Ok(())
    }

    fn ask(&self, words: &str) -> std::io::Result<String> {
        let address = SocketAddr::from((self.address, self.port));
        let mut stream = TcpStream::connect_timeout(&address, ASK_LIMIT)?;
        stream.set_read_timeout(Some(ASK_LIMIT))?;
        write!(stream, "AUTH {}\r\n", self.password)?;
        let accepted = read_some(&mut stream)?;
        if !accepted.starts_with("+OK") {
            return Err(std::io::Error::other(accepted));
        }
        write!(stream, "{words}\r\n")?;
        read_some(&mut stream)
    }

    fn with<T>(&self, action: impl FnOnce(&WatchedProcess) -> T) -> Result<T, LocalError> {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.as_ref().map(action).ok_or(LocalError::NotRunning)
    }

    fn forget(&self) {
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn read_some(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut bytes = [0; 4096];
    loop {
        match stream.read(&mut bytes) {
            // A signal interrupts a read that has a time limit.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            count => return Ok(String::from_utf8_lossy(&bytes[..count?]).into_owned()),
        }
    }
}

const START_LIMIT: Duration = Duration::from_secs(30);
const ASK_LIMIT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests;
