//! Progress of a run: one line that renews itself on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluicebox_engine::status::Report;

use crate::command::say;
use crate::host::TenantHost;

/// How often a terminal's line is renewed.
const TERMINAL: Duration = Duration::from_millis(500);
/// How often a plain line is written while records come.
const PLAIN: Duration = Duration::from_secs(10);

/// Prints progress until it is dropped.
pub struct Progress {
    terminal: bool,
    began: Instant,
    last: Option<(Instant, u64)>,
}

impl Default for Progress {
    fn default() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), began: Instant::now(), last: None }
    }
}

impl Progress {
    /// Looks, and prints when it is time.
    pub fn look(&mut self, tenants: &[Arc<TenantHost>]) {
        let every = if self.terminal { TERMINAL } else { PLAIN };
        let (at, before) = self.last.unwrap_or((self.began, 0));
        if at.elapsed() < every {
            return;
        }
        let reports: Vec<Report> = tenants.iter().flat_map(|tenant| tenant.reports()).collect();
        let consumed: u64 = reports.iter().map(|r| r.counts.consumed).sum();
        let rate = (consumed - before) as f64 / at.elapsed().as_secs_f64();
        self.last = Some((Instant::now(), consumed));
        if self.terminal {
            renew(&line(&reports, rate));
        } else if consumed != before {
            say(&line(&reports, rate));
        }
    }

    /// Ends the line of a terminal.
    pub fn end(&self) {
        if self.terminal && self.last.is_some() {
            say("");
        }
    }
}

#[expect(clippy::print_stderr, reason = "the terminal's progress line")]
fn renew(line: &str) {
    eprint!("\r\x1b[2K{line}");
}

/// `records 1,234 (567/s), lag 89, rejected 1`
pub fn line(reports: &[Report], rate: f64) -> String {
    let sum = |of: fn(&Report) -> u64| reports.iter().map(of).sum::<u64>();
    let lag = reports.iter().map(|r| r.progress.lag).sum::<Option<u64>>().map_or("unknown".into(), thousands);
    let (consumed, rejected) = (thousands(sum(|r| r.counts.consumed)), thousands(sum(|r| r.counts.rejected)));
    format!("records {consumed} ({}/s), lag {lag}, rejected {rejected}", thousands(rate as u64))
}

/// `1234567` as `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1234567, "1,234,567")] {
            assert_eq!(thousands(number), text);
        }
    }
}
