//! What std lacks for f64.

/// The error function, within a few units in the last place.
pub(super) fn erf(x: f64) -> f64 {
    let size = x.abs();
    if size < 1.0 {
        let z = x * x;
        return x * SMALL.iter().rev().fold(0.0, |sum, term| sum * z + term);
    }
    if size > 6.0 {
        return 1f64.copysign(x);
    }
    // NaN comes through here.
    (1.0 - scaled_erfc(size) * (-size * size).exp()).copysign(x)
}

/// `exp(x²) * erfc(x)` from 1 to 6.
pub(super) fn scaled_erfc(x: f64) -> f64 {
    let t = (x - 3.0) / (x + 3.0);
    LARGE.iter().rev().fold(0.0, |sum, term| sum * t + term) / x
}

pub(crate) fn fmod(x: f64, y: f64) -> f64 {
    x % y
}

/// erf(x)/x in x², up to 1; a Chebyshev expansion of our own.
const SMALL: [f64; 14] = [
    std::f64::consts::FRAC_2_SQRT_PI,
    -0.37612638903183754,
    0.1128379167095512,
    -0.02686617064512984,
    0.0052239776254232985,
    -0.000854832702193483,
    0.00012055332902888736,
    -1.4925647567519332e-05,
    1.6462045441468418e-06,
    -1.6364642158167616e-07,
    1.4792401209404813e-08,
    -1.216456005728345e-09,
    8.709045129053106e-11,
    -4.230945824295338e-12,
];

/// x * exp(x²) * erfc(x) in (x - 3) / (x + 3), from 1 to 6; likewise.
const LARGE: [f64; 19] = [
    0.5370034535441699,
    0.09530622695922802,
    -0.14658304803289104,
    0.13988054760176996,
    -0.09546975030662626,
    0.04635026333129277,
    -0.014019825626247985,
    0.0009108226891049713,
    0.0012428761613579567,
    -0.00041254379207824617,
    -8.460824852984944e-05,
    6.897999184279464e-05,
    6.464348630868004e-06,
    -1.1110625822109807e-05,
    -9.954420679751423e-07,
    1.8824873552994822e-06,
    3.098055452869279e-07,
    -3.0689228778434494e-07,
    -1.1516534017825683e-07,
];
