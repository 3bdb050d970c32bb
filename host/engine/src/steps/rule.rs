//! The privacy rules on one text. They work on characters (code points), never on bytes, and fail closed: a value that is not of the
//! kind that its rule is for is refused, not shown.
//!
//! | rule | result |
//! |---|---|
//! | none | the value |
//! | hide, `Hide(s,n)` | empty text, `s` repeated `n` times |
//! | md5, sha1, sha256, sha512 | lower-case hexadecimal digest of the UTF-8 bytes |
//! | HMAC-SHA-256 | lower-case hexadecimal, under the key of the rule; without a key a digest of few possible values can be found by listing |
//! | initials | first character of each word (between ASCII white space), a point after each: `John Doe` is `J.D.` |
//! | `Email(alg)` | digest of what stands before the last `@`, then `@` and the domain, which must look like one |
//! | `Mask(c,n,left,right)` | the first `left` characters, `c` repeated `n` times, the last `right` characters; a value of at most `left + right` characters would be shown whole, so that only the `c`s are shown |
//! | `IPv4(n)`, `IPv6(n)` | the last `n` groups are `0`; a shortened IPv6 address is written out first |

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};
use sluicebox_core::column::{Digest, Privacy};
use sluicebox_core::error::{Error, Result};

/// A rule, ready to run.
#[derive(Clone)]
pub struct Rule(Kind);

#[derive(Clone)]
enum Kind {
    Shown,
    Hidden(String),
    Hash(Digest),
    /// The key is in: a value costs the blocks of its own.
    Keyed(Hmac<Sha256>),
    Initials,
    Email(Digest),
    Mask {
        fill: String,
        left: usize,
        right: usize,
    },
    IpV4(usize),
    IpV6(usize),
}

/// Why a rule could not be applied; never quotes the value.
pub type Misfit = &'static str;

impl Rule {
    /// Prepares a rule.
    ///
    /// # Errors
    /// An empty key.
    pub fn new(privacy: &Privacy) -> Result<Self> {
        Ok(Self(match privacy {
            Privacy::None => Kind::Shown,
            Privacy::Hide { text, times } => Kind::Hidden(text.repeat(*times)),
            Privacy::Hash(digest) => Kind::Hash(*digest),
            Privacy::HmacSha256(key) if key.expose().is_empty() => {
                return Err(Error::config("privacy: the key of hmac_sha256 is empty; expected one that nobody can guess"));
            }
            Privacy::HmacSha256(key) => Kind::Keyed(keyed(key.expose().as_bytes())?),
            Privacy::Initials => Kind::Initials,
            Privacy::Email(digest) => Kind::Email(*digest),
            Privacy::Mask { fill, count, left, right } => {
                Kind::Mask { fill: std::iter::repeat_n(*fill, *count).collect(), left: *left, right: *right }
            }
            Privacy::IpV4(groups) => Kind::IpV4(*groups),
            Privacy::IpV6(groups) => Kind::IpV6(*groups),
        }))
    }

    /// Appends the protected text.
    ///
    /// # Errors
    /// The value is not of the kind that the rule is for: nothing of it may be shown, nor of what was appended.
    pub fn apply(&self, value: &str, out: &mut String) -> Result<(), Misfit> {
        match &self.0 {
            Kind::Shown => out.push_str(value),
            Kind::Hidden(_) | Kind::Keyed(_) | Kind::Hash(_) => return self.digest(value.as_bytes(), out),
            Kind::Initials => initials(value, out),
            Kind::Email(digest) => email(*digest, value, out)?,
            Kind::Mask { fill, left, right } => mask(value, fill, (*left, *right), out),
            Kind::IpV4(groups) => ipv4(value, *groups, out)?,
            Kind::IpV6(groups) => ipv6(value, *groups, out)?,
        }
        Ok(())
    }

    /// Appends what the rule makes of bytes that need not be text.
    ///
    /// # Errors
    /// The rule is neither a digest nor hides everything: it needs text.
    pub fn digest(&self, bytes: &[u8], out: &mut String) -> Result<(), Misfit> {
        match &self.0 {
            Kind::Hidden(text) => out.push_str(text),
            Kind::Keyed(keyed) => hex(&keyed.clone().chain_update(bytes).finalize().into_bytes(), out),
            Kind::Hash(digest) => hash(*digest, bytes, out),
            _ => return Err("is no UTF-8 text"),
        }
        Ok(())
    }
}

fn keyed(key: &[u8]) -> Result<Hmac<Sha256>> {
    Hmac::new_from_slice(key).map_err(|error| Error::config(format!("privacy: the key of hmac_sha256 cannot be used: {error}")))
}

/// The longest digest is SHA-512's.
const DIGEST_BYTES_MAX: usize = 64;

fn hex(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b'0'; 2 * DIGEST_BYTES_MAX];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    // Digits are always text.
    out.push_str(std::str::from_utf8(&text[..2 * bytes.len()]).unwrap_or_default());
}

fn hash(digest: Digest, bytes: &[u8], out: &mut String) {
    match digest {
        Digest::Md5 => hex(&Md5::digest(bytes), out),
        Digest::Sha1 => hex(&Sha1::digest(bytes), out),
        Digest::Sha256 => hex(&Sha256::digest(bytes), out),
        Digest::Sha512 => hex(&Sha512::digest(bytes), out),
    }
}

fn initials(value: &str, out: &mut String) {
    let space = |c: char| c.is_ascii_whitespace() || c == '\u{b}';
    for first in value.split(space).filter_map(|word| word.chars().next()) {
        out.push(first);
        out.push('.');
    }
}

/// The domain is shown, so it must be one: `@handle` or `a @ b c` would show what is private.
fn email(digest: Digest, value: &str, out: &mut String) -> Result<(), Misfit> {
    let of_domain = |c: char| c.is_alphanumeric() || c == '.' || c == '-';
    let parts =
        value.rsplit_once('@').filter(|(local, domain)| !local.is_empty() && !domain.is_empty() && domain.chars().all(of_domain));
    let (local, domain) = parts.ok_or("is no e-mail address")?;
    hash(digest, local.as_bytes(), out);
    out.push('@');
    out.push_str(domain);
    Ok(())
}

fn mask(value: &str, fill: &str, (left, right): (usize, usize), out: &mut String) {
    if value.chars().count() <= left.saturating_add(right) {
        return out.push_str(fill);
    }
    let start = value.char_indices().nth(left).map_or(value.len(), |(start, _)| start);
    let end = match right {
        0 => value.len(),
        right => value.char_indices().rev().nth(right - 1).map_or(0, |(end, _)| end),
    };
    out.push_str(&value[..start]);
    out.push_str(fill);
    out.push_str(&value[end..]);
}

fn ipv4(value: &str, groups: usize, out: &mut String) -> Result<(), Misfit> {
    let address: Ipv4Addr = value.parse().map_err(|_| "is no IPv4 address")?;
    let kept = 4 - groups.min(4);
    for (index, octet) in address.octets().into_iter().enumerate() {
        let dot = if index == 0 { "" } else { "." };
        let _ = write!(out, "{dot}{}", if index < kept { octet } else { 0 });
    }
    Ok(())
}

/// Groups stay as they were written where all eight were.
fn ipv6(value: &str, groups: usize, out: &mut String) -> Result<(), Misfit> {
    let address: Ipv6Addr = value.parse().map_err(|_| "is no IPv6 address")?;
    let written: Vec<&str> = value.split(':').collect();
    let whole = written.len() == 8 && written.iter().all(|group| !group.is_empty());
    let kept = 8 - groups.min(8);
    for (index, segment) in address.segments().into_iter().enumerate() {
        let colon = if index == 0 { "" } else { ":" };
        let _ = match (index < kept, whole) {
            (false, _) => write!(out, "{colon}0"),
            (true, true) => write!(out, "{colon}{}", written[index]),
            (true, false) => write!(out, "{colon}{segment:x}"),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests;
