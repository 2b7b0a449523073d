//! Attention: scaled products of queries, keys and values.

use crate::base::{Error, Result};
use crate::op::core::autocast;
use crate::op::core::def::{Domain, Draw, FUNCTIONAL, Family, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::gather::interleave::repeat_interleave;
use crate::tensor::Tensor;

pub use super::composed::Attention;
use super::composed::composed;
use super::{chosen, fused};

/// `softmax(q @ kᵀ * scale + mask) @ v` for `q [.., l, e]`, `k [.., s, e]`, `v [.., s, ev]`: `[.., l, ev]`.
///
/// Dropout applies whenever `dropout_p` is above 0, as in PyTorch: leave it 0 outside training.
pub fn scaled_dot_product_attention(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    options: &Attention,
) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("scaled_dot_product_attention", &[q, k, v])? {
        let mask = casts.cast_option(options.mask)?;
        let options = Attention { mask: mask.as_ref(), ..*options };
        return scaled_dot_product_attention(&casts.cast(q)?, &casts.cast(k)?, &casts.cast(v)?, &options);
    }
    run(q, k, v, options).map_err(|e| {
        e.in_op("scaled_dot_product_attention", || [q, k, v].iter().map(|t| t.operand()).collect())
    })
}

fn run(q: &Tensor, k: &Tensor, v: &Tensor, options: &Attention) -> Result<Tensor> {
    if let Some(t) = [q, k, v].into_iter().find(|t| t.rank() < 2) {
        let text = format!("queries, keys and values have 2 or more dimensions, but one is {}D", t.rank());
        return Err(Error::runtime(text).with_hint("they are `[.., length, features]`"));
    }
    if options.is_causal && options.mask.is_some() {
        return Err(Error::runtime(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
        ));
    }
    let factor = options.scale.unwrap_or_else(|| 1.0 / (q.size(-1).unwrap_or(1).max(1) as f64).sqrt());
    if options.mask.is_none()
        && options.dropout_p == 0.0
        && let Some(out) = fused::attention(q, k, v, factor, options.is_causal)?
    {
        return Ok(out);
    }
    match chosen::kernel(q, k, v, options)? {
        Some(kernel) => chosen::run(kernel, [q, k, v], factor, options),
        None => composed([q, k, v], factor, options, None),
    }
}

pub(crate) const fn matrix(name: &'static str) -> Draw {
    Draw::of(name, &[2, 3, 4], Domain::Any)
}

params! {
    ScaledDotProductAttentionParams {
        query: kind::Tensor, "what asks, `[…, l, e]`";
        key: kind::Tensor, "what queries are compared with, `[…, s, e]`";
        value: kind::Tensor, "what is mixed, `[…, s, v]`";
        attn_mask: Maybe<kind::Tensor>, "true where a key may be seen, or numbers added to the scores";
        dropout_p: kind::Float = 0.0, "the share of attention weights that is dropped";
        is_causal: kind::Bool = false, "each query sees keys up to its own place only";
        scale: Maybe<kind::Float>, "the factor of scores; one over the root of the width where none is named";
        enable_gqa: kind::Bool = false, "several heads of queries share one of keys and values";
    }
}

/// Keys and values with a head for each of the queries: each serves as many in a row.
fn shared_heads(query: &Tensor, key: &Tensor, value: &Tensor) -> Result<(Tensor, Tensor)> {
    let heads = |x: &Tensor| if x.rank() < 3 { Ok(1) } else { x.size(-3) };
    let (wanted, of_keys, of_values) = (heads(query)?, heads(key)?, heads(value)?);
    if of_keys == 0 || of_values == 0 || wanted % of_keys != 0 || wanted % of_values != 0 {
        return Err(Error::runtime(format!(
            "Number of heads in key and value must divide the number of heads in query, but got {wanted} heads of queries, \
             {of_keys} of keys and {of_values} of values"
        )));
    }
    let spread = |x: &Tensor, own: usize| {
        if own == wanted { Ok(x.clone()) } else { repeat_interleave(x, (wanted / own) as i64, Some(-3)) }
    };
    Ok((spread(key, of_keys)?, spread(value, of_values)?))
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
OpDef::call("scaled_dot_product_attention", Family::Matmul, "Mixes values by how well their keys match each query.", ScaledDotProductAttentionParams::LIST, by_name!(ScaledDotProductAttentionParams, |a| {
        let options = Attention {
            mask: a.attn_mask,
            dropout_p: a.dropout_p,
            is_causal: a.is_causal,
            scale: a.scale,
        };
        let (key, value) = if a.enable_gqa { shared_heads(a.query, a.key, a.value)? } else { (a.key.clone(), a.value.clone()) };
        scaled_dot_product_attention(a.query, &key, &value, &options).map(crate::op::core::value::Value::from)
    }))
.forms(FUNCTIONAL)
.details(
    "`softmax(q @ kᵀ * scale + attn_mask) @ v`; `scale` is one over the root of the features unless given. A bool \
     mask keeps where it is true; `is_causal` hides what comes after each query. A query that may see no key gets 0.",
)
.shapes("(…, L, E), (…, S, E), (…, S, E_v) -> (…, L, E_v); a mask is broadcast to (…, L, S)")
.errors(&[
    "RuntimeError: queries and keys have different features, or keys and values different places",
    "RuntimeError: there are both a mask and `is_causal`",
])
.example(
    "F::scaled_dot_product_attention(ones([1, 2]), zeros([2, 2]), tensor([[1.0], [3.0]]))",
    "tensor([[2.]])",
)
.samples(&[
    Sample::of("F::scaled_dot_product_attention(q, k, v)", &[matrix("q"), matrix("k"), matrix("v")]),
    Sample::of(
        "F::scaled_dot_product_attention(q, k, v, #{is_causal: true, scale: 0.7})",
        &[matrix("q"), matrix("k"), matrix("v")],
    ),
]),
];
