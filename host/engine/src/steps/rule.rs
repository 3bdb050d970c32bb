//! The privacy rules on one text. They work on characters, never on bytes, and fail closed.

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
    Plain(Privacy),
    Hidden(String),
    Keyed(Hmac<Sha256>),
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
            Privacy::Hide { text, times } => Kind::Hidden(text.repeat(*times)),
            Privacy::HmacSha256(key) if key.expose().is_empty() => return Err(Error::config("privacy: the key is empty")),
            Privacy::HmacSha256(key) => {
                let keyed = Hmac::new_from_slice(key.expose().as_bytes());
                Kind::Keyed(keyed.map_err(|error| Error::config(format!("privacy: the key cannot be used: {error}")))?)
            }
            other => Kind::Plain(other.clone()),
        }))
    }

    /// Appends the protected text.
    ///
    /// # Errors
    /// The value is not of the kind that the rule is for: nothing of it may be shown.
    pub fn apply(&self, value: &str, out: &mut String) -> Result<(), Misfit> {
        match &self.0 {
            Kind::Hidden(text) => out.push_str(text),
            Kind::Keyed(_) | Kind::Plain(Privacy::Hash(_)) => {
                self.digest(value.as_bytes(), out);
            }
            Kind::Plain(Privacy::Initials) => initials(value, out),
            Kind::Plain(Privacy::Email(digest)) => email(*digest, value, out)?,
            Kind::Plain(Privacy::Mask { fill, count, left, right }) => mask(value, *fill, *count, (*left, *right), out),
            Kind::Plain(Privacy::IpV4(groups)) => ipv4(value, *groups, out)?,
            Kind::Plain(Privacy::IpV6(groups)) => ipv6(value, *groups, out)?,
            Kind::Plain(_) => out.push_str(value),
        }
        Ok(())
    }

    /// Appends the digest of bytes that need not be text; `false` for a rule that is no digest and does not hide all.
    pub fn digest(&self, bytes: &[u8], out: &mut String) -> bool {
        match &self.0 {
            Kind::Hidden(text) => out.push_str(text),
            Kind::Keyed(keyed) => hex(&keyed.clone().chain_update(bytes).finalize().into_bytes(), out),
            Kind::Plain(Privacy::Hash(digest)) => hash(*digest, bytes, out),
            Kind::Plain(_) => return false,
        }
        true
    }
}

fn hex(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
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
    for first in value.split_whitespace().filter_map(|word| word.chars().next()) {
        out.push(first);
        out.push('.');
    }
}

fn email(digest: Digest, value: &str, out: &mut String) -> Result<(), Misfit> {
    let parts = value.rsplit_once('@').filter(|(local, domain)| !local.is_empty() && !domain.is_empty());
    let (local, domain) = parts.ok_or("is no e-mail address")?;
    hash(digest, local.as_bytes(), out);
    out.push('@');
    out.push_str(domain);
    Ok(())
}

/// A value that is no longer than what would be kept is not shown at all.
fn mask(value: &str, fill: char, count: usize, (left, right): (usize, usize), out: &mut String) {
    let length = value.chars().count();
    let (left, right) = if length > left + right { (left, right) } else { (0, 0) };
    out.extend(value.chars().take(left));
    out.extend(std::iter::repeat_n(fill, count));
    out.extend(value.chars().skip(length - right));
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

/// A shortened address is written out first, so that the last groups are really the last.
fn ipv6(value: &str, groups: usize, out: &mut String) -> Result<(), Misfit> {
    let address: Ipv6Addr = value.parse().map_err(|_| "is no IPv6 address")?;
    let segments = address.segments().map(|segment| format!("{segment:x}"));
    let written: Vec<&str> = value.split(':').collect();
    let whole = written.len() == 8 && written.iter().all(|group| !group.is_empty());
    let kept = 8 - groups.min(8);
    for (index, segment) in segments.iter().enumerate() {
        let colon = if index == 0 { "" } else { ":" };
        let text = if whole { written[index] } else { segment };
        let _ = write!(out, "{colon}{}", if index < kept { text } else { "0" });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
