use super::*;

const BOUNDS: HeadBounds = HeadBounds { headers_max: 64, proxied_prefix: Some("/asked/") };

fn refused(head: &str) -> Option<Refusal> {
    inspect(&mut head.as_bytes().to_vec(), &BOUNDS).err()
}

fn framing(head: &str) -> Option<(usize, Framing)> {
    inspect(&mut head.as_bytes().to_vec(), &BOUNDS).expect("a valid head")
}

#[test]
fn plain_requests_are_accepted_with_the_framing_of_their_body() {
    let get = "GET / HTTP/1.1\r\nHost: a:80\r\n\r\n";
    assert_eq!(framing(get), Some((get.len(), Framing::Length(0))));
    let post = "POST /check?x=%20 HTTP/1.1\r\nhost: a\r\nCONTENT-LENGTH: 20\r\n\r\n";
    assert_eq!(framing(&format!("{post}rest\n")), Some((post.len(), Framing::Length(20))));
    let chunked = "\r\nPOST / HTTP/1.1\r\nHost: [::1]:80\r\nTransfer-Encoding: Chunked\r\n\r\n";
    assert_eq!(framing(chunked), Some((chunked.len(), Framing::Chunked)));
    for head in [
        "GET / HTTP/1.0\r\n\r\n",
        "GET http://a/b HTTP/1.1\r\nHost: A\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /\"<>{} HTTP/1.0\r\n\r\n",
    ] {
        let uri = head.split(' ').nth(1).expect("a target");
        assert_eq!(refused(head).is_none(), uri.parse::<Uri>().is_ok(), "{head:?}");
    }
}

#[test]
fn every_prefix_of_a_head_is_incomplete() {
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n";
    for end in 0..head.len() {
        assert_eq!(framing(&head[..end]), None, "{end}");
    }
}

#[test]
fn what_two_parsers_could_read_differently_is_refused() {
    let cases = [
        ("Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n", "not both"),
        ("Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n", "not both"),
        ("Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n", "once"),
        ("Host: a\r\nContent-Length: 1, 1\r\n", "decimal"),
        ("Host: a\r\nContent-Length: 00033\r\n", "decimal"),
        ("Host: a\r\nContent-Length: +1\r\n", "decimal"),
        ("Host: a\r\nContent-Length:\r\n", "decimal"),
        ("Host: a\r\nContent-Length: 9999999999999999999\r\n", "decimal"),
        ("Host: a\r\nTransfer-Encoding: gzip, chunked\r\n", "coding"),
        ("Host: a\r\nTransfer-Encoding: ,chunked\r\n", "coding"),
        ("Host: a\r\nTransfer-Encoding: identity\r\n", "coding"),
        ("Host: a\r\nTransfer-Encoding:\r\n", "coding"),
        ("Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "once"),
        ("Host: a\r\nX: 1\nY: 2\r\n", "CR LF"),
        ("Host: a\n", "CR LF"),
        ("Host: a\r\nHost: a\r\n", "one `Host`"),
        ("X: 1\r\n", "one `Host`"),
        ("Host:\r\n", "name or an address"),
        ("Host: a, b\r\n", "name or an address"),
        ("Host: user@a\r\n", "name or an address"),
        ("Host: a\r\nContent-Length : 1\r\n", "not an HTTP request"),
        ("Host: a\r\n folded: 1\r\n", "not an HTTP request"),
        ("Host: a\r\nX: \0\r\n", "not an HTTP request"),
        ("Host: a\r\nX: a\rb\r\n", "not an HTTP request"),
    ];
    for (headers, reason) in cases {
        let head = format!("POST / HTTP/1.1\r\n{headers}\r\n");
        match refused(&head) {
            Some(Refusal::Malformed(detail)) => {
                assert!(detail.contains(reason), "{head:?}: {detail}");
            }
            other => panic!("{head:?}: {other:?}"),
        }
    }
    for head in [
        "GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1 x\r\nHost: a\r\n\r\n",
        "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\n",
        "\x16\x03\x01",
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
    ] {
        assert!(matches!(refused(head), Some(Refusal::Malformed(_))), "{head:?}");
    }
}

#[test]
fn heads_are_bounded_in_bytes_and_in_headers() {
    let many = "X: 1\r\n".repeat(64);
    assert_eq!(
        refused(&format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n")),
        Some(Refusal::TooLarge(64))
    );
    let long = "a".repeat(HEAD_BYTES_MAX);
    assert_eq!(refused(&format!("GET /{long}")), Some(Refusal::TooLarge(64)));
    assert_eq!(
        refused(&format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n")),
        Some(Refusal::TooLarge(64))
    );
}

#[test]
fn what_a_client_sends_through_a_proxy_is_not_refused() {
    let head =
        "GET /asked/a<b`?c>d#\x7f\u{fc} HTTP/1.1\r\nHost: a@b, c\r\nX: a\x01\x1b\0\x7f\tb\r\n";
    let mut bytes = format!("{head}\r\n").into_bytes();
    assert_eq!(inspect(&mut bytes, &BOUNDS), Ok(Some((bytes.len(), Framing::Length(0)))));
    let masked = "GET /asked/a_b_?c_d____ HTTP/1.1\r\nHost: a@b, c\r\nX: a????\tb\r\n\r\n";
    let shown: Vec<u8> =
        bytes.iter().map(|byte| if *byte == 0xff { b'?' } else { *byte }).collect();
    assert_eq!(String::from_utf8_lossy(&shown), masked);
    for byte in (0..=u8::MAX).filter(|byte| !b"\r\n ".contains(byte)) {
        let mut head = b"GET /asked/x?x HTTP/1.1\r\nHost: a\r\n\r\n".to_vec();
        (head[11], head[13]) = (byte, byte);
        inspect(&mut head, &BOUNDS).expect("a valid head");
        let target = std::str::from_utf8(&head[4..14]).expect("a text");
        assert!(target.parse::<Uri>().is_ok(), "{byte} becomes {target}");
    }
    for host in ["", " ", "\x01"] {
        assert_eq!(refused(&format!("\r\nGET /asked/x HTTP/1.1\r\nHost: {host}\r\n\r\n")), None);
    }
    let with = |count: usize| {
        refused(&format!("GET /asked/x HTTP/1.1\r\n{}\r\n", "X: 1\r\n".repeat(count)))
    };
    assert_eq!(with(PROXIED_HEADERS_MAX), None);
    assert_eq!(with(PROXIED_HEADERS_MAX + 1), Some(Refusal::TooLarge(PROXIED_HEADERS_MAX)));
    for ambiguous in ["X: a\rb", "Content-Length: 1\r\nContent-Length: 1", "Host: a\r\nHost: a"] {
        let head = format!("GET /asked/x HTTP/1.1\r\n{ambiguous}\r\n\r\n");
        assert!(matches!(refused(&head), Some(Refusal::Malformed(_))), "{head:?}");
    }
    assert!(refused("GET /other HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n").is_some());
}
