//! Rows that a component refuses or fails on, under their records. Fails closed: where calls see a protected column, the guest's words are
//! withheld and of a path only the column is kept.

use sluicebox_core::batch::Batch;
use sluicebox_core::reject::{Code, Rejects, RowError};

use crate::bindings::types::Reject;
use crate::call::Called;
use crate::instance::{Instances, WITHHELD};

/// Bytes of a path that are kept.
const PATH_BYTES_MAX: usize = 1 << 10;
/// Bytes of a message that are kept.
const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// Adds what a call refused; `column` stands where a reject names no path.
pub(crate) fn refuse(instances: &Instances, called: &Called, batch: &Batch, column: &str, rejects: &mut Rejects) {
    for (row, words) in &called.guilty {
        rejects.add(batch.rows.record(*row), RowError::new(column, Code::COMPONENT, words.clone()));
    }
    for (start, answer) in &called.answers {
        for reject in &answer.rejects {
            rejects.add(batch.rows.record(start + reject.row as usize), error(instances, reject, column));
        }
    }
}

fn error(instances: &Instances, reject: &Reject, column: &str) -> RowError {
    let code = instances.plan().codes.iter().find(|code| code.as_str() == reject.code).cloned().unwrap_or(Code::COMPONENT);
    let path = if reject.path.is_empty() { column } else { &reject.path };
    if instances.withheld() {
        let setting = instances.setting();
        let known = |name: &&str| setting.input.index_of(name).is_ok();
        let name = path.split(['.', '[']).next().filter(known).unwrap_or(column);
        return RowError::new(name, code, WITHHELD);
    }
    RowError::new(cut(path, PATH_BYTES_MAX), code, cut(&reject.message, MESSAGE_BYTES_MAX))
}

fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
