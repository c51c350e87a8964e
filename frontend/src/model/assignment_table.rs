//! Assignments as CSV: `customer, plan, from, until, note, email`, of which the first two are needed. A plan is a name or an id.

use std::collections::{HashMap, HashSet};

use weir_domain::time::Timestamp;
use weir_wire::plans::{AssignmentBody, PlanAnswer};

use crate::model::csv::{self, Record, Rows};
use crate::model::field_problem;
use crate::model::json;

/// Parses a file; `plans` are those of the tenant.
pub fn read(text: &str, plans: &[PlanAnswer], now: Timestamp) -> Rows<AssignmentBody> {
    let mut customers = HashSet::new();
    csv::read(text, columns, |columns, record| {
        let body = assignment(columns, record, plans)?;
        let wrong = body.problems(now);
        if !wrong.is_empty() {
            return Err(field_problem::list(&wrong));
        }
        let new = customers.insert(body.customer.clone());
        new.then_some(body).ok_or_else(|| "the customer is on an earlier line".to_owned())
    })
}

/// The places of the columns.
fn columns(head: &Record) -> Result<HashMap<String, usize>, String> {
    let mut columns = HashMap::new();
    for (at, name) in head.cells.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        if !COLUMNS.contains(&name.as_str()) {
            return Err(format!("unknown column {name}; the columns are {}", COLUMNS.join(", ")));
        }
        if columns.insert(name.clone(), at).is_some() {
            return Err(format!("duplicate column {name}"));
        }
    }
    if columns.contains_key("customer") && columns.contains_key("plan") {
        return Ok(columns);
    }
    Err(format!("the first line must name the columns: {}", COLUMNS.join(", ")))
}

fn assignment(
    columns: &HashMap<String, usize>,
    record: &Record,
    plans: &[PlanAnswer],
) -> Result<AssignmentBody, String> {
    let cell = |name: &str| {
        columns.get(name).and_then(|at| record.cells.get(*at)).map_or("", String::as_str)
    };
    let time = |name: &str| match cell(name) {
        "" => Ok(None),
        text => json::read_value(&text.into())
            .map(Some)
            .map_err(|_| format!("{name} must be a time, for example 2027-01-31T08:00:00Z")),
    };
    let name = cell("plan");
    let plan = plans.iter().find(|plan| plan.plan.name == name || plan.id == name);
    let plan = plan.ok_or_else(|| match name {
        "" => "plan is missing".to_owned(),
        name => format!("no plan {name}"),
    })?;
    let customer = cell("customer");
    if customer.is_empty() {
        return Err("customer is missing".to_owned());
    }
    let given = |name: &str| Some(cell(name).to_owned()).filter(|text| !text.is_empty());
    Ok(AssignmentBody {
        customer: customer.to_owned(),
        plan: plan.id.clone(),
        from: time("from")?,
        until: time("until")?,
        note: given("note"),
        email: given("email"),
    })
}

const COLUMNS: [&str; 6] = ["customer", "plan", "from", "until", "note", "email"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(text: &str) -> Rows<AssignmentBody> {
        let plan = |name: &str| {
            let plan = json!({
                "id": format!("plan_{name}"), "name": name, "customers": 0, "pinned": [],
                "revision": 1, "rulebook_version": 1,
                "created_at": "2026-11-21T03:00:00Z", "updated_at": "2026-11-21T03:00:00Z"
            });
            serde_json::from_value(plan).expect("a plan")
        };
        let now: weir_wire::time::DateTime =
            serde_json::from_value(json!("2026-11-28T00:00:00Z")).expect("a time");
        read(text, &[plan("free"), plan("pro")], now.0)
    }

    #[test]
    fn each_line_is_an_assignment() {
        let read = parsed(
            "customer,plan,from,until,note,email\r\nacme,pro,,,,a@b.test\r\n\"a, b\",plan_free,2027-01-01T00:00:00+01:00,,'=later,\r\n",
        );
        assert_eq!(read.wrong, [""; 0]);
        let bodies = json!([
            { "customer": "acme", "plan": "plan_pro", "email": "a@b.test" },
            { "customer": "a, b", "plan": "plan_free", "from": "2026-12-31T23:00:00Z", "note": "=later" },
        ]);
        let bodies: Vec<AssignmentBody> = serde_json::from_value(bodies).expect("assignments");
        assert_eq!(read.rows, [(2, bodies[0].clone()), (3, bodies[1].clone())]);
    }

    #[test]
    fn every_wrong_line_is_named() {
        let read = parsed(
            "plan;customer;from;until\npro;a;;\ngold;b;;\n;c;;\npro;;;\npro;a;;\npro;d;soon;\npro;e;2026-01-01T00:00:00Z;\n\
             pro;f;;2026-01-01T00:00:00Z\n",
        );
        assert_eq!(read.rows.len(), 1);
        let expected = [
            "line 3: no plan gold",
            "line 4: plan is missing",
            "line 5: customer is missing",
            "line 6: the customer is on an earlier line",
            "line 7: from must be a time, for example 2027-01-31T08:00:00Z",
            "line 8: from must be in the future, or left out: at once",
            "line 9: until must be later than `from`, and in the future",
        ];
        assert_eq!(read.wrong, expected);
        assert_eq!(
            parsed("customer,plan,price\n").wrong,
            [
                "line 1: unknown column price; the columns are customer, plan, from, until, note, email"
            ]
        );
        assert_eq!(parsed("plan\npro\n").wrong.len(), 1);
        assert_eq!(parsed("customer,plan,plan\n").wrong, ["line 1: duplicate column plan"]);
    }
}
