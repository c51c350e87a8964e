//! Tables written by Weir and by other programs.

use super::*;

fn cells(text: &str) -> Vec<Vec<String>> {
    parse(text).expect("a table").into_iter().map(|record| record.cells).collect()
}

#[test]
fn tables_of_other_programs_are_parsed() {
    assert_eq!(cells("a,b\n1,2\n"), [["a", "b"], ["1", "2"]]);
    assert_eq!(cells("\u{feff}a;b\r\n1;2"), [["a", "b"], ["1", "2"]]);
    assert_eq!(cells("a\tb\r1\t\r\r\n \n"), [["a", "b"], ["1", ""]]);
    assert_eq!(cells("a, b \n\"x, \"\"y\"\"\",\" z \"\n"), [["a", "b"], ["x, \"y\"", " z "]]);
    assert_eq!(cells(""), Vec::<Vec<String>>::new());
    assert_eq!(cells("alone"), [["alone"]]);
}

#[test]
fn line_numbers_count_breaks_inside_cells() {
    let records = parse("a,b\n\n\"x\ny\",1\nz,2").expect("a table");
    assert_eq!(records.iter().map(|record| record.line).collect::<Vec<_>>(), [1, 3, 5]);
}

#[test]
fn invalid_quotes_report_their_line() {
    assert_eq!(parse("a\n\"b\nc").unwrap_err(), "line 2: a quote is opened and never closed");
    assert_eq!(parse("a\n\"b\"c\n").unwrap_err(), "line 2: a closing quote must end its cell");
}

#[test]
fn formulas_are_escaped() {
    let mut text = String::new();
    write(["=1+1", "+4", "-2", "@x", "\tx", "'=1", "O'Neil", "'quoted'"], &mut text);
    assert_eq!(text, "'=1+1,'+4,'-2,'@x,\"'\tx\",''=1,O'Neil,'quoted'\r\n");
}

/// Every text of up to three of these characters survives writing and reading.
#[test]
fn written_tables_parse_to_the_same_values() {
    let chars = ["'", "=", "-", "\t", "\r", "\n", "\"", ",", ";", " ", "é", "@"];
    let mut texts = vec![String::new()];
    let mut longer = texts.clone();
    for _ in 0..3 {
        let next = |text: &String| chars.map(|symbol| format!("{text}{symbol}"));
        longer = longer.iter().flat_map(next).collect();
        texts.extend(longer.iter().cloned());
    }
    for pair in texts.windows(2) {
        let mut text = String::new();
        write(["head", "line"], &mut text);
        write([pair[0].as_str(), "x", pair[1].as_str()], &mut text);
        assert_eq!(cells(&text)[1], [pair[0].as_str(), "x", pair[1].as_str()], "{pair:?}");
    }
}
