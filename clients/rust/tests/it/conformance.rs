//! The rows of conformance.json.

use std::fmt::Write as _;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_ratelimit::{
    Answer, CheckRequest, DeferRequest, DeferredState, Degraded, Error, Kind, OnError, Options,
    Reservation, ReserveRequest, Weir,
};

use crate::support::{GENEROUS, RUN, cases, client, closed_port, concurrent_cases, needed, stub};

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_the_conformance_file() {
    let mut faults = String::new();
    let rows = cases();
    assert!(rows.len() > 70, "{}", rows.len());
    for (position, row) in rows.iter().enumerate() {
        for fault in run(row, position).await {
            writeln!(faults, "{}: {fault}", row["name"]).expect("a string");
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

/// In one thread, so that all calls of a row have begun before the first one is sent.
#[tokio::test]
async fn rows_of_calls_at_once() {
    let mut faults = String::new();
    let first = cases().len();
    for (nth, row) in concurrent_cases().iter().enumerate() {
        for fault in run_at_once(row, first + nth).await {
            writeln!(faults, "{}: {fault}", row["name"]).expect("a string");
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

/// The faults of a row whose calls begin at once.
async fn run_at_once(row: &Value, position: usize) -> Vec<String> {
    let url = match row["server"].as_str() {
        Some("gate") => needed("WEIR_GATE_URL"),
        _ => stub(position, &RUN),
    };
    let weir = client(options(row, &url, &Arc::default()));
    let calls = row["calls"].as_array().expect("calls");
    if let Some(times) = row["times"].as_u64() {
        let answers = at_once((0..times).map(|_| call(&weir, &calls[0], "")).collect()).await;
        let allowed = |answers: &Vec<Answer>| answers.iter().all(|answer| answer.allowed);
        let allowed = answers.iter().flatten().filter(|answers| allowed(answers)).count();
        return if row["allowed"] == allowed { vec![] } else { vec![format!("{allowed} allowed")] };
    }
    let one =
        async |step: &Value| take(&weir, step, (&mut String::new(), &mut String::new())).await;
    let found = at_once(calls.iter().map(one).collect()).await;
    let named = found.into_iter().enumerate();
    let mut faults: Vec<_> = named
        .flat_map(|(nth, found)| found.into_iter().map(move |fault| format!("call {nth}: {fault}")))
        .collect();
    if row["paths"] != Value::Null {
        let requests = reqwest::get(format!("{url}/requests")).await.expect("the stub");
        let requests: Value = requests.json().await.expect("JSON");
        let paths: Vec<_> =
            requests.as_array().expect("a list").iter().map(|request| &request["path"]).collect();
        if json!(paths) != row["paths"] {
            faults.push(format!("paths: {paths:?}"));
        }
    }
    faults
}

/// The outcomes of calls that begin in order, each before another one has ended.
async fn at_once<F: Future>(calls: Vec<F>) -> Vec<F::Output> {
    let mut calls: Vec<_> = calls.into_iter().map(|call| (Box::pin(call), None)).collect();
    poll_fn(|context| {
        for (call, outcome) in calls.iter_mut().filter(|(_, outcome)| outcome.is_none()) {
            if let Poll::Ready(found) = call.as_mut().poll(context) {
                *outcome = Some(found);
            }
        }
        let ended = calls.iter().all(|(_, outcome)| outcome.is_some());
        if ended { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    calls.into_iter().map(|(_, outcome)| outcome.expect("it ended")).collect()
}

/// The faults of the row.
async fn run(row: &Value, position: usize) -> Vec<String> {
    let url = match row["server"].as_str() {
        Some("gate") => needed("WEIR_GATE_URL"),
        Some("stub") => stub(position, &RUN),
        _ => closed_port(),
    };
    let slept = Arc::new(Mutex::new(Vec::new()));
    let weir = client(options(row, &url, &slept));
    let steps = row["steps"].as_array().expect("steps");
    let mut faults = Vec::new();
    let (mut open, mut lease) = (None, "lease_x".to_owned());
    let (mut job, mut charge) = ("deferred_x".to_owned(), String::new());
    for (nth, step) in steps.iter().enumerate() {
        let found = match step["call"].as_str() {
            Some("reserve") => reserve(&weir, step, &mut open).await,
            Some("commit" | "cancel") => commit(step, open.as_ref()).await,
            Some("defer" | "deferred" | "cancel_deferred") => queue(&weir, step, &mut job).await,
            Some("renew" | "release") => settle(&weir, step, &lease).await,
            _ => take(&weir, step, (&mut lease, &mut charge)).await,
        };
        faults.extend(found.into_iter().map(|fault| format!("step {nth}: {fault}")));
    }
    let slept = json!(*slept.lock().expect("no panic"));
    if row["sleeps"] != Value::Null && row["sleeps"] != slept {
        faults.push(format!("sleeps: {slept}"));
    }
    if row["server"] == "stub" {
        faults.extend(compare_requests(row, &format!("{url}/requests")).await);
    }
    faults
}

fn options(row: &Value, url: &str, slept: &Arc<Mutex<Vec<u64>>>) -> Options {
    let given = &row["options"];
    let on_error = if given["on_error"] == "allow" { OnError::Allow } else { OnError::Deny };
    let key = given["key"].as_str().map_or_else(|| needed("WEIR_KEY"), str::to_owned);
    let timeout = given["timeout_ms"].as_u64().map_or(GENEROUS, Duration::from_millis);
    let mut options =
        Options::new(url, key, on_error).timeout(timeout).retry(given["retry"] == true);
    if let Some(number) = given["max_in_flight"].as_u64() {
        options = options.max_in_flight(usize::try_from(number).expect("small"));
    }
    if let Some(number) = given["max_waiting"].as_u64() {
        options = options.max_waiting(usize::try_from(number).expect("small"));
    }
    if let Some(ms) = given["retry_spread_ms"].as_u64() {
        options = options.retry_spread(Duration::from_millis(ms));
    }
    let random = row["random"].as_f64().unwrap_or(0.0);
    options = options.random(move || random);
    if let Some(size) = given["cache_size"].as_u64() {
        options = options.cache_size(usize::try_from(size).expect("small"));
    }
    if row["server"] == "stub" {
        let slept = Arc::clone(slept);
        options = options.sleep(move |pause| {
            slept.lock().expect("no panic").push(u64::try_from(pause.as_millis()).expect("short"));
            std::future::ready(())
        });
    }
    let waits = row["steps"].as_array().into_iter().flatten().any(|step| step["call"] == "wait");
    if waits {
        return options;
    }
    // A busy machine must not outlast a cached denial.
    let start = Instant::now();
    options.now(move || start)
}

async fn take(
    weir: &Weir,
    step: &Value,
    (lease, charge): (&mut String, &mut String),
) -> Vec<String> {
    let outcome = call(weir, step, charge).await;
    let answers = match (outcome, &step["error"]) {
        (Err(error), wanted @ Value::Object(_)) => return compare_error(&error, wanted),
        (Err(error), _) => return vec![format!("{error:?}")],
        (Ok(answers), Value::Null) => answers,
        (Ok(answers), _) => return vec![format!("no error but {answers:?}")],
    };
    if let Some(taken) = answers.iter().find_map(|answer| answer.charge.as_ref()) {
        charge.clone_from(taken);
    }
    if let Some(taken) = answers.iter().flat_map(|answer| &answer.leases).next() {
        lease.clone_from(&taken.id);
    }
    let expected =
        step["results"].as_array().cloned().unwrap_or_else(|| vec![step["expect"].clone()]);
    if answers.len() != expected.len() {
        return vec![format!("{} answers", answers.len())];
    }
    answers.iter().zip(&expected).flat_map(|(answer, wanted)| compare(answer, wanted)).collect()
}

async fn reserve(weir: &Weir, step: &Value, open: &mut Option<Reservation>) -> Vec<String> {
    let mut request = ReserveRequest::new(request(step));
    if let Some(ttl_ms) = step["ttl_ms"].as_u64() {
        request = request.ttl(Duration::from_millis(ttl_ms));
    }
    if step["at_most"] == true {
        request = request.at_most();
    }
    let reservation = match (weir.reserve(&request).await, &step["error"]) {
        (Err(error), wanted @ Value::Object(_)) => return compare_error(&error, wanted),
        (Err(error), _) => return vec![format!("{error:?}")],
        (Ok(reservation), Value::Null) => reservation,
        (Ok(reservation), _) => return vec![format!("no error but {reservation:?}")],
    };
    let mut wanted = step["expect"].clone();
    let reserved = wanted.as_object_mut().and_then(|wanted| wanted.remove("reserved"));
    let mut faults = compare(&reservation.answer, &wanted);
    if reserved.is_some_and(|reserved| reserved != reservation.reserved) {
        faults.push(format!("{} reserved", reservation.reserved));
    }
    *open = Some(reservation);
    faults
}

/// Makes a call about a deferred job; until the result is as expected, if the step says so.
async fn queue(weir: &Weir, step: &Value, job: &mut String) -> Vec<String> {
    let deadline = Instant::now() + GENEROUS;
    loop {
        let found = match (ask(weir, step, job).await, &step["error"]) {
            (Err(error), wanted @ Value::Object(_)) => return compare_error(&error, wanted),
            (Err(error), _) => return vec![format!("{error:?}")],
            (Ok(found), Value::Null) => found,
            (Ok(found), _) => return vec![format!("no error but {found}")],
        };
        let mut faults = differences(&found, &step["expect"]);
        if let wanted @ Value::Object(_) = &step["expect"]["answer"] {
            faults.retain(|fault| !fault.starts_with("answer"));
            faults.extend(differences(&found["answer"], wanted));
        }
        if faults.is_empty() || step["until"] != true || Instant::now() > deadline {
            return faults;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn ask(weir: &Weir, step: &Value, job: &mut String) -> Result<Value, Error> {
    let id = step["job"].as_str().unwrap_or(job).to_owned();
    let (state, answer) = match step["call"].as_str() {
        Some("cancel_deferred") => {
            return weir.cancel_deferred(&id).await.map(|removed| json!({ "removed": removed }));
        }
        Some("deferred") => (weir.deferred(&id).await?, None),
        _ => {
            let deferral = weir.defer(&deferred_request(step)).await?;
            (deferral.job, deferral.answer.as_ref().map(in_json))
        }
    };
    let Some(state) = state else { return Ok(json!({ "state": null, "answer": answer })) };
    let word = match state.state {
        DeferredState::Queued => "waiting",
        DeferredState::Delivered => "delivered",
        DeferredState::Failed => "failed",
    };
    let found = json!({
        "state": word, "position": state.position, "charged": state.charged,
        "attempts": state.attempts, "error": state.error, "answer": answer,
    });
    *job = state.id;
    Ok(found)
}

fn deferred_request(step: &Value) -> DeferRequest {
    let key = step["idempotency_key"].as_str().expect("a key").replace("$RUN", &RUN);
    let target = step["target"].as_str().map_or_else(|| needed("WEIR_WEBHOOK"), str::to_owned);
    let mut job = DeferRequest::new(request(step), target, step["payload"].clone(), key);
    if let Some(ms) = step["not_after_ms"].as_u64() {
        job = job.not_after(Duration::from_millis(ms));
    }
    match step["timeout_ms"].as_u64() {
        Some(ms) => job.timeout(Duration::from_millis(ms)),
        None => job,
    }
}

fn differences(found: &Value, wanted: &Value) -> Vec<String> {
    let wanted = wanted.as_object().expect("an object").iter();
    let wrong = wanted.filter(|(name, value)| found[*name] != **value);
    wrong.map(|(name, value)| format!("{name} is {}, not {value}", found[name])).collect()
}

async fn settle(weir: &Weir, step: &Value, lease: &str) -> Vec<String> {
    let lease = step["lease"].as_str().unwrap_or(lease);
    let word = |source: Degraded| format!("{source:?}").to_lowercase();
    let outcome = if step["call"] == "renew" {
        let renewed = weir.renew(lease).await;
        renewed.map(|found| json!({ "held": found.held, "degraded": found.degraded.map(word) }))
    } else {
        let released = weir.release(lease).await;
        released.map(
            |found| json!({ "released": found.released, "degraded": found.degraded.map(word) }),
        )
    };
    let found = match (outcome, &step["error"]) {
        (Err(error), wanted @ Value::Object(_)) => return compare_error(&error, wanted),
        (Err(error), _) => return vec![format!("{error:?}")],
        (Ok(found), Value::Null) => found,
        (Ok(found), _) => return vec![format!("no error but {found}")],
    };
    differences(&found, &step["expect"])
}

async fn commit(step: &Value, open: Option<&Reservation>) -> Vec<String> {
    let open = open.expect("a reservation");
    let outcome = match step["cost"].as_u64() {
        Some(cost) => open.commit(cost).await,
        None => open.cancel().await,
    };
    let committed = match (outcome, &step["error"]) {
        (Err(error), wanted @ Value::Object(_)) => return compare_error(&error, wanted),
        (Err(error), _) => return vec![format!("{error:?}")],
        (Ok(committed), Value::Null) => committed,
        (Ok(committed), _) => return vec![format!("no error but {committed:?}")],
    };
    let found = json!({
        "charged": committed.charged, "released": committed.released, "late": committed.late, "buffered": committed.buffered,
        "degraded": committed.degraded.map(|source| format!("{source:?}").to_lowercase()),
    });
    differences(&found, &step["expect"])
}

async fn call(weir: &Weir, step: &Value, charge: &str) -> Result<Vec<Answer>, Error> {
    let request = match step["charge"].as_str() {
        Some("$CHARGE") => request(step).charge(charge),
        Some(named) => request(step).charge(named),
        None => request(step),
    };
    let answer = match step["call"].as_str().expect("a call") {
        "check" => weir.check(&request).await,
        "peek" => weir.peek(&request).await,
        "record" => weir.record(&request).await,
        "refund" => weir.refund(&request).await,
        "exhaust" => {
            let for_ms = step["for_ms"].as_u64().expect("a time");
            weir.exhaust(&request, Duration::from_millis(for_ms)).await
        }
        "wait" => {
            weir.wait(&request, Duration::from_millis(step["max_ms"].as_u64().expect("a time")))
                .await
        }
        "batch" => {
            let requests: Vec<_> =
                step["checks"].as_array().expect("checks").iter().map(self::request).collect();
            return weir.batch(&requests).await;
        }
        other => panic!("no call {other}"),
    };
    answer.map(|answer| vec![answer])
}

fn request(step: &Value) -> CheckRequest {
    let of_run = |value: &Value| value.as_str().expect("a text").replace("$RUN", &RUN);
    let mut request = CheckRequest::new(step["namespace"].as_str().unwrap_or("conformance"));
    for (name, value) in step["attributes"].as_object().into_iter().flatten() {
        request = request.attribute(name, of_run(value));
    }
    if let Some(cost) = step["cost"].as_u64() {
        request = request.cost(cost);
    }
    if step["peek"] == true {
        request = request.peek();
    }
    match &step["idempotency_key"] {
        Value::Null => request,
        key => request.idempotency_key(of_run(key)),
    }
}

fn compare_error(error: &Error, wanted: &Value) -> Vec<String> {
    let fields: Vec<_> = error.fields.iter().map(|one| &one.field).collect();
    let found = json!({ "kind": name(error.kind), "status": error.status, "fields": fields });
    let wrong = wanted
        .as_object()
        .expect("an object")
        .iter()
        .filter(|(name, value)| found[*name] != **value);
    wrong.map(|(name, value)| format!("{name} is not {value}: {error:?}")).collect()
}

fn compare(answer: &Answer, wanted: &Value) -> Vec<String> {
    let found = in_json(answer);
    let headers = answer.headers();
    let mut faults = Vec::new();
    for (name, value) in wanted.as_object().expect("an object") {
        if name == "headers" {
            for (header, text) in value.as_object().expect("headers") {
                let got =
                    json!(headers.get(header).map(|value| value.to_str().expect("printable")));
                if got != *text {
                    faults.push(format!("{header} is {got}, not {text}"));
                }
            }
        } else if let (Some(min), Some(max)) = (value["min"].as_u64(), value["max"].as_u64()) {
            if !found[name].as_u64().is_some_and(|number| (min..=max).contains(&number)) {
                faults.push(format!("{name} is {}", found[name]));
            }
        } else if found[name] != *value {
            faults.push(format!("{name} is {}, not {value}: {answer:?}", found[name]));
        }
    }
    faults
}

/// The fields of an answer by the names that the cases use.
fn in_json(answer: &Answer) -> Value {
    json!({
        "allowed": answer.allowed, "denied_by": answer.denied_by, "over": answer.over, "request_id": answer.request_id, "retry_after_ms": answer.retry_after_ms,
        "delay_ms": answer.delay_ms, "limit": answer.limit, "remaining": answer.remaining,
        "reset_after_ms": answer.reset_after_ms, "limits": answer.limits.len(), "leases": answer.leases.len(), "code": answer.code, "cached": answer.cached,
        "charged": answer.charged, "buffered": answer.buffered, "degraded": answer.degraded.map(|source| format!("{source:?}").to_lowercase()),
        "error": answer.error.as_ref().map(|error| name(error.kind)),
    })
}

fn name(kind: Kind) -> String {
    format!("{kind:?}").to_lowercase()
}

async fn compare_requests(row: &Value, url: &str) -> Vec<String> {
    let requests: Value = reqwest::get(url).await.expect("the stub").json().await.expect("JSON");
    let requests = requests.as_array().expect("a list");
    let mut faults = Vec::new();
    if row["requests"].as_u64().is_some_and(|count| requests.len() as u64 != count) {
        faults.push(format!("{} requests", requests.len()));
    }
    let keys: Vec<_> =
        requests.iter().map(|request| request["body"]["idempotency_key"].as_str()).collect();
    let same = keys.iter().all(|key| *key == keys[0] && key.is_some_and(|key| key.len() >= 16));
    if row["same_key"] == true && !same {
        faults.push(format!("keys: {keys:?}"));
    }
    faults
}
