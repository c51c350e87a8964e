//! The control plane serves the guide at `/guide/`.

use reqwest::header::HeaderMap;

use crate::harness::{Http, PATIENT_MS, Stack};

#[tokio::test]
async fn guide_is_served_without_scripts() {
    let stack = Stack::start(PATIENT_MS).await;
    let get = async |path: &str| {
        let url = format!("{}{path}", stack.control.url);
        let response = Http::new().request(reqwest::Method::GET, &url).send().await;
        let response = response.unwrap_or_else(|error| panic!("{url}: {error}"));
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        (status, headers, response.url().path().to_owned(), response.text().await.expect("text"))
    };
    let header = |headers: &HeaderMap, name: &str| {
        headers.get(name).map_or("", |value| value.to_str().expect("plain")).to_owned()
    };
    let (status, headers, path, text) = get("/guide").await;
    assert_eq!((status, path.as_str()), (200, "/guide/"), "run: cargo xtask guide");
    assert!(header(&headers, "content-type").starts_with("text/html"), "{headers:?}");
    let policy = header(&headers, "content-security-policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("script"), "{policy}");
    assert!(text.contains("algorithms.html") && !text.contains("<script"), "{text}");
    for (path, kind) in [
        ("/guide/operate/failures.html", "text/html"),
        ("/guide/guide.css", "text/css"),
        ("/guide/pictures/token_bucket.svg", "image/svg+xml"),
    ] {
        let (status, headers, ..) = get(path).await;
        assert_eq!(status, 200, "{path}");
        assert!(header(&headers, "content-type").starts_with(kind), "{path}: {headers:?}");
    }
    let (status, headers, _, text) = get("/guide/no-such-page.html").await;
    assert_eq!(status, 404);
    assert!(header(&headers, "content-type").starts_with("text/html"), "{headers:?}");
    assert!(text.contains("No such page") && text.contains("/guide/index.html"), "{text}");
}
