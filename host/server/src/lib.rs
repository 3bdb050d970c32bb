//! The binary sluicebox: command line, HTTP, composition root.
