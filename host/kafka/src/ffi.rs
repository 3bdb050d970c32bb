//! The calls of librdkafka that its Rust binding does not offer: batches from a private queue, topic ids, cached watermarks.
//!
//! Promises: every pointer stays inside this module; a message is destroyed before [`MessageQueue::take`] returns; queues go
//! before the client that made them, because each holds it.

#![expect(unsafe_code, reason = "librdkafka offers batch consumption and topic ids in C only")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use rdkafka::bindings as sys;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::RDKafkaErrorCode;
use sluicebox_core::position::TopicId;

use crate::context::Context;

/// How long the brokers of a cluster are waited for at once.
const BROKERS_TIMEOUT: Duration = Duration::from_millis(500);

/// A consumer of ours, shared by what holds queues of it.
pub(crate) type Client = Arc<BaseConsumer<Context>>;

fn millis(timeout: Duration) -> i32 {
    i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX)
}

/// A queue of librdkafka that destroys itself.
struct Queue {
    ptr: *mut sys::rd_kafka_queue_t,
    client: Client,
}

impl Queue {
    fn new(client: Client) -> Self {
        // SAFETY: the client is alive; the queue is destroyed in `drop`, before the client that this struct holds.
        let ptr = unsafe { sys::rd_kafka_queue_new(client.client().native_ptr()) };
        Self { ptr, client }
    }

    fn native(&self) -> *mut sys::rd_kafka_t {
        self.client.client().native_ptr()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: made by `rd_kafka_queue_new`, destroyed once.
        unsafe { sys::rd_kafka_queue_destroy(self.ptr) };
    }
}

/// Messages of all partitions that were forwarded to it.
pub(crate) struct MessageQueue {
    queue: Queue,
    taken: Vec<*mut sys::rd_kafka_message_t>,
}

impl MessageQueue {
    /// An empty queue that takes at most `batch` messages at once.
    pub(crate) fn new(client: Client, batch: usize) -> Self {
        Self { queue: Queue::new(client), taken: vec![ptr::null_mut(); batch.max(1)] }
    }

    /// Sends what a partition gives to this queue. To be called before the partition is assigned: librdkafka keeps a forward that the
    /// application has made, and nothing goes to the consumer's own queue in between.
    pub(crate) fn forward(&self, topic: &CStr, partition: i32) {
        // SAFETY: client and both queues are alive; the reference to the partition's queue is given back at once.
        unsafe {
            let source = sys::rd_kafka_queue_get_partition(self.queue.native(), topic.as_ptr(), partition);
            if !source.is_null() {
                sys::rd_kafka_queue_forward(source, self.queue.ptr);
                sys::rd_kafka_queue_destroy(source);
            }
        }
    }

    /// Gives up to `max` messages to `each`, in order, and destroys them. Waits up to `timeout` only for the first one.
    pub(crate) fn take(&mut self, max: usize, timeout: Duration, mut each: impl FnMut(&Taken<'_>)) -> usize {
        let (room, slots) = (self.taken.len().min(max.max(1)), self.taken.as_mut_ptr());
        // SAFETY: `slots` has room for `room` pointers.
        let mut count = unsafe { sys::rd_kafka_consume_batch_queue(self.queue.ptr, 0, slots, room) };
        if count <= 0 && !timeout.is_zero() {
            // A batch call with a time-out returns only when it is full or the time is over, so one message is awaited alone.
            // SAFETY: as above, for one pointer.
            let first = unsafe { sys::rd_kafka_consume_queue(self.queue.ptr, millis(timeout)) };
            if first.is_null() {
                return 0;
            }
            self.taken[0] = first;
            // SAFETY: the first slot is in use, `room - 1` are left after it.
            let more = unsafe { sys::rd_kafka_consume_batch_queue(self.queue.ptr, 0, slots.add(1), room - 1) };
            count = 1 + more.max(0);
        }
        let count = usize::try_from(count).unwrap_or(0).min(room);
        for message in &self.taken[..count] {
            // SAFETY: librdkafka gave this message to us; it lives until it is destroyed below.
            each(&Taken { message: unsafe { &**message } });
        }
        for message in &mut self.taken[..count] {
            // SAFETY: destroyed once; the borrow given to `each` has ended.
            unsafe { sys::rd_kafka_message_destroy(*message) };
            *message = ptr::null_mut();
        }
        count
    }

    /// How many events of the client (errors, log lines) wait to be served.
    pub(crate) fn events(&self) -> usize {
        // SAFETY: the client is alive; the reference to its queue is given back at once.
        unsafe {
            let events = sys::rd_kafka_queue_get_consumer(self.queue.native());
            if events.is_null() {
                return 0;
            }
            let length = sys::rd_kafka_queue_length(events);
            sys::rd_kafka_queue_destroy(events);
            length
        }
    }

    /// The high watermark that the last answer of the broker carried; `None` before the first.
    pub(crate) fn cached_high(&self, topic: &CStr, partition: i32) -> Option<i64> {
        let (mut low, mut high) = (-1i64, -1i64);
        // SAFETY: the client is alive, the name ends with a zero, both results have room.
        let error =
            unsafe { sys::rd_kafka_get_watermark_offsets(self.queue.native(), topic.as_ptr(), partition, &mut low, &mut high) };
        (error == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR && high >= 0).then_some(high)
    }
}

/// A message, or an event of a partition, that lives until the call that gave it returns.
pub(crate) struct Taken<'a> {
    message: &'a sys::rd_kafka_message_t,
}

impl<'a> Taken<'a> {
    /// Tells partitions apart within one call of [`MessageQueue::take`], cheaper than by name.
    pub(crate) fn source(&self) -> (usize, i32) {
        (self.message.rkt as usize, self.message.partition)
    }

    /// The topic's name.
    pub(crate) fn topic(&self) -> &'a [u8] {
        if self.message.rkt.is_null() {
            return b"";
        }
        // SAFETY: the message holds its topic, whose name ends with a zero.
        unsafe { CStr::from_ptr(sys::rd_kafka_topic_name(self.message.rkt)) }.to_bytes()
    }

    /// The partition's number.
    pub(crate) fn partition(&self) -> i32 {
        self.message.partition
    }

    /// Offset of the record, or where the event happened.
    pub(crate) fn offset(&self) -> i64 {
        self.message.offset
    }

    /// What the event is; `None` is a record.
    pub(crate) fn error(&self) -> Option<RDKafkaErrorCode> {
        let error = self.message.err;
        (error != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR).then(|| error.into())
    }

    /// Words of the event.
    pub(crate) fn words(&self) -> String {
        // SAFETY: the text belongs to the message or is static.
        text(unsafe { sys::rd_kafka_message_errstr(self.message) })
    }

    /// The value; `None` is a tombstone.
    pub(crate) fn value(&self) -> Option<&'a [u8]> {
        // SAFETY: pointer and length belong to the message.
        unsafe { bytes(self.message.payload, self.message.len) }
    }

    /// The key.
    pub(crate) fn key(&self) -> Option<&'a [u8]> {
        // SAFETY: pointer and length belong to the message.
        unsafe { bytes(self.message.key, self.message.key_len) }
    }

    /// Milliseconds since 1970 UTC.
    pub(crate) fn timestamp(&self) -> Option<i64> {
        let mut kind = sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
        // SAFETY: the message is alive.
        let millis = unsafe { sys::rd_kafka_message_timestamp(self.message, &mut kind) };
        (kind != sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE && millis >= 0).then_some(millis)
    }

    /// The headers, in order, repeats and null values kept.
    pub(crate) fn headers(&self) -> Headers<'a> {
        let mut headers = ptr::null_mut();
        // SAFETY: the headers belong to the message, which only parses them; on an error the pointer stays null.
        let error = unsafe { sys::rd_kafka_message_headers(self.message, &mut headers) };
        let none = error != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR;
        Headers { headers: if none { ptr::null_mut() } else { headers }, next: 0, message: PhantomData }
    }
}

/// Headers of one message.
pub(crate) struct Headers<'a> {
    headers: *const sys::rd_kafka_headers_t,
    next: usize,
    message: PhantomData<&'a ()>,
}

impl<'a> Iterator for Headers<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.headers.is_null() {
            return None;
        }
        let (mut name, mut value, mut size) = (ptr::null::<c_char>(), ptr::null::<c_void>(), 0usize);
        // SAFETY: headers, names and values live as long as the message; past the last one an error is answered.
        let error = unsafe { sys::rd_kafka_header_get_all(self.headers, self.next, &mut name, &mut value, &mut size) };
        if error != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR || name.is_null() {
            return None;
        }
        self.next += 1;
        // SAFETY: as above.
        Some(unsafe { (CStr::from_ptr(name).to_bytes(), bytes(value, size)) })
    }
}

/// What the cluster says of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Description {
    /// The topic's name.
    pub(crate) topic: String,
    /// Its identity; `None` from a cluster that gives none.
    pub(crate) id: Option<TopicId>,
    /// How many partitions it has, or why it cannot be described.
    pub(crate) partitions: Result<i32, (RDKafkaErrorCode, String)>,
}

/// An answer to [`Describer::ask`].
pub(crate) type Answer = Result<Vec<Description>, (RDKafkaErrorCode, String)>;

/// Asks for topics without blocking.
pub(crate) struct Describer {
    queue: Queue,
    brokers: Vec<i32>,
    turn: usize,
}

impl Describer {
    /// A describer that uses the connections of `client`.
    pub(crate) fn new(client: Client) -> Self {
        Self { queue: Queue::new(client), brokers: Vec::new(), turn: 0 }
    }

    /// Asks; one answer will follow within `timeout`. Blocks, a moment, only while no broker is known.
    ///
    /// (Left to itself librdkafka asks the controller, which the embedded broker does not name.)
    pub(crate) fn ask(&mut self, topics: &[CString], timeout: Duration) -> Result<(), (RDKafkaErrorCode, String)> {
        if self.brokers.is_empty() {
            // SAFETY: the client is alive.
            self.brokers = unsafe { brokers(self.queue.native(), BROKERS_TIMEOUT) }.map_err(|code| (code, code.to_string()))?;
        }
        let Some(broker) = self.brokers.get(self.turn % self.brokers.len().max(1)) else { return Ok(()) };
        let mut names: Vec<*const c_char> = topics.iter().map(|t| t.as_ptr()).collect();
        let native = self.queue.native();
        // SAFETY: names live through the call, which copies them; options and collection are destroyed once, after the call
        // that copies what it needs of them.
        unsafe {
            let options = sys::rd_kafka_AdminOptions_new(native, sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
            sys::rd_kafka_AdminOptions_set_request_timeout(options, millis(timeout), ptr::null_mut(), 0);
            sys::rd_kafka_AdminOptions_set_broker(options, *broker, ptr::null_mut(), 0);
            let collection = sys::rd_kafka_TopicCollection_of_topic_names(names.as_mut_ptr(), names.len());
            sys::rd_kafka_DescribeTopics(native, collection, options, self.queue.ptr);
            sys::rd_kafka_TopicCollection_destroy(collection);
            sys::rd_kafka_AdminOptions_destroy(options);
        }
        Ok(())
    }

    /// Asks another broker next time, of those that the cluster has then.
    pub(crate) fn forget_brokers(&mut self) {
        self.brokers.clear();
        self.turn = self.turn.wrapping_add(1);
    }

    /// The answer, when it is there.
    pub(crate) fn answer(&self) -> Option<Answer> {
        // SAFETY: the event is ours until it is destroyed; everything read from it is copied before.
        unsafe {
            let event = sys::rd_kafka_queue_poll(self.queue.ptr, 0);
            if event.is_null() {
                return None;
            }
            let answer = read_answer(event);
            sys::rd_kafka_event_destroy(event);
            Some(answer)
        }
    }
}

/// Ids of the cluster's brokers.
///
/// # Safety
/// `native` is alive.
unsafe fn brokers(native: *mut sys::rd_kafka_t, timeout: Duration) -> Result<Vec<i32>, RDKafkaErrorCode> {
    let mut metadata = ptr::null();
    // SAFETY: the caller's promise; the result is destroyed after its numbers were copied.
    unsafe {
        let error = sys::rd_kafka_metadata(native, 0, ptr::null_mut(), &mut metadata, millis(timeout));
        if error != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR || metadata.is_null() {
            return Err(error.into());
        }
        let count = usize::try_from((*metadata).broker_cnt).unwrap_or(0);
        let ids = (0..count).map(|i| (*(*metadata).brokers.add(i)).id).collect();
        sys::rd_kafka_metadata_destroy(metadata);
        Ok(ids)
    }
}

/// # Safety
/// `event` is an event of the queue that `DescribeTopics` answers to.
unsafe fn read_answer(event: *mut sys::rd_kafka_event_t) -> Answer {
    // SAFETY: the caller's promise; results live as long as the event.
    unsafe {
        let error = sys::rd_kafka_event_error(event);
        if error != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
            return Err((error.into(), text(sys::rd_kafka_event_error_string(event))));
        }
        let result = sys::rd_kafka_event_DescribeTopics_result(event);
        if result.is_null() {
            return Ok(Vec::new());
        }
        let mut count = 0;
        let topics = sys::rd_kafka_DescribeTopics_result_topics(result, &mut count);
        Ok((0..count).map(|i| describe(*topics.add(i))).collect())
    }
}

/// # Safety
/// `topic` is part of a living result.
unsafe fn describe(topic: *const sys::rd_kafka_TopicDescription_t) -> Description {
    // SAFETY: the caller's promise.
    unsafe {
        let error = sys::rd_kafka_TopicDescription_error(topic);
        let code = sys::rd_kafka_error_code(error);
        let partitions = if code == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
            let mut count = 0;
            sys::rd_kafka_TopicDescription_partitions(topic, &mut count);
            Ok(i32::try_from(count).unwrap_or(i32::MAX))
        } else {
            Err((code.into(), text(sys::rd_kafka_error_string(error))))
        };
        let uuid = sys::rd_kafka_TopicDescription_topic_id(topic);
        let id = if uuid.is_null() { 0 } else { uuid_bits(uuid) };
        let id = (id != 0).then(|| TopicId(id.to_be_bytes()));
        Description { topic: text(sys::rd_kafka_TopicDescription_name(topic)), id, partitions }
    }
}

/// # Safety
/// `uuid` is alive.
unsafe fn uuid_bits(uuid: *const sys::rd_kafka_Uuid_t) -> u128 {
    // SAFETY: the caller's promise.
    let (high, low) =
        unsafe { (sys::rd_kafka_Uuid_most_significant_bits(uuid), sys::rd_kafka_Uuid_least_significant_bits(uuid)) };
    (u128::from(high as u64) << 64) | u128::from(low as u64)
}

/// # Safety
/// `data` is null or points to `len` bytes that live for `'a`.
unsafe fn bytes<'a>(data: *const c_void, len: usize) -> Option<&'a [u8]> {
    // SAFETY: the caller's promise.
    (!data.is_null()).then(|| unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) })
}

fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: all texts that librdkafka gives end with a zero; the caller passes nothing else.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
