//! The reference of both APIs, which the server embeds and serves at `/docs/`: `openapi/` into docs/dist-reference.
//!
//! The pages need no script, except to choose a language, to copy, to search and to send calls. Reading order: `document`, `page`,
//! `fields`, `example`, `samples`.

mod document;
mod example;
mod fields;
mod markup;
mod page;
mod samples;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::compress::compress;
use crate::workspace::{Workspace, step};
use document::{Document, Plane};
use page::{Theme, address};

pub fn run(workspace: &Workspace) -> Result<()> {
    step("API reference", || build(workspace))
}

/// Writes the pages into a new folder, and puts it in place of the former one.
fn build(workspace: &Workspace) -> Result<()> {
    let staged = workspace.path("docs/dist-reference.new");
    if staged.exists() {
        fs::remove_dir_all(&staged).context("clear the folder for the reference")?;
    }
    fs::create_dir_all(&staged)?;
    let theme_folder = workspace.path("docs/theme");
    let theme = Theme::read(&theme_folder)?;
    let documents = Plane::ALL.map(|plane| Document::read(workspace, plane));
    let documents = documents.into_iter().collect::<Result<Vec<_>>>()?;
    let mut groups = Vec::new();
    for document in &documents {
        groups.extend(document.groups()?);
    }
    for number in 0..groups.len() {
        put(&staged, &address(&groups, number), theme.render(&groups, number))?;
    }
    put(&staged, "404.html", theme.not_found(&groups))?;
    let frontend = workspace.path("frontend");
    let font = "inter.woff2";
    let tokens = text(&frontend.join("style/00-tokens.css"))?.replace("{{font}}", font);
    put(&staged, "reference.css", tokens + &text(&theme_folder.join("reference.css"))?)?;
    put(
        &staged,
        "reference.js",
        text(&frontend.join("theme.js"))? + &text(&theme_folder.join("reference.js"))?,
    )?;
    put(&staged, font, fs::read(frontend.join("vendor").join(font)).context("read the font")?)?;
    compress(&staged)?;
    let dist = workspace.path("docs/dist-reference");
    if dist.exists() {
        fs::remove_dir_all(&dist).context("remove the former reference")?;
    }
    fs::rename(&staged, &dist).context("put the reference in its place")
}

fn text(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("read {}", file.display()))
}

fn put(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
    fs::write(folder.join(name), content).with_context(|| format!("write {name}"))
}

#[cfg(test)]
mod tests;
