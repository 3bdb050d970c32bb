//! Tests of the whole store.

mod kit;

mod basic;
