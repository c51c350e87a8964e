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
use crate::workspace::{Workspace, replace_folder, step, write_file};
use document::{Document, Plane};
use page::{Theme, address};

pub fn run(workspace: &Workspace) -> Result<()> {
    step("API reference", || build(workspace))
}

fn build(workspace: &Workspace) -> Result<()> {
    replace_folder(&workspace.path("docs/dist-reference"), |staged| write(workspace, staged))
}

fn write(workspace: &Workspace, staged: &Path) -> Result<()> {
    let theme_folder = workspace.path("docs/theme");
    let theme = Theme::read(&theme_folder)?;
    let documents = Plane::ALL.map(|plane| Document::read(workspace, plane));
    let documents = documents.into_iter().collect::<Result<Vec<_>>>()?;
    let mut groups = Vec::new();
    for document in &documents {
        groups.extend(document.groups()?);
    }
    for number in 0..groups.len() {
        write_file(&staged.join(address(&groups, number)), theme.render(&groups, number))?;
    }
    write_file(&staged.join("404.html"), theme.not_found(&groups))?;
    put_style(workspace, "reference.css", staged)?;
    let script =
        text(&workspace.path("frontend/theme.js"))? + &text(&theme_folder.join("reference.js"))?;
    write_file(&staged.join("reference.js"), script)?;
    compress(staged)
}

/// Writes this style sheet of docs/theme after the colours of the dashboard, and the font of the dashboard.
pub fn put_style(workspace: &Workspace, name: &str, staged: &Path) -> Result<()> {
    const FONT: &str = "inter.woff2";
    let frontend = workspace.path("frontend");
    let tokens = text(&frontend.join("style/00-tokens.css"))?.replace("{{font}}", FONT);
    let own = text(&workspace.path("docs/theme").join(name))?;
    write_file(&staged.join(name), tokens + &own)?;
    let font = fs::read(frontend.join("vendor").join(FONT)).context("read the font")?;
    write_file(&staged.join(FONT), font)
}

fn text(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("read {}", file.display()))
}

#[cfg(test)]
mod tests;
