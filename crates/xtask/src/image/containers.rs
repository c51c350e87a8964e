//! The commands of containers: their settings, their deadlines, and the namespaces that remove all traces.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// `runc`, because `crun` refuses machines with cgroups of both versions, and cgroups without systemd. The limits of open
/// files and processes are those that a machine without `CAP_SYS_RESOURCE` can set.
const SETTINGS: &str = r#"[containers]
default_ulimits = ["nofile=16384:16384", "nproc=8192:8192"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"#;

/// Writes the settings of podman and buildah into `scratch`. Containers and volumes are below `scratch` too; `images` is the
/// store of the images.
pub fn configure(scratch: &Path, images: &Path) -> Result<()> {
    let (scratch_text, images) = (scratch.display(), images.display());
    let networks = format!("[network]\nnetwork_config_dir = \"{scratch_text}/networks\"\n");
    fs::write(scratch.join("containers.conf"), format!("{SETTINGS}{networks}"))?;
    let storage = format!(
        "[storage]\ndriver = \"overlay\"\ngraphroot = \"{scratch_text}/store\"\nrunroot = \
         \"{scratch_text}/run\"\n[storage.options]\nadditionalimagestores = [\"{images}\"]\n"
    );
    fs::write(scratch.join("storage.conf"), storage)?;
    fs::create_dir_all(scratch.join("tmp")).context("create a folder for temporary files")
}

/// A command that uses these settings and is killed after the deadline.
pub fn command(scratch: &Path, deadline_s: u32, program: &str) -> Command {
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=10", &deadline_s.to_string(), program])
        .env("CONTAINERS_CONF", scratch.join("containers.conf"))
        .env("CONTAINERS_STORAGE_CONF", scratch.join("storage.conf"))
        .env("TMPDIR", scratch.join("tmp"))
        .stdin(Stdio::null());
    command
}

/// A command that runs the program given by its next arguments with own process ids, mounts and, if wanted, network. When the
/// program ends, the kernel ends what is left of it: processes, mounts, bridges, rules of the packet filter. `hidden` are
/// folders in which the program sees nothing and leaves nothing.
pub fn isolated(scratch: &Path, deadline_s: u32, own_network: bool, hidden: &str) -> Command {
    let mut command = command(scratch, deadline_s, "unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    if own_network {
        command.args(["--net"]);
    }
    // The shell stays, because the first process must collect the orphans.
    let script = format!(
        "set -e; for folder in {hidden}; do mkdir -p $folder; mount -t tmpfs tmpfs $folder; done; \
         \"$@\"; exit $?"
    );
    command.args(["sh", "-c", &script, "sh"]);
    command
}

/// Runs a command and returns its standard output. The error contains all of its output.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    bail!("{command:?} ended with {}:\n{text}{errors}", output.status)
}
