//! Kafka: the only crate that knows rdkafka.
