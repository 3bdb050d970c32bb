use super::*;

fn root(text: &str) -> Node {
    parse(text).expect(text)
}

fn entries(node: &Node) -> &[Entry] {
    match &node.content {
        Content::Mapping(entries) => entries,
        other => panic!("{other:?} is no mapping"),
    }
}

fn text_of(node: &Node) -> &str {
    match &node.content {
        Content::Scalar(scalar) => &scalar.text,
        other => panic!("{other:?} is no scalar"),
    }
}

fn message(text: &str) -> String {
    let error = parse(text).expect_err("an error");
    format!("{}:{}: {}", error.mark.line, error.mark.column, error.message)
}

#[test]
fn b168_only_true_and_false_are_truth_values() {
    let meaning_of = |text: &str| meaning(&Scalar { text: text.to_owned(), plain: true });
    for text in ["no", "on", "y", "NO", "yes", "off", "1_000", "0b1", "1e", "+", "-", ".", "12:30", "0o9", "0x"] {
        assert_eq!(meaning_of(text), Meaning::Text, "{text}");
    }
    for text in ["", "~", "null", "Null", "NULL"] {
        assert_eq!(meaning_of(text), Meaning::Null, "{text}");
    }
    assert_eq!(meaning_of("true"), Meaning::Boolean(true));
    assert_eq!(meaning_of("FALSE"), Meaning::Boolean(false));
    assert_eq!(meaning_of("-12"), Meaning::Integer(-12));
    assert_eq!(meaning_of("0x1F"), Meaning::Integer(31));
    assert_eq!(meaning_of("0o17"), Meaning::Integer(15));
    assert_eq!(meaning_of("18446744073709551615"), Meaning::Integer(i128::from(u64::MAX)));
    assert_eq!(meaning_of("18446744073709551616"), Meaning::Float(18_446_744_073_709_551_616.0));
    assert_eq!(meaning_of("-1.5e3"), Meaning::Float(-1500.0));
    assert_eq!(meaning_of("-.inf"), Meaning::Float(f64::NEG_INFINITY));
    assert_eq!(meaning(&Scalar { text: "true".to_owned(), plain: false }), Meaning::Text);
}

#[test]
fn places_are_those_of_the_file_with_bom_and_crlf_too() {
    for text in
        ["a: 1\nb:\n  - x\n  - éé: yy\n", "a: 1\r\nb:\r\n  - x\r\n  - éé: yy\r\n", "\u{feff}a: 1\nb:\n  - x\n  - éé: yy\n"]
    {
        let root = root(text);
        let Content::Sequence(items) = &entries(&root)[1].value.content else { panic!("no list") };
        let inner = &entries(&items[1])[0];
        assert_eq!(inner.key_mark, Mark { line: 4, column: 5 }, "{text:?}");
        assert_eq!(inner.value.mark, Mark { line: 4, column: 9 }, "{text:?}");
        assert_eq!(entries(&root)[0].key_mark, Mark { line: 1, column: 1 }, "{text:?}");
        assert_eq!(text_of(&inner.value), "yy");
    }
}

#[test]
fn b170_bombs_are_refused_at_once() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..=9 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    assert!(message(&bomb).contains("expand to more than 8 MiB"), "{}", message(&bomb));
    assert!(message(&"[".repeat(10_000)).contains("nested more than 64 deep"));
    assert!(message(&"- ".repeat(10_000)).contains("nested more than 64 deep"));
    assert!(message("a: &a [1, *a]\n").contains("an anchor cannot refer to itself"));
    assert!(message("a: *nothing\n").starts_with("1:4: this is no YAML"));
    let harmless = root("a: &a [1, 2]\nb: *a\n");
    assert_eq!(entries(&harmless)[1].value.mark, Mark { line: 2, column: 4 });
    assert!(matches!(&entries(&harmless)[1].value.content, Content::Sequence(items) if items.len() == 2));
}

#[test]
fn b172_merge_keys_have_a_stated_order() {
    let root = root("base: &base { x: 1, y: 1 }\nother: &other { y: 2, z: 2 }\nall:\n  <<: [*base, *other]\n  x: 0\n");
    let all: Vec<_> = entries(&entries(&root)[2].value).iter().map(|entry| (entry.key.as_str(), text_of(&entry.value))).collect();
    assert_eq!(all, [("x", "0"), ("y", "1"), ("z", "2")]);
    assert!(message("a:\n  <<: 5\n").contains("`<<` merges a mapping"));
}

#[test]
fn b172_documents_and_tabs() {
    assert_eq!(entries(&root("---\na: 1\n...\n")).len(), 1);
    assert_eq!(message("a: 1\n---\nb: 2\n").split(';').next(), Some("2:1: a second YAML document begins here"));
    assert_eq!(message("a:\n\tb: 1\n"), "2:2: a tab indents this line; YAML wants spaces");
    assert!(matches!(root("").content, Content::Scalar(scalar) if meaning(&scalar) == Meaning::Null));
}

#[test]
fn tags_are_refused_without_a_word_of_their_text() {
    assert!(message("a: !hunter2\n").contains("quote text that begins with `!`"));
    assert!(!message("a: !hunter2\n").contains("hunter2"));
    assert!(message("a: !!int 5\n").contains("tag"));
    let tagged = root("a: !!str 5\n");
    assert!(matches!(&entries(&tagged)[0].value.content, Content::Scalar(scalar) if meaning(scalar) == Meaning::Text));
}

#[test]
fn keys_are_names() {
    assert!(message("? [a]\n: 1\n").contains("expected a name"));
    assert_eq!(entries(&root("a: 1\na: 2\n")).len(), 2, "whoever reads the mapping names both lines");
}
