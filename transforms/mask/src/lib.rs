//! Masks e-mail addresses, phone numbers and account numbers (IBAN) inside free text.
//!
//! The rules of each kind are told in its module and in the README; what is found is replaced, everything else stays byte for byte.

pub mod column;
pub mod email;
pub mod finder;
pub mod iban;
pub mod phone;
pub mod span;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use sluicebox_guest_sdk::batch::{Answer, Texts, Transform};
use sluicebox_guest_sdk::settings::Settings;
use sluicebox_guest_sdk::{Context, Error, Rejects, Result, export_transform};

use column::Rules;
use finder::Wanted;
use span::Kind;

/// The columns to mask, and how.
#[derive(Debug)]
pub struct Mask {
    columns: Vec<Field>,
    rules: Rules,
}

impl Transform for Mask {
    fn open(context: &Context, schema: &Schema) -> Result<Self> {
        let columns = context.settings.texts("columns")?.unwrap_or_default();
        let rules =
            Rules { wanted: wanted(&context.settings)?, replacement: context.settings.text("replacement")?.map(str::to_owned) };
        context.settings.finish()?;
        if columns.is_empty() {
            return Err(Error::from("setting `columns` is required: the columns to mask, as in `columns: [note]`"));
        }
        columns.iter().try_for_each(|column| Texts::expect(schema, column))?;
        let columns = columns.iter().filter_map(|column| schema.field_with_name(column).ok().cloned()).collect();
        Ok(Mask { columns, rules })
    }

    fn columns(&self) -> Vec<String> {
        self.columns.iter().map(|field| field.name().clone()).collect()
    }

    fn output(&self) -> Vec<Field> {
        self.columns.clone()
    }

    fn transform(&self, batch: &RecordBatch, _rejects: &mut Rejects) -> Result<Answer> {
        let columns: std::result::Result<Vec<_>, _> =
            batch.columns().iter().map(|column| column::mask(column, &self.rules)).collect();
        Ok(Answer::same(columns?))
    }
}

export_transform!(Mask);

/// The kinds that setting `find` names; all without it.
fn wanted(settings: &Settings) -> Result<Wanted> {
    let Some(names) = settings.texts("find")? else { return Ok(Wanted::of(&Kind::ALL)) };
    let known = Kind::ALL.map(Kind::name).join(", ");
    let kind =
        |name| Kind::named(name).ok_or_else(|| Error::Fatal(format!("setting `find` knows no `{name}`: expected {known}")));
    let kinds = names.into_iter().map(kind).collect::<Result<Vec<_>>>()?;
    Ok(Wanted::of(&kinds))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use sluicebox_guest_sdk::Error;
    use sluicebox_guest_sdk::testing::Host;

    use super::Mask;

    fn batch() -> RecordBatch {
        let texts = |texts: Vec<Option<&str>>| Arc::new(StringArray::from(texts)) as ArrayRef;
        RecordBatch::try_from_iter_with_nullable([
            ("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef, false),
            ("note", texts(vec![Some("to ann@example.org"), None, Some("0170 1234567 ☎")]), true),
            ("memo", texts(vec![Some("a@b.de"), Some("ok"), Some("DE89370400440532013000")]), true),
        ])
        .unwrap()
    }

    #[test]
    fn masks_the_columns_that_it_was_given() {
        let answer = Host::with_settings(r#"{"columns":["memo","note"]}"#).transform::<Mask>(&batch()).unwrap();
        let want = RecordBatch::try_from_iter_with_nullable([
            ("memo", Arc::new(StringArray::from(vec!["[email]", "ok", "[iban]"])) as ArrayRef, true),
            ("note", Arc::new(StringArray::from(vec![Some("to [email]"), None, Some("[phone] ☎")])) as ArrayRef, true),
        ]);
        assert_eq!(answer.batch, want.unwrap());
        assert_eq!(answer.origin, [0, 1, 2]);
        assert!(answer.rejects.is_empty());
    }

    #[test]
    fn keeps_to_the_settings() {
        let settings = r#"{"columns":"note","find":["phone"],"replacement":"***"}"#;
        let answer = Host::with_settings(settings).transform::<Mask>(&batch()).unwrap();
        let want: ArrayRef = Arc::new(StringArray::from(vec![Some("to ann@example.org"), None, Some("*** ☎")]));
        assert_eq!(answer.batch.columns(), [want]);
    }

    #[test]
    fn says_what_is_wrong_with_the_settings() {
        for (settings, want) in [
            ("{}", "setting `columns` is required: the columns to mask, as in `columns: [note]`"),
            (r#"{"columns":["nope"]}"#, "there is no column `nope`: expected one of id, note, memo"),
            (r#"{"columns":["id"]}"#, "column `id` is Int64: expected text"),
            (r#"{"columns":["note"],"find":["name"]}"#, "setting `find` knows no `name`: expected email, iban, phone"),
            (r#"{"columns":["note"],"replace":"x"}"#, "unknown setting `replace`: expected one of columns, find, replacement"),
        ] {
            let error = Host::with_settings(settings).transform::<Mask>(&batch()).unwrap_err();
            assert_eq!(error, Error::from(want), "{settings}");
        }
    }
}
