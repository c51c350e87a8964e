//! Spellings of a path: what the application gets is what was counted, so no spelling goes around a rule of a path.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Fixture, Kind, each_proxy};

each_proxy!(count_spellings: nginx_counts_the_path_of_the_application, traefik_counts_the_path_of_the_application,
    caddy_counts_the_path_of_the_application, haproxy_counts_the_path_of_the_application,
    envoy_counts_the_path_of_the_application);

/// Spellings of `/login` and of paths that look like it.
const SPELLINGS: &[&str] = &[
    "/login",
    "//login",
    "///login",
    "/./login",
    "/.//login",
    "//./login",
    "/x/../login",
    "/x/y/../../login",
    "/x//../login",
    "/../login",
    "/x/../../login",
    "/%2e/login",
    "/%2E/login",
    "/x/%2e%2e/login",
    "/x/%2E%2E/login",
    "/x/.%2e/login",
    "/x/%2e./login",
    "/%6cogin",
    "/%6Cogin",
    "/l%6fgin",
    "/%6c%6f%67%69%6e",
    "/%2flogin",
    "/%2Flogin",
    "/%2f%2flogin",
    "/x%2f..%2flogin",
    "/x%2f%2e%2e%2flogin",
    "/x/..%2flogin",
    "/x/%2e%2e%2flogin",
    "/login/",
    "/login//",
    "/login/.",
    "/login/./",
    "/login/%2e",
    "/login/x/..",
    "/login/x/../",
    "/login/%2f",
    "/login%2f",
    "/login%2F",
    "/LOGIN",
    "/Login",
    "/lOgIn/",
    "/%4cogin",
    "/login;a=b",
    "/login;",
    "/login;a=b;c=d",
    "/login;a/",
    "/login%3ba=b",
    "/login%3Ba=b",
    "/x/..;/login",
    "/x/..;a=b/login",
    "/x/%2e%2e;/login",
    "/x/..%3b/login",
    "/;/login",
    "/;a=b/login",
    "/.;/login",
    "/login?x=1",
    "/login?",
    "/login?/../x",
    "/login??x",
    "/login?a/b?c",
    "/login#x",
    "/login%23x",
    "/login%3fx",
    "/\\login",
    "\\login",
    "/x\\..\\login",
    "/x/..\\login",
    "/%5clogin",
    "/x%5c..%5clogin",
    "/login%20",
    "/login%00",
    "/login%0a",
    "/login%09",
    "/login.",
    "/login+",
    "/%256cogin",
    "/%252e/login",
    "/x/%252e%252e/login",
    "/login%",
    "/login%zz",
    "/lo%c0%afgin",
    "/%c0%ae/login",
    "/login/%2e%2e/login",
    "http://shop.example:8443/login",
    "http://shop.example:8443//login",
    "http://shop.example:8443/x/../login",
    "HTTP://shop.example:8443/login",
    "http://evil.example/login",
    "/a/./b/../c",
    "/a//../b",
    "/a/b/../..//login",
    "/%E2%80%8Blogin",
    "/\u{fc}/login",
    "/a<b>c\"d",
    "/a`b{c}|^",
    "/./",
    "/..",
    "//",
    "/",
    "login",
];

async fn count_spellings(kind: Kind) {
    let fixture = Fixture::counting_paths(kind).await;
    let mut seen = BTreeMap::<String, (u64, Vec<&str>)>::new();
    for spelling in SPELLINGS {
        let head = format!("GET {spelling} HTTP/1.1\r\nHost: shop.example:8443\r\n");
        let reply = fixture.send_raw(head.as_bytes());
        assert!(reply.status < 500, "{spelling}: {reply:?}");
        let Some(target) = reply.target else { continue };
        let (count, spellings) = seen.entry(normal_form(&target)).or_default();
        *count += 1;
        spellings.push(spelling);
    }
    for (path, (count, spellings)) in &seen {
        assert_eq!(fixture.counted(path).await, *count, "{kind:?} {path}: {spellings:?}");
    }
    // Caddy refuses dot segments.
    let (count, _) = &seen["/login"];
    assert!(*count >= 25, "{count} spellings of the rule's path reached the application");
}

/// The form of the guide, of the target that the application got: decoded once, in lower case, without matrix parameters,
/// dot segments, doubled slashes and a slash at the end.
fn normal_form(target: &str) -> String {
    let path = target.split('?').next().unwrap_or_default();
    let path = match path.split_once("://") {
        Some((_, rest)) if !path.starts_with('/') => &rest[rest.find('/').unwrap_or(rest.len())..],
        _ => path,
    };
    let mut text = format!("/{}/", decoded(path).replace('\\', "/"));
    while let Some(start) = text.find(';') {
        let length = text[start..].find('/').expect("the text ends with a slash");
        text.replace_range(start..start + length, "");
    }
    for (from, to) in [("//", "/"), ("/./", "/")] {
        while text.contains(from) {
            text = text.replace(from, to);
        }
    }
    while let Some(dots) = text.find("/../") {
        let parent = text[..dots].rfind('/').unwrap_or(0);
        text.replace_range(parent..dots + 3, "");
    }
    let text = text.trim_end_matches('/');
    if text.is_empty() { "/".to_owned() } else { text.to_owned() }
}

/// Decodes once, into lower case. Bytes that are no text, and control characters, stay encoded.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\0'..='\x1f' => write!(text, "%{:02X}", u32::from(letter)).expect("a string"),
                _ => text.extend(letter.to_lowercase()),
            }
        }
        for byte in chunk.invalid() {
            write!(text, "%{byte:02X}").expect("a string");
        }
    }
    text
}
