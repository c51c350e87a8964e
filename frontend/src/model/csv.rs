//! Comma-separated values (RFC 4180) that are safe to open in a spreadsheet.
//!
//! A spreadsheet evaluates a cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return. Such a cell is
//! written with an apostrophe before it, which is removed when it is read.

use std::borrow::Cow;

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The line of the text at which the record begins, from 1.
    pub line: usize,
    pub cells: Vec<String>,
}

/// The lines of a file as values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows<T> {
    /// The valid ones, with the lines at which they begin.
    pub rows: Vec<(usize, T)>,
    /// The problems, each with its line.
    pub wrong: Vec<String>,
}

/// Parses a file. `columns` reads the first line, and `row` each other one.
pub fn read<C, T>(
    text: &str,
    columns: impl FnOnce(&Record) -> Result<C, String>,
    mut row: impl FnMut(&C, &Record) -> Result<T, String>,
) -> Rows<T> {
    let mut read = Rows { rows: Vec::new(), wrong: Vec::new() };
    let records = match parse(text) {
        Ok(records) => records,
        Err(problem) => {
            read.wrong.push(problem);
            return read;
        }
    };
    let Some((head, records)) = records.split_first() else { return read };
    let columns = match columns(head) {
        Ok(columns) => columns,
        Err(problem) => {
            read.wrong.push(format!("line {}: {problem}", head.line));
            return read;
        }
    };
    for record in records {
        match row(&columns, record) {
            Ok(value) => read.rows.push((record.line, value)),
            Err(problem) => read.wrong.push(format!("line {}: {problem}", record.line)),
        }
    }
    read
}

/// Translates a problem of the API with `overrides[3].limits`, where the list is `overrides`, to the line of the file.
pub fn file_problem<T>(field: &str, list: &str, rows: &[(usize, T)]) -> String {
    let place = field.strip_prefix(list).and_then(|rest| rest.strip_prefix('['));
    let named = place.and_then(|place| {
        let (at, rest) = place.split_once(']')?;
        Some((rows.get(at.parse::<usize>().ok()?)?, rest))
    });
    named.map_or_else(
        || field.to_owned(),
        |((line, _), rest)| format!("line {line} {}", rest.trim_start_matches('.')),
    )
}

/// Parses a table separated by commas, or by semicolons or tabs if the first line has no comma. Blank lines are
/// skipped.
fn parse(text: &str) -> Result<Vec<Record>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let delimiter =
        [',', ';', '\t'].into_iter().find(|delimiter| first.contains(*delimiter)).unwrap_or(',');
    let mut reader = Reader { rest: text, line: 1, delimiter };
    let mut records = Vec::new();
    while !reader.rest.is_empty() {
        let record = reader.record()?;
        if record.cells.iter().any(|cell| !cell.is_empty()) {
            records.push(record);
        }
    }
    Ok(records)
}

/// Writes a record.
pub fn write<'a>(cells: impl IntoIterator<Item = &'a str>, text: &mut String) {
    for (at, cell) in cells.into_iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        let cell = neutral(cell);
        if cell.contains([',', ';', '"', '\r', '\n', '\t']) || cell.trim() != cell {
            text.push('"');
            text.push_str(&cell.replace('"', "\"\""));
            text.push('"');
        } else {
            text.push_str(&cell);
        }
    }
    text.push_str("\r\n");
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    delimiter: char,
}

impl Reader<'_> {
    fn record(&mut self) -> Result<Record, String> {
        let line = self.line;
        let mut cells = Vec::new();
        loop {
            let cell = if self.rest.starts_with('"') { self.quoted()? } else { self.plain() };
            cells.push(meant(cell));
            if self.take(self.delimiter) {
                continue;
            }
            let ended = self.take_line_end();
            if ended || self.rest.is_empty() {
                return Ok(Record { line, cells });
            }
            return Err(format!("line {}: a closing quote must end its cell", self.line));
        }
    }

    fn plain(&mut self) -> String {
        let end = self.rest.find([self.delimiter, '\r', '\n']).unwrap_or(self.rest.len());
        let (cell, rest) = self.rest.split_at(end);
        self.rest = rest;
        cell.trim().to_owned()
    }

    fn quoted(&mut self) -> Result<String, String> {
        let start_line = self.line;
        self.rest = &self.rest[1..];
        let mut cell = String::new();
        loop {
            let Some(end) = self.rest.find('"') else {
                return Err(format!("line {start_line}: a quote is opened and never closed"));
            };
            cell.push_str(&self.rest[..end]);
            self.line += self.rest[..end].matches('\n').count();
            self.rest = &self.rest[end + 1..];
            if !self.take('"') {
                return Ok(cell);
            }
            cell.push('"');
        }
    }

    fn take_line_end(&mut self) -> bool {
        let carriage = self.take('\r');
        let ended = self.take('\n') || carriage;
        self.line += usize::from(ended);
        ended
    }

    fn take(&mut self, expected: char) -> bool {
        let rest = self.rest.strip_prefix(expected);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

/// Escapes a cell that a spreadsheet would evaluate.
fn neutral(cell: &str) -> Cow<'_, str> {
    if is_formula(cell) { Cow::Owned(format!("'{cell}")) } else { Cow::Borrowed(cell) }
}

/// Reverses [`neutral`].
fn meant(cell: String) -> String {
    match cell.strip_prefix('\'') {
        Some(inner) if is_formula(inner) => inner.to_owned(),
        _ => cell,
    }
}

/// Whether a cell would be evaluated, or begins with apostrophes before a text that would be.
fn is_formula(cell: &str) -> bool {
    cell.trim_start_matches('\'').starts_with(['=', '+', '-', '@', '\t', '\r'])
}

#[cfg(test)]
mod tests;
