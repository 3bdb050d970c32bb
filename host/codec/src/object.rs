//! Objects whose columns are declared.

use sluicebox_core::reject::Code;

use crate::cells::Store;
use crate::columns::{Columns, Node};
use crate::fault::{Fault, Parsed};
use crate::misfit::Pending;
use crate::scan::{DEPTH_MAX, Scanner};
use crate::string::Text;

impl Scanner<'_, '_> {
    /// Reads the object whose brace is at the cursor: one cell for each column. `depth` levels are open around it.
    pub(crate) fn object(&mut self, columns: &mut Columns, depth: usize) -> Parsed<()> {
        if depth >= DEPTH_MAX {
            return self.broken(Fault::Depth);
        }
        let at = self.pos;
        self.pos += 1;
        let mark = self.work.keys.open();
        columns.begin();
        if self.token() == Some(b'}') {
            self.pos += 1;
            self.absent_columns(columns, at);
            return Ok(());
        }
        let (mut next, mut present) = (0, 0);
        loop {
            let key_at = self.pos;
            match self.key(columns, next, mark)? {
                Some(index) => {
                    if !columns.see(index) {
                        return self.broken_at(key_at, Fault::DuplicateKey);
                    }
                    present += 1;
                    self.token();
                    self.node(&mut columns.nodes[index], depth + 1)?;
                    next = index + 1;
                }
                None => self.skip(depth + 1)?,
            }
            match self.token() {
                Some(b',') => {
                    self.pos += 1;
                    self.token();
                }
                Some(b'}') => break,
                _ => return self.broken(Fault::CommaOrBrace),
            }
        }
        if depth == 0 && self.work.keys.are(mark, self.data, [b"schema", b"payload"]) {
            self.work.envelope = columns.none_seen();
        }
        self.close_keys(mark)?;
        self.pos += 1;
        if present < columns.nodes.len() {
            self.absent_columns(columns, at);
        }
        Ok(())
    }

    /// Reads a key and its colon: the index of its column, or `None` when it is not declared. Fields mostly come in the declared
    /// order, so the column `next` is tried first.
    #[inline(always)]
    fn key(&mut self, columns: &Columns, next: usize, mark: usize) -> Parsed<Option<usize>> {
        if let Some(node) = columns.nodes.get(next)
            && !node.written.is_empty()
            && self.data[self.pos.min(self.data.len())..].starts_with(&node.written)
        {
            self.pos += node.written.len();
            return Ok(Some(next));
        }
        self.any_key(columns, mark)
    }

    #[inline(never)]
    fn any_key(&mut self, columns: &Columns, mark: usize) -> Parsed<Option<usize>> {
        if self.peek() != Some(b'"') {
            return self.broken(Fault::Key);
        }
        let at = self.pos;
        let key = self.string()?;
        let found = match key {
            Text::Plain(bytes) => columns.find(bytes),
            Text::Escaped => columns.find(&self.work.unescaped),
        };
        if found.is_none() {
            self.note_key(mark, at, key)?;
        }
        self.colon()?;
        Ok(found)
    }

    /// Fills the columns that the object, which begins at `at`, lacks.
    fn absent_columns(&mut self, columns: &mut Columns, at: usize) {
        for index in 0..columns.nodes.len() {
            if !columns.has(index) {
                self.absent(&mut columns.nodes[index], at);
            }
        }
    }

    fn absent(&mut self, node: &mut Node, at: usize) {
        if let Some(default) = &node.default {
            node.slot.push_copy(default);
            return;
        }
        if node.rule.required {
            let absent = Some(node.name.clone());
            self.work.errors.add(|| Pending { at, absent, code: Code::REQUIRED, message: "is required".to_owned() });
        }
        node.slot.push_null();
    }
}
