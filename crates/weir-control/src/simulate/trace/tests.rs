use super::*;

fn csv(text: &str) -> Result<Traffic, TraceError> {
    parse(&TraceBody { format: TraceFormat::Csv, text: text.to_owned() }, "default")
}

fn json_lines(text: &str) -> Result<Traffic, TraceError> {
    parse(&TraceBody { format: TraceFormat::JsonLines, text: text.to_owned() }, "default")
}

/// The times in milliseconds, users and costs of the checks.
fn read(traffic: &Traffic) -> Vec<(i64, Option<&str>, u64)> {
    let user = |check: &ReplayedCheck| traffic.requests[check.request as usize].attribute("user");
    traffic.asked.iter().map(|check| (check.at.as_millis(), user(check), check.cost)).collect()
}

#[track_caller]
fn refused(result: Result<Traffic, TraceError>, line: usize, column: usize, word: &str) {
    let wrong = result.expect_err("wrong");
    assert_eq!((wrong.line, wrong.column), (line, column), "{wrong:?}");
    assert!(wrong.reason.contains(word), "{wrong:?}");
}

#[test]
fn csv_is_read_in_the_order_of_time() {
    let traffic =
        csv("time,user,cost\n1970-01-01T00:00:02Z,ada,3\n\n1500,\"b,\"\"o\"\"\",\n1600,,2\n");
    let traffic = traffic.expect("fine");
    assert_eq!(
        read(&traffic),
        [(1500, Some("b,\"o\""), 1), (1600, None, 2), (2000, Some("ada"), 3)]
    );
    assert_eq!(read(&csv("cost;time\r\n2;7\r\n").expect("fine")), [(7, None, 2)]);
    assert_eq!(csv("").expect("empty").asked, []);
}

#[test]
fn json_lines_are_read() {
    let text = "{\"time\": 5, \"attributes\": {\"user\": \"ada\"}}\n{\"time\":\"1970-01-01T00:00:00Z\",\"cost\":9}";
    assert_eq!(read(&json_lines(text).expect("fine")), [(0, None, 9), (5, Some("ada"), 1)]);
}

#[test]
fn errors_say_line_and_column() {
    refused(csv("user\nada"), 1, 1, "time");
    refused(csv("time,User\n"), 1, 6, "name");
    refused(csv("time,user,user\n"), 1, 11, "twice");
    refused(csv("time,user\n1,ada\nnoon,ada\n"), 3, 1, "time");
    refused(csv("time,user,cost\n1,ada,1\n2,ada,many\n"), 3, 7, "cost");
    refused(csv("time,user\n1,ada,7\n"), 2, 7, "3 fields");
    refused(csv("time,user\n1\n"), 2, 2, "1 fields");
    refused(csv("time,user\n1,\"ada\n"), 2, 3, "closed");
    refused(csv("time,user\n1,\"ada\"x\n"), 2, 8, "separator");
    refused(json_lines("{\"time\": 1}\n{\"time\": \n"), 2, 9, "JSON");
    refused(json_lines("{\"cost\": 0, \"time\": 1}"), 1, 2, "cost");
    refused(json_lines("{\"at\": 1}"), 1, 2, "`at`");
    refused(json_lines("{\"time\": 1, \"attributes\": {\"user\": 1}}"), 1, 13, "text");
    refused(json_lines("{\"cost\": 1}"), 1, 1, "missing");
}

#[test]
fn trace_has_bounds() {
    let many = format!("time\n{}", "1\n".repeat(CHECKS_MAX + 1));
    refused(csv(&many), CHECKS_MAX + 2, 1, "200000");
    refused(csv(&format!("time{}", ",".repeat(5_000_000))), 1, 39, "34 fields");
    let body = TraceBody { format: TraceFormat::Csv, text: "x".repeat(TRACE_BYTES_MAX + 1) };
    assert!(super::read(&body, "default").is_err());
    let empty = TraceBody { format: TraceFormat::Csv, text: "time\n".to_owned() };
    assert!(super::read(&empty, "default").is_err(), "no check");
}
