//! The background tasks of the process, their shutdown, and the reason if the process ends unexpectedly.
//!
//! Every task that must run as long as the process is started here. If one returns early or panics, the process shuts down in
//! order and reports the name and the reason, so that no plane continues without one of its parts.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use anyhow::anyhow;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The tasks of the process, in two stages. The tasks of the planes end with [`Running::stop`]. The tasks that the last
/// requests of a plane need end with [`Running::drained`].
#[derive(Debug, Clone, Default)]
pub struct Running {
    /// Cancelled when the process is no longer ready, some time before `stop`.
    pub leaving: CancellationToken,
    /// Cancelled when the process must stop.
    pub stop: CancellationToken,
    /// Cancelled when the planes have drained.
    pub drained: CancellationToken,
    planes: TaskTracker,
    last: TaskTracker,
    failure: Arc<OnceLock<anyhow::Error>>,
}

impl Running {
    /// Starts a task of a plane, which must run until `stop`.
    pub fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let supervised = self.clone().supervise(name, self.stop.clone(), task);
        self.planes.spawn(supervised);
    }

    /// Starts a task that must run until the planes have drained.
    pub fn spawn_last(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let supervised = self.clone().supervise(name, self.drained.clone(), task);
        self.last.spawn(supervised);
    }

    /// Starts a task that ends with its last handle, or when the planes have drained. Only a panic ends the process.
    pub fn spawn_with_handles(
        &self,
        name: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        let running = self.clone();
        self.last.spawn(async move {
            if let Err(error) = tokio::spawn(task).await {
                running.fail_by_panic(name, error);
            }
        });
    }

    /// Starts a task that must run until the process ends. The end of the process does not wait for it.
    pub fn spawn_untracked(
        &self,
        name: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        tokio::spawn(self.clone().supervise(name, CancellationToken::new(), task));
    }

    /// Starts a single check. Its error ends the process; `stop` ends the task.
    pub fn spawn_check(
        &self,
        name: &'static str,
        check: impl Future<Output = anyhow::Result<()>> + Send + 'static,
    ) {
        let running = self.clone();
        let stop = self.stop.clone();
        let check = tokio::spawn(async move { stop.run_until_cancelled(check).await });
        self.planes.spawn(async move {
            match check.await {
                Ok(None | Some(Ok(()))) => {}
                Ok(Some(Err(error))) => running.fail(error),
                Err(error) => running.fail_by_panic(name, error),
            }
        });
    }

    /// Waits until the planes have drained after `stop`. Returns the reason if a failure ended the process.
    pub async fn wait(&self) -> anyhow::Result<()> {
        self.planes.close();
        self.planes.wait().await;
        self.drained.cancel();
        self.last.close();
        self.last.wait().await;
        tracing::info!("stopped");
        self.failure.get().map_or(Ok(()), |error| Err(anyhow!("{error:#}")))
    }

    /// Runs a task separately, so that a panic is detected, and ends the process if the task ends before `until`.
    async fn supervise(
        self,
        name: &'static str,
        until: CancellationToken,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        match tokio::spawn(task).await {
            Ok(()) if until.is_cancelled() => {}
            Ok(()) => self.fail(anyhow!("the task `{name}` ended unexpectedly")),
            Err(error) => self.fail_by_panic(name, error),
        }
    }

    /// Records a panic. A task that was dropped with the runtime is no failure.
    fn fail_by_panic(&self, name: &'static str, error: JoinError) {
        if let Ok(panic) = error.try_into_panic() {
            self.fail(anyhow!("the task `{name}` panicked: {}", message(panic.as_ref())));
        }
    }

    /// Records the first failure as the reason for the end of the process, and stops everything.
    pub fn fail(&self, error: anyhow::Error) {
        tracing::error!(reason = format!("{error:#}"), "shutting down: a required task failed");
        self.failure.get_or_init(|| error);
        self.stop.cancel();
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use std::process::{Command, ExitCode};
    use std::time::Duration;

    use super::*;
    use crate::telemetry::{self, Lines};

    /// The environment variable that selects how the child process of a test ends.
    const CHILD: &str = "WEIR_TEST_CHILD";

    /// The body of a child process. It passes when it runs as a test of its own.
    #[test]
    fn child_process() -> ExitCode {
        let Some(end) = std::env::var_os(CHILD) else { return ExitCode::SUCCESS };
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let done = runtime.block_on(async {
            telemetry::start("info", Lines::ByTerminal).expect("a filter");
            let running = Running::default();
            let stop = running.stop.clone();
            running.spawn("bystander", async move { stop.cancelled().await });
            let stop = running.stop.clone();
            match end.to_str() {
                Some("panic") => running.spawn("doomed", async { panic!("out of luck") }),
                Some("return") => running.spawn("doomed", async {}),
                Some("panic at the end") => running.spawn_last("doomed", async move {
                    stop.cancel();
                    panic!("out of luck")
                }),
                _ => stop.cancel(),
            }
            tokio::time::timeout(Duration::from_secs(20), running.wait()).await.expect("an end")
        });
        done.map_or_else(|error| telemetry::failed(&error), |()| ExitCode::SUCCESS)
    }

    fn run_child(end: &str) -> (bool, String) {
        let program = std::env::current_exe().expect("the test's own program");
        let output = Command::new(program)
            .args(["running::tests::child_process", "--exact", "--nocapture"])
            .env(CHILD, end)
            .output()
            .expect("a child process");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    #[test]
    fn a_task_that_panics_ends_the_process_with_its_reason_in_the_log() {
        for end in ["panic", "panic at the end"] {
            let (success, log) = run_child(end);
            assert!(!success, "{log}");
            let reason = r#""reason":"the task `doomed` panicked: out of luck""#;
            assert!(log.contains(reason), "{log}");
            assert!(log.contains("weir: the task `doomed` panicked: out of luck"), "{log}");
        }
    }

    #[test]
    fn a_task_that_returns_early_ends_the_process_with_its_reason_in_the_log() {
        let (success, log) = run_child("return");
        assert!(!success, "{log}");
        assert!(log.contains("the task `doomed` ended unexpectedly"), "{log}");
    }

    #[test]
    fn tasks_that_end_when_they_are_asked_to_end_the_process_well() {
        let (success, log) = run_child("stop");
        assert!(success, "{log}");
        assert!(!log.contains("a required task failed"), "{log}");
    }

    #[tokio::test]
    async fn a_failed_check_ends_the_process_and_a_passed_one_does_not() {
        let running = Running::default();
        running.spawn_check("passed", async { Ok(()) });
        running.spawn_check("failed", async { Err(anyhow!("too many rights")) });
        let error = running.wait().await.expect_err("a failure");
        assert_eq!(error.to_string(), "too many rights");
        assert!(running.stop.is_cancelled());
    }
}
