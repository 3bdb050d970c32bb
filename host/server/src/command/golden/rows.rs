//! Rows as JSON text that can be compared: white space and escapes in one spelling, numbers as they are written, digit for digit.

use anyhow::{Context, Result};
use serde_json::Value;

/// Rows that are written one a line, in an order of their own: rows are compared as a set.
pub(super) fn of_lines(text: &str) -> Result<Vec<String>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut rows: Vec<String> = lines.map(|line| Ok(elements(&format!("[{line}]"))?.concat())).collect::<Result<_>>()?;
    rows.sort();
    Ok(rows)
}

/// Rows of a JSON array, in the same order.
pub(super) fn of_array(text: &str) -> Result<Vec<String>> {
    let mut rows = elements(text)?;
    rows.sort();
    Ok(rows)
}

/// The elements of a JSON array, each in the one spelling.
fn elements(array: &str) -> Result<Vec<String>> {
    let count = serde_json::from_str::<Vec<Value>>(array).with_context(|| array.to_owned())?.len();
    let mut elements = vec![String::new(); count];
    let (mut depth, mut at, mut rest) = (0, 0, array);
    while let Some(c) = rest.chars().next() {
        let length = if c == '"' { string_length(rest) } else { c.len_utf8() };
        let (token, after) = rest.split_at(length);
        rest = after;
        depth -= usize::from(matches!(c, ']' | '}'));
        match c {
            ',' if depth == 1 => at += 1,
            c if depth == 0 || c.is_ascii_whitespace() => {}
            '"' => elements[at].push_str(&serde_json::from_str::<Value>(token)?.to_string()),
            _ => elements[at].push_str(token),
        }
        depth += usize::from(matches!(c, '[' | '{'));
    }
    Ok(elements)
}

/// Length of the string that the text begins with, both quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let ends = |(_, c): &(usize, char)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    };
    text.char_indices().skip(1).find(ends).map_or(text.len(), |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_does_not_count_and_digits_do() {
        let found = of_array(r#"[{"b":1.10,"a":["x, ]","\"é"]},{"b":9007199254740993123456789,"a":null}]"#).expect("reads");
        let expected = "\n{ \"b\": 9007199254740993123456789, \"a\": null }\n{\"b\":1.10, \"a\":[\"x, ]\", \"\\\"\\u00e9\"]}\n";
        assert_eq!(of_lines(expected).expect("reads"), found);
        assert_ne!(of_lines(&expected.replace("123456789,", "123456788,")).expect("reads"), found);
        assert_ne!(of_lines(&expected.replace("1.10", "1.1")).expect("reads"), found);
        assert_eq!(of_array("[]\n").expect("reads"), of_lines("\n").expect("reads"));
        assert!(of_lines("{\"a\":1}}\n").is_err());
    }
}
