//! Promotion and coercion.

use super::*;

fn same(a: Option<Number>, b: Option<Number>) {
    let show = |n: Option<Number>| n.map(|n| format!("{:?}", n.to_owned_value()));
    assert_eq!(show(a), show(b));
}

fn decimal(text: &str) -> Number {
    N::Decimal(text.parse().unwrap())
}

#[test]
fn integers_widen_and_then_overflow() {
    same(N::Int32(i32::MAX).checked_add(N::Int32(1)), Some(N::Int64(1 << 31)));
    same(N::Int32(1).checked_add(N::Int64(1)), Some(N::Int64(2)));
    same(N::Int64(i64::MAX).checked_add(N::Int32(1)), None);
    same(N::Int64(i64::MIN).checked_subtract(N::Int32(1)), None);
    same(N::Int64(i64::MAX).checked_multiply(N::Int32(2)), None);
    same(N::Int32(i32::MIN).checked_multiply(N::Int32(i32::MIN)), Some(N::Int64(1 << 62)));
    same(Some(N::Int64(i64::MAX).add(N::Int32(1))), Some(N::Double(9_223_372_036_854_775_808.0)));
    same(Some(N::Int64(i64::MIN).subtract(N::Int32(1))), Some(N::Double(-9_223_372_036_854_775_808.0)));
    same(Some(N::Int64(i64::MAX).multiply(N::Int32(2))), Some(N::Double(1.844_674_407_370_955_2e19)));
}

#[test]
fn the_widest_type_wins() {
    same(N::Int32(1).checked_add(N::Double(0.5)), Some(N::Double(1.5)));
    same(N::Int64(1).checked_add(decimal("0.50")), Some(decimal("1.50")));
    same(N::Double(0.1).checked_add(decimal("1")), Some(decimal("1.100000000000000")));
}

#[test]
fn division_and_remainder() {
    same(N::Int32(6).divide(N::Int32(3)), Some(N::Double(2.0)));
    same(N::Int32(1).divide(decimal("4")), Some(decimal("0.25")));
    same(N::Int32(6).divide(N::Double(-0.0)), None);
    same(N::Int32(-7).modulo(N::Int32(3)), Some(N::Int32(-1)));
    same(N::Int64(-7).modulo(N::Int32(3)), Some(N::Int64(-1)));
    same(N::Double(7.5).modulo(N::Int32(2)), Some(N::Double(1.5)));
    same(N::Int32(i32::MIN).modulo(N::Int32(-1)), Some(N::Int32(0)));
    same(N::Int64(i64::MIN).modulo(N::Int64(-1)), Some(N::Int64(0)));
    same(N::Int32(1).modulo(decimal("0")), None);
}

#[test]
fn negation_never_overflows() {
    same(Some(N::Int32(i32::MIN).negate()), Some(N::Int64(1 << 31)));
    same(Some(N::Int64(i64::MIN).negate()), Some(N::Double(9_223_372_036_854_775_808.0)));
    same(Some(decimal("1.0").negate()), Some(decimal("-1.0")));
}

#[test]
fn coercions() {
    assert_eq!(N::Double(5.0).as_i64_exact(), Some(5));
    assert_eq!(N::Double(5.5).as_i64_exact(), None);
    assert_eq!(N::Double(TWO_POW_63).as_i64_exact(), None);
    assert_eq!(N::Double(-TWO_POW_63).as_i64_exact(), Some(i64::MIN));
    assert_eq!(N::Double(f64::NAN).as_i64_exact(), None);
    assert_eq!(N::Int64(1 << 31).as_i32_exact(), None);
    assert_eq!(N::Double(f64::NAN).truncate_to_i64(), 0);
    assert_eq!(N::Double(1e300).truncate_to_i64(), i64::MAX);
    assert_eq!(decimal("-1E+300").truncate_to_i64(), i64::MIN);
    assert_eq!(decimal("NaN").truncate_to_i64(), 0);
    assert_eq!(decimal("-1.9").truncate_to_i64(), -1);
    assert_eq!(N::Double(-1.9).truncate_to_i64_checked(), Some(-1));
    assert_eq!(N::Double(1e300).truncate_to_i64_checked(), None);
    assert!(N::Double(2.0).is_integral() && !N::Double(f64::INFINITY).is_integral());
    assert!(decimal("2.00").is_integral() && !decimal("2.01").is_integral());
    assert!(!N::Double(-0.0).is_negative() && !decimal("-0").is_negative() && decimal("-1").is_negative());
}

#[test]
fn comparison_across_types() {
    let ascending = [
        N::Double(f64::NAN),
        N::Double(f64::NEG_INFINITY),
        decimal("-1E+400"),
        N::Int64(i64::MIN),
        N::Int32(-1),
        decimal("-1E-6000"),
        N::Double(0.0),
        decimal("1E-6000"),
        N::Double(5e-324),
        N::Double(0.1),
        decimal("0.1000000000000000055511151231257828"),
        N::Int64((1 << 53) - 1),
        N::Double(9_007_199_254_740_992.0),
        N::Int64((1 << 53) + 1),
        N::Int64(i64::MAX),
        N::Double(9_223_372_036_854_775_808.0),
        N::Double(f64::MAX),
        decimal("1E+400"),
        decimal("Infinity"),
    ];
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(a.compare(*b), i.cmp(&j), "{a:?} {b:?}");
        }
    }
    assert_eq!(N::Double(f64::NAN), decimal("NaN"));
    assert_eq!(N::Double(-0.0), decimal("0E+5"));
    assert_eq!(N::Double(f64::INFINITY), decimal("Infinity"));
    // The decimal nearest to 0.1 in 34 digits lies below the double.
    assert!(
        decimal("0.1") < N::Double(0.1) && decimal("0.1000000000000000055511151231257827") < N::Double(0.1)
    );
}
