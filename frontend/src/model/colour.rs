//! Computes from the style sheet whether texts are legible and data colours distinguishable, in both themes.

use std::collections::BTreeMap;

/// Text, and the ground that it is read on. WCAG 2.2 requires a contrast of 4.5.
const TEXTS: [(&str, &str); 18] = [
    ("text", "bg"),
    ("text", "surface"),
    ("muted", "bg"),
    ("muted", "surface"),
    ("muted", "raised"),
    ("muted", "sunken"),
    ("muted", "hover"),
    ("accent", "surface"),
    ("accent", "bg"),
    ("accent-strong", "accent-wash"),
    ("on-accent", "accent"),
    ("on-danger", "danger"),
    ("danger-text", "surface"),
    ("allowed", "allowed-wash"),
    ("denied", "denied-wash"),
    ("shadow", "shadow-wash"),
    ("warn", "warn-wash"),
    ("shadow", "surface"),
];

/// Colours of data and borders of controls, and their ground. WCAG 2.2 requires a contrast of 3.
const SHAPES: [(&str, &str); 7] = [
    ("data-allowed", "surface"),
    ("data-denied", "surface"),
    ("data-shadow", "surface"),
    ("data-degraded", "surface"),
    ("line-strong", "surface"),
    ("line-strong", "bg"),
    ("faint", "surface"),
];

const DATA: [&str; 4] = ["data-allowed", "data-denied", "data-shadow", "data-degraded"];

/// Normal vision and the complete deficiencies of Machado, Oliveira and Fernandes (2009), for linear RGB.
const VISIONS: [(&str, [[f64; 3]; 3]); 4] = [
    ("normal", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
    ),
    (
        "deuteranopia",
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
    ),
    (
        "tritanopia",
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ),
];

/// The smallest distance of two data colours (CIE 1976).
const DISTANCE: f64 = 20.0;

type Rgb = [f64; 3];

#[test]
fn texts_and_shapes_have_contrast_in_both_themes() {
    for (theme, colours) in themes() {
        for (text, ground) in TEXTS {
            let found = contrast(colours[text], colours[ground]);
            assert!(found >= 4.5, "{theme}: {text} on {ground} has {found:.2}");
        }
        for (shape, ground) in SHAPES {
            let found = contrast(colours[shape], colours[ground]);
            assert!(found >= 3.0, "{theme}: {shape} on {ground} has {found:.2}");
        }
    }
}

#[test]
fn data_colours_differ_under_colour_deficiencies() {
    for (theme, colours) in themes() {
        for (vision, matrix) in VISIONS {
            for (at, one) in DATA.iter().enumerate() {
                for other in &DATA[at + 1..] {
                    let found = distance(colours[*one], colours[*other], matrix);
                    assert!(found >= DISTANCE, "{theme}, {vision}: {one}, {other}: {found:.1}");
                }
            }
        }
    }
}

/// The opaque colours of both themes, as linear RGB.
fn themes() -> [(&'static str, BTreeMap<String, Rgb>); 2] {
    let (mut light, mut dark) = (BTreeMap::new(), BTreeMap::new());
    for line in include_str!("../../style/00-tokens.css").lines() {
        let Some((name, value)) =
            line.trim().strip_prefix("--").and_then(|token| token.split_once(':'))
        else {
            continue;
        };
        let value = value.trim().trim_end_matches(';');
        let pair = value.strip_prefix("light-dark(").and_then(|pair| pair.strip_suffix(')'));
        let (one, other) = pair.and_then(|pair| pair.split_once(", ")).unwrap_or((value, value));
        if let (Some(one), Some(other)) = (linear(one), linear(other)) {
            light.insert(name.to_owned(), one);
            dark.insert(name.to_owned(), other);
        }
    }
    [("light", light), ("dark", dark)]
}

fn linear(hex: &str) -> Option<Rgb> {
    let digits = hex.strip_prefix('#').filter(|digits| digits.len() == 6)?;
    let part = |at: usize| {
        let value = f64::from(u8::from_str_radix(&digits[at..at + 2], 16).ok()?) / 255.0;
        Some(if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) })
    };
    Some([part(0)?, part(2)?, part(4)?])
}

fn luminance(colour: Rgb) -> f64 {
    dot([0.212_6, 0.715_2, 0.072_2], colour)
}

fn contrast(one: Rgb, other: Rgb) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn distance(one: Rgb, other: Rgb, vision: [[f64; 3]; 3]) -> f64 {
    let seen = |colour: Rgb| lab(vision.map(|row| dot(row, colour).clamp(0.0, 1.0)));
    let (one, other) = (seen(one), seen(other));
    one.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// CIE L*a*b* under the white point D65.
fn lab(colour: Rgb) -> [f64; 3] {
    let curve = |value: f64| {
        if value > 0.008_856 { value.cbrt() } else { value.mul_add(7.787, 16.0 / 116.0) }
    };
    let x = curve(dot([0.412_456, 0.357_576, 0.180_438], colour) / 0.950_47);
    let y = curve(dot([0.212_673, 0.715_152, 0.072_175], colour));
    let z = curve(dot([0.019_334, 0.119_192, 0.950_304], colour) / 1.088_83);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

fn dot(row: [f64; 3], colour: Rgb) -> f64 {
    row.iter().zip(colour).map(|(factor, part)| factor * part).sum()
}
