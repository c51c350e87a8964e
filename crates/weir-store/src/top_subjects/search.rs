//! Finding busy subjects by a part of a value.

use serde_json::Value;
use weir_domain::id::TenantId;
use weir_domain::time::Timestamp;

use super::TopSubjects;
use crate::convert::{stored, unsigned, uuid};
use crate::error::StoreError;

/// A subject that was found, whichever rules count it.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundSubject {
    /// The attributes that a rule counts by.
    pub subject: Value,
    /// The number of checks that one rule denied, at least: of the rule with the most.
    pub denied: u64,
}

/// The subjects to find.
#[derive(Debug, Clone, Copy)]
pub struct SubjectSearch<'f> {
    /// The tenant that owns the rules.
    pub tenant_id: TenantId,
    /// Only subjects of the rules that are in these namespaces now.
    pub namespaces: Option<&'f [String]>,
    /// The text to find in a value, in any case.
    pub text: &'f str,
    /// The start of the time in which they were counted.
    pub from: Timestamp,
    /// The most subjects to return.
    pub limit: u32,
}

impl TopSubjects<'_> {
    /// Lists subjects with a text in a value: those with exactly this value first, then the most denied.
    pub async fn search(self, filter: &SubjectSearch<'_>) -> Result<Vec<FoundSubject>, StoreError> {
        let rows = sqlx::query!(
            r#"-- top_subjects.search
            WITH found AS (
                SELECT
                    e.rule,
                    e.subject,
                    sum(e.checks) AS checks,
                    sum(e.denied - coalesce(
                        e.shadow, CASE WHEN r.spec ->> 'mode' = 'shadow' THEN e.denied ELSE 0 END
                    )) AS denied
                FROM top_subjects s CROSS JOIN LATERAL jsonb_to_recordset(s.entries)
                    AS e (rule uuid, subject jsonb, checks bigint, denied bigint, shadow bigint)
                LEFT JOIN rules r ON r.tenant_id = $1 AND r.id = e.rule
                WHERE s.tenant_id = $1 AND s.at >= $2
                    AND ($3::text[] IS NULL OR r.namespace = ANY($3))
                    AND EXISTS (
                        SELECT FROM jsonb_each_text(e.subject) AS attribute
                        WHERE strpos(lower(attribute.value), lower($4)) > 0
                    )
                GROUP BY e.rule, e.subject
            )
            SELECT f.subject AS "subject!", max(f.denied)::bigint AS "denied!"
            FROM found f
            GROUP BY f.subject
            ORDER BY
                EXISTS (
                    SELECT FROM jsonb_each_text(f.subject) AS attribute
                    WHERE lower(attribute.value) = lower($4)
                ) DESC,
                max(f.denied) DESC,
                max(f.checks) DESC,
                f.subject
            LIMIT $5"#,
            uuid(filter.tenant_id.to_u128()),
            stored(filter.from),
            filter.namespaces,
            filter.text,
            i64::from(filter.limit),
        )
        .fetch_all(self.conn)
        .await?;
        let found = |row: (Value, i64)| FoundSubject { subject: row.0, denied: unsigned(row.1) };
        Ok(rows.into_iter().map(|row| found((row.subject, row.denied))).collect())
    }
}
