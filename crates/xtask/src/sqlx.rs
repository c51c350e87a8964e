//! `cargo xtask sqlx`: what the SQL macros learn from a database, written to .sqlx so that
//! everybody else builds without one.
//!
//! A temporary Postgres gets every migration; then the store is compiled against it, and each
//! macro saves its description (the macros do so when told a folder and a live database).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail};
use weir_local::{Postgres, PostgresOptions, ScratchDir};

use crate::workspace::{Mode, Workspace, call, files_below, has_extension};

pub fn run(workspace: &Workspace, mode: Mode) -> Result<()> {
    let scratch = ScratchDir::create()?;
    let server = Postgres::start(PostgresOptions {
        data_dir: scratch.path().join("postgres"),
        durable: false,
    })?;
    server.create_database(DATABASE)?;
    for file in migrations(workspace)? {
        let text = file.to_string_lossy();
        server
            .psql(DATABASE, &["--single-transaction", "-f", &text])
            .with_context(|| format!("apply {text}"))?;
    }
    let fresh = workspace.target.join("sqlx");
    if fresh.exists() {
        fs::remove_dir_all(&fresh).context("clear the working folder")?;
    }
    fs::create_dir_all(&fresh).context("create the working folder")?;
    compile_store(workspace, &server.url(DATABASE), &fresh)?;
    settle(&fresh, &workspace.path(".sqlx"), mode)
}

fn migrations(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let mut files = files_below(&workspace.path("migrations"))?;
    files.retain(|file| has_extension(file, "sql"));
    Ok(files)
}

/// The macros run only when the store is compiled, so its root looks newer meanwhile. Afterwards it has its own time again,
/// because other builds would otherwise compile the store and all that stands on it once more.
fn compile_store(workspace: &Workspace, url: &str, descriptions: &Path) -> Result<()> {
    let root = fs::File::options()
        .append(true)
        .open(workspace.path("crates/weir-store/src/lib.rs"))
        .context("open the store's root")?;
    let modified = root.metadata()?.modified()?;
    #[expect(
        clippy::disallowed_methods,
        reason = "a file's time stamp is compared with the machine's clock"
    )]
    let now = SystemTime::now();
    root.set_modified(now).context("touch the store")?;
    let compiled = call(
        workspace
            .cargo()
            .args(["check", "--quiet", "--package", "weir-store"])
            .args(["--all-targets", "--all-features"])
            .env("SQLX_OFFLINE", "false")
            .env("SQLX_OFFLINE_DIR", descriptions)
            .env("DATABASE_URL", url),
    );
    root.set_modified(modified).context("give the store its time back")?;
    compiled
}

/// Makes `committed` equal to `fresh`, or fails where it is not.
fn settle(fresh: &Path, committed: &Path, mode: Mode) -> Result<()> {
    let (new, old) = (contents(fresh)?, contents(committed)?);
    if new == old {
        return Ok(());
    }
    if mode == Mode::Check {
        let missing = new.iter().filter(|(name, text)| old.get(*name) != Some(text));
        let unused = old.keys().filter(|name| !new.contains_key(*name));
        bail!(
            ".sqlx is out of date: {} missing or different, {} unused; run: cargo xtask sqlx",
            missing.count(),
            unused.count()
        );
    }
    fs::create_dir_all(committed).context("create .sqlx")?;
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        fs::remove_file(committed.join(name)).context("remove an unused description")?;
    }
    for (name, text) in &new {
        fs::write(committed.join(name), text).context("write a description")?;
    }
    println!("   .sqlx holds {} descriptions", new.len());
    Ok(())
}

fn contents(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    files_below(folder)?
        .into_iter()
        .filter(|file| has_extension(file, "json"))
        .map(|file| {
            let name = file.file_name().context("a file has a name")?;
            Ok((name.to_string_lossy().into_owned(), fs::read(&file)?))
        })
        .collect()
}

const DATABASE: &str = "weir";
