//! Values of declared columns: each appends exactly one cell, whatever JSON has there.

use sluicebox_core::reject::Code;

use crate::cells::{Bools, Fixed, Store, Texts};
use crate::columns::{Lists, Node, Rule, Slot, Structs};
use crate::convert::{Convert, ConvertCell, ToBoolean};
use crate::fault::{Fault, Parsed};
use crate::misfit::{Misfit, Pending};
use crate::scan::{DEPTH_MAX, Scanner};

/// What became of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Got {
    /// Its cell is there.
    Cell,
    /// It is null, or text that counts as null: no cell yet.
    Null,
    /// It does not fit: no cell yet.
    Wrong(Misfit),
}

/// A scalar of a typed column.
enum Scalar<T> {
    Value(T),
    Null,
    Wrong(Misfit),
}

impl<T> From<Result<T, Misfit>> for Scalar<T> {
    #[inline(always)]
    fn from(result: Result<T, Misfit>) -> Self {
        match result {
            Ok(value) => Scalar::Value(value),
            Err(misfit) => Scalar::Wrong(misfit),
        }
    }
}

impl Scanner<'_, '_> {
    /// Reads the value at the cursor into the column, inside of `depth` levels.
    #[inline]
    pub(crate) fn node(&mut self, node: &mut Node, depth: usize) -> Parsed<()> {
        let at = self.pos;
        match self.slot(&node.rule, &mut node.slot, depth)? {
            Got::Cell => {}
            Got::Null => self.null(node, at),
            Got::Wrong(misfit) => {
                self.wrong(&node.rule, misfit, at);
                node.slot.push_null();
            }
        }
        Ok(())
    }

    fn null(&mut self, node: &mut Node, at: usize) {
        if let Some(default) = &node.default {
            node.slot.push_copy(default);
            return;
        }
        if node.rule.required {
            let message = "can't be null".to_owned();
            self.work.errors.add(|| Pending { at, absent: None, code: Code::REQUIRED, message });
        }
        node.slot.push_null();
    }

    #[cold]
    fn wrong(&mut self, rule: &Rule, misfit: Misfit, at: usize) {
        let raw = &self.data[at..self.pos];
        self.work.errors.add(|| {
            let message = misfit.message(rule.names(), raw);
            Pending { at, absent: None, code: Code::TYPE, message }
        });
    }

    #[inline(always)]
    fn slot(&mut self, rule: &Rule, slot: &mut Slot, depth: usize) -> Parsed<Got> {
        match slot {
            Slot::Text(cells) => self.text(rule, cells, depth),
            Slot::Variant(cells) => self.variant(cells, depth),
            Slot::Long(cells, convert) => self.fixed(rule, cells, convert, depth),
            Slot::Short(cells, convert) => self.fixed(rule, cells, convert, depth),
            Slot::Byte(cells, convert) => self.fixed(rule, cells, convert, depth),
            Slot::Double(cells, convert) => self.fixed(rule, cells, convert, depth),
            Slot::Decimal(cells, convert) => self.fixed(rule, cells, convert, depth),
            Slot::Boolean(cells, convert) => self.boolean(rule, cells, convert, depth),
            Slot::Date(cells, convert) => self.fixed(rule, cells, convert, depth),
            Slot::Timestamp(cells, convert) => self.fixed(rule, cells, convert, depth),
            Slot::Struct(cells) => self.nested(cells, depth),
            Slot::List(cells) => self.array(rule, cells, depth),
        }
    }

    #[inline(always)]
    fn text(&mut self, rule: &Rule, cells: &mut Texts, depth: usize) -> Parsed<Got> {
        if self.peek() == Some(b'"') {
            let text = self.string_bytes()?;
            return Ok(match rule.prepared(text) {
                Some(text) => {
                    cells.push(text);
                    Got::Cell
                }
                None => Got::Null,
            });
        }
        self.literal_text(cells, depth)
    }

    /// A number or truth value in a text column is kept as written.
    fn literal_text(&mut self, cells: &mut Texts, depth: usize) -> Parsed<Got> {
        let at = self.pos;
        match self.peek() {
            Some(b'-' | b'0'..=b'9' | b't' | b'f') => {
                self.skip(depth)?;
                cells.push(&self.data[at..self.pos]);
                Ok(Got::Cell)
            }
            _ => self.null_or_other(depth),
        }
    }

    /// `null`, or a kind of value that no scalar column takes.
    fn null_or_other(&mut self, depth: usize) -> Parsed<Got> {
        let found = match self.peek() {
            Some(b'n') => return self.literal("null").map(|()| Got::Null),
            Some(b'{') => "object",
            Some(b'[') => "array",
            Some(b'"') => "string",
            Some(b't' | b'f') => "boolean",
            Some(b'-' | b'0'..=b'9') => "number",
            _ => return self.no_value(),
        };
        self.skip(depth)?;
        Ok(Got::Wrong(Misfit::Found(found)))
    }

    fn variant(&mut self, cells: &mut Texts, depth: usize) -> Parsed<Got> {
        let at = self.pos;
        self.skip(depth)?;
        let raw = &self.data[at..self.pos];
        if raw == b"null" {
            return Ok(Got::Null);
        }
        cells.push(raw);
        Ok(Got::Cell)
    }

    #[inline(always)]
    fn fixed<C: ConvertCell>(&mut self, rule: &Rule, cells: &mut Fixed<C::Cell>, convert: &C, depth: usize) -> Parsed<Got> {
        Ok(match self.scalar(rule, convert, depth)? {
            Scalar::Value(value) => {
                cells.push(value);
                Got::Cell
            }
            Scalar::Null => Got::Null,
            Scalar::Wrong(misfit) => Got::Wrong(misfit),
        })
    }

    fn boolean(&mut self, rule: &Rule, cells: &mut Bools, convert: &ToBoolean, depth: usize) -> Parsed<Got> {
        Ok(match self.scalar(rule, convert, depth)? {
            Scalar::Value(value) => {
                cells.push(value);
                Got::Cell
            }
            Scalar::Null => Got::Null,
            Scalar::Wrong(misfit) => Got::Wrong(misfit),
        })
    }

    #[inline(always)]
    fn scalar<C: Convert>(&mut self, rule: &Rule, convert: &C, depth: usize) -> Parsed<Scalar<C::Out>> {
        match self.peek() {
            Some(b'-' | b'0'..=b'9') => Ok(convert.number(&self.number()?).into()),
            Some(b'"') => Ok(match rule.prepared(self.string_bytes()?) {
                Some(text) => convert.text(text).into(),
                None => Scalar::Null,
            }),
            Some(b't') => self.literal("true").map(|()| convert.truth(true).into()),
            Some(b'f') => self.literal("false").map(|()| convert.truth(false).into()),
            _ => Ok(match self.null_or_other(depth)? {
                Got::Wrong(misfit) => Scalar::Wrong(misfit),
                _ => Scalar::Null,
            }),
        }
    }

    fn nested(&mut self, cells: &mut Structs, depth: usize) -> Parsed<Got> {
        if self.peek() != Some(b'{') {
            return self.null_or_other(depth);
        }
        self.object(&mut cells.columns, depth)?;
        cells.nulls.append_non_null();
        Ok(Got::Cell)
    }

    fn array(&mut self, rule: &Rule, cells: &mut Lists, depth: usize) -> Parsed<Got> {
        if self.peek() != Some(b'[') {
            return Ok(match self.null_or_other(depth)? {
                Got::Wrong(_) => Got::Wrong(Misfit::NotArray),
                other => other,
            });
        }
        if depth >= DEPTH_MAX {
            return self.broken(Fault::Depth);
        }
        self.pos += 1;
        if self.token() == Some(b']') {
            self.pos += 1;
            cells.push();
            return Ok(Got::Cell);
        }
        loop {
            self.token();
            self.element(rule, &mut cells.child, depth + 1)?;
            match self.token() {
                Some(b',') => self.pos += 1,
                Some(b']') => break,
                _ => return self.broken(Fault::CommaOrBracket),
            }
        }
        self.pos += 1;
        cells.push();
        Ok(Got::Cell)
    }

    /// Reads an element of an array; null ones stay null.
    #[inline]
    fn element(&mut self, rule: &Rule, slot: &mut Slot, depth: usize) -> Parsed<()> {
        let at = self.pos;
        match self.slot(rule, slot, depth)? {
            Got::Cell => {}
            Got::Null => slot.push_null(),
            Got::Wrong(misfit) => {
                self.wrong(rule, misfit, at);
                slot.push_null();
            }
        }
        Ok(())
    }
}
