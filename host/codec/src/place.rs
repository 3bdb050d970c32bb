//! Where in a record a byte lies: the path, looked up only when there is an error to tell.
//!
//! A path names declared columns and places in arrays and nothing else: undeclared keys are payload, which may be private.

use crate::columns::{Columns, Slot};
use crate::scan::{Scanner, Work};

/// An array or object around the byte.
enum Around<'c> {
    Object { columns: Option<&'c Columns>, column: Option<usize> },
    Array { element: Option<&'c Slot>, index: usize },
}

impl<'c> Around<'c> {
    /// The slot of the value that follows.
    fn slot(&self) -> Option<&'c Slot> {
        match self {
            Around::Object { columns, column } => columns.zip(*column).map(|(columns, index)| &columns.nodes[index].slot),
            Around::Array { element, .. } => *element,
        }
    }

    /// What stands inside the value of a slot.
    fn object(slot: Option<&'c Slot>) -> Self {
        let columns = match slot {
            Some(Slot::Struct(structs)) => Some(&structs.columns),
            _ => None,
        };
        Around::Object { columns, column: None }
    }

    fn array(slot: Option<&'c Slot>) -> Self {
        let element = match slot {
            Some(Slot::List(lists)) => Some(&*lists.child),
            _ => None,
        };
        Around::Array { element, index: 0 }
    }
}

/// The path of the value that begins at, or reaches over, byte `at`. The bytes before it have been read without fault.
pub(crate) fn path_at(top: &Columns, data: &[u8], at: usize) -> String {
    let mut work = Work::default();
    let mut scanner = Scanner::new(data, data.len(), &mut work);
    let mut around: Vec<Around<'_>> = Vec::new();
    let mut expects_key = false;
    while scanner.pos < at {
        let Some(byte) = scanner.peek() else { break };
        match byte {
            b'{' | b'[' => {
                let inside = match around.last() {
                    None => Around::Object { columns: Some(top), column: None },
                    Some(outer) if byte == b'{' => Around::object(outer.slot()),
                    Some(outer) => Around::array(outer.slot()),
                };
                around.push(inside);
                expects_key = byte == b'{';
                scanner.pos += 1;
            }
            b'}' | b']' => {
                around.pop();
                expects_key = false;
                scanner.pos += 1;
            }
            b',' => {
                match around.last_mut() {
                    Some(Around::Array { index, .. }) => *index += 1,
                    Some(Around::Object { column, .. }) => {
                        *column = None;
                        expects_key = true;
                    }
                    None => {}
                }
                scanner.pos += 1;
            }
            b'"' => {
                let Ok(key) = scanner.string_bytes() else { break };
                if expects_key && let Some(Around::Object { columns: Some(columns), column }) = around.last_mut() {
                    *column = columns.find(key);
                }
                expects_key = false;
            }
            _ => scanner.pos += 1,
        }
    }
    written(&around)
}

fn written(around: &[Around<'_>]) -> String {
    let mut path = String::new();
    for level in around {
        match level {
            Around::Object { columns: Some(columns), column: Some(index) } => {
                path = joined(&path, &columns.nodes[*index].name);
            }
            Around::Array { element: Some(_), index } => path.push_str(&format!("[{index}]")),
            _ => break,
        }
    }
    path
}

/// The path of a column inside of another path.
pub(crate) fn joined(outer: &str, name: &str) -> String {
    if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") }
}
