//! A line of values that are separated by commas or semicolons. A field with a separator or a quote is quoted.

use std::collections::BTreeMap;

use weir_domain::names::{self, ATTRIBUTES_MAX};

use super::line::{TraceError, TracedCheck, attribute, cost, time};

/// The first line, which names the columns.
#[derive(Debug)]
pub(super) struct Head {
    separator: char,
    columns: Vec<Column>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Column {
    Time,
    Cost,
    Attribute(String),
}

/// The most fields of a line: all attributes, the time and the cost.
const FIELDS_MAX: usize = ATTRIBUTES_MAX + 2;

/// A field and its first column.
struct Field {
    column: usize,
    text: String,
}

impl Head {
    pub(super) fn parse(line: usize, text: &str) -> Result<Self, TraceError> {
        let separator =
            [',', ';', '\t'].into_iter().find(|sign| text.contains(*sign)).unwrap_or(',');
        let mut columns: Vec<Column> = Vec::new();
        for field in fields(line, text, separator)? {
            let column = match field.text.trim() {
                "time" => Column::Time,
                "cost" => Column::Cost,
                name => {
                    names::attribute(name).map_err(|reason| {
                        TraceError::at(line, field.column, format!("the attribute's name {reason}"))
                    })?;
                    Column::Attribute(name.to_owned())
                }
            };
            if columns.contains(&column) {
                return Err(TraceError::at(line, field.column, "this name is there twice"));
            }
            columns.push(column);
        }
        if !columns.contains(&Column::Time) {
            return Err(TraceError::at(line, 1, "the first line must name a column `time`"));
        }
        Ok(Self { separator, columns })
    }

    /// Reads a check. An empty field is a missing attribute.
    pub(super) fn line(&self, line: usize, text: &str) -> Result<TracedCheck, TraceError> {
        let fields = fields(line, text, self.separator)?;
        if fields.len() != self.columns.len() {
            let has = fields.len();
            let needs = self.columns.len();
            let column = fields.get(needs).map_or(text.chars().count() + 1, |field| field.column);
            return Err(TraceError::at(line, column, format!("has {has} fields, and not {needs}")));
        }
        let mut read =
            TracedCheck { at: time("0").unwrap_or_default(), cost: 1, attributes: BTreeMap::new() };
        for (column, field) in self.columns.iter().zip(fields) {
            let wrong = |reason| TraceError::at(line, field.column, reason);
            match column {
                Column::Time => read.at = time(field.text.trim()).map_err(wrong)?,
                Column::Cost if field.text.trim().is_empty() => {}
                Column::Cost => read.cost = cost(field.text.trim()).map_err(wrong)?,
                Column::Attribute(_) if field.text.is_empty() => {}
                Column::Attribute(name) => {
                    attribute(name, &field.text).map_err(wrong)?;
                    read.attributes.insert(name.clone(), field.text);
                }
            }
        }
        Ok(read)
    }
}

fn fields(line: usize, text: &str, separator: char) -> Result<Vec<Field>, TraceError> {
    let mut fields = Vec::new();
    let mut rest = (1..).zip(text.chars()).peekable();
    loop {
        let end = || text.chars().count() + 1;
        let column = rest.peek().map_or_else(end, |(column, _)| *column);
        if fields.len() >= FIELDS_MAX {
            return Err(TraceError::at(
                line,
                column,
                format!("must have at most {FIELDS_MAX} fields"),
            ));
        }
        let mut field = Field { column, text: String::new() };
        if rest.next_if(|(_, sign)| *sign == '"').is_some() {
            loop {
                match rest.next() {
                    Some((_, '"')) if rest.next_if(|(_, sign)| *sign == '"').is_some() => {
                        field.text.push('"');
                    }
                    Some((_, '"')) => break,
                    Some((_, other)) => field.text.push(other),
                    None => return Err(TraceError::at(line, column, "the quote is not closed")),
                }
            }
        } else {
            while let Some((_, sign)) = rest.next_if(|(_, sign)| *sign != separator) {
                field.text.push(sign);
            }
        }
        fields.push(field);
        match rest.next() {
            None => return Ok(fields),
            Some((_, sign)) if sign == separator => {}
            Some((column, _)) => {
                return Err(TraceError::at(line, column, "after a quoted field comes a separator"));
            }
        }
    }
}
