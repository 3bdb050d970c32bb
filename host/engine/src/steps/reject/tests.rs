use proptest::prelude::*;
use sluicebox_core::column::Digest;

use super::super::sample::records;
use super::*;

const SECRET: &str = "4111-1111";

fn hidden(name: &str) -> Column {
    Column { privacy: Privacy::Hash(Digest::Sha256), ..Column::new(name, Kind::Text) }
}

/// `ssn` hidden; `address: [{zip hidden, city -> town}]`; `status` plain; `a.b` plain, a name with a dot.
fn columns() -> Vec<Column> {
    let city = Column { rename: Some("town".into()), ..Column::new("city", Kind::Text) };
    let address = Column { array: true, ..Column::new("address", Kind::Struct(vec![hidden("zip"), city])) };
    let ssn = Column { rename: Some("person".into()), ..hidden("ssn") };
    vec![ssn, address, Column::new("status", Kind::Text), Column::new("a.b", Kind::Text)]
}

fn rows(writer: &RejectWriter, errors: &[(&str, &Code)]) -> Vec<RejectRow> {
    let mut rejects = Rejects::default();
    for (path, code) in errors {
        rejects.add(1, RowError::new(*path, (*code).clone(), format!("found {SECRET}")));
    }
    writer.rows(&records(&[None, Some(b"key"), None]), &rejects)
}

fn redacted(path: &str, code: &Code) -> (String, String) {
    let writer = RejectWriter::new(&columns(), RawRejects::Plain, &Privacy::None);
    let row = rows(&writer, &[(path, code)]).remove(0);
    assert_eq!(&row.errors[0].code, code);
    (row.errors[0].path.clone(), row.errors[0].message.clone())
}

#[test]
fn plain_rejects_keep_the_bytes_and_the_words() {
    let writer = RejectWriter::new(&[Column::new("status", Kind::Text)], RawRejects::Plain, &Privacy::None);
    let expected = RejectRow {
        topic: "orders".into(),
        partition: 3,
        offset: 71,
        key: Some(b"key".to_vec()),
        value: Some(b"{}".to_vec()),
        errors: vec![
            RowError::new("undeclared.x", Code::TYPE, "found 4111-1111"),
            RowError::new("", Code::SYNTAX, "found 4111-1111"),
        ],
    };
    assert_eq!(rows(&writer, &[("undeclared.x", &Code::TYPE), ("", &Code::SYNTAX)]), [expected]);
    let omit = RejectWriter::new(&[Column::new("status", Kind::Text)], RawRejects::Omit, &Privacy::None);
    let row = rows(&omit, &[("status", &Code::TYPE)]).remove(0);
    assert_eq!((row.key, row.value, row.errors[0].message.as_str()), (None, None, "found 4111-1111"));
}

#[test]
fn b175_no_bytes_are_kept_beside_a_rule_whatever_was_asked() {
    let nested = Column::new("a", Kind::Struct(vec![hidden("b")]));
    for (columns, key) in [
        (vec![hidden("ssn")], Privacy::None),
        (vec![nested], Privacy::None),
        (vec![Column::new("status", Kind::Text)], Privacy::Hash(Digest::Md5)),
    ] {
        let row = rows(&RejectWriter::new(&columns, RawRejects::Plain, &key), &[("status", &Code::TYPE)]).remove(0);
        assert_eq!((row.key, row.value), (None, None));
    }
}

#[test]
fn b175_words_in_around_and_inside_a_protected_column_are_withheld() {
    let guest = Code::parse("luhn").expect("a code");
    for path in ["ssn", "person", "ssn[0]", "address", "address[3]", "address[3].zip", "address.zip[1]"] {
        for code in [&Code::TYPE, &Code::PATTERN, &Code::SYNTAX, &Code::SQL, &Code::COMPONENT, &Code::PRIVACY, &guest] {
            assert_eq!(redacted(path, code), (path.to_owned(), WITHHELD.to_owned()), "{code}");
        }
    }
    assert_eq!(redacted("ssn.4111-1111", &guest), ("ssn".into(), WITHHELD.into()));
    assert_eq!(redacted("address[0].4111-1111", &guest), ("address[0]".into(), WITHHELD.into()));
    assert_eq!(redacted("address[4111-1111]", &guest), ("address".into(), WITHHELD.into()));
}

#[test]
fn b175_words_about_an_unprotected_column_stay() {
    for path in ["status", "address[3].city", "address[3].town", "a.b", "a.b[0]", "_kafka_key"] {
        assert_eq!(redacted(path, &Code::TYPE), (path.to_owned(), format!("found {SECRET}")));
    }
}

#[test]
fn b175_a_path_shows_no_undeclared_name() {
    let guest = Code::parse("luhn").expect("a code");
    for (path, kept) in [
        ("4111-1111", ""),
        ("status.4111-1111", "status"),
        ("status[4111-1111]", "status"),
        ("status[0].x", "status[0]"),
        ("statuses", ""),
        ("a", ""),
        ("[0]", ""),
    ] {
        assert_eq!(redacted(path, &guest), (kept.to_owned(), WITHHELD_RECORD.to_owned()), "{path}");
    }
    assert_eq!(redacted("4111-1111", &Code::SYNTAX).0, "");
    // Names in SQL are the user's.
    assert_eq!(redacted("total", &Code::SQL), ("total".into(), format!("found {SECRET}")));
}

#[test]
fn b175_words_about_the_whole_record_stay_only_where_they_cannot_come_from_the_payload() {
    let guest = Code::parse("luhn").expect("a code");
    for code in [&Code::SYNTAX, &Code::SQL, &Code::COMPONENT] {
        assert_eq!(redacted("", code).1, format!("found {SECRET}"));
    }
    for code in [&guest, &Code::TYPE, &Code::PATTERN, &Code::REQUIRED] {
        assert_eq!(redacted("", code), (String::new(), WITHHELD_RECORD.to_owned()));
    }
    assert_eq!(withheld(Standing::Record, &Code::TYPE, "and 12 more"), None);
    for wrong in ["and 4111-1111 more", "and 41111111111111 more", "12 more"] {
        assert_eq!(withheld(Standing::Record, &Code::TYPE, wrong), Some(WITHHELD_RECORD));
    }
}

#[test]
fn b175_the_key_counts_as_a_protected_column() {
    let writer = RejectWriter::new(&[Column::new("status", Kind::Text)], RawRejects::Plain, &Privacy::Initials);
    let row = rows(&writer, &[("_kafka_key", &Code::PRIVACY), ("status", &Code::TYPE), ("x", &Code::TYPE)]).remove(0);
    let messages: Vec<_> = row.errors.iter().map(|e| e.message.as_str()).collect();
    assert_eq!(messages, [WITHHELD, "found 4111-1111", WITHHELD_RECORD]);
}

#[test]
fn what_is_kept_is_bounded() {
    let writer = RejectWriter::new(&[], RawRejects::Plain, &Privacy::None);
    let mut rejects = Rejects::default();
    let long = "é".repeat(5_000);
    for number in 0..25 {
        let code = if number == 20 { Code::PATTERN } else { Code::TYPE };
        rejects.add(0, RowError::new(long.clone(), code, long.clone()));
    }
    let row = writer.rows(&records(&[None]), &rejects).remove(0);
    assert_eq!(row.errors.len(), 21);
    assert_eq!(row.errors[0].message, format!("{}…", "é".repeat(1_000)));
    assert_eq!(row.errors[0].path, format!("{}…", "é".repeat(500)));
    assert_eq!(row.errors[20], RowError::new("", Code::PATTERN, "and 5 more"));
}

proptest! {
    #[test]
    fn b175_whatever_a_path_is_it_shows_declared_names_only(path in r"(ssn|zip|address|city|status|secret|\[|\]|[.]|0|é){0,7}") {
        let (kept, message) = redacted(&path, &Code::TYPE);
        prop_assert!(path.starts_with(&kept) && !kept.contains("secret") && !kept.contains('é'));
        prop_assert!(!message.contains(SECRET) || ["status", "address", "_kafka"].iter().any(|name| kept.starts_with(name)));
    }
}
