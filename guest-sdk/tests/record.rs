//! Both roles of the record plane, written as a user would.

use sluicebox_guest_sdk::record::{AsRow, Faults, Field, Kind, Row, Rows, Transform, Validator, Value, field};
use sluicebox_guest_sdk::testing::Host;
use sluicebox_guest_sdk::{Context, Error, Result, json::Json, row};

row! {
    /// What comes in.
    struct Order { id: i64, quantity: i64, price: f64, tags: Json }
}

row! {
    /// What goes out.
    struct Line { total: f64, tag: String }
}

/// A row for each tag.
struct Lines;

impl Transform for Lines {
    const CODES: &[&str] = &["no_price"];

    fn open(_: &Context, schema: &[Field]) -> Result<Self> {
        Order::expect(schema)?;
        Ok(Lines)
    }

    fn columns(&self) -> Vec<String> {
        Order::columns()
    }

    fn output(&self) -> Vec<Field> {
        Line::fields()
    }

    fn transform(&self, row: Row, rows: &mut Rows) -> Result<()> {
        let order = Order::read(row)?;
        let Some(price) = order.price else {
            rows.reject("price", "no_price", "there is no price");
            return Ok(());
        };
        let total = order.quantity.map(|quantity| quantity as f64 * price);
        for tag in order.tags.as_ref().and_then(Json::as_list).unwrap_or_default() {
            rows.emit(Line { total, tag: tag.as_text().map(str::to_owned) }.write());
        }
        Ok(())
    }
}

/// Refuses odd numbers.
struct Even(String);

impl Validator for Even {
    const CODES: &[&str] = &["odd"];

    fn open(context: &Context, _: &[Field]) -> Result<Self> {
        Ok(Even(context.column.clone()))
    }

    fn validate(&self, row: Row, faults: &mut Faults<'_>) -> Result<()> {
        if let [Value::Integer(number)] = row[..]
            && number % 2 != 0
        {
            faults.add(&self.0, "odd", format!("{number} is odd"));
        }
        Ok(())
    }
}

fn schema() -> Vec<Field> {
    vec![
        field("note", Kind::Text),
        field("id", Kind::Integer),
        field("quantity", Kind::Integer),
        field("price", Kind::Float),
        field("tags", Kind::Json),
    ]
}

fn rows() -> Vec<Row> {
    let order = |id, quantity, price, tags: Option<&str>| {
        let tags = tags.map(|tags| Json::parse(tags).expect("json"));
        let mut row = Order { id: Some(id), quantity, price, tags }.write();
        row.insert(0, Value::Text("x".to_owned()));
        row
    };
    vec![
        order(1, Some(2), Some(1.5), Some(r#"["a","b"]"#)),
        order(2, Some(1), Some(1.0), None),
        order(3, Some(1), None, Some("[]")),
        order(4, None, Some(2.0), Some(r#"[null]"#)),
    ]
}

#[test]
fn a_transform_makes_none_one_or_many_of_a_row() {
    let answer = Host::with_settings("{}").transform_rows::<Lines>(&schema(), &rows()).unwrap();
    assert_eq!(answer.origin, [0, 0, 3]);
    let lines: Vec<_> = answer.rows.into_iter().map(|row| Line::read(row).unwrap()).collect();
    let line = |total, tag: Option<&str>| Line { total, tag: tag.map(str::to_owned) };
    assert_eq!(lines, [line(Some(3.0), Some("a")), line(Some(3.0), Some("b")), line(None, None)]);
    assert_eq!(answer.rejects.iter().map(|reject| (reject.row, reject.code.as_str())).collect::<Vec<_>>(), [(2, "no_price")]);
}

#[test]
fn a_validator_sees_the_column_that_names_it() {
    let rejects = Host::with_settings("{}").on_column("id").validate_rows::<Even>(&schema(), &rows()).unwrap();
    let found: Vec<_> = rejects.iter().map(|reject| (reject.row, reject.path.as_str(), reject.message.as_str())).collect();
    assert_eq!(found, [(0, "id", "1 is odd"), (2, "id", "3 is odd")]);
}

#[test]
fn what_does_not_fit_is_told_when_opening() {
    let mut other = schema();
    other[3].kind = Kind::Decimal;
    let Err(Error::Fatal(words)) = Host::with_settings("{}").transform_rows::<Lines>(&other, &[]) else { panic!("it fits") };
    assert_eq!(words, "column `price` is decimal: expected float");
    let Err(Error::Fatal(words)) = Host::with_settings("{}").transform_rows::<Lines>(&schema()[..4], &[]) else {
        panic!("it fits")
    };
    assert_eq!(words, "there is no column `tags`: expected one of note, id, quantity, price");
}
