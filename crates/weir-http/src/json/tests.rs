//! Refused bodies, with their status and the field that the problem names.

use std::collections::BTreeMap;

use axum::body::Body;
use serde::Deserialize;

use super::*;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only parsed")]
struct Sample {
    name: String,
    #[serde(default)]
    tags: BTreeMap<String, String>,
    #[serde(default)]
    limits: Vec<Limit>,
    mode: Option<Mode>,
}

#[derive(Debug, Deserialize)]
enum Mode {
    On,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only parsed")]
struct Limit {
    window_ms: u64,
}

fn request(content_type: &str, body: impl Into<Body>) -> Request {
    Request::builder()
        .header("content-type", content_type)
        .extension(BodyLimit(200))
        .body(body.into())
        .expect("a valid request")
}

async fn refused(content_type: &str, body: impl Into<Body>) -> (u16, String) {
    let answer = Json::<Sample>::from_request(request(content_type, body), &()).await;
    let body = answer.expect_err("refused").body("");
    (body.status, body.fields.first().map(|f| f.field.clone()).unwrap_or_default())
}

#[tokio::test]
async fn each_way_of_being_wrong_has_its_status_and_field() {
    let cases = [
        ("", 400, ""),
        ("{", 400, ""),
        ("\u{feff}{\"name\":\"a\"}", 400, ""),
        ("{\"name\":\"a\"} x", 400, ""),
        ("{\"name\":\"\\ud800\"}", 400, ""),
        ("{\"name\":1e400}", 400, ""),
        ("{\"name\":1}", 422, "name"),
        ("[\"a\"]", 422, "body"),
        ("{}", 422, "name"),
        ("{\"name\":\"a\",\"nmae\":1}", 422, "nmae"),
        ("{\"name\":\"a\",\"name\":\"b\"}", 422, "name"),
        ("{\"name\":\"a\",\"tags\":{\"x\":\"1\",\"x\":\"2\"}}", 422, "tags.x"),
        ("{\"name\":\"a\",\"limits\":[{\"window_ms\":1},{}]}", 422, "limits[1].window_ms"),
        ("{\"name\":\"a\",\"limits\":[{\"window_ms\":-1}]}", 422, "limits[0].window_ms"),
        ("{\"name\":\"a\",\"limits\":[[1]]}", 422, "limits[0]"),
        ("{\"name\":\"a\",\"mode\":\"off\"}", 422, "mode"),
        ("{\"name\":\"a\",\"mode\":1}", 422, "mode"),
        ("{\"name\":\"a\",\"mode\":[]}", 422, "mode"),
        ("{\"name\":\"a\",\"mode\":{}}", 422, "mode"),
    ];
    for (body, status, field) in cases {
        let (seen_status, seen_field) = refused("application/json", body).await;
        assert_eq!((seen_status, seen_field.as_str()), (status, field), "{body}");
    }
}

#[derive(Debug, Deserialize)]
struct WithValue {
    value: serde_json::Value,
}

#[tokio::test]
async fn part_that_can_be_any_value_can_hold_lists_of_lists_but_no_repeated_name() {
    let parsed = async |body: &'static str| {
        let request = request("application/json", body);
        JsonWithValue::<WithValue>::from_request(request, &()).await
    };
    for value in ["[[8.5,47.4],[]]", "[{\"a\":[[[1]]]}]"] {
        let body = format!("{{\"value\":{value}}}").leak();
        let JsonWithValue(read) = parsed(body).await.expect("accepted");
        assert_eq!(read.value.to_string(), value);
    }
    for body in ["{\"value\":[[{\"a\":1,\"a\":2}]]}", "[[1]]", "{\"value\":[[1]}"] {
        assert!(parsed(body).await.is_err(), "{body}");
    }
}

#[tokio::test]
async fn other_content_types_and_large_bodies_are_refused() {
    for mime in ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"] {
        assert_eq!(refused(mime, "{\"name\":\"a\"}").await.0, 415, "{mime}");
    }
    let long = format!("{{\"name\":\"{}\"}}", "a".repeat(190));
    assert_eq!(refused("application/json", long).await.0, 413);
    let deep = "[".repeat(199);
    assert_eq!(refused("application/json", deep).await.0, 400);
    let fine = request("Application/JSON; charset=utf-8", "{\"name\":\"a\"}");
    assert!(Json::<Sample>::from_request(fine, &()).await.is_ok());
}

#[tokio::test]
async fn compressed_bodies_are_refused_and_not_taken_for_plain_ones() {
    let body = "{\"name\":\"a\"}";
    for (coding, status) in [("gzip", Some(415)), ("br, gzip", Some(415)), ("identity", None)] {
        let mut request = request("application/json", body);
        let coding_value = coding.parse().expect("a header value");
        request.headers_mut().insert("content-encoding", coding_value);
        let answer = Json::<Sample>::from_request(request, &()).await;
        assert_eq!(answer.err().map(|problem| problem.code().status()), status, "{coding}");
    }
}
