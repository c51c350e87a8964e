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
use crate::reference;
use crate::workspace::{Workspace, call, step};
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
    write(workspace, &source, &chapters, &pages)
}

/// Writes the pages and the files that they show into a new folder, and puts it in place of the former one.
fn write(
    workspace: &Workspace,
    source: &Path,
    chapters: &[Chapter],
    pages: &BTreeMap<PathBuf, Page>,
) -> Result<()> {
    let staged = workspace.path("docs/dist.new");
    if staged.exists() {
        fs::remove_dir_all(&staged).context("clear the folder for the guide")?;
    }
    let theme = Theme::read(source)?;
    for (number, chapter) in chapters.iter().enumerate() {
        let from = Path::new(SOURCE).join(&chapter.path);
        let page = &pages[&from];
        let html = theme.render(chapters, number, page);
        put(&staged.join(chapter.address()), html.as_bytes())?;
        put(&staged.join(&chapter.path), page.markdown().as_bytes())?;
        for link in page.links() {
            let Ok(Target::File(file)) = resolve(&workspace.root, &from, link) else { continue };
            let below = file.strip_prefix(SOURCE).with_context(|| {
                format!("docs/{} links to {}, outside the guide", chapter.path.display(), link)
            })?;
            if !pages.contains_key(&file) {
                put(&staged.join(below), &fs::read(workspace.root.join(&file))?)?;
            }
        }
    }
    put(&staged.join("404.html"), theme.not_found(chapters).as_bytes())?;
    let in_order =
        || chapters.iter().map(|chapter| (chapter, &pages[&Path::new(SOURCE).join(&chapter.path)]));
    put(&staged.join("search.json"), texts::search_index(in_order()).to_string().as_bytes())?;
    put(&staged.join("llms.txt"), texts::llms(in_order()).as_bytes())?;
    for (name, ..) in texts::OPENAPI {
        let document = fs::read(workspace.path("openapi").join(name))?;
        let document: serde_json::Value = serde_json::from_slice(&document)?;
        put(&staged.join("openapi").join(name), document.to_string().as_bytes())?;
    }
    put_appearance(workspace, source, &staged)?;
    compress(&staged)?;
    let dist = workspace.path("docs/dist");
    if dist.exists() {
        fs::remove_dir_all(&dist).context("remove the former guide")?;
    }
    fs::rename(&staged, &dist).context("put the guide in its place")
}

/// The style, the scripts and the font. The colours, the font and the script of the stored theme are those of the dashboard.
fn put_appearance(workspace: &Workspace, source: &Path, staged: &Path) -> Result<()> {
    let frontend = workspace.path("frontend");
    let read = |file: PathBuf| {
        fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))
    };
    let tokens = read(frontend.join("style/00-tokens.css"))?.replace("{{font}}", "inter.woff2");
    let style = tokens + &read(source.join("theme/guide.css"))?;
    put(&staged.join("guide.css"), style.as_bytes())?;
    put(&staged.join("guide.js"), read(source.join("theme/guide.js"))?.as_bytes())?;
    put(&staged.join("theme.js"), read(frontend.join("theme.js"))?.as_bytes())?;
    put(&staged.join("inter.woff2"), &fs::read(frontend.join("vendor/inter.woff2"))?)
}

fn put(file: &Path, bytes: &[u8]) -> Result<()> {
    fs::create_dir_all(file.parent().context("a file has a folder")?)?;
    fs::write(file, bytes).with_context(|| format!("write {}", file.display()))
}

const SOURCE: &str = "docs";

/// Pages that are not part of the guide, whose links are checked with it.
const OTHER_PAGES: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "migrations/README.md"];
