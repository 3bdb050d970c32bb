//! Checks card numbers by their check digit (Luhn). See the README for the rules.

pub mod number;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use sluicebox_guest_sdk::batch::{Texts, Validator};
use sluicebox_guest_sdk::{Context, Rejects, Result, export_validator};

/// The column that must hold card numbers.
#[derive(Debug)]
pub struct Luhn(String);

impl Validator for Luhn {
    const CODES: &'static [&'static str] = &["luhn"];

    fn open(context: &Context, schema: &Schema) -> Result<Self> {
        context.settings.finish()?;
        Texts::expect(schema, &context.column)?;
        Ok(Luhn(context.column.clone()))
    }

    fn validate(&self, batch: &RecordBatch, rejects: &mut Rejects) -> Result<()> {
        for (row, text) in Texts::of(batch.column(0))?.iter().enumerate() {
            if let Some(Err(fault)) = text.map(number::check) {
                rejects.add(row, &self.0, "luhn", fault);
            }
        }
        Ok(())
    }
}

export_validator!(Luhn);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use sluicebox_guest_sdk::Error;
    use sluicebox_guest_sdk::testing::Host;

    use super::Luhn;

    fn batch(cards: Vec<Option<&str>>) -> RecordBatch {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..cards.len() as i64));
        RecordBatch::try_from_iter_with_nullable([
            ("id", ids, false),
            ("card", Arc::new(StringArray::from(cards)) as ArrayRef, true),
        ])
        .unwrap()
    }

    #[test]
    fn refuses_what_is_no_card_number_and_lets_null_pass() {
        let batch = batch(vec![Some("4111 1111 1111 1111"), None, Some("4111 1111 1111 1112"), Some("x"), Some("")]);
        let rejects = Host::with_settings("{}").on_column("card").validate::<Luhn>(&batch).unwrap();
        let found: Vec<_> = rejects.iter().map(|reject| (reject.row, reject.path.as_str(), reject.message.as_str())).collect();
        assert_eq!(
            found,
            [
                (2, "card", "the check digit is wrong"),
                (3, "card", "a card number has digits, spaces and dashes only"),
                (4, "card", "a card number has 12 to 19 digits, this one has 0"),
            ]
        );
        assert!(rejects.iter().all(|reject| reject.code == "luhn"));
    }

    #[test]
    fn opens_on_text_only_and_has_no_settings() {
        let open =
            |settings, column| Host::with_settings(settings).on_column(column).validate::<Luhn>(&batch(vec![])).unwrap_err();
        assert_eq!(open("{}", "id"), Error::from("column `id` is Int64: expected text"));
        assert_eq!(open(r#"{"strict":true}"#, "card"), Error::from("unknown setting `strict`: this component has none"));
    }
}
