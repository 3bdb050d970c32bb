//! Kafka: the only crate that knows rdkafka.
//!
//! [`KafkaSources`] implements the port through which the engine reads: one plain thread a source, which assigns itself
//! all partitions of its topics, gives closed batches of records with the positions they move, and never blocks its client. The
//! positions of the store decide where reading goes on; the consumer group is told for lag tools only.
//! [`check`] and [`validate_properties`] answer whether a connection can work. [`EmbeddedBroker`] is a broker inside the process, for a
//! first look and for tests; [`Producer`] fills topics and counts what was delivered.

pub use check::{Cluster, check};
pub use embedded::EmbeddedBroker;
pub use producer::{Message, Producer};
pub use properties::{client_library, validate_properties};
pub use sources::KafkaSources;

mod sources;

mod filling;
mod lookup;
mod outbox;
mod partition;
mod reader;

mod context;
mod fault;
mod properties;

mod check;
mod embedded;
mod producer;

mod ffi;
