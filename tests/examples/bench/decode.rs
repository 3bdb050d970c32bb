//! JSON to columns on one core: the decoder alone.

use std::time::Instant;

use anyhow::{Result, ensure};
use sluicebox_codec::JsonDecoder;
use sluicebox_codec::sample::{batch, big, big_columns, small, small_columns};
use sluicebox_core::column::Column;
use sluicebox_core::port::Decoder;
use sluicebox_core::reject::Rejects;

use super::figure::Figures;

const RECORDS: u64 = 10_000;
const ROUNDS: u64 = 100;

/// `decode.big`, `decode.small`.
pub fn run(figures: &mut Figures) -> Result<()> {
    shape(figures, "decode.big", big, &big_columns())?;
    shape(figures, "decode.small", small, &small_columns())
}

fn shape(figures: &mut Figures, name: &str, write: fn(u64, &mut Vec<u8>), columns: &[Column]) -> Result<()> {
    let records = batch(write, RECORDS);
    let mut decoder = JsonDecoder::new(columns, &vec![true; columns.len()])?;
    let mut rejects = Rejects::default();
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let decoded = decoder.decode(&records, 0, &mut rejects)?;
        best = best.min(began.elapsed().as_secs_f64());
        ensure!(
            decoded.columns.num_rows() as u64 == RECORDS && rejects.is_empty(),
            "not every record was decoded: {} were refused",
            rejects.len()
        );
    }
    figures.rate(name, RECORDS, records.bytes() as u64, best);
    Ok(())
}
