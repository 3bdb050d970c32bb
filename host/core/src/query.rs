//! Reading tables: one consistent snapshot, only the columns asked for, segments pruned by statistics.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::error::Result;
use crate::name::TableName;

/// A value to compare with, in the column's own type.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// Integers, dates (days), timestamps (microseconds) and decimals (unscaled), widened.
    Int(i128),
    /// Floats.
    Float(f64),
    /// Text.
    Text(String),
    /// Booleans.
    Bool(bool),
}

/// How a column is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// What a query knows of the rows it wants: all bounds must hold. A segment in which one cannot hold may be left out;
/// the query still filters the rows itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// Index of the column in the table's schema.
    pub column: usize,
    /// The comparison.
    pub comparison: Comparison,
    /// The value on its right.
    pub value: Scalar,
}

/// Batches of a scan, read as they are asked for.
pub type Scan = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// All tables of a tenant as of one commit.
pub trait Snapshot: Send + Sync {
    /// Tables with their newest schema, in order of name.
    fn tables(&self) -> Vec<(TableName, SchemaRef)>;

    /// Rows of a table: the columns of `projection` (indexes into the schema, all when `None`), in segments that may meet `bounds`.
    ///
    /// # Errors
    /// When the table is not there, a segment is broken or the disk fails.
    fn scan(&self, table: &TableName, projection: Option<&[usize]>, bounds: &[Bound]) -> Result<Scan>;

    /// Number of rows of a table, from its header alone.
    ///
    /// # Errors
    /// When the table is not there.
    fn row_count(&self, table: &TableName) -> Result<u64>;
}

/// Whoever can give snapshots: the store.
pub trait Snapshots: Send + Sync {
    /// The state after the last commit.
    ///
    /// # Errors
    /// When the disk fails.
    fn snapshot(&self) -> Result<Arc<dyn Snapshot>>;
}
