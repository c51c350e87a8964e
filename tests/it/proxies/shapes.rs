//! Shapes of headers: no client can have its request refused by Weir, and so answered with an error or forwarded undecided.

use super::{Fixture, Kind, each_proxy};

each_proxy!(decide_shapes: nginx_has_every_shape_of_headers_decided, traefik_has_every_shape_of_headers_decided,
    caddy_has_every_shape_of_headers_decided, haproxy_has_every_shape_of_headers_decided,
    envoy_has_every_shape_of_headers_decided);

async fn decide_shapes(kind: Kind) {
    let fixture = Fixture::counting_paths(kind).await;
    let mut forwarded = 0;
    for (name, head) in shapes() {
        let reply = fixture.send_raw(&head);
        assert_ne!(reply.status, 500, "{name}: {reply:?}");
        assert!(!reply.has("application/problem+json"), "refused by Weir: {name}: {reply:?}");
        let is_forwarded = reply.target.is_some();
        forwarded += u64::from(is_forwarded);
        assert_eq!(fixture.counted("/shape").await, forwarded, "{name}, {is_forwarded}");
    }
    assert!(forwarded >= 20, "{forwarded} shapes reached the application");
    let reply = fixture.send_raw(&head("GET", "/shape", "shop.example", &headers(90)));
    assert_eq!(reply.status, 200, "{reply:?}");
}

fn head(method: &str, target: &str, host: &str, headers: &[u8]) -> Vec<u8> {
    let line = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n");
    [line.as_bytes(), headers].concat()
}

fn headers(count: u32) -> Vec<u8> {
    (0..count).flat_map(|at| format!("X-H{at}: v\r\n").into_bytes()).collect()
}

/// A name of each shape, and its request.
fn shapes() -> Vec<(String, Vec<u8>)> {
    let with = |headers: &[u8]| head("GET", "/shape", "shop.example", headers);
    let mut shapes = Vec::new();
    for count in [10, 50, 60, 63, 64, 65, 70, 90, 99, 101, 128, 200] {
        shapes.push((format!("{count} headers"), with(&headers(count))));
    }
    for byte in [1, 2, 7, 8, 9, 11, 12, 14, 27, 31, 127, 128, 255] {
        for name in ["X-A", "Cookie", "Authorization", "X-Forwarded-For", "X-Request-Id"] {
            let headers = [name.as_bytes(), b": a", &[byte], b"b\r\n"].concat();
            shapes.push((format!("byte {byte} in {name}"), with(&headers)));
        }
    }
    let long = |length: usize| format!("X-A: {}\r\n", "a".repeat(length));
    let hops = format!("X-Forwarded-For: {}1.1.1.1\r\n", "1.1.1.1, ".repeat(800));
    for (name, headers) in [
        ("a long header", long(7000)),
        ("a longer header", long(30_000)),
        ("long headers", long(7000).repeat(3)),
        ("many hops", hops),
        ("many lines of hops", "X-Forwarded-For: 1.1.1.1\r\n".repeat(80)),
        ("names with underscores", "X_Weir_Key: a\r\nX_A: b\r\n".to_owned()),
        ("an empty value", "X-A:\r\n".to_owned()),
        ("two keys of Weir", "X-Weir-Key: a\r\nX-Weir-Key: b\r\n".to_owned()),
        ("a key of Weir in Basic", "Authorization: Basic d2VpcjprZXk=\r\n".to_owned()),
        ("hop by hop", "Connection: X-Weir-Key, X-Forwarded-Uri, X-Original-URI\r\n".to_owned()),
        ("a trailer", "TE: trailers\r\n".to_owned()),
        ("a continuation", "Expect: 100-continue\r\n".to_owned()),
        ("an encoding", "Accept-Encoding: br\r\nContent-Encoding: x\r\n".to_owned()),
        ("a trace", "traceparent: 00-x\r\ntracestate: \u{fc}\r\n".to_owned()),
    ] {
        shapes.push((name.to_owned(), with(headers.as_bytes())));
    }
    for host in ["a_b!", "a,b", "a@b", "a\x01b", "a b", "a/b", "", "[::1]:80", &"a".repeat(3000)] {
        let name: String = host.chars().take(9).collect();
        shapes.push((format!("host {name:?}"), head("GET", "/shape", host, b"")));
    }
    for target in ["/shape?\x7f", "/shape?<>`\"{}|^", "/shape?\u{fc}", "/shape?%zz", "/shape?://#"]
    {
        shapes.push((target.to_owned(), head("GET", target, "shop.example", b"")));
    }
    let query = format!("/shape?{}", "a".repeat(7000));
    shapes.push(("a long query".to_owned(), head("GET", &query, "shop.example", b"")));
    for method in ["POST", "OPTIONS", "DELETE", "PATCH", "PURGE"] {
        let headers = b"Content-Length: 0\r\n";
        shapes.push((method.to_owned(), head(method, "/shape", "shop.example", headers)));
    }
    shapes.push(("HTTP/1.0".to_owned(), b"GET /shape HTTP/1.0\r\n".to_vec()));
    shapes
}
