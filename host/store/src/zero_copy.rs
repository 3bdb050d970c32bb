//! Arrow buffers over redb's pages, and the decoding of messages whose checksum has just been verified: the crate's only `unsafe`.
#![expect(unsafe_code, reason = "buffers borrow redb's pages, and checked messages are not validated twice")]

use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_data::UnsafeFlag;
use redb::AccessGuard;

/// A buffer over the value, which is kept as long as the buffer. It keeps the page, not the transaction.
pub(crate) fn buffer(value: AccessGuard<'static, &'static [u8]>) -> Buffer {
    let owner = Arc::new(AssertUnwindSafe(value));
    let bytes = owner.value();
    let (pointer, len) = (NonNull::from(bytes).cast::<u8>(), bytes.len());
    // SAFETY: the bytes lie in a reference-counted page (or a vector) that the guard owns, that is never written to again and
    // does not move when the guard does; the buffer owns the guard, so they outlive it.
    unsafe { Buffer::from_custom_allocation(pointer, len, owner) }
}

/// Leave to decode without validation. Only for bytes that this crate encoded and whose checksum matched.
pub(crate) fn checked_before() -> UnsafeFlag {
    let mut flag = UnsafeFlag::new();
    // SAFETY: callers verified the checksum of bytes that the Arrow writer made from valid arrays.
    unsafe { flag.set(true) };
    flag
}
