//! Tables as text: RFC 4180, with cells that a spreadsheet would take for a formula made harmless.

/// Lines of cells; the first are the names of the columns.
pub type Table = Vec<Vec<String>>;

/// Writes a table; lines end with CR and LF.
pub fn write(table: &Table) -> String {
    let mut text = String::new();
    for line in table {
        let cells: Vec<_> = line.iter().map(|cell| quoted(&harmless(cell))).collect();
        text += &cells.join(",");
        text += "\r\n";
    }
    text
}

/// Reads a table; empty lines are left out. An error names the line, which counts from 1.
pub fn read(text: &str) -> Result<Table, String> {
    let mut reader = Reader { line: 1, ..Reader::default() };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (reader.place, c) {
            (Place::Quoted, '"') if chars.peek() == Some(&'"') => {
                chars.next();
                reader.cell.push('"');
            }
            (Place::Quoted, '"') => reader.place = Place::After,
            (Place::Quoted, c) => reader.push(c),
            (Place::Start, '"') => reader.place = Place::Quoted,
            (_, ',') => reader.end_cell(),
            (_, '\r') if chars.peek() == Some(&'\n') => {}
            (_, '\n') => reader.end_line(),
            (Place::After, _) => {
                return Err(format!("line {}: text after a closing quote", reader.line));
            }
            (_, c) => {
                reader.place = Place::Plain;
                reader.push(c);
            }
        }
    }
    if reader.place == Place::Quoted {
        return Err(format!("line {}: a quote is not closed", reader.line));
    }
    reader.end_line();
    Ok(reader.table)
}

/// Spreadsheets run what begins like this; an apostrophe before it makes it text. One that stands there already is doubled,
/// so that reading takes exactly one away.
fn harmless(cell: &str) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\'']) {
        format!("'{cell}")
    } else {
        cell.to_owned()
    }
}

fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[derive(Default)]
struct Reader {
    table: Table,
    cells: Vec<String>,
    cell: String,
    place: Place,
    line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    /// A cell may begin here.
    #[default]
    Start,
    Plain,
    Quoted,
    /// After a closing quote.
    After,
}

impl Reader {
    fn push(&mut self, c: char) {
        self.line += usize::from(c == '\n');
        self.cell.push(c);
    }

    fn end_cell(&mut self) {
        let cell = std::mem::take(&mut self.cell);
        let rest = cell.strip_prefix('\'');
        let made_harmless =
            rest.filter(|rest| rest.starts_with(['=', '+', '-', '@', '\t', '\r', '\'']));
        self.cells.push(made_harmless.map_or(cell.clone(), str::to_owned));
        self.place = Place::Start;
    }

    fn end_line(&mut self) {
        self.line += 1;
        self.end_cell();
        let cells = std::mem::take(&mut self.cells);
        if cells.iter().any(|cell| !cell.is_empty()) {
            self.table.push(cells);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(lines: &[&[&str]]) -> Table {
        lines.iter().map(|line| line.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[test]
    fn what_was_written_is_read_back() {
        let awkward = table(&[
            &["name", "value"],
            &["plain", "a,b"],
            &["say \"hi\"", "two\r\nlines"],
            &["=1+1", "+49", "-5", "@x", "\tx", "\rx", "'quoted", "'=x", "it's"],
            &["", "ünï ردود"],
        ]);
        assert_eq!(read(&write(&awkward)), Ok(awkward));
    }

    #[test]
    fn formulas_are_made_harmless() {
        let text = write(&table(&[&["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)"]]));
        assert_eq!(text, "'=cmd|' /C calc'!A0,'+1,'-1,'@SUM(A1)\r\n");
    }

    #[test]
    fn other_programs_lines_are_read() {
        let read_lines = |text: &str| read(text).expect("a table");
        assert_eq!(read_lines("\u{feff}a,b\n1,2"), table(&[&["a", "b"], &["1", "2"]]));
        assert_eq!(read_lines("a\r\n\r\n\"b\"\r\n"), table(&[&["a"], &["b"]]));
        assert_eq!(read_lines(""), table(&[]));
    }

    #[test]
    fn what_cannot_be_read_says_where() {
        assert_eq!(read("a\n\"b"), Err("line 2: a quote is not closed".to_owned()));
        assert_eq!(read("a\nb\n\"c\"d"), Err("line 3: text after a closing quote".to_owned()));
    }
}
