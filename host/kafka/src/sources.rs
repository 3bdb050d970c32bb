//! The port: opens sources, each a reader on a thread of its own.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sluicebox_core::port::{Source, SourceEvent, SourceProgress, SourceSettings, Sources};
use sluicebox_core::position::Advance;
use sluicebox_core::{Error, Result};

use crate::context::Context;
use crate::outbox::Outbox;
use crate::properties;
use crate::reader::Reader;

/// Sources that read from Kafka.
#[derive(Debug, Clone, Copy, Default)]
pub struct KafkaSources;

impl KafkaSources {
    /// Has no state: each source has a client of its own.
    pub fn new() -> Self {
        Self
    }
}

impl Sources for KafkaSources {
    fn open(&self, settings: SourceSettings) -> Result<Box<dyn Source>> {
        let config = properties::client(&settings.properties, &settings.group, settings.budget.limit());
        let client = properties::connect(&config, Context::new(&settings.properties))?;
        let outbox = Arc::new(Outbox::default());
        let group = settings.group.clone();
        let for_reader = outbox.clone();
        let read = move || match Reader::new(settings, Arc::new(client), for_reader.clone()) {
            Ok(reader) => reader.run(),
            Err(error) => for_reader.put(SourceEvent::Failed(error)),
        };
        let thread = thread::Builder::new()
            .name(format!("kafka {group}"))
            .spawn(read)
            .map_err(|error| Error::internal(format!("no thread for a Kafka source: {error}")))?;
        Ok(Box::new(KafkaSource { outbox, thread: Some(thread) }))
    }
}

/// A running reader.
struct KafkaSource {
    outbox: Arc<Outbox>,
    thread: Option<JoinHandle<()>>,
}

impl Source for KafkaSource {
    fn next(&mut self, timeout: Duration) -> Option<SourceEvent> {
        self.outbox.take(timeout)
    }

    fn committed(&mut self, advances: &[Advance]) {
        self.outbox.committed(advances);
    }

    fn progress(&self) -> SourceProgress {
        self.outbox.progress()
    }

    fn stop(&mut self) {
        self.outbox.stop();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("a Kafka reader ended in a panic");
        }
    }
}

impl Drop for KafkaSource {
    fn drop(&mut self) {
        self.stop();
    }
}
