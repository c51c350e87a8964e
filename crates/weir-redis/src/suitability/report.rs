//! The findings of an inspection.

/// The effect of a property on Weir.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    Good,
    /// Weir works, and the operator should know this.
    Notice,
    /// Weir cannot work, or counts wrongly.
    Bad,
}

/// A property of Redis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub judgement: Judgement,
    /// The name of the property.
    pub subject: &'static str,
    pub text: String,
}

/// The findings, in the order in which they are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report(pub Vec<Finding>);

impl Report {
    /// Whether Weir can use this Redis.
    pub fn is_suitable(&self) -> bool {
        self.0.iter().all(|finding| finding.judgement != Judgement::Bad)
    }

    pub(super) fn add(
        &mut self,
        judgement: Judgement,
        subject: &'static str,
        text: impl Into<String>,
    ) {
        self.0.push(Finding { judgement, subject, text: text.into() });
    }

    /// Adds the findings of several servers, each with its name. A finding that all have is added once, without a name.
    pub(super) fn add_merged(&mut self, reports: Vec<(String, Self)>) {
        let (several, mut reports) = (reports.len() > 1, reports);
        while let Some(at) = reports.iter().position(|(_, report)| !report.0.is_empty()) {
            let finding = reports[at].1.0.remove(0);
            let shared = reports.iter().filter(|(_, report)| report.0.contains(&finding)).count();
            if !several || shared + 1 == reports.len() {
                for (_, report) in &mut reports {
                    report.0.retain(|other| *other != finding);
                }
                self.0.push(finding);
                continue;
            }
            self.0
                .push(Finding { text: format!("{}: {}", reports[at].0, finding.text), ..finding });
            // The same property of the other servers follows.
            for (name, report) in &mut reports {
                let is_same = |other: &mut Finding| other.subject == finding.subject;
                let same = report.0.extract_if(.., is_same);
                self.0.extend(
                    same.map(|same| Finding { text: format!("{name}: {}", same.text), ..same }),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(findings: &[(&'static str, &str)]) -> Report {
        let mut report = Report::default();
        for (subject, text) in findings {
            report.add(Judgement::Good, subject, *text);
        }
        report
    }

    #[test]
    fn findings_of_all_servers_are_merged_and_others_name_their_server() {
        let mut merged = Report::default();
        merged.add_merged(vec![
            ("a".to_owned(), report(&[("engine", "7.0"), ("clock", "+1 ms"), ("rights", "all")])),
            ("b".to_owned(), report(&[("engine", "7.0"), ("clock", "-2 ms"), ("rights", "all")])),
        ]);
        let expected =
            [("engine", "7.0"), ("clock", "a: +1 ms"), ("clock", "b: -2 ms"), ("rights", "all")];
        assert_eq!(merged, report(&expected));
        let mut one = Report::default();
        one.add_merged(vec![(String::new(), report(&[("engine", "7.0"), ("clock", "+1 ms")]))]);
        assert_eq!(one, report(&[("engine", "7.0"), ("clock", "+1 ms")]));
    }
}
