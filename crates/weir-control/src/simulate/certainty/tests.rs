use super::*;

fn counted(checks: u64, denied_before: u64, denied_after: u64) -> Counted {
    Counted { checks, denied_before, denied_after }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// The expected values by hand: subjects with 10, 20 and 30 checks, of which 0, 5 and 9 were refused; share 14/60; residuals
/// -7/3, 1/3, 2; sum of their squares 86/9; variance 43/9; mean 20; sample of a quarter.
#[test]
fn bounds_equal_those_computed_by_hand() {
    let all = [counted(10, 0, 0), counted(20, 0, 5), counted(30, 0, 9)];
    let found = certainty(&all, 0.25, 60);
    let after = found.denied_after.expect("three subjects");
    assert!(near(after.share, 14.0 / 60.0));
    let error = 1.96 * (0.75 * (43.0 / 9.0) / 3.0_f64).sqrt() / 20.0;
    assert!(near(after.high, after.share + error) && near(after.low, after.share - error));
    let before = found.denied_before.expect("three subjects");
    assert_eq!((before.share, before.low, before.high), (0.0, 0.0, 0.0));
    assert!(warnings(&all, 0.25)[0].starts_with("only 3 subjects"));
}

#[test]
fn whole_record_has_no_error_and_one_subject_of_several_says_nothing() {
    let one = [counted(10, 1, 5)];
    let whole = certainty(&one, 1.0, 10);
    assert_eq!(whole.denied_after, Some(Interval { share: 0.5, low: 0.5, high: 0.5 }));
    assert!(near(whole.change.expect("known").share, 0.4));
    assert_eq!(certainty(&one, 0.5, 10).denied_after, None);
    assert_eq!(warnings(&one, 1.0), Vec::<String>::new());
    assert_eq!(warnings(&[], 1.0).len(), 1);
}

#[test]
fn nobody_refused_is_bounded_by_the_rule_of_three() {
    let all = vec![counted(5, 0, 0); 60];
    assert!(warnings(&all, 0.1)[0].contains("at most 5.0 %"), "{:?}", warnings(&all, 0.1));
}

/// The bounds contain the true value in about 95 of 100 samples of a population with rare, busy subjects.
#[test]
fn bounds_hold_the_truth_about_as_often_as_they_say() {
    let mut random = 42_u64;
    let mut below_1000 = || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % 1_000
    };
    let population: Vec<_> = (0..2_000)
        .map(|_| {
            let checks = 1 + 20_000 / (below_1000() + 50);
            counted(checks, 0, checks.saturating_sub(60))
        })
        .collect();
    let truth = certainty(&population, 1.0, 0).denied_after.expect("whole").share;
    let mut held = 0;
    for _ in 0..400 {
        let sample: Vec<_> = population.iter().filter(|_| below_1000() < 200).copied().collect();
        let found = certainty(&sample, 0.2, 0).denied_after.expect("many");
        held += u32::from(found.low <= truth && truth <= found.high);
    }
    assert!((365..=395).contains(&held), "{held} of 400");
}
