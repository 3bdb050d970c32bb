use proptest::prelude::*;
use sluicebox_core::secret::Secret;

use super::*;

fn apply(privacy: &Privacy, value: &str) -> Result<String, Misfit> {
    let mut out = String::new();
    Rule::new(privacy).expect("a rule").apply(value, &mut out).map(|()| out)
}

fn shown(privacy: &Privacy, value: &str) -> String {
    apply(privacy, value).expect("protected")
}

fn masked(value: &str, fill: char, count: usize, left: usize, right: usize) -> String {
    shown(&Privacy::Mask { fill, count, left, right }, value)
}

#[test]
fn none_and_hide() {
    let hide = |text: &str, times| Privacy::Hide { text: text.into(), times };
    assert_eq!(shown(&Privacy::None, "x"), "x");
    assert_eq!(shown(&hide("", 1), "secret"), "");
    assert_eq!(shown(&hide("X", 10), "secret"), "XXXXXXXXXX");
    assert_eq!(shown(&hide("ab", 2), "secret"), "abab");
}

#[test]
fn digests_are_lower_case_and_padded() {
    let sha512_of_abc = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                         2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";
    for (digest, empty, abc) in [
        (Digest::Md5, "d41d8cd98f00b204e9800998ecf8427e", "900150983cd24fb0d6963f7d28e17f72"),
        (Digest::Sha1, "da39a3ee5e6b4b0d3255bfef95601890afd80709", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            Digest::Sha256,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        (
            Digest::Sha512,
            "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce\
             47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
            sha512_of_abc,
        ),
    ] {
        assert_eq!(shown(&Privacy::Hash(digest), ""), empty);
        assert_eq!(shown(&Privacy::Hash(digest), "abc"), abc);
    }
    let utf8 = "22db8378f3b4c155cc7f4f20c22452b981d3fa0ba1a9fd8225216dd55c376403";
    assert_eq!(shown(&Privacy::Hash(Digest::Sha256), "Zoë🙂"), utf8);
}

#[test]
fn b180_hmac_gives_what_rfc_4231_says() {
    let keyed = |key: &str, value: &str| shown(&Privacy::HmacSha256(Secret::new(key)), value);
    let first = keyed("\u{b}".repeat(20).as_str(), "Hi There");
    assert_eq!(first, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    let second = keyed("Jefe", "what do ya want for nothing?");
    assert_eq!(second, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    assert_ne!(keyed("k1", "0612345678"), keyed("k2", "0612345678"));
    assert_ne!(keyed("k1", "0612345678"), shown(&Privacy::Hash(Digest::Sha256), "0612345678"));
}

#[test]
fn b180_hmac_passes_the_vectors_of_wycheproof() {
    let bytes = |hex: &str| -> Vec<u8> {
        (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("hexadecimal")).collect()
    };
    let vectors = include_str!("../../../tests/data/hmac_sha256.txt").lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for vector in vectors {
        let [number, key, message, tag] = vector.split(' ').collect::<Vec<_>>()[..] else { panic!("{vector}") };
        let rule = Rule(Kind::Keyed(keyed(&bytes(key)).expect("a key")));
        let mut out = String::new();
        rule.digest(&bytes(message.trim_matches('-')), &mut out).expect("a digest");
        assert_eq!(out, tag, "{number}");
        count += 1;
    }
    assert_eq!(count, 13);
}

#[test]
fn b180_an_empty_key_is_refused_and_no_key_is_shown() {
    let error = Rule::new(&Privacy::HmacSha256(Secret::new(""))).err().expect("refused");
    assert_eq!(error.message, "privacy: the key of hmac_sha256 is empty; expected one that nobody can guess");
    assert_eq!(format!("{:?}", Privacy::HmacSha256(Secret::new("hunter2"))), "HmacSha256(***)");
}

#[test]
fn first_letters_of_words() {
    for (value, letters) in [
        ("John Doe", "J.D."),
        ("  John \t\n Ronald\u{b}Doe ", "J.R.D."),
        ("Zoë", "Z."),
        ("Élan 🙂x", "É.🙂."),
        ("", ""),
        (" ", ""),
    ] {
        assert_eq!(shown(&Privacy::Initials, value), letters, "{value:?}");
    }
}

#[test]
fn the_local_part_of_an_address_is_digested() {
    let md5 = Privacy::Email(Digest::Md5);
    assert_eq!(shown(&md5, "john@doe.com"), "527bd5b5d689e2c32ae974c6229ff785@doe.com");
    let sha256 = shown(&Privacy::Email(Digest::Sha256), "john@doe.com");
    assert_eq!(sha256, "96d9632f363564cc3032521409cf22a852f2032eec099ed5967c0d000cec607a@doe.com");
    // The last @ counts, so that as little as possible is shown.
    assert!(shown(&md5, "\"john@home\"@doe.com").ends_with("@doe.com"));
    assert!(!shown(&md5, "\"john@home\"@doe.com").contains("home"));
    for wrong in ["", "john", "@john", "john@", "call @ 06 12 34", "a@b c", "john@doe.com, jane"] {
        assert_eq!(apply(&md5, wrong), Err("is no e-mail address"), "{wrong}");
    }
}

#[test]
fn the_middle_is_masked() {
    assert_eq!(masked("+3360102030405", '*', 8, 4, 2), "+336********05");
    assert_eq!(masked("abcdef", '#', 0, 2, 0), "ab");
    assert_eq!(masked("abcdef", '#', 1, 0, 2), "#ef");
    assert_eq!(masked("abcdef", '-', 3, 2, 3), "ab---def");
}

#[test]
fn b179_characters_are_cut_never_bytes_and_short_values_are_not_shown() {
    assert_eq!(masked("Zoë🙂!", '*', 3, 0, 4), "***oë🙂!");
    assert_eq!(masked("Zoë🙂!", '•', 2, 4, 0), "Zoë🙂••");
    let family = "👩\u{200d}👩\u{200d}👧";
    assert_eq!(masked(family, '*', 1, 0, 4), "*\u{200d}👩\u{200d}👧");
    for short in ["", "a", "abc", "Zoë🙂", "e\u{301}"] {
        assert_eq!(masked(short, '*', 3, 0, 4), "***", "{short}");
        assert_eq!(masked(short, '*', 3, 4, 0), "***", "{short}");
        assert_eq!(masked(short, '*', 3, 2, 2), "***", "{short}");
        assert_eq!(masked(short, '*', 3, usize::MAX, usize::MAX), "***", "{short}");
    }
}

#[test]
fn last_groups_of_addresses_are_zero() {
    for (value, groups, out) in [
        ("192.168.2.1", 2, "192.168.0.0"),
        ("192.168.2.1", 1, "192.168.2.0"),
        ("192.168.2.1", 0, "192.168.2.1"),
        ("192.168.2.1", 9, "0.0.0.0"),
    ] {
        assert_eq!(shown(&Privacy::IpV4(groups), value), out);
    }
    for (value, groups, out) in [
        ("2001:0DB8:1:2:3:4:5:6", 2, "2001:0DB8:1:2:3:4:0:0"),
        ("2001:db8::1", 1, "2001:db8:0:0:0:0:0:0"),
        ("2001:db8::5", 3, "2001:db8:0:0:0:0:0:0"),
        ("1:2:3:4:5:6:7::", 2, "1:2:3:4:5:6:0:0"),
        ("::ffff:192.0.2.1", 2, "0:0:0:0:0:ffff:0:0"),
        ("::1", 8, "0:0:0:0:0:0:0:0"),
    ] {
        assert_eq!(shown(&Privacy::IpV6(groups), value), out);
    }
    for wrong in ["", "192.168.2", "192.168.2.1.5", "192.168.2.256", "192.168.2.1 ", "localhost", "::1"] {
        assert_eq!(apply(&Privacy::IpV4(1), wrong), Err("is no IPv4 address"), "{wrong}");
    }
    for wrong in ["", "192.168.2.1", "1:2:3", "fe80::1%eth0", "g::", "1:2:3:4:5:6:7:8:9"] {
        assert_eq!(apply(&Privacy::IpV6(1), wrong), Err("is no IPv6 address"), "{wrong}");
    }
}

fn rules() -> Vec<Privacy> {
    vec![
        Privacy::Hide { text: "X".into(), times: 3 },
        Privacy::Hash(Digest::Md5),
        Privacy::HmacSha256(Secret::new("k")),
        Privacy::Initials,
        Privacy::Email(Digest::Sha1),
        Privacy::Mask { fill: '*', count: 2, left: 2, right: 1 },
        Privacy::IpV4(2),
        Privacy::IpV6(4),
    ]
}

proptest! {
    #[test]
    fn b179_no_text_makes_a_rule_panic(value in any::<String>(), left in 0usize..6, right in 0usize..6) {
        for rule in rules() {
            let _ = apply(&rule, &value);
        }
        let out = masked(&value, '*', 3, left, right);
        let chars: Vec<char> = value.chars().collect();
        let kept = if chars.len() > left + right { left + right } else { 0 };
        prop_assert_eq!(out.chars().count(), kept + 3);
    }
}
