//! The control plane serves the guide at `/guide/`, as Markdown too, and lists its pages at `/llms.txt`.

use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::harness::{Http, PATIENT_MS, Stack};

/// An answer: its status, headers, the path after redirects, and text.
struct Answer {
    status: u16,
    headers: HeaderMap,
    path: String,
    text: String,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("plain"))
    }
}

async fn get(stack: &Stack, path: &str) -> Answer {
    let url = format!("{}{path}", stack.control.url);
    let response = Http::new().request(reqwest::Method::GET, &url).send().await;
    let response = response.unwrap_or_else(|error| panic!("{url}: {error}"));
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let path = response.url().path().to_owned();
    Answer { status, headers, path, text: response.text().await.expect("text") }
}

#[tokio::test]
async fn guide_is_served_with_its_own_scripts_only() {
    let stack = Stack::start(PATIENT_MS).await;
    let first = get(&stack, "/guide").await;
    assert_eq!((first.status, first.path.as_str()), (200, "/guide/"), "run: cargo xtask guide");
    assert!(first.header("content-type").starts_with("text/html"), "{:?}", first.headers);
    let policy = first.header("content-security-policy");
    assert!(policy.contains("default-src 'none'; script-src 'self';"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    let scripts: Vec<_> = first.text.split("<script ").skip(1).collect();
    assert_eq!(scripts.len(), 2, "{}", first.text);
    for script in scripts {
        assert!(script.contains(".js\"></script>"), "the policy forbids it: {script}");
    }
    assert!(first.text.contains("algorithms.html"), "{}", first.text);
    for (path, kind) in [
        ("/guide/operate/failures.html", "text/html"),
        ("/guide/guide.css", "text/css"),
        ("/guide/guide.js", "text/javascript"),
        ("/guide/theme.js", "text/javascript"),
        ("/guide/inter.woff2", "font/woff2"),
        ("/guide/search.json", "application/json"),
        ("/guide/pictures/token_bucket.svg", "image/svg+xml"),
        ("/guide/screenshots/overview.webp", "image/webp"),
    ] {
        let answer = get(&stack, path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.header("content-type").starts_with(kind), "{path}: {:?}", answer.headers);
    }
    let missing = get(&stack, "/guide/no-such-page.html").await;
    assert_eq!(missing.status, 404);
    assert!(missing.header("content-type").starts_with("text/html"), "{:?}", missing.headers);
    let text = missing.text;
    assert!(text.contains("No such page") && text.contains("/guide/index.html"), "{text}");
}

#[tokio::test]
async fn every_page_is_served_as_markdown_and_listed_for_language_models() {
    let stack = Stack::start(PATIENT_MS).await;
    let list = get(&stack, "/llms.txt").await;
    assert_eq!(list.status, 200, "run: cargo xtask guide");
    assert_eq!(list.header("content-type"), "text/plain; charset=utf-8");
    let addresses: Vec<_> =
        list.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let (documents, pages): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| address.contains("/openapi/"));
    let contents = get(&stack, "/guide/").await.text;
    assert!(pages.len() > 40, "{pages:?}");
    for page in pages {
        let answer = get(&stack, page).await;
        let kind = answer.header("content-type");
        assert_eq!((answer.status, kind), (200, "text/markdown; charset=utf-8"), "{page}");
        assert!(answer.text.starts_with("# "), "{page}: {}", answer.text);
        let html = page.replace("README.md", "index.html").replace(".md", ".html");
        let link = html.replace("/guide/", "href=\"./");
        assert!(contents.contains(&link), "the contents have no {link}");
    }
    assert_eq!(documents.len(), 2, "{documents:?}");
    for document in documents {
        let text = get(&stack, document).await.text;
        let json: Value = serde_json::from_str(&text).expect("an OpenAPI document");
        assert!(json["paths"].is_object(), "{document}");
    }
}
