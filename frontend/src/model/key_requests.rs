//! How much a key is used, in words.

use weir_wire::api_keys::KeyRequests;

use crate::model::number::{grouped, per_second, quantity};

/// The numbers of the last hour and of the sparkline, with the average rate.
pub fn summary(requests: &KeyRequests) -> String {
    let day: u64 = requests.hours.iter().sum();
    let hour = usize::try_from(requests.last_hour).unwrap_or(usize::MAX);
    let hour = quantity(hour, "request", "requests");
    let rate = per_second(requests.last_hour, 3_600);
    format!("{hour} in the last hour, {rate} per second; {} in the last 24 hours", grouped(day))
}

#[cfg(test)]
mod tests {
    use weir_domain::time::Timestamp;

    use super::*;

    #[test]
    fn summary_has_the_rate_of_the_last_hour() {
        let start = Timestamp::from_millis(0).into();
        let requests = |last_hour: u64| KeyRequests {
            start,
            hours: vec![1_000, 200],
            last_hour,
            last_gate: None,
        };
        assert_eq!(
            summary(&requests(1_100)),
            "1,100 requests in the last hour, 0.3 per second; 1,200 in the last 24 hours"
        );
    }
}
