//! Tests of the whole store.

mod disk;
mod kit;

mod basic;
mod crash;
mod model;
mod upkeep;
