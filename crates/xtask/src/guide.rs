//! `cargo xtask guide`: docs/ into docs/dist, which the server embeds and serves at `/guide/`.
//!
//! The folder has mdBook's layout (`book.toml`, `SUMMARY.md`), so mdBook can show it as well. The pages made here need no
//! script; `guide.js` adds the search and buttons that copy. Every page is there as Markdown too. Every link between the pages,
//! and those of the pages at the root of the tree, is checked: its file and its heading must exist.

mod include;
mod links;
mod page;
mod summary;
mod texts;
mod theme;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use crate::compress::compress;
use crate::reference::{self, put_style};
use crate::workspace::{Workspace, call, replace_folder, step, write_file};
use links::{Target, check, resolve};
use page::Page;
use summary::Chapter;
use theme::Theme;

/// Draws the pictures of the guide with the code of the dashboard.
pub fn draw(workspace: &Workspace) -> Result<()> {
    let test = ["test", "--quiet", "--package", "weir-frontend", "pictures_of_the_guide"];
    step("pictures of the guide", || {
        call(workspace.cargo().args(test).env("WEIR_WRITE_PICTURES", "1"))
    })
}

/// Builds the guide and checks its links, and the API reference beside it.
pub fn run(workspace: &Workspace) -> Result<()> {
    step("guide", || build(workspace))?;
    reference::run(workspace)
}

fn build(workspace: &Workspace) -> Result<()> {
    let source = workspace.path(SOURCE);
    let chapters = summary::read(&source)?;
    let mut pages = BTreeMap::new();
    for path in chapters.iter().map(|chapter| chapter.path.clone()) {
        let text = fs::read_to_string(source.join(&path))
            .with_context(|| format!("read the chapter docs/{}", path.display()))?;
        let text = include::expanded(&source.join(&path), &text)?;
        ensure!(
            pages.insert(Path::new(SOURCE).join(&path), Page::parse(&text)).is_none(),
            "docs/SUMMARY.md names {} twice",
            path.display()
        );
    }
    for name in OTHER_PAGES {
        let text =
            fs::read_to_string(workspace.path(name)).with_context(|| format!("read {name}"))?;
        pages.insert(PathBuf::from(name), Page::parse(&text));
    }
    let faults = check(&workspace.root, &pages);
    if !faults.is_empty() {
        bail!("links that lead nowhere:\n  {}", faults.join("\n  "));
    }
    replace_folder(&workspace.path("docs/dist"), |staged| {
        write(workspace, (&source, staged), &chapters, &pages)
    })
}

/// Writes the pages and the files that they show.
fn write(
    workspace: &Workspace,
    (source, staged): (&Path, &Path),
    chapters: &[Chapter],
    pages: &BTreeMap<PathBuf, Page>,
) -> Result<()> {
    let theme = Theme::read(source)?;
    for (number, chapter) in chapters.iter().enumerate() {
        let from = Path::new(SOURCE).join(&chapter.path);
        let page = &pages[&from];
        let html = theme.render(chapters, number, page);
        write_file(&staged.join(chapter.address()), html)?;
        write_file(&staged.join(&chapter.path), page.markdown())?;
        for link in page.links() {
            let Ok(Target::File(file)) = resolve(&workspace.root, &from, link) else { continue };
            let below = file.strip_prefix(SOURCE).with_context(|| {
                format!("docs/{} links to {}, outside the guide", chapter.path.display(), link)
            })?;
            if !pages.contains_key(&file) {
                write_file(&staged.join(below), fs::read(workspace.root.join(&file))?)?;
            }
        }
    }
    write_file(&staged.join("404.html"), theme.not_found(chapters))?;
    let in_order =
        || chapters.iter().map(|chapter| (chapter, &pages[&Path::new(SOURCE).join(&chapter.path)]));
    write_file(&staged.join("search.json"), texts::search_index(in_order()).to_string())?;
    write_file(&staged.join("llms.txt"), texts::llms(in_order()))?;
    for (name, ..) in texts::OPENAPI {
        let document = fs::read(workspace.path("openapi").join(name))?;
        let document: serde_json::Value = serde_json::from_slice(&document)?;
        write_file(&staged.join("openapi").join(name), document.to_string())?;
    }
    put_style(workspace, "guide.css", staged)?;
    for script in ["docs/theme/guide.js", "frontend/theme.js"].map(|name| workspace.path(name)) {
        let bytes = fs::read(&script).with_context(|| format!("read {}", script.display()))?;
        write_file(&staged.join(script.file_name().unwrap_or_default()), bytes)?;
    }
    compress(staged)
}

const SOURCE: &str = "docs";

/// Pages that are not part of the guide, whose links are checked with it.
const OTHER_PAGES: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "migrations/README.md"];
