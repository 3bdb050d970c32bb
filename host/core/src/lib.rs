//! Nouns and decisions of Sluicebox.
//!
//! Pure: no async runtime, no I/O, no clock, no randomness. It knows Arrow arrays and nothing heavier. The ports through
//! which the engine reaches Kafka, the store, SQL and components are traits in [`port`]; adapters implement them and never see
//! each other. Decisions (where to start, what a commit is, which rows are guilty) are functions here, tested over all
//! their cases.

pub mod audit;
pub mod batch;
pub mod budget;
pub mod column;
pub mod commit;
pub mod error;
pub mod isolate;
pub mod name;
pub mod outcome;
pub mod port;
pub mod position;
pub mod query;
pub mod record;
pub mod reject;
pub mod retry;
pub mod secret;
pub mod start;

pub use batch::{Batch, Rows};
pub use error::{Domain, Error, Result, Retry};
pub use record::{Records, RecordsBuilder};
pub use reject::{Code, Rejects, RowError};
