//! Ratios of times that were spent alike, and of times that were not.

use std::collections::BTreeMap;

use super::{Composition, RatioErrors, RatioTerm, belongs_to, is_counted, unknown_factor, widen_interval};
use crate::journal::{Beginning, ProcessorModel};

fn processor(measured: bool) -> ProcessorModel {
    ProcessorModel {
        name: "p".to_owned(),
        source: "s".to_owned(),
        date: "2026-11-27".to_owned(),
        measured,
        processors: 2,
        aes_instructions: true,
        held_out_median: Some(0.1),
        held_out_p90: Some(0.329),
    }
}

fn errors(measured: bool) -> RatioErrors {
    let access_errors = BTreeMap::from([("read_onwards".to_owned(), 0.1), ("flush".to_owned(), 0.4)]);
    let processors = vec![processor(measured)];
    RatioErrors::of_run(&Beginning { access_errors, processors, ..Beginning::default() }).unwrap()
}

fn time(parts: &[(&str, f64)]) -> Composition {
    let shares = parts.iter().map(|(part, share)| ((*part).to_owned(), *share)).collect();
    Composition { shares, ..Composition::default() }
}

/// A time of reads alone: so many, of so many bytes, in so many seconds.
fn reads(number: f64, bytes: f64, seconds: f64) -> Composition {
    let spent = BTreeMap::from([("read_onwards".to_owned(), seconds)]);
    let counted = BTreeMap::from([("device_reads", number), ("device_read", bytes)]);
    Composition::from_totals(&spent, &counted).unwrap()
}

fn deviation(errors: &RatioErrors, one: &[(&str, f64)], other: &[(&str, f64)]) -> f64 {
    errors.deviation(&[(1.0, time(one)), (-1.0, time(other))])
}

#[test]
fn an_error_in_common_cancels_where_time_is_spent_alike() {
    let errors = errors(true);
    let reads: &[(&str, f64)] = &[("read_onwards", 1.0)];
    // Half of the error is of each by itself: 0.05 twice.
    assert!((deviation(&errors, reads, reads) - 0.05 * 2.0_f64.sqrt()).abs() < 1e-12);
    // Flushes against reads: both errors in common, and both of their own.
    let apart = (0.1_f64.powi(2) + 0.4_f64.powi(2) + 0.05_f64.powi(2) + 0.2_f64.powi(2)).sqrt();
    assert!((deviation(&errors, reads, &[("flush", 1.0)]) - apart).abs() < 1e-12);
    // A time of which a tenth is flushes is nearly as certain as one without.
    let mixed = deviation(&errors, reads, &[("read_onwards", 0.9), ("flush", 0.1)]);
    assert!(mixed > deviation(&errors, reads, reads) && mixed < 0.1, "{mixed}");
    // Of a part that no model has an error for, nothing is added.
    assert!(deviation(&errors, &[("other", 1.0)], &[("other", 1.0)]).abs() < 1e-12);
}

#[test]
fn requests_that_are_alike_have_no_error_of_their_own() {
    let errors = errors(true);
    let one = || reads(100.0, 1e6, 1.0);
    let ratio = |other: Composition| errors.deviation(&[(1.0, other), (-1.0, one())]);
    assert!(ratio(one()) < 1e-12);
    // Twice as many of the same: the same error in both.
    assert!(ratio(reads(200.0, 2e6, 2.0)) < 1e-12);
    // A tenth larger and slower; then another size altogether; then nothing is known of the requests.
    let (little, much) = (ratio(reads(100.0, 1.1e6, 1.1)), ratio(reads(100.0, 4e6, 1.0)));
    assert!(little > 0.005 && little < 0.02, "{little}");
    let of_their_own = 0.05 * 2.0_f64.sqrt();
    assert!((much - of_their_own).abs() < 1e-12, "{much}");
    assert!((ratio(time(&[("read_onwards", 1.0)])) - of_their_own).abs() < 1e-12);
}

#[test]
fn an_estimated_processor_is_less_certain_where_candidates_compute_differently() {
    let [measured, estimated] = [true, false].map(errors);
    let (much, little): (&[_], &[_]) = (&[("computing", 1.0)], &[("computing", 0.1), ("read_onwards", 0.9)]);
    assert!((deviation(&measured, much, much) - deviation(&estimated, much, much)).abs() < 1e-12);
    assert!(deviation(&estimated, much, little) > deviation(&measured, much, little) + 0.05);
}

#[test]
fn nothing_is_known_of_old_runs_or_where_computing_is_free() {
    assert!(RatioErrors::of_run(&Beginning::default()).is_none());
    let free =
        Beginning { access_errors: BTreeMap::from([("flush".to_owned(), 0.4)]), ..Beginning::default() };
    assert!(RatioErrors::of_run(&free).is_none());
    let term = |metric| RatioTerm { candidate: "a", phase: "p", metric, is_divisor: false };
    assert!((unknown_factor(&[term("durable")]) - 1.5).abs() < 1e-12);
    assert!((unknown_factor(&[term("device_written")]) - 1.0).abs() < 1e-12);
    assert!(is_counted("device_reads") && !is_counted("device_busy") && !is_counted("medium_written"));
}

#[test]
fn errors_of_samples_and_of_models_add_up_as_squares() {
    let (low, high) = widen_interval(2.0, (2.0 / 1.3, 2.0 * 1.3), 1.4);
    let reach = (1.3_f64.ln().powi(2) + 1.4_f64.ln().powi(2)).sqrt().exp();
    assert!((low - 2.0 / reach).abs() < 1e-12 && (high - 2.0 * reach).abs() < 1e-12);
    assert_eq!(widen_interval(2.0, (1.0, 4.0), 1.0), (1.0, 4.0));
    assert_eq!(widen_interval(1.0, (0.0, f64::INFINITY), 1.5), (0.0, f64::INFINITY));
}

#[test]
fn a_rate_of_writing_depends_on_writes_alone() {
    let parts = ["read_onwards", "write_elsewhere", "flush", "computing"];
    let of = |metric: &str| parts.map(|part| belongs_to(part, metric));
    assert_eq!(of("bonnie_block_write"), [false, true, true, true]);
    assert_eq!(of("bonnie_block_read"), [true, false, false, true]);
    assert_eq!(of("durable"), [true; 4]);
    assert_eq!(of("bonnie_rewrite"), [true; 4]);
}
