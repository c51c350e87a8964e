//! A process that does not outlive its owner.
//!
//! A small shell script, the watchdog, runs each process and holds a pipe from this process. When this process ends in any
//! way, the pipe closes and the watchdog stops the process. The watchdog and the process have a process group of their own,
//! so Ctrl-C in a terminal reaches only this process, which then decides the order in which they stop.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Account, LocalError};

/// A program to start, its directory, and the way to stop it.
#[derive(Debug, Clone)]
pub struct Launch {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: PathBuf,
    stdout: PathBuf,
    stderr: PathBuf,
    account: Account,
    signal: StopSignal,
    grace: Duration,
}

impl Launch {
    /// A process in folder `dir` whose output is appended to `log_file`.
    pub fn new(program: impl Into<PathBuf>, dir: &Path, log_file: &Path) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            dir: dir.to_owned(),
            stdout: log_file.to_owned(),
            stderr: log_file.to_owned(),
            account: Account::Ours,
            signal: StopSignal::Terminate,
            grace: Duration::from_secs(10),
        }
    }

    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Writes standard output to a file of its own instead of the log.
    #[must_use]
    pub fn stdout(mut self, file: &Path) -> Self {
        file.clone_into(&mut self.stdout);
        self
    }

    #[must_use]
    pub fn run_as(mut self, account: Account) -> Self {
        self.account = account;
        self
    }

    /// Sets the signal that stops the process, and the time after which it is killed.
    #[must_use]
    pub fn stop_by(mut self, signal: StopSignal, grace: Duration) -> Self {
        self.signal = signal;
        self.grace = grace;
        self
    }
}

/// The signals that servers understand as a request to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    Terminate,
    /// A fast shutdown of Postgres, which loses nothing.
    Interrupt,
    /// An immediate shutdown of Postgres, which recovers at the next start.
    Quit,
}

/// A running process with its watchdog. Dropping it stops the process and waits for its end.
#[derive(Debug)]
pub struct WatchedProcess {
    pid: Pid,
    signal: StopSignal,
    grace: Duration,
    stdout: PathBuf,
    stderr: PathBuf,
    owner: Option<ChildStdin>,
    exit: Arc<Exit>,
}

impl WatchedProcess {
    pub fn spawn(launch: Launch) -> Result<Self, LocalError> {
        let program = launch.program.display().to_string();
        let failed = |source| LocalError::Spawn { program: program.clone(), source };
        let mut watchdog = command(&launch).spawn().map_err(failed)?;
        let owner = watchdog.stdin.take();
        let mut lines = BufReader::new(watchdog.stdout.take().expect("standard output is piped"));
        let mut first = String::new();
        lines.read_line(&mut first).map_err(failed)?;
        let pid = first.trim().parse().ok().and_then(Pid::from_raw);
        let Some(pid) = pid else {
            return Err(LocalError::Failed {
                program: format!("the watchdog of {program}"),
                output: log_tail(&launch.stderr),
            });
        };
        let exit = Arc::new(Exit::default());
        let seen = Arc::clone(&exit);
        std::thread::spawn(move || seen.follow(lines, watchdog));
        Ok(Self {
            pid,
            signal: launch.signal,
            grace: launch.grace,
            stdout: launch.stdout,
            stderr: launch.stderr,
            owner,
            exit,
        })
    }

    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// The exit code, if the process has ended. For a killed process it is 128 plus the number of the signal.
    pub fn exit_code(&self) -> Option<i32> {
        self.exit.wait(Duration::ZERO)
    }

    /// Waits for the process to end by itself. Returns `None` if it still runs.
    pub fn wait_exit(&self, at_most: Duration) -> Option<i32> {
        self.exit.wait(at_most)
    }

    /// Asks the process to end, and kills it after its grace period.
    pub fn stop(&self) -> i32 {
        self.stop_with(self.signal)
    }

    pub fn stop_with(&self, signal: StopSignal) -> i32 {
        self.send(signal.number());
        self.resume();
        self.exit.wait(self.grace).unwrap_or_else(|| self.kill())
    }

    /// Kills the process and its children at once, as a crash would.
    pub fn kill(&self) -> i32 {
        self.send_tree(Signal::KILL);
        // The watchdog reports at once; the bound only prevents an endless wait.
        self.exit.wait(Duration::from_secs(30)).unwrap_or(KILLED)
    }

    /// Raises the priority of the process if this process has the right to (as root), so that a process that answers in
    /// microseconds does not wait for compilers and browsers.
    pub fn go_first(&self) {
        // Without the right, the process keeps the normal priority.
        let _ = rustix::process::setpriority_process(Some(self.pid), -10);
    }

    /// Freezes the process and its children: connections stay open and nothing answers.
    pub fn pause(&self) {
        self.send_tree(Signal::STOP);
    }

    pub fn resume(&self) {
        self.send_tree(Signal::CONT);
    }

    /// Everything that the process has written to standard output.
    pub fn stdout(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap_or_default()
    }

    /// The end of the text that the process has written to standard error.
    pub fn log_tail(&self) -> String {
        log_tail(&self.stderr)
    }

    fn send(&self, signal: Signal) {
        if self.exit_code().is_none() {
            // If the process has ended since, it needs no signal.
            let _ = kill_process(self.pid, signal);
        }
    }

    fn send_tree(&self, signal: Signal) {
        let children = children(self.pid);
        self.send(signal);
        for child in children {
            let _ = kill_process(child, signal);
        }
    }
}

impl Drop for WatchedProcess {
    fn drop(&mut self) {
        self.owner = None;
        self.exit.wait(self.grace + Duration::from_secs(5));
    }
}

impl StopSignal {
    fn name(self) -> &'static str {
        match self {
            Self::Terminate => "TERM",
            Self::Interrupt => "INT",
            Self::Quit => "QUIT",
        }
    }

    fn number(self) -> Signal {
        match self {
            Self::Terminate => Signal::TERM,
            Self::Interrupt => Signal::INT,
            Self::Quit => Signal::QUIT,
        }
    }
}

/// The exit code, which the thread that reads from the watchdog sets.
#[derive(Debug, Default)]
struct Exit {
    code: Mutex<Option<i32>>,
    ended: Condvar,
}

impl Exit {
    fn follow(&self, lines: impl std::io::BufRead, mut watchdog: Child) {
        let code = lines.lines().map_while(Result::ok).find_map(|line| line.trim().parse().ok());
        // Reaps the watchdog, so that no zombie stays behind in a long-lived owner.
        let _ = watchdog.wait();
        *self.code.lock().unwrap_or_else(PoisonError::into_inner) = Some(code.unwrap_or(-1));
        self.ended.notify_all();
    }

    fn wait(&self, at_most: Duration) -> Option<i32> {
        let until = Instant::now() + at_most;
        let mut code = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if code.is_some() || left.is_zero() {
                return *code;
            }
            (code, _) = self.ended.wait_timeout(code, left).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The exit code that a shell reports for a process ended by signal 9.
const KILLED: i32 = 128 + 9;

/// The last lines of a log, for error messages.
pub(crate) fn log_tail(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().rev().take(12).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

fn command(launch: &Launch) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", include_str!("watchdog.sh"), "weir-watchdog"])
        .arg(launch.signal.name())
        .arg(launch.grace.as_secs().max(1).to_string())
        .args([&launch.stdout, &launch.stderr])
        .arg(&launch.program)
        .args(&launch.args)
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&launch.dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0);
    launch.account.apply(&mut command);
    command
}

fn children(of: Pid) -> Vec<Pid> {
    let pid = of.as_raw_nonzero();
    let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok();
    let listed = listed.or_else(|| {
        let output = Command::new("pgrep").args(["-P", &pid.to_string()]).output();
        String::from_utf8(output.ok()?.stdout).ok()
    });
    listed
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw))
        .collect()
}
