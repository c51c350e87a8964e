//! Small pictures of the algorithms: the counter of a limit during two bursts, as its simulation computes it.

use weir_wire::limits::AlgorithmName;

pub const WIDTH: u64 = 120;
pub const HEIGHT: u64 = 32;

/// The counter as the `d` of a path. Constant, so that lists need no simulation; a test compares it with one.
pub const fn path(algorithm: AlgorithmName) -> &'static str {
    match algorithm {
        AlgorithmName::FixedWindow | AlgorithmName::Quota => {
            "M0 32L9 32L13 12L15 10L16 5L17 2L39 2L42 32L60 32L66 2L78 2L81 32L120 32Z"
        }
        // Leases that nobody releases end as the entries of a log do.
        AlgorithmName::SlidingWindowLog | AlgorithmName::Concurrency => {
            "M0 32L9 32L13 12L15 10L16 5L17 2L48 2L51 7L54 22L57 32L60 32L66 2L99 2L102 12L105 27L108 32\
             L120 32Z"
        }
        AlgorithmName::SlidingWindowCounter => {
            "M0 32L9 32L13 12L15 10L16 5L17 2L39 2L42 5L45 7L48 10L51 12L54 15L57 17L60 17L61 15L63 5L64 2\
             L69 2L72 5L75 7L78 10L81 12L84 12L87 15L90 17L93 17L96 20L99 22L102 22L105 25L108 27L111 27\
             L114 30L117 32L120 32Z"
        }
        AlgorithmName::TokenBucket | AlgorithmName::LeakyBucket => {
            "M0 32L9 32L12 17L13 15L15 12L16 7L17 5L18 2L19 2L21 5L24 7L27 10L30 12L33 12L36 15L39 17L42 20\
             L45 22L48 25L51 27L54 30L57 32L60 32L63 17L64 15L66 5L67 2L69 2L72 5L75 7L78 10L81 12L84 15\
             L87 17L90 20L93 20L96 22L99 25L102 27L105 30L108 32L120 32Z"
        }
        AlgorithmName::Spacing => "M0 32L9 32L11 2L49 2L52 32L58 32L60 2L98 2L101 32L119 32Z",
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::json;
    use weir_domain::rule::Rule;
    use weir_wire::rules::RuleBody;

    use super::*;
    use crate::charts::geometry::{Scale, area};
    use crate::model::picture::{Pattern, Picture};

    #[test]
    fn paths_are_those_of_simulations() {
        let mut wrong = String::new();
        for algorithm in AlgorithmName::ALL {
            let drawn = drawing(&rule(algorithm));
            if drawn != path(algorithm) {
                let _ = writeln!(wrong, "{algorithm:?} => \"{drawn}\",");
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
    }

    fn rule(algorithm: AlgorithmName) -> Rule {
        let limit = json!({
            "algorithm": algorithm, "limit": 12, "window_ms": 60_000, "capacity": 12, "refill_tokens": 1,
            "refill_interval_ms": 5_000, "drain_units": 1, "drain_interval_ms": 5_000, "interval_ms": 60_000,
            "period": "day", "lease_ms": 60_000
        });
        let names: Vec<_> =
            algorithm.kind().parameters().iter().map(|parameter| parameter.name).collect();
        let limit: serde_json::Map<_, _> = limit
            .as_object()
            .expect("an object")
            .iter()
            .filter(|(name, _)| *name == "algorithm" || names.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let rule: RuleBody = serde_json::from_value(
            json!({"name": "drawn", "count_by": ["user"], "limits": [limit]}),
        )
        .expect("a rule");
        rule.parse().expect("a valid rule")
    }

    fn drawing(rule: &Rule) -> String {
        let picture = Picture::of(rule, Pattern::Burst, &[]).expect("a rule with a limit");
        let x = Scale { most: picture.span_us(), start: 0, end: WIDTH };
        let y = Scale { most: picture.limit, start: HEIGHT, end: 2 };
        let points: Vec<_> = picture.level.iter().copied().step_by(3).collect();
        corners(&area(x, y, &points))
    }

    /// The path without points on the straight line between their neighbours.
    fn corners(path: &str) -> String {
        let points: Vec<(i64, i64)> = path
            .trim_matches(['M', 'Z'])
            .split('L')
            .map(|point| {
                let (x, y) = point.split_once(' ').expect("two numbers");
                (x.parse().expect("a number"), y.parse().expect("a number"))
            })
            .collect();
        let is_corner = |at: &usize| {
            let (Some(before), Some(after)) = (at.checked_sub(1), points.get(at + 1)) else {
                return true;
            };
            let ((ax, ay), (bx, by), (cx, cy)) = (points[before], points[*at], *after);
            (bx - ax) * (cy - by) != (cx - bx) * (by - ay)
        };
        let corners: Vec<_> = (0..points.len())
            .filter(is_corner)
            .map(|at| format!("{} {}", points[at].0, points[at].1))
            .collect();
        format!("M{}Z", corners.join("L"))
    }
}
