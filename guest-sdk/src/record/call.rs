//! The calls of the record plane.

use super::{Faults, Field, Row, Rows, Transform, Validator};
use crate::bindings::batch_transform::sluicebox::component::types;
use crate::bindings::record_transform::sluicebox::component::record_types;
use crate::{Context, Opened, Origin, Reject, Rejects, Result};

/// A validator, opened.
#[derive(Debug)]
pub struct OpenedValidator<V>(V);

impl<V: Validator> Opened for OpenedValidator<V> {
    type Schema = Vec<Field>;
    type Plan = record_types::ValidatorPlan;
    type Input = Vec<Row>;
    type Answer = Vec<Reject>;

    fn open(context: types::Context, schema: Vec<Field>) -> Result<(Self, Self::Plan)> {
        let role = V::open(&Context::read(context)?, &schema)?;
        let plan = Self::Plan { columns: role.columns(), codes: owned(V::CODES), attributes: Vec::new() };
        Ok((OpenedValidator(role), plan))
    }

    fn process(&mut self, rows: Vec<Row>) -> Result<Vec<Reject>> {
        let mut rejects = Rejects::default();
        for (index, row) in rows.into_iter().enumerate() {
            self.0.validate(row, &mut Faults { row: index, rejects: &mut rejects })?;
        }
        Ok(rejects.into_vec())
    }
}

/// A transform, opened.
#[derive(Debug)]
pub struct OpenedTransform<T>(T);

impl<T: Transform> Opened for OpenedTransform<T> {
    type Schema = Vec<Field>;
    type Plan = record_types::TransformPlan;
    type Input = Vec<Row>;
    type Answer = record_types::Answer;

    fn open(context: types::Context, schema: Vec<Field>) -> Result<(Self, Self::Plan)> {
        let role = T::open(&Context::read(context)?, &schema)?;
        let plan = Self::Plan { columns: role.columns(), schema: role.output(), codes: owned(T::CODES), attributes: Vec::new() };
        Ok((OpenedTransform(role), plan))
    }

    fn process(&mut self, input: Vec<Row>) -> Result<record_types::Answer> {
        let count = input.len();
        let mut rows = Rows::default();
        for (index, row) in input.into_iter().enumerate() {
            rows.row = index;
            self.0.transform(row, &mut rows)?;
        }
        let (rows, origin, rejects) = rows.into_parts();
        let same = origin.len() == count && origin.iter().enumerate().all(|(row, from)| *from as usize == row);
        let origin = if same { Origin::Same } else { Origin::Rows(origin) };
        Ok(record_types::Answer { rows, origin, rejects })
    }
}

fn owned(codes: &[&str]) -> Vec<String> {
    codes.iter().map(|code| (*code).to_owned()).collect()
}
