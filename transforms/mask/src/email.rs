//! E-mail addresses: `local@domain` with a dotted domain that ends in letters.
//!
//! - The local part takes letters, digits and `. _ % + - ' &`, not a dot or quote at its ends; or anything in double quotes.
//! - The domain takes labels of letters, digits and hyphens; its last label is two letters or more, or punycode (`xn--`).
//! - Letters beyond ASCII count up to Armenian; scripts written without spaces (Chinese, Thai) end an address.
//!
//! So `user@localhost`, `@handle`, `3 @ 4.50` and `10@2.50` are none.

use crate::span::{Kind, Span};

/// The first letter that ends an address although it is one: scripts from here on are not taken into addresses.
const LETTERS_END: char = '\u{0590}';

/// Adds the addresses of `text` to `found`, in order.
pub fn find(text: &str, found: &mut Vec<Span>) {
    let mut from = 0;
    for (at, _) in text.match_indices('@') {
        if at < from {
            continue;
        }
        let Some(start) = local_start(&text[from..at]).map(|start| from + start) else { continue };
        let Some(len) = domain_len(&text[at + 1..]) else { continue };
        let end = at + 1 + len;
        found.push(Span { start, end, kind: Kind::Email });
        from = end;
    }
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || (!c.is_ascii() && c < LETTERS_END && c.is_alphabetic())
}

fn is_name(c: char) -> bool {
    is_letter(c) || c.is_ascii_digit()
}

/// Where the local part begins that `before` ends with.
fn local_start(before: &str) -> Option<usize> {
    if let Some(inner) = before.strip_suffix('"') {
        let open = inner.rfind('"')?;
        return (open + 1 < inner.len()).then_some(open);
    }
    let taken = |c: char| is_name(c) || matches!(c, '.' | '_' | '%' | '+' | '-' | '\'' | '&');
    let part = before.trim_end_matches(taken);
    let local = &before[part.len()..];
    if local.ends_with('.') {
        return None;
    }
    let trimmed = local.trim_start_matches(|c| !is_name(c) && !matches!(c, '_' | '+'));
    (!trimmed.is_empty()).then_some(before.len() - trimmed.len())
}

/// How many bytes of `after` are a domain: up to the last label that can be a top-level one.
fn domain_len(after: &str) -> Option<usize> {
    let mut best = None;
    let mut label_start = 0;
    loop {
        let rest = &after[label_start..];
        let len = rest.len() - rest.trim_start_matches(|c| is_name(c) || c == '-').len();
        let label = &rest[..len];
        if label.is_empty() || label.starts_with('-') {
            return best;
        }
        if label_start > 0 {
            best = top_level_len(label).map(|len| label_start + len).or(best);
        }
        if !rest[len..].starts_with('.') {
            return best;
        }
        label_start += len + 1;
    }
}

/// How many bytes of a label are a top-level domain: letters up to a hyphen or the end, or punycode.
fn top_level_len(label: &str) -> Option<usize> {
    let name = label.trim_end_matches('-');
    if name.len() > 4 && name.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("xn--")) {
        return Some(name.len());
    }
    let head = label.split('-').next().unwrap_or(label);
    (head.chars().all(is_letter) && head.chars().count() >= 2).then_some(head.len())
}

#[cfg(test)]
mod tests {
    use super::find;

    fn found(text: &str) -> Vec<&str> {
        let mut spans = Vec::new();
        find(text, &mut spans);
        spans.iter().map(|span| &text[span.start..span.end]).collect()
    }

    #[test]
    fn takes_the_address_and_nothing_beside_it() {
        for (text, want) in [
            ("write to ann.lee+shop@mail.example.co.uk.", "ann.lee+shop@mail.example.co.uk"),
            ("<ann@example.org>", "ann@example.org"),
            ("mailto:ann@example.org?subject=x", "ann@example.org"),
            ("mail=ann@example.org&next=1", "ann@example.org"),
            ("'ann@example.org'", "ann@example.org"),
            ("o'hara@example.org", "o'hara@example.org"),
            ("...ann@example.org...", "ann@example.org"),
            ("\"ann lee\"@example.org", "\"ann lee\"@example.org"),
            ("ann@example.org-2", "ann@example.org"),
            ("491701234567@example.org", "491701234567@example.org"),
            ("jörg@müller.de", "jörg@müller.de"),
            ("иван@почта.рф!", "иван@почта.рф"),
            ("请写ann@example.com谢谢", "ann@example.com"),
            ("“ann@example.org”", "ann@example.org"),
            ("ann@xn--mller-kva.xn--p1ai", "ann@xn--mller-kva.xn--p1ai"),
            ("ann@example.com.2026", "ann@example.com"),
        ] {
            assert_eq!(found(text), [want], "{text}");
        }
        assert_eq!(found("a@b.de, c@d.fr;e@f.it"), ["a@b.de", "c@d.fr", "e@f.it"]);
        assert_eq!(found("a@b@c.de"), ["b@c.de"]);
    }

    #[test]
    fn leaves_what_is_no_address() {
        for text in [
            "user@localhost",
            "@handle said",
            "3 @ 4.50",
            "10@2.50",
            "a@",
            "@",
            "a@.de",
            "a@-b.de",
            "a@b.c",
            "a.@b.de",
            "\"\"@b.de",
            "meet @ example.com",
            "a@@b",
            "你@例子.中国",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }
}
