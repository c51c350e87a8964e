//! Builds the images of Dockerfile on a machine that can pull none. A Debian that mmdebstrap makes replaces the base; stand-ins for
//! the compiler and Node.js deliver the server that was built before. The Dockerfile itself is used as it is.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::containers::{command, isolated, output};
use crate::sbom;
use crate::workspace::{Workspace, call, fingerprint, step};

/// The store of the images. Its name follows from what it is made of; stores of other content are removed.
pub fn store(workspace: &Workspace) -> Result<PathBuf> {
    let inputs = STAND_INS.iter().map(|(_, text)| text.as_bytes());
    let inputs = inputs.chain(DEBIAN.iter().map(|argument| argument.as_bytes()));
    let stores = workspace.cache.join("containers");
    let store = stores.join(fingerprint(inputs));
    fs::create_dir_all(&store).context("create the store of the images")?;
    for entry in fs::read_dir(&stores)? {
        let path = entry?.path();
        if path.is_dir() && path != store {
            fs::remove_dir_all(&path).context("remove an old store")?;
        }
    }
    Ok(store)
}

/// Builds `weir` and `weir-secrets`, and stand-ins for the images of Postgres and Redis.
pub fn run(workspace: &Workspace, scratch: &Path, store: &Path, weir: &Path) -> Result<()> {
    let builder = Builder { scratch, store };
    if !store.join("debian").is_file() {
        step("make the base image (a minute or two, once)", || builder.make_debian())?;
        fs::write(store.join("debian"), "").context("write the stamp")?;
    }
    let stand_ins = scratch.join("stand-ins");
    fs::create_dir(&stand_ins)?;
    for (name, text) in STAND_INS {
        let file = stand_ins.join(name);
        fs::write(&file, text)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
    }
    sbom::run(workspace, Some(&stand_ins.join("weir.cdx.json")))?;
    let stripped = stand_ins.join("weir");
    call(Command::new("objcopy").arg("--strip-all").args([weir, &stripped]))?;
    for (target, image) in [
        ("node", "docker.io/library/node:22-bookworm-slim"),
        ("rust", "docker.io/library/rust:1.95-bookworm"),
        ("postgres", "docker.io/library/postgres:15-bookworm"),
        ("redis", "docker.io/library/redis:7-bookworm"),
    ] {
        builder.build(target, image, &stand_ins)?;
    }
    builder.build("secrets", "weir-secrets", &workspace.root)?;
    builder.build("weir", "weir", &workspace.root)?;
    // The layers of the images stay, so that only those with the new server are built the next time.
    output(builder.buildah(60).args(["rmi", "--prune"]))?;
    Ok(())
}

struct Builder<'a> {
    scratch: &'a Path,
    store: &'a Path,
}

impl Builder<'_> {
    fn make_debian(&self) -> Result<()> {
        let folder = self.scratch.join("debian");
        fs::create_dir(&folder)?;
        let archive = folder.join("debian.tar");
        output(command(self.scratch, 600, "mmdebstrap").args(DEBIAN).arg(&archive))?;
        fs::write(
            folder.join("Dockerfile"),
            "FROM scratch AS debian\nADD debian.tar /\nCMD [\"bash\"]\n",
        )?;
        self.build("debian", "docker.io/library/debian:bookworm-slim", &folder)?;
        fs::remove_dir_all(&folder).context("remove the archive")
    }

    fn build(&self, target: &str, image: &str, context: &Path) -> Result<()> {
        let mut buildah = self.buildah(300);
        buildah.args(["build", "--isolation", "chroot", "--layers", "--pull=never"]);
        buildah.args(["--target", target, "--tag", image]).arg(context);
        output(&mut buildah).with_context(|| format!("build {image}"))?;
        Ok(())
    }

    fn buildah(&self, deadline_s: u32) -> Command {
        let mut buildah = isolated(self.scratch, deadline_s, false, "/var/lib/containers /dev/shm");
        buildah.arg("buildah").arg("--root").arg(self.store.join("images"));
        buildah.arg("--runroot").arg(self.scratch.join("run-build"));
        // There the store is a read-only one.
        buildah.env_remove("CONTAINERS_STORAGE_CONF");
        buildah
    }
}

const DEBIAN: [&str; 6] = [
    "--variant=minbase",
    "--include=ca-certificates,openssl",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    "bookworm",
];

const STAND_INS: [(&str, &str); 5] = [
    ("Dockerfile", include_str!("stand-ins/Dockerfile")),
    ("cargo", include_str!("stand-ins/cargo")),
    ("node", include_str!("stand-ins/node")),
    ("npm", include_str!("stand-ins/npm")),
    ("postgres-entrypoint", include_str!("stand-ins/postgres-entrypoint")),
];
