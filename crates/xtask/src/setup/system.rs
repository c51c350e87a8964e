//! Programs from the system's packages: Postgres, Redis, for the tests a browser, and for measuring a load generator.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use super::purpose::Purpose;
use crate::workspace::{call, on_path, step};

pub fn install(purpose: Purpose) -> Result<()> {
    let missing: Vec<&Need> = NEEDS
        .iter()
        .filter(|need| need.only_for.is_empty() || need.only_for.contains(&purpose))
        .filter(|need| !(need.present)())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let titles: Vec<_> = missing.iter().map(|need| need.title).collect();
    let what = format!("install {}", titles.join(", "));
    step(&what, || install_packages(&missing))?;
    if let Some(need) = missing.iter().find(|need| !(need.present)()) {
        bail!("{} is installed but was not found", need.title);
    }
    Ok(())
}

struct Need {
    title: &'static str,
    debian: &'static str,
    brew: &'static str,
    /// The purposes that need it; empty for all.
    only_for: &'static [Purpose],
    present: fn() -> bool,
}

const NEEDS: &[Need] = &[
    // The server's allocator is built from its sources.
    Need {
        title: "make",
        debian: "make",
        brew: "make",
        only_for: &[],
        present: || on_path("make").is_some(),
    },
    Need {
        title: "Postgres",
        debian: "postgresql",
        brew: "postgresql",
        only_for: &[],
        present: || weir_local::postgres_folder().is_ok(),
    },
    Need {
        title: "Redis",
        debian: "redis-server",
        brew: "redis",
        only_for: &[],
        present: || weir_local::redis_server().is_ok(),
    },
    Need {
        title: "PgBouncer",
        debian: "pgbouncer",
        brew: "pgbouncer",
        only_for: &[Purpose::Test],
        present: || weir_local::pgbouncer().is_ok(),
    },
    Need {
        title: "Chromium",
        debian: "chromium",
        brew: "--cask chromium",
        only_for: &[Purpose::Test],
        present: has_browser,
    },
    // The tests run the code that "Get started" shows.
    Need {
        title: "Python",
        debian: "python3",
        brew: "python3",
        only_for: &[Purpose::Test],
        present: || on_path("python3").is_some(),
    },
    Need {
        title: "virtual environments of Python",
        debian: "python3-venv",
        brew: "python3",
        only_for: &[Purpose::Test],
        present: has_virtual_environments,
    },
    Need {
        title: "Go",
        debian: "golang-go",
        brew: "go",
        only_for: &[Purpose::Test],
        present: || on_path("go").is_some(),
    },
    // The compiler too: a machine with Java alone can run programs and build none.
    Need {
        title: "Java 17",
        debian: "openjdk-17-jdk-headless",
        brew: "openjdk@17",
        only_for: &[Purpose::Test],
        present: || on_path("javac").is_some(),
    },
    Need {
        title: "Maven",
        debian: "maven",
        brew: "maven",
        only_for: &[Purpose::Test],
        present: || on_path("mvn").is_some(),
    },
    Need {
        title: "luacheck",
        debian: "lua-check",
        brew: "luacheck",
        only_for: &[Purpose::Test],
        present: || on_path("luacheck").is_some(),
    },
    Need {
        title: "curl",
        debian: "curl",
        brew: "curl",
        only_for: &[Purpose::Test],
        present: || on_path("curl").is_some(),
    },
    // Gives one server of the tests another clock.
    Need {
        title: "libfaketime",
        debian: "faketime",
        brew: "libfaketime",
        only_for: &[Purpose::Test],
        present: || cfg!(not(target_os = "linux")) || weir_local::faketime().is_ok(),
    },
    Need {
        title: "HAProxy",
        debian: "haproxy",
        brew: "haproxy",
        only_for: &[Purpose::Test],
        present: || on_path("haproxy").is_some() || Path::new("/usr/sbin/haproxy").exists(),
    },
    Need {
        title: "nginx",
        debian: "nginx",
        brew: "nginx",
        only_for: &[Purpose::Test],
        present: || on_path("nginx").is_some() || Path::new("/usr/sbin/nginx").exists(),
    },
    // Its tool checks metrics and alert rules.
    Need {
        title: "promtool",
        debian: "prometheus",
        brew: "prometheus",
        only_for: &[Purpose::Test],
        present: || on_path("promtool").is_some(),
    },
    // Counts instructions; there is none for other systems.
    Need {
        title: "valgrind",
        debian: "valgrind",
        brew: "valgrind",
        only_for: &[Purpose::Test, Purpose::Bench],
        present: || cfg!(not(target_os = "linux")) || on_path("valgrind").is_some(),
    },
    // The images of containers; only Linux can build and run them.
    Need {
        title: "podman",
        debian: "podman",
        brew: "podman",
        only_for: &[Purpose::Test],
        present: || cfg!(not(target_os = "linux")) || on_path("podman").is_some(),
    },
    Need {
        title: "buildah",
        debian: "buildah",
        brew: "buildah",
        only_for: &[Purpose::Test],
        present: || cfg!(not(target_os = "linux")) || on_path("buildah").is_some(),
    },
    Need {
        title: "runc",
        debian: "runc",
        brew: "runc",
        only_for: &[Purpose::Test],
        present: || cfg!(not(target_os = "linux")) || on_path("runc").is_some(),
    },
    Need {
        title: "mmdebstrap",
        debian: "mmdebstrap",
        brew: "mmdebstrap",
        only_for: &[Purpose::Test],
        present: || cfg!(not(target_os = "linux")) || on_path("mmdebstrap").is_some(),
    },
    Need {
        title: "the DNS of containers",
        debian: "aardvark-dns",
        brew: "aardvark-dns",
        only_for: &[Purpose::Test],
        present: || {
            cfg!(not(target_os = "linux")) || Path::new("/usr/lib/podman/aardvark-dns").exists()
        },
    },
    Need {
        title: "iptables",
        debian: "iptables",
        brew: "iptables",
        only_for: &[Purpose::Test],
        present: || cfg!(not(target_os = "linux")) || on_path("iptables").is_some(),
    },
    Need {
        title: "the first process of pods",
        debian: "catatonit",
        brew: "catatonit",
        only_for: &[Purpose::Test],
        present: || cfg!(not(target_os = "linux")) || on_path("catatonit").is_some(),
    },
    Need {
        title: "iproute2",
        debian: "iproute2",
        brew: "iproute2",
        only_for: &[Purpose::Test],
        present: || cfg!(not(target_os = "linux")) || on_path("ip").is_some(),
    },
    Need {
        title: "wrk",
        debian: "wrk",
        brew: "wrk",
        only_for: &[Purpose::Bench],
        present: || on_path("wrk").is_some(),
    },
    // The limiter that Weir is compared with is built from its sources.
    Need {
        title: "protoc",
        debian: "protobuf-compiler",
        brew: "protobuf",
        only_for: &[Purpose::Bench],
        present: || on_path("protoc").is_some(),
    },
];

fn install_packages(missing: &[&Need]) -> Result<()> {
    let debian: Vec<_> = missing.iter().map(|need| need.debian).collect();
    if on_path("apt-get").is_none() {
        let brew: Vec<_> = missing.iter().map(|need| need.brew).collect();
        let command = if on_path("brew").is_some() {
            format!("brew install {}", brew.join(" "))
        } else {
            format!("install these with your system's package manager: {}", debian.join(", "))
        };
        bail!("run this, then try again:\n\n    {command}\n");
    }
    let script = include_str!("install.sh");
    let root = Command::new("id").arg("-u").output()?.stdout == b"0\n";
    let mut command = match (root, may_sudo()) {
        (true, _) => Command::new("sh"),
        (false, true) => {
            let mut command = Command::new("sudo");
            command.args(["-n", "sh"]);
            command
        }
        (false, false) => bail!(
            "this needs root; run this, then try again:\n\n    sudo apt-get install \
             --no-install-recommends {}\n",
            debian.join(" ")
        ),
    };
    call(command.args(["-c", script, "install"]).args(debian))
}

fn may_sudo() -> bool {
    Command::new("sudo")
        .args(["-n", "true"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Debian puts the installer of packages that a new environment needs into a package of its own.
fn has_virtual_environments() -> bool {
    Command::new("python3")
        .args(["-c", "import ensurepip, venv"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn has_browser() -> bool {
    ["chromium", "chromium-browser", "google-chrome"].iter().any(|name| on_path(name).is_some())
        || Path::new("/Applications/Google Chrome.app").exists()
        || Path::new("/Applications/Chromium.app").exists()
}
