//! The input of the operators' form for ceilings, and the labels of its fields.

use weir_domain::ceilings::Ceiling;
use weir_wire::ceilings::CeilingsBody;
use weir_wire::problem::FieldProblem;

use crate::model::number::{grouped, parse};

/// The names of the fields, for problems of the API.
pub const FIELDS: [&str; Ceiling::ALL.len()] = {
    let mut names = [""; Ceiling::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Ceiling::ALL[at].as_str();
        at += 1;
    }
    names
};

/// The label of a ceiling.
pub const fn label(ceiling: Ceiling) -> &'static str {
    match ceiling {
        Ceiling::ChecksPerSecond => "Checks per second",
        Ceiling::Rules => "Rules",
        Ceiling::LimitsPerCheck => "Limits per check",
        Ceiling::ApiKeys => "Active API keys",
        Ceiling::LiveSubjects => "Subjects in Redis (reported only)",
        Ceiling::AdminRequestsPerSecond => "Admin API requests per second",
        Ceiling::RevisionsPerRule => "Revisions per rule",
        Ceiling::WebhookTestsPerMinute => "Webhook tests per minute",
        Ceiling::WhatIfRuns => "Concurrent replays",
        Ceiling::StatisticsDays => "Days of statistics",
        Ceiling::Assignments => "Customers on plans",
        Ceiling::CustomersPerDay => "Customers counted by name per day",
    }
}

/// The value that applies if the field is empty, and the bounds.
pub fn hint(ceiling: Ceiling, default: u64) -> String {
    format!("Default: {}. From 1 to {}.", grouped(default), grouped(ceiling.max()))
}

/// The entered values; an empty field is not set.
pub fn read(entered: impl Fn(Ceiling) -> String) -> Result<CeilingsBody, Vec<FieldProblem>> {
    let texts = Ceiling::ALL.map(entered);
    let values = texts.each_ref().map(|text| parse(text));
    let unreadable = Ceiling::ALL.into_iter().filter(|ceiling| {
        let at = *ceiling as usize;
        values[at].is_none() && !texts[at].trim().is_empty()
    });
    let mut problems: Vec<_> = unreadable
        .map(|ceiling| FieldProblem::new(ceiling.as_str(), "must be a whole number"))
        .collect();
    let body = CeilingsBody::of(|ceiling| values[ceiling as usize]);
    if let Err(out_of_bounds) = body.parse() {
        problems.extend(out_of_bounds);
    }
    if problems.is_empty() { Ok(body) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_fields_are_not_set_and_every_problem_names_its_field() {
        let entered = |ceiling| match ceiling {
            Ceiling::Rules => "1,000".to_owned(),
            Ceiling::ApiKeys => " ".to_owned(),
            _ => String::new(),
        };
        assert_eq!(
            read(entered),
            Ok(CeilingsBody { rules: Some(1_000), ..CeilingsBody::default() })
        );
        let entered = |ceiling| match ceiling {
            Ceiling::Rules => "many".to_owned(),
            Ceiling::WhatIfRuns => "3".to_owned(),
            _ => String::new(),
        };
        let problems = read(entered).expect_err("two values are wrong");
        let problems: Vec<_> = problems
            .iter()
            .map(|problem| format!("{} {}", problem.field, problem.reason))
            .collect();
        assert_eq!(problems, ["rules must be a whole number", "what_if_runs must be from 1 to 2"]);
    }

    #[test]
    fn fields_have_the_names_of_the_api() {
        assert_eq!(FIELDS[0], "checks_per_second");
        assert_eq!(FIELDS[9], "statistics_days");
        assert_eq!(hint(Ceiling::Rules, 10_000), "Default: 10,000. From 1 to 10,000.");
    }
}
