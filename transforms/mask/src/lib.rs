//! Masks e-mail addresses, phone numbers and account numbers (IBAN) inside free text.
//!
//! The rules of each kind are told in its module; what is found is replaced, everything else stays byte for byte.

pub mod column;
pub mod email;
pub mod finder;
pub mod iban;
pub mod phone;
pub mod span;
