use super::*;
use proptest::prelude::*;

fn full(pattern: &str) -> Pattern {
    Pattern { written: pattern.into(), regex: format!(r"(?s)\A(?:{pattern})\z") }
}

fn matches(pattern: &str, text: &str) -> bool {
    Matcher::new(&full(pattern)).expect("a pattern").matches(text)
}

#[test]
fn b181_a_pattern_matches_in_full() {
    for (pattern, text) in [
        ("[0-9]{4}", "abc1234x"),
        ("[0-9]{4}", "1234\n"),
        ("cat|dog", "catalog"),
        ("cat|dog", "hotdog"),
        (EMAIL, "a@example.com\n"),
        (EMAIL, " a@example.com"),
    ] {
        assert!(!matches(pattern, text), "{pattern} {text:?}");
    }
    assert!(matches("[0-9]{4}", "1234") && matches("cat|dog", "cat") && matches("cat|dog", "dog"));
}

#[test]
fn addresses() {
    for right in ["a@b.co", "a.b+c%d_e-f@x-y.example.museum", "A@1..fr", ".@-.io"] {
        assert!(matches(EMAIL, right), "{right}");
    }
    for wrong in
        ["", "a", "@b.co", "a@", "a@b", "a@.co", "a@b.c", "a@b.abcdefg", "a@b.c0m", "a@b@c.co", "é@b.co", "a@é.co", "a@b.co."]
    {
        assert!(!matches(EMAIL, wrong), "{wrong}");
    }
}

#[test]
fn anything_is_no_empty_text() {
    assert!(matches(ANYTHING, "\n") && matches(ANYTHING, " ") && !matches(ANYTHING, ""));
}

proptest! {
    #[test]
    fn the_quick_matcher_answers_as_the_pattern(text in r"[a-z0-9._%+@ é-]{0,5}@{0,2}[a-zA-Z0-9.@-]{0,6}\.?[a-zA-Z0-9.]{0,8}\n?") {
        let slow = Matcher::Regex(Box::new(Regex::new(&full(EMAIL).regex).expect("a pattern")));
        prop_assert_eq!(matches(EMAIL, &text), slow.matches(&text), "{:?}", text);
    }
}
