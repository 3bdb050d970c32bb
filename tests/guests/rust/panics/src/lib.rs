//! A transform on the record plane with a bug: it panics on the text `boom` in the column that setting `column` names (`note` by default).
//!
//! Everything else passes as it is. It shows that a panic traps at once, with its words and place in the log, and costs its row alone.

use sluicebox_guest_sdk::record::{Field, Kind, Row, Rows, Transform, Value, field};
use sluicebox_guest_sdk::{Context, Result, export_record_transform, log};

/// The column that it reads.
#[derive(Debug)]
pub struct Panics(String);

impl Transform for Panics {
    fn open(context: &Context, _schema: &[Field]) -> Result<Self> {
        let column = context.settings.text("column")?.unwrap_or("note").to_owned();
        context.settings.finish()?;
        Ok(Panics(column))
    }

    fn columns(&self) -> Vec<String> {
        vec![self.0.clone()]
    }

    fn output(&self) -> Vec<Field> {
        vec![field(&self.0, Kind::Text)]
    }

    fn transform(&self, row: Row, rows: &mut Rows) -> Result<()> {
        if let [Value::Text(text)] = &row[..] {
            assert!(text != "boom", "saw a boom");
            log::debug("a row passed");
        }
        rows.emit(row);
        Ok(())
    }
}

export_record_transform!(Panics);

#[cfg(test)]
mod tests {
    use sluicebox_guest_sdk::record::{Kind, Value, field};
    use sluicebox_guest_sdk::testing::{Host, logged};

    use super::Panics;

    fn run(texts: &[&str]) -> usize {
        let rows: Vec<_> = texts.iter().map(|text| vec![Value::Text((*text).to_owned())]).collect();
        Host::with_settings("{}")
            .transform_rows::<Panics>(&[field("note", Kind::Text)], &rows)
            .map_or(0, |answer| answer.rows.len())
    }

    #[test]
    fn passes_what_it_likes() {
        assert_eq!(run(&["a", "b"]), 2);
        assert_eq!(logged().len(), 2);
    }

    #[test]
    #[should_panic(expected = "saw a boom")]
    fn b156_panics_on_what_it_does_not_like() {
        run(&["a", "boom"]);
    }
}
