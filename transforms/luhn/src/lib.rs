//! Checks card numbers by their check digit (Luhn).

pub mod number;
