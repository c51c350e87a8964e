//! The answer to a call.

use axum::http::{HeaderName, header};
use prost_types::value::Kind;
use prost_types::{Duration, ListValue, Struct, Value};
use weir_http::request_id::RequestId;
use weir_rls::{DescriptorStatus, HeaderValue, RateLimit, RateLimitResponse};
use weir_wire::check::{CheckAnswer, LimitAnswer};
use weir_wire::words::Mode;

use super::call::Call;
use crate::decide::merged_check::MergedCheck;
use crate::requests::authorize::denial;
use crate::requests::headers;

/// Forward the request.
pub(super) const OK: u32 = 1;
/// Deny the request.
pub(super) const OVER_LIMIT: u32 = 2;

/// The headers of the decision that clients get. Envoy can make the others itself.
const HEADERS: [HeaderName; 3] = [
    HeaderName::from_static("ratelimit"),
    HeaderName::from_static("ratelimit-policy"),
    header::RETRY_AFTER,
];

/// The units of Envoy whose length is exact, in milliseconds. A calendar month or year is none.
const UNITS: [(u64, u32); 7] = [
    (1_000, 1),
    (60_000, 2),
    (3_600_000, 3),
    (86_400_000, 4),
    (2_592_000_000, 5),
    (31_536_000_000, 6),
    (604_800_000, 7),
];

/// The answer to a call of a domain that the tenant does not have.
pub(super) fn of_unknown_domain(descriptors: usize) -> RateLimitResponse {
    let status = DescriptorStatus { code: OK, ..DescriptorStatus::default() };
    let statuses = vec![status; descriptors];
    RateLimitResponse { overall_code: OK, statuses, ..RateLimitResponse::default() }
}

/// The answer of the decided checks: one status for each descriptor, in their order.
pub(super) fn of(
    call: &Call,
    decided: &[MergedCheck],
    id: Option<&RequestId>,
) -> RateLimitResponse {
    let statuses = (0..call.len()).map(|descriptor| status(call, decided, descriptor)).collect();
    let deciding = || {
        let all = decided.iter().enumerate().filter(|(check, _)| call.decides(*check));
        all.map(|(_, together)| &together.answer)
    };
    let Some(first) = deciding().next() else {
        return RateLimitResponse { overall_code: OK, statuses, ..RateLimitResponse::default() };
    };
    let answer = deciding().find(|answer| !answer.allowed).unwrap_or(first);
    let mut response = RateLimitResponse {
        overall_code: if answer.allowed { OK } else { OVER_LIMIT },
        statuses,
        response_headers_to_add: headers_of(answer, &HEADERS),
        request_headers_to_add: headers_of(answer, &[headers::OVER]),
        dynamic_metadata: Some(metadata(answer)),
        ..RateLimitResponse::default()
    };
    if !answer.allowed {
        let body = denial::body(429, answer, id);
        response.raw_body = serde_json::to_vec(&body).unwrap_or_default();
        let kind = denial::CONTENT_TYPE.to_owned();
        response.response_headers_to_add.push(pair("content-type", kind));
    }
    response
}

fn status(call: &Call, decided: &[MergedCheck], descriptor: usize) -> DescriptorStatus {
    let allowed = DescriptorStatus { code: OK, ..DescriptorStatus::default() };
    let Some((check, request)) = call.place(descriptor) else { return allowed };
    let together = &decided[check];
    let enforced = || together.limits_of(request).filter(|limit| limit.mode == Mode::Enforce);
    let by_limit = enforced().any(|limit| !limit.allowed);
    // A check that the tenant's ceiling refuses has no limits.
    let by_ceiling = together.answer.code.is_some() && !together.answer.allowed;
    let denied = call.decides(check) && (by_limit || by_ceiling || together.denies(request));
    let code = if denied { OVER_LIMIT } else { OK };
    let known = enforced().filter_map(|limit| Some((limit, limit.remaining?)));
    let shown = if by_limit {
        known.filter(|(limit, _)| !limit.allowed).max_by_key(|(limit, _)| wait_ms(limit))
    } else {
        known.min_by(|(a, of_a), (b, of_b)| {
            let share = |units: u64, of: &LimitAnswer| u128::from(units) * u128::from(of.limit);
            share(*of_a, b).cmp(&share(*of_b, a))
        })
    };
    let Some((limit, remaining)) = shown else { return DescriptorStatus { code, ..allowed } };
    DescriptorStatus {
        code,
        current_limit: Some(RateLimit {
            requests_per_unit: saturated(limit.limit),
            unit: unit(limit.window_ms),
            name: limit.rule.to_string(),
        }),
        limit_remaining: saturated(remaining),
        duration_until_reset: limit.reset_after_ms.map(|ms| Duration {
            seconds: i64::try_from(ms.div_ceil(1000)).unwrap_or(i64::MAX),
            nanos: 0,
        }),
    }
}

/// The wait of a denied limit. One that never passes waits longest.
fn wait_ms(limit: &LimitAnswer) -> u64 {
    limit.retry_after_ms.unwrap_or(u64::MAX)
}

fn saturated(units: u64) -> u32 {
    u32::try_from(units).unwrap_or(u32::MAX)
}

/// Envoy's unit of a window, 0 if it has none.
fn unit(window_ms: u64) -> u32 {
    UNITS.iter().find(|(ms, _)| *ms == window_ms).map_or(0, |(_, unit)| *unit)
}

fn headers_of(answer: &CheckAnswer, names: &[HeaderName]) -> Vec<HeaderValue> {
    let mut shown = Vec::new();
    headers::each(answer, |name, value| {
        if let (true, Ok(text)) = (names.contains(&name), value.to_str()) {
            shown.push(pair(name.as_str(), text.to_owned()));
        }
    });
    shown
}

fn pair(key: &str, value: String) -> HeaderValue {
    HeaderValue { key: key.to_owned(), value, raw_value: Vec::new() }
}

/// `allowed`, which only an allowed request has: Envoy can make what it sends at the end of the stream depend on it. For access
/// logs, the rules that deny.
fn metadata(answer: &CheckAnswer) -> Struct {
    let text = |text: &str| Value { kind: Some(Kind::StringValue(text.to_owned())) };
    if answer.allowed {
        return Struct { fields: [("allowed".to_owned(), text("true"))].into() };
    }
    let names = answer.denied_by.iter().map(|name| text(name)).collect();
    let denied_by = Value { kind: Some(Kind::ListValue(ListValue { values: names })) };
    let mut fields = vec![("denied_by".to_owned(), denied_by)];
    let mut denying =
        answer.limits.iter().filter(|limit| limit.mode == Mode::Enforce && !limit.allowed);
    let rule_id = denying.next().map(|limit| ("rule_id".to_owned(), text(&limit.rule_id)));
    fields.extend(rule_id);
    Struct { fields: fields.into_iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_lengths_have_a_unit() {
        for (window_ms, expected) in [
            (1_000, 1),
            (60_000, 2),
            (3_600_000, 3),
            (86_400_000, 4),
            (604_800_000, 7),
            (30 * 86_400_000, 5),
            (31 * 86_400_000, 0),
            (365 * 86_400_000, 6),
            (0, 0),
            (59_999, 0),
        ] {
            assert_eq!(unit(window_ms), expected, "{window_ms}");
        }
        assert_eq!((saturated(7), saturated(u64::MAX)), (7, u32::MAX));
    }

    #[test]
    fn unknown_domain_has_a_status_for_each_descriptor() {
        let answer = of_unknown_domain(2);
        let codes: Vec<_> = answer.statuses.iter().map(|status| status.code).collect();
        assert_eq!((answer.overall_code, codes), (OK, vec![OK, OK]));
    }
}
