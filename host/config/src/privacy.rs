//! Privacy rules as text: `sha256`, `Mask(*,8,4,2)`, `Email(sha256)`.
//!
//! The keyed rule is written `hmac_sha256(KEY)`, and the key is meant to be a secret: `hmac_sha256(${env:PHONE_KEY})`. The key is
//! everything between the first and the last bracket, byte for byte; an empty one is refused. No message quotes it.

use sluicebox_core::column::{Digest, Privacy};
use sluicebox_core::secret::Secret;

use crate::nearest::did_you_mean;

/// More repetitions or kept characters than this are a mistake, and would make every row larger.
const COUNT_MAX: usize = 1_000;

const RULES: [&str; 14] = [
    "none",
    "hide",
    "hide10X",
    "md5",
    "sha1",
    "sha256",
    "sha512",
    "initials",
    "hmac_sha256",
    "Hide",
    "Email",
    "Mask",
    "IPv4",
    "IPv6",
];

/// Rules that a later version has, in lower case.
const LATER: [&str; 8] = ["approxlong20", "approxlong", "approxdouble", "randomdouble", "randomlong", "randomint", "aes", "sql"];

const KEYED: &str = "hmac_sha256";

/// Whether it is a keyed rule, none of whose errors quotes its text.
pub(crate) fn is_keyed(text: &str) -> bool {
    text.trim().split_once('(').is_some_and(|(name, _)| name.trim().eq_ignore_ascii_case(KEYED))
}

/// Reads a rule. The error does not quote the text of a keyed one.
pub(crate) fn parse(text: &str) -> Result<Privacy, String> {
    let text = text.trim();
    if text.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("sql:")) {
        return Err(
            "the privacy rule `SQL:` is not in this version; write a `script` column and `ignore: true` on this one".to_owned()
        );
    }
    let (name, arguments) = match text.split_once('(') {
        Some((name, rest)) => (name.trim(), Some(rest.strip_suffix(')').ok_or("a privacy rule with `(` ends with `)`")?)),
        None => (text, None),
    };
    let lower = name.to_ascii_lowercase();
    if lower == KEYED {
        return keyed(arguments);
    }
    if LATER.contains(&lower.as_str()) {
        return Err(format!("the privacy rule `{name}` is not in this version"));
    }
    let arguments = arguments.map(split).transpose()?;
    match (lower.as_str(), arguments.as_deref()) {
        ("none" | "no", None) => Ok(Privacy::None),
        ("hide", None) => Ok(Privacy::Hide { text: String::new(), times: 1 }),
        ("hide10x", None) => Ok(Privacy::Hide { text: "X".to_owned(), times: 10 }),
        ("initials", None) => Ok(Privacy::Initials),
        ("hide", Some([text, times])) => Ok(Privacy::Hide { text: text.clone(), times: count(times, 0, COUNT_MAX)? }),
        ("email", Some([algorithm])) => {
            Ok(Privacy::Email(digest(algorithm).ok_or_else(|| {
                format!("found `{algorithm}`; expected `Email(ALGORITHM)` with one of md5, sha1, sha256, sha512")
            })?))
        }
        ("mask", Some([fill, times, left, right])) => mask(fill, [times, left, right]),
        ("ipv4", Some([groups])) => Ok(Privacy::IpV4(count(groups, 1, 4)?)),
        ("ipv6", Some([groups])) => Ok(Privacy::IpV6(count(groups, 1, 8)?)),
        ("hide" | "email" | "mask" | "ipv4" | "ipv6", _) => Err(format!("`{name}` has other arguments; expected one of {FORMS}")),
        (_, None) => match digest(name) {
            Some(digest) => Ok(Privacy::Hash(digest)),
            None => Err(format!("unknown privacy rule `{name}`; expected one of {}{}", RULES_TEXT, did_you_mean(name, RULES))),
        },
        (_, Some(_)) if digest(name).is_some() || ["none", "no", "hide10x", "initials"].contains(&lower.as_str()) => {
            Err(format!("`{name}` takes no arguments; write `{name}`"))
        }
        _ => Err(format!("unknown privacy rule `{name}`; expected one of {}{}", RULES_TEXT, did_you_mean(name, RULES))),
    }
}

const FORMS: &str = "Hide(\"TEXT\",TIMES), Email(ALGORITHM), Mask(CHARACTER,TIMES,LEFT,RIGHT), IPv4(1 to 4), IPv6(1 to 8)";
const RULES_TEXT: &str = "none, hide, hide10X, md5, sha1, sha256, sha512, initials, hmac_sha256(${env:KEY}), Hide(\"TEXT\",TIMES), \
                          Email(ALGORITHM), Mask(CHARACTER,TIMES,LEFT,RIGHT), IPv4(GROUPS), IPv6(GROUPS)";

fn keyed(key: Option<&str>) -> Result<Privacy, String> {
    match key {
        Some("") => Err("the key of `hmac_sha256` is empty; expected one that nobody can guess".to_owned()),
        Some(key) => Ok(Privacy::HmacSha256(Secret::new(key))),
        None => Err("`hmac_sha256` has a key; write `hmac_sha256(${env:NAME})`".to_owned()),
    }
}

fn mask(fill: &str, numbers: [&String; 3]) -> Result<Privacy, String> {
    let mut characters = fill.chars();
    let (Some(fill), None) = (characters.next(), characters.next()) else {
        return Err("the first argument of `Mask` is one character; expected `Mask(*,8,4,2)`".to_owned());
    };
    let [times, left, right] = numbers;
    Ok(Privacy::Mask {
        fill,
        count: count(times, 0, COUNT_MAX)?,
        left: count(left, 0, COUNT_MAX)?,
        right: count(right, 0, COUNT_MAX)?,
    })
}

fn digest(name: &str) -> Option<Digest> {
    match name.to_ascii_lowercase().as_str() {
        "md5" => Some(Digest::Md5),
        "sha1" => Some(Digest::Sha1),
        "sha256" => Some(Digest::Sha256),
        "sha512" => Some(Digest::Sha512),
        _ => None,
    }
}

fn count(text: &str, min: usize, max: usize) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| format!("found `{text}` in a privacy rule; expected a whole number from {min} to {max}"))
}

/// Arguments between commas; in quotes (`"` or `'`) a comma is text. White space around one is dropped.
fn split(text: &str) -> Result<Vec<String>, String> {
    let (mut arguments, mut current, mut quoted, mut quote) = (Vec::new(), String::new(), false, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => current.push(c),
            (None, '"' | '\'') if current.trim().is_empty() && !quoted => {
                current.clear();
                (quoted, quote) = (true, Some(c));
            }
            (None, ',') => {
                arguments.push(if quoted { current.clone() } else { current.trim().to_owned() });
                current.clear();
                quoted = false;
            }
            (None, c) if quoted && c.is_whitespace() => {}
            (None, _) if quoted => return Err("text after a closing quote in a privacy rule; expected `,` or `)`".to_owned()),
            (None, _) => current.push(c),
        }
    }
    if quote.is_some() {
        return Err("a quote in a privacy rule is not closed".to_owned());
    }
    arguments.push(if quoted { current } else { current.trim().to_owned() });
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_in_any_case() {
        let hide = |text: &str, times| Privacy::Hide { text: text.to_owned(), times };
        let mask = |fill| Privacy::Mask { fill, count: 8, left: 4, right: 2 };
        for (text, rule) in [
            ("NONE", Privacy::None),
            ("Hide", hide("", 1)),
            ("hide10X", hide("X", 10)),
            ("Hide(\"s\",3)", hide("s", 3)),
            ("hide('a, b' , 2)", hide("a, b", 2)),
            ("SHA256", Privacy::Hash(Digest::Sha256)),
            ("initials", Privacy::Initials),
            ("Email(sha256)", Privacy::Email(Digest::Sha256)),
            ("Email(\"MD5\")", Privacy::Email(Digest::Md5)),
            ("Mask(*,8,4,2)", mask('*')),
            ("Mask(\"*\", 8, 4, 2)", mask('*')),
            ("mask(',', 8, 4, 2)", mask(',')),
            ("IPv4(2)", Privacy::IpV4(2)),
            ("ipv6(8)", Privacy::IpV6(8)),
            ("hmac_sha256(k)ey()", Privacy::HmacSha256(Secret::new("k)ey("))),
        ] {
            assert_eq!(parse(text), Ok(rule), "{text}");
        }
    }

    #[test]
    fn b180_an_empty_key_is_refused_and_no_key_is_quoted() {
        assert!(parse("hmac_sha256()").unwrap_err().contains("is empty"));
        assert!(parse("hmac_sha256").unwrap_err().contains("has a key"));
        let message = parse("hmac_sha256(hunter2").unwrap_err();
        assert!(!message.contains("hunter2"), "{message}");
    }

    #[test]
    fn wrong_rules_say_what_is_right() {
        for (text, part) in [
            ("sha265", "did you mean `sha256`?"),
            ("approxLong20", "not in this version"),
            ("RandomInt(1,2)", "not in this version"),
            ("SQL: x", "not in this version"),
            ("IPv4(5)", "expected a whole number from 1 to 4"),
            ("Mask(**,8,4,2)", "one character"),
            ("Mask(*,8)", "has other arguments"),
            ("Email(crc)", "one of md5, sha1, sha256, sha512"),
            ("sha256(x)", "takes no arguments"),
            ("Hide(\"s,2)", "not closed"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
