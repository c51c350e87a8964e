//! A Postgres server that listens on loopback only. Its superuser `weir` has a generated password.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::port::is_free;
use crate::programs::postgres_folder;
use crate::watchdog::log_tail;
use crate::{Account, Launch, LocalError, StopSignal, WatchedProcess, folder, free_port, secret};

/// The place of the data, and whether it must survive a crash of the machine.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    pub data_dir: PathBuf,
    /// Whether the server waits for the disk. Tests do not need it; data to be retained does.
    pub durable: bool,
}

/// A running server. Dropping it stops the server and leaves the data in place.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    data_dir: PathBuf,
    account: Account,
    durable: bool,
    password: String,
    port: u16,
    process: Mutex<Option<WatchedProcess>>,
}

impl Postgres {
    pub fn start(options: PostgresOptions) -> Result<Self, LocalError> {
        let PostgresOptions { data_dir, durable } = options;
        let programs = postgres_folder()?;
        let account = Account::for_servers()?;
        let data_dir = folder::prepare(&data_dir, &account)?;
        let password = secret::load_or_make(&data_dir.join("password"), &account)?;
        let mut server = Self {
            programs,
            data_dir,
            account,
            durable,
            password,
            port: 0,
            process: Mutex::new(None),
        };
        server.create_cluster()?;
        server.await_predecessor();
        server.choose_port()?;
        server.run()?;
        Ok(server)
    }

    /// The address of a database, with the password of the superuser.
    pub fn url(&self, database: &str) -> String {
        let (password, port) = (&self.password, self.port);
        format!("postgres://weir:{password}@127.0.0.1:{port}/{database}")
    }

    /// The address of a database for another login.
    pub fn url_as(&self, database: &str, login: &str, password: &str) -> String {
        format!("postgres://{login}:{password}@127.0.0.1:{}/{database}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder in use. It differs from the requested one if the account of the server cannot reach that.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The id of the server's process, if it runs.
    pub fn pid(&self) -> Option<u32> {
        self.with(WatchedProcess::pid).ok()
    }

    pub fn create_database(&self, name: &str) -> Result<(), LocalError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        if name.is_empty() || !name.chars().all(|c| plain(c) || c == '_') {
            return Err(LocalError::Name(name.to_owned()));
        }
        self.psql("postgres", &["-c", &format!("CREATE DATABASE {name}")])?;
        Ok(())
    }

    /// Runs `psql` on a database until the first error. Returns its bare output.
    pub fn psql(&self, database: &str, args: &[&str]) -> Result<String, LocalError> {
        let mut command = Command::new(self.programs.join("psql"));
        command
            .args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only"])
            .args(["--set=ON_ERROR_STOP=1", "--no-password"])
            .args(["--dbname", database])
            .args(args)
            .env("PGHOST", "127.0.0.1")
            .env("PGPORT", self.port.to_string())
            .env("PGUSER", "weir")
            .env("PGPASSWORD", &self.password)
            .env("PGCONNECT_TIMEOUT", "10");
        run("psql", command)
    }

    /// Shuts the server down in order. It can be started again.
    pub fn stop(&self) -> Result<(), LocalError> {
        self.with(|process| process.stop_with(StopSignal::Interrupt))?;
        self.forget();
        Ok(())
    }

    /// Kills the server and its sessions, as a crash would.
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

    /// Starts the server again on the same port. Stops it first if it runs.
    pub fn restart(&self) -> Result<(), LocalError> {
        if self.pid().is_some() {
            self.stop()?;
        }
        self.run()
    }

    fn cluster(&self) -> PathBuf {
        self.data_dir.join("cluster")
    }

    fn log(&self) -> PathBuf {
        self.data_dir.join("postgres.log")
    }

    /// Creates the cluster in a temporary folder and then renames it, so that an incomplete cluster is never used.
    fn create_cluster(&self) -> Result<(), LocalError> {
        if self.cluster().join("PG_VERSION").is_file() {
            return Ok(());
        }
        let staged = self.data_dir.join("cluster.new");
        if staged.exists() {
            fs::remove_dir_all(&staged).map_err(LocalError::file("remove", &staged))?;
        }
        let locale = if cfg!(target_os = "linux") { "C.UTF-8" } else { "C" };
        let mut command = Command::new(self.programs.join("initdb"));
        command
            .arg("--pgdata")
            .arg(&staged)
            .arg("--pwfile")
            .arg(self.data_dir.join("password"))
            .args(["--username=weir", "--auth=scram-sha-256"])
            .args(["--encoding=UTF8", "--no-instructions", "--data-checksums"])
            .arg(format!("--locale={locale}"))
            .current_dir(&self.data_dir);
        if !self.durable {
            command.arg("--no-sync");
        }
        self.account.apply(&mut command);
        run("initdb", command)?;
        fs::rename(&staged, self.cluster()).map_err(LocalError::file("move", &staged))
    }

    /// Waits for the server of an owner that has just ended: its watchdog is perhaps still stopping it.
    fn await_predecessor(&self) {
        let until = Instant::now() + Duration::from_secs(15);
        while Instant::now() < until && self.status().is_some_and(|status| is_alive(status.pid)) {
            pause_between_polls();
        }
    }

    /// Chooses the previous port if it is free, so that addresses stay the same.
    fn choose_port(&mut self) -> Result<(), LocalError> {
        let file = self.data_dir.join("port");
        let last = fs::read_to_string(&file).ok();
        let last = last.and_then(|text| text.trim().parse().ok());
        self.port = match last.filter(|port| is_free(*port)) {
            Some(port) => port,
            None => free_port()?,
        };
        folder::write_private(&file, &self.port.to_string(), &self.account)
    }

    fn run(&self) -> Result<(), LocalError> {
        let process = WatchedProcess::spawn(self.launch())?;
        let until = Instant::now() + START_LIMIT;
        loop {
            if let Some(code) = process.exit_code() {
                return Err(LocalError::Ended {
                    program: "postgres",
                    code,
                    log: log_tail(&self.log()),
                });
            }
            let ready =
                self.status().is_some_and(|status| status.ready && status.pid == process.pid());
            if ready && TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok() {
                break;
            }
            if Instant::now() >= until {
                return Err(LocalError::NotReady {
                    program: "postgres",
                    waited: START_LIMIT,
                    log: log_tail(&self.log()),
                });
            }
            pause_between_polls();
        }
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
        Ok(())
    }

    fn launch(&self) -> Launch {
        let mut settings = vec![
            format!("port={}", self.port),
            "listen_addresses=127.0.0.1".to_owned(),
            "unix_socket_directories=".to_owned(),
            "max_connections=200".to_owned(),
        ];
        let signal = if self.durable {
            StopSignal::Interrupt
        } else {
            settings.extend(["fsync=off", "full_page_writes=off"].map(str::to_owned));
            StopSignal::Quit
        };
        Launch::new(self.programs.join("postgres"), &self.data_dir, &self.log())
            .args([std::ffi::OsString::from("-D"), self.cluster().into()])
            .args(settings.iter().flat_map(|setting| ["-c", setting.as_str()]))
            .run_as(self.account.clone())
            .stop_by(signal, Duration::from_secs(20))
    }

    /// The status from the server's own lock file.
    fn status(&self) -> Option<Status> {
        let text = fs::read_to_string(self.cluster().join("postmaster.pid")).ok()?;
        let mut lines = text.lines();
        let pid = lines.next()?.trim().parse().ok()?;
        let ready = lines.nth(6).is_some_and(|word| word.trim() == "ready");
        Some(Status { pid, ready })
    }

    fn with<T>(&self, action: impl FnOnce(&WatchedProcess) -> T) -> Result<T, LocalError> {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.as_ref().map(action).ok_or(LocalError::NotRunning)
    }

    fn forget(&self) {
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

struct Status {
    pid: u32,
    ready: bool,
}

fn run(program: &str, mut command: Command) -> Result<String, LocalError> {
    let Output { status, stdout, stderr } = command
        .output()
        .map_err(|source| LocalError::Spawn { program: program.to_owned(), source })?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).trim_end().to_owned());
    }
    let output = [stdout, stderr].concat();
    Err(LocalError::Failed {
        program: program.to_owned(),
        output: String::from_utf8_lossy(&output).trim().to_owned(),
    })
}

fn is_alive(pid: u32) -> bool {
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .is_some_and(|pid| !matches!(test_kill_process(pid), Err(Errno::SRCH)))
}

pub(crate) fn pause_between_polls() {
    std::thread::park_timeout(Duration::from_millis(20));
}

const START_LIMIT: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests;
