//! Decimal128 against the BSON specification's text and against exact arithmetic.

use super::*;
use crate::arbitrary::number;
use crate::number::Number;
use proptest::prelude::*;

fn decimal(text: &str) -> Decimal128 {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn bits(high: u64, low: u64) -> Decimal128 {
    Decimal128(u128::from(high) << 64 | u128::from(low))
}

#[test]
fn bytes_and_text_agree() {
    for (high, low, text) in [
        (0x7C00 << 48, 0, "NaN"),
        (0x7800 << 48, 0, "Infinity"),
        (0xF800 << 48, 0, "-Infinity"),
        (0x3040 << 48, 0, "0"),
        (0xB040 << 48, 0, "-0"),
        (0xB03E << 48, 0, "-0.0"),
        (0x5F20 << 48, 0, "0E+6000"),
        (0x2B7A << 48, 0, "0E-611"),
        (0x303E << 48, 1, "0.1"),
        (0x3034 << 48, 1234, "0.001234"),
        (0x302A << 48, 123_400_000, "0.00123400000"),
        (0x303A << 48, 2000, "2.000"),
        (0xB02C << 48, 100, "-1.00E-8"),
        (0x3046 << 48, 1, "1E+3"),
        (0x3042 << 48, 1050, "1.050E+4"),
        (0, 1, "1E-6176"),
        (0x8000 << 48, 1, "-1E-6176"),
        (0x5FFF_ED09_BEAD_87C0, 0x378D_8E63_FFFF_FFFF, "9.999999999999999999999999999999999E+6144"),
        (0x2FF2_3CDE_6FFF_9732, 0xDE82_5CD0_7E96_AFF2, "0.000001234567890123456789012345678901234"),
        (0x2FF0_3CDE_6FFF_9732, 0xDE82_5CD0_7E96_AFF2, "1.234567890123456789012345678901234E-7"),
    ] {
        let value = bits(high, low);
        assert_eq!(value.to_string(), text);
        assert_eq!(decimal(text).to_le_bytes(), value.to_le_bytes(), "{text}");
    }
}

#[test]
fn invalid_coefficients_are_zero() {
    for (high, low, text) in [
        (0x6C10 << 48, 0, "0"),
        (0xEC10_0000_00EF_BEAD, 0xDE10_3254_7698_BADC, "-0"),
        (0x6C11_FFFF_FFFF_FFFF, u64::MAX, "0E+3"),
        (0x7E00 << 48, 0x12, "NaN"),
        (0x3041_FFFF_FFFF_FFFF, u64::MAX, "0"),
    ] {
        assert_eq!(bits(high, low).to_string(), text);
    }
}

#[test]
fn text_is_read_in_all_its_forms() {
    for (text, canonical) in [
        ("+1234", "1234"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1e3", "1E+3"),
        ("1E3", "1E+3"),
        ("-100E-10", "-1.00E-8"),
        ("0001.50", "1.50"),
        ("inF", "Infinity"),
        ("-infinity", "-Infinity"),
        ("+NAN", "NaN"),
        // Zeros that do not fit are clamped, digits are not touched.
        ("0E+8000", "0E+6111"),
        ("0E-8000", "0E-6176"),
        ("1E+6112", "1.0E+6112"),
        ("1E+6144", "1.000000000000000000000000000000000E+6144"),
        ("10E-6177", "1E-6176"),
        ("100000000000000000000000000000000000000", "1.000000000000000000000000000000000E+38"),
    ] {
        assert_eq!(decimal(text).to_string(), canonical, "{text}");
    }
    for text in
        ["", ".", "-", "e3", "1e", "1e+", "1.2.3", "1,5", "0x1", "1 ", " 1", "--1", "nano", "1e1.5", "é"]
    {
        assert!(Decimal128::parse_rounded(text).is_none(), "{text}");
    }
}

#[test]
fn rounding_is_refused_or_half_to_even() {
    for (text, rounded) in [
        ("12345678901234567890123456789012345", "1.234567890123456789012345678901234E+34"),
        ("12345678901234567890123456789012335", "1.234567890123456789012345678901234E+34"),
        ("12345678901234567890123456789012346", "1.234567890123456789012345678901235E+34"),
        ("99999999999999999999999999999999999", "1.000000000000000000000000000000000E+35"),
        ("1E+6145", "Infinity"),
        ("-9999999999999999999999999999999999E+6112", "-Infinity"),
        ("1E-6177", "0E-6176"),
        ("5E-6177", "0E-6176"),
        ("51E-6178", "1E-6176"),
        ("15E-6177", "2E-6176"),
        ("1E-99999999999999999999", "0E-6176"),
        ("1E+99999999999999999999", "Infinity"),
    ] {
        assert_eq!(Decimal128::parse_exact(text), None, "{text}");
        assert_eq!(Decimal128::parse_rounded(text).unwrap().to_string(), rounded, "{text}");
    }
}

#[test]
fn doubles_become_fifteen_digits() {
    for (double, text) in [
        (2.5, "2.50000000000000"),
        (0.1, "0.100000000000000"),
        (-100.0, "-100.000000000000"),
        (1e20, "1.00000000000000E+20"),
        (999_999_999_999_999.9, "1.00000000000000E+15"),
        (0.0, "0"),
        (-0.0, "-0"),
        (f64::NAN, "NaN"),
        (f64::NEG_INFINITY, "-Infinity"),
    ] {
        assert_eq!(Decimal128::from_f64(double).to_string(), text);
    }
    assert_eq!(Decimal128::from_f64_34(0.1).to_string(), "0.1000000000000000055511151231257827");
}

#[test]
fn arithmetic_keeps_ieee_digits() {
    type Operation = fn(Decimal128, Decimal128) -> Decimal128;
    let ops: [(&str, Operation); 5] = [
        ("+", Decimal128::add),
        ("-", Decimal128::subtract),
        ("*", Decimal128::multiply),
        ("/", Decimal128::divide),
        ("%", Decimal128::remainder),
    ];
    for (a, op, b, expected) in [
        ("1.10", "+", "2", "3.10"),
        ("0.1", "+", "0.2", "0.3"),
        ("1.10", "-", "1.1", "0.00"),
        ("1.20", "*", "2.0", "2.400"),
        ("1", "/", "3", "0.3333333333333333333333333333333333"),
        ("2", "/", "3", "0.6666666666666666666666666666666667"),
        ("10", "/", "4", "2.5"),
        ("6", "/", "2", "3"),
        ("1", "/", "0", "Infinity"),
        ("0", "/", "0", "NaN"),
        ("9999999999999999999999999999999999", "+", "1", "1.000000000000000000000000000000000E+34"),
        ("9E+6144", "*", "10", "Infinity"),
        ("1E-6176", "/", "10", "0E-6176"),
        ("Infinity", "-", "Infinity", "NaN"),
        ("7.5", "%", "2", "1.5"),
        ("-7.5", "%", "2", "-1.5"),
        ("7", "%", "-2.00", "1.00"),
        ("1E+6000", "%", "7", "1"),
        ("1", "%", "1E+6000", "1"),
        ("1", "%", "0", "NaN"),
        ("5", "%", "Infinity", "5"),
    ] {
        let apply = ops.iter().find(|row| row.0 == op).unwrap().1;
        assert_eq!(apply(decimal(a), decimal(b)).to_string(), expected, "{a} {op} {b}");
    }
}

#[test]
fn rounding_to_places() {
    use crate::DecimalRounding as R;
    for (text, exponent, rounding, expected) in [
        ("2.5", 0, R::HalfEven, "2"),
        ("3.5", 0, R::HalfEven, "4"),
        ("-2.55", -1, R::HalfEven, "-2.6"),
        ("1234", 2, R::HalfEven, "1.2E+3"),
        ("-2.7", 0, R::Truncate, "-2"),
        ("-2.1", 0, R::Floor, "-3"),
        ("-2.7", 0, R::Ceiling, "-2"),
        ("2", -3, R::HalfEven, "2"),
        ("Infinity", 0, R::Floor, "Infinity"),
    ] {
        assert_eq!(decimal(text).round_to_exponent(exponent, rounding).to_string(), expected, "{text}");
    }
    assert_eq!(decimal("2.17").quantize(decimal("0.001")).to_string(), "2.170");
    assert_eq!(decimal("2").square_root().to_string(), "1.414213562373095048801688724209698");
    assert_eq!(decimal("1").exp().to_string(), "2.718281828459045235360287471352662");
    assert_eq!(decimal("100").log10().to_string(), "2");
    assert_eq!(decimal("2").power(decimal("10")).to_string(), "1024");
    assert_eq!(decimal("1").ln().to_string(), "0");
}

#[test]
fn conversions_to_integers() {
    for (text, truncated, exact) in [
        ("1.9", Some(1), None),
        ("-1.9", Some(-1), None),
        ("5.000", Some(5), Some(5)),
        ("5E+3", Some(5000), Some(5000)),
        ("9223372036854775807", Some(i64::MAX), Some(i64::MAX)),
        ("-9223372036854775808", Some(i64::MIN), Some(i64::MIN)),
        ("9223372036854775808", None, None),
        ("1E+6000", None, None),
        ("1E-6000", Some(0), None),
        ("0E+6000", Some(0), Some(0)),
        ("NaN", None, None),
        ("Infinity", None, None),
    ] {
        assert_eq!(decimal(text).to_i64_truncated(), truncated, "{text}");
        assert_eq!(decimal(text).to_i64_exact(), exact, "{text}");
    }
}

/// The number in fixed notation, for comparing digit by digit: (negative, whole digits, fraction digits).
fn fixed(number: Number) -> (bool, String, String) {
    let text = match number {
        Number::Double(d) => format!("{d:.1100}"),
        Number::Decimal(d) => match d.parts() {
            DecimalParts::Finite { negative, coefficient, exponent } => {
                let sign = if negative { "-" } else { "" };
                let zeros = "0".repeat(exponent.max(0) as usize);
                let fraction = (-exponent).max(0) as usize;
                let digits = format!("{:0>1$}", format!("{coefficient}{zeros}"), fraction + 1);
                let (whole, rest) = digits.split_at(digits.len() - fraction);
                format!("{sign}{whole}.{rest}")
            }
            _ => unreachable!("finite numbers only"),
        },
        whole => whole.truncate_to_i64().to_string(),
    };
    let (negative, magnitude) = text.strip_prefix('-').map_or((false, text.as_str()), |rest| (true, rest));
    let (whole, fraction) = magnitude.split_once('.').unwrap_or((magnitude, ""));
    (negative, format!("{whole:0>6200}"), format!("{fraction:0<6200}"))
}

fn compare_fixed(a: Number, b: Number) -> Ordering {
    let ((a_negative, a_whole, a_rest), (b_negative, b_whole, b_rest)) = (fixed(a), fixed(b));
    let zero = |whole: &str, rest: &str| whole.bytes().chain(rest.bytes()).all(|d| d == b'0');
    let a_sign = if zero(&a_whole, &a_rest) {
        0
    } else if a_negative {
        -1
    } else {
        1
    };
    let b_sign = if zero(&b_whole, &b_rest) {
        0
    } else if b_negative {
        -1
    } else {
        1
    };
    let magnitude = (a_whole, a_rest).cmp(&(b_whole, b_rest));
    a_sign.cmp(&b_sign).then(match a_sign {
        0 => Ordering::Equal,
        1 => magnitude,
        _ => magnitude.reverse(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn comparison_is_exact(a in number(), b in number()) {
        if a.is_finite() && b.is_finite() {
            prop_assert_eq!(a.compare(b), compare_fixed(a, b), "{:?} {:?}", a, b);
        }
    }

    #[test]
    fn neighbours_of_doubles_are_told_apart(d in any::<f64>(), up in any::<bool>()) {
        if d.is_finite() && d != 0.0 {
            let near = Number::Decimal(Decimal128::from_f64_34(d));
            prop_assert_eq!(near.compare(Number::Double(d)), compare_fixed(near, Number::Double(d)));
            let other = Number::Double(if up { d.next_up() } else { d.next_down() });
            if other.is_finite() {
                prop_assert_eq!(near.compare(other), compare_fixed(near, other));
            }
        }
    }

    #[test]
    fn text_goes_both_ways(n in number()) {
        if let Number::Decimal(d) = n {
            let again = decimal(&d.to_string());
            prop_assert_eq!(again, d);
            prop_assert_eq!(again.to_string(), d.to_string());
        }
    }

    #[test]
    fn remainders_agree_with_integers(a in any::<i64>(), b in any::<i32>(), shift in 0..6i32) {
        if b != 0 {
            let (x, y) = (i128::from(a), i128::from(b) * 10i128.pow(shift as u32));
            let shifted = Decimal128::from_parts(b < 0, b.unsigned_abs().into(), shift);
            let rest = Decimal128::from_i64(a).remainder(shifted);
            prop_assert_eq!(i128::from(rest.to_i64_exact().unwrap()), x % y);
        }
    }
}
