//! Bytes to Arrow: the JSON decoder.
