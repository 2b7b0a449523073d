//! Multi-head attention.

use crate::base::{DType, Error, Kind, Result, python};
use crate::nn::made::{Made, constructor};
use crate::op::activation::dropout::{check_probability, dropout};
use crate::op::arrange::pad;
use crate::op::attention::scaled::{Attention, scaled_dot_product_attention};
use crate::op::elementwise::arithmetic::{add, scale};
use crate::op::elementwise::choose::masked_fill;
use crate::op::linalg::linear::linear;
use crate::op::linalg::matmul::bmm;
use crate::op::params::{Maybe, OfWeights, by_name, kind, params};
use crate::op::reduce::softmax::softmax;
use crate::op::reduce::sums::mean;
use crate::op::shape::join::cat;
use crate::op::shape::part::narrow;
use crate::op::shape::permute::{permute, transpose};
use crate::op::shape::repeat::repeat;
use crate::op::shape::split::chunk;
use crate::op::shape::view::{reshape, squeeze, unsqueeze};
use crate::op::{Args, OpDef, Value};
use crate::tensor::Tensor;

use super::init::{self, xavier_normal_, xavier_uniform_};
use super::linear::made;
use super::module::{Call, Layer, Module, Parts, call_row};

/// Attention of several heads, with PyTorch's names of parameters.
pub struct MultiheadAttention {
    width: usize,
    heads: usize,
    dropout: f64,
    batch_first: bool,
    /// A pair of zeros joins the keys and values.
    zero: bool,
    /// Features of keys and values.
    from: [usize; 2],
}

/// What a call takes beside queries, keys and values.
#[derive(Clone, Copy, std::default::Default)]
pub(crate) struct Masks<'a> {
    /// `[n, s]`, true or `-inf` at keys that are padding
    pub padding: Option<&'a Tensor>,
    /// `[l, s]` or `[n * heads, l, s]`, true or `-inf` where a query must not look
    pub attention: Option<&'a Tensor>,
    /// `attention` is the causal mask.
    pub is_causal: bool,
}

/// Which weights a call gives beside its output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Weights {
    None,
    /// `[n, l, s]`
    Averaged,
    /// `[n, heads, l, s]`
    PerHead,
}

/// The sizes of one call.
#[derive(Clone, Copy)]
struct AttentionSizes {
    /// Queries, keys, batch, heads and features of a head.
    l: i64,
    s: i64,
    n: i64,
    heads: i64,
    head: i64,
}

fn assertion(text: String) -> Error {
    Error::new(Kind::AssertionError, text)
}

impl MultiheadAttention {
    /// The attention that a module is, if it is one.
    pub fn of(module: &Module) -> Option<&MultiheadAttention> {
        module.layer().as_any()?.downcast_ref()
    }

    /// Whether PyTorch goes through a batch of sequences of several lengths at once.
    pub(super) fn is_nestable(&self) -> bool {
        self.batch_first && self.heads.is_multiple_of(2) && self.from == [self.width; 2]
    }

    /// Output and weights for `[l, n, e]` (`[n, l, e]` with `batch_first`) or `[l, e]`, as
    /// `torch.nn.functional.multi_head_attention_forward`.
    pub(crate) fn attend(
        &self,
        module: &Module,
        [q, k, v]: [&Tensor; 3],
        masks: Masks,
        weights: Weights,
    ) -> Result<(Tensor, Option<Tensor>)> {
        let batched = check_ranks([q, k, v], masks)?;
        let (own, shared) = (k.is(q) && v.is(q), v.is(k));
        let lined_up = |x: &Tensor| match (batched, self.batch_first) {
            (false, _) => unsqueeze(x, 1),
            (true, true) => transpose(x, 0, 1),
            (true, false) => Ok(x.clone()),
        };
        let (q, k, v) = (lined_up(q)?, lined_up(k)?, lined_up(v)?);
        let sizes = self.sizes(&q, &k, &v)?;
        let (mask, causal) = canonical(masks, weights, q.dtype())?;
        check_mask(mask.as_ref(), sizes)?;
        let projected = self.project(module, [&q, &k, &v], own, shared)?;
        let (out, seen) = self.mix(module, projected, sizes, (mask, masks.padding, causal), weights)?;
        if !batched {
            let seen = seen.map(|w| squeeze(&w, Some(&[0]))).transpose()?;
            return Ok((squeeze(&out, Some(&[1]))?, seen));
        }
        Ok((if self.batch_first { transpose(&out, 0, 1)? } else { out }, seen))
    }

    fn sizes(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<AttentionSizes> {
        let (&[l, n, e], &[s, ..]) = (q.shape(), k.shape()) else {
            return Err(Error::runtime("queries and keys have three dimensions here"));
        };
        if e != self.width {
            let text = format!("was expecting embedding dimension of {}, but got {e}", self.width);
            return Err(assertion(text).with_hint("queries are `[.., embed_dim]`"));
        }
        let show =
            |t: &Tensor, dims: usize| format!("torch.Size({:?})", t.shape().get(..dims).unwrap_or(&[]));
        if self.together() && k.shape() != v.shape() {
            let text = format!("key shape {} does not match value shape {}", show(k, 3), show(v, 3));
            return Err(assertion(text));
        }
        if k.shape().get(..2) != v.shape().get(..2) {
            let (keys, values) = (show(k, 2), show(v, 2));
            let text = format!("key's sequence and batch dims {keys} do not match value's {values}");
            return Err(assertion(text));
        }
        let head = self.width / self.heads.max(1);
        Ok(AttentionSizes {
            l: l as i64,
            s: s as i64,
            n: n as i64,
            heads: self.heads as i64,
            head: head as i64,
        })
    }

    /// Whether one weight projects queries, keys and values.
    fn together(&self) -> bool {
        self.from == [self.width; 2]
    }

    fn project(
        &self,
        module: &Module,
        [q, k, v]: [&Tensor; 3],
        own: bool,
        shared: bool,
    ) -> Result<Vec<Tensor>> {
        let bias = module.tensor("in_proj_bias");
        let e = self.width as i64;
        let part = |b: &Option<Tensor>, start: i64, count: i64| {
            b.as_ref().map(|b| narrow(b, 0, start * e, count * e)).transpose()
        };
        if !self.together() {
            let inputs = [("q_proj_weight", q), ("k_proj_weight", k), ("v_proj_weight", v)];
            let one = |(i, (name, x)): (usize, (&str, &Tensor))| {
                linear(x, &module.needed(name)?, part(&bias, i as i64, 1)?.as_ref())
            };
            return inputs.into_iter().enumerate().map(one).collect();
        }
        let weight = module.needed("in_proj_weight")?;
        if own {
            return chunk(&linear(q, &weight, bias.as_ref())?, 3, -1);
        }
        let some = |x: &Tensor, start: i64, count: i64| {
            let weight = narrow(&weight, 0, start * e, count * e)?;
            linear(x, &weight, part(&bias, start, count)?.as_ref())
        };
        if shared {
            let mut all = vec![some(q, 0, 1)?];
            all.extend(chunk(&some(k, 1, 2)?, 2, -1)?);
            return Ok(all);
        }
        Ok(vec![some(q, 0, 1)?, some(k, 1, 1)?, some(v, 2, 1)?])
    }

    /// Adds the extra keys and values, splits heads, mixes values and projects the result.
    fn mix(
        &self,
        module: &Module,
        projected: Vec<Tensor>,
        mut sizes: AttentionSizes,
        (mask, padding, causal): (Option<Tensor>, Option<&Tensor>, bool),
        weights: Weights,
    ) -> Result<(Tensor, Option<Tensor>)> {
        let Ok([q, mut k, mut v]) = <[Tensor; 3]>::try_from(projected) else {
            return Err(Error::runtime("a projection gave no three parts"));
        };
        let mut wider = 0;
        if let (Some(more_keys), Some(more_values)) = (module.tensor("bias_k"), module.tensor("bias_v")) {
            k = cat(&[&k, &repeat(&more_keys, &[1, sizes.n, 1])?], 0)?;
            v = cat(&[&v, &repeat(&more_values, &[1, sizes.n, 1])?], 0)?;
            wider += 1;
        }
        if self.zero {
            let shape = [1, sizes.n as usize, self.width];
            let zeros = Tensor::full(&shape, 0i64.into(), k.dtype(), &k.context(), "add_zero_attn")?;
            (k, v) = (cat(&[&k, &zeros], 0)?, cat(&[&v, &zeros], 0)?);
            wider += 1;
        }
        sizes.s += wider;
        let mask = merged(mask, padding, sizes, wider, q.dtype())?;
        let AttentionSizes { l, s, n, heads, head } = sizes;
        let split = |x: &Tensor, length: i64| transpose(&reshape(x, &[length, n * heads, head])?, 0, 1);
        let (q, k, v) = (split(&q, l)?, split(&k, s)?, split(&v, s)?);
        let p = if module.training() { self.dropout } else { 0.0 };
        let (mixed, seen) = if weights == Weights::None {
            let apart = |x: &Tensor, length: i64| reshape(x, &[n, heads, length, head]);
            let mask = mask
                .map(|m| if m.size(0)? == 1 { unsqueeze(&m, 0) } else { reshape(&m, &[n, heads, -1, s]) });
            let mask = mask.transpose()?;
            let options = Attention { mask: mask.as_ref(), dropout_p: p, is_causal: causal, scale: None };
            let out = scaled_dot_product_attention(&apart(&q, l)?, &apart(&k, s)?, &apart(&v, s)?, &options)?;
            (permute(&out, &[2, 0, 1, 3])?, None)
        } else {
            let scores = bmm(&scale(&q, (1.0 / head as f64).sqrt())?, &transpose(&k, -2, -1)?)?;
            let scores = match &mask {
                Some(mask) => add(mask, &scores)?,
                None => scores,
            };
            let seen = dropout(&softmax(&scores, -1, None)?, p, p > 0.0)?;
            let out = transpose(&bmm(&seen, &v)?, 0, 1)?;
            let seen = reshape(&seen, &[n, heads, l, s])?;
            (out, Some(if weights == Weights::Averaged { mean(&seen, Some(&[1]), false)? } else { seen }))
        };
        let flat = reshape(&mixed, &[l * n, self.width as i64])?;
        let out_proj = module.child("out_proj").ok_or_else(|| Error::runtime("attention has no out_proj"))?;
        let out = linear(&flat, &out_proj.needed("weight")?, out_proj.tensor("bias").as_ref())?;
        Ok((reshape(&out, &[l, n, self.width as i64])?, seen))
    }
}

/// Whether the inputs have a batch; fails on ranks that do not go together, in PyTorch's words.
fn check_ranks([q, k, v]: [&Tensor; 3], masks: Masks) -> Result<bool> {
    let (rank, name) = match q.rank() {
        3 => (3, "batched (3-D)"),
        2 => (2, "unbatched (2-D)"),
        other => {
            return Err(assertion(format!(
                "query should be unbatched 2D or batched 3D tensor but received {other}-D query tensor"
            )));
        }
    };
    if k.rank() != rank || v.rank() != rank {
        return Err(assertion(format!(
            "For {name} `query`, expected `key` and `value` to be {rank}-D but found {}-D and {}-D tensors \
             respectively",
            k.rank(),
            v.rank()
        )));
    }
    if let Some(t) = masks.padding.filter(|t| t.rank() + 1 != rank) {
        return Err(assertion(format!(
            "For {name} `query`, expected `key_padding_mask` to be `None` or {}-D but found {}-D tensor instead",
            rank - 1,
            t.rank()
        )));
    }
    if let Some(t) = masks.attention.filter(|t| !matches!(t.rank(), 2 | 3)) {
        return Err(assertion(format!(
            "For {name} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {}-D tensor instead",
            t.rank()
        )));
    }
    Ok(rank == 3)
}

/// The attention mask as numbers to add, and whether the causal hint stands in for it.
fn canonical(masks: Masks, weights: Weights, dtype: DType) -> Result<(Option<Tensor>, bool)> {
    if masks.is_causal && masks.attention.is_none() {
        let text = "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method \
                    `generate_square_subsequent_mask` to create this mask.";
        return Err(
            Error::runtime(text).with_hint("`nn::Transformer::generate_square_subsequent_mask(length)`")
        );
    }
    if masks.is_causal && masks.padding.is_none() && weights == Weights::None {
        return Ok((None, true));
    }
    Ok((masks.attention.map(|m| additive(m, "attn_mask", dtype)).transpose()?, false))
}

/// A mask of bools (true hides) as numbers to add to scores; numbers stay.
pub(crate) fn additive(mask: &Tensor, name: &str, dtype: DType) -> Result<Tensor> {
    if mask.dtype().is_float() {
        return Ok(mask.clone());
    }
    if mask.dtype() != DType::Bool {
        return Err(assertion(format!("only bool and floating types of {name} are supported")));
    }
    let zeros = Tensor::full(mask.shape(), 0i64.into(), dtype, &mask.context(), "attention_mask")?;
    masked_fill(&zeros, mask, f64::NEG_INFINITY.into())
}

fn check_mask(mask: Option<&Tensor>, AttentionSizes { l, s, n, heads, .. }: AttentionSizes) -> Result<()> {
    let Some(mask) = mask else { return Ok(()) };
    let want = if mask.rank() == 2 { vec![l, s] } else { vec![n * heads, l, s] };
    if mask.shape().iter().map(|&d| d as i64).eq(want.iter().copied()) {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "The shape of the {}D attn_mask is torch.Size({:?}), but should be {}.",
        mask.rank(),
        mask.shape(),
        python::tuple(&want)
    )))
}

/// Attention and padding masks as one `[1 or n * heads, 1 or l, s]`.
fn merged(
    mask: Option<Tensor>,
    padding: Option<&Tensor>,
    AttentionSizes { s, n, heads, .. }: AttentionSizes,
    wider: i64,
    dtype: DType,
) -> Result<Option<Tensor>> {
    let widened = |m: Tensor| if wider == 0 { Ok(m) } else { pad::constant(&m, &[0, wider], 0i64.into()) };
    let mask = match mask {
        Some(m) if m.rank() == 2 => Some(widened(unsqueeze(&m, 0)?)?),
        Some(m) => Some(widened(m)?),
        None => None,
    };
    let Some(padding) = padding else { return Ok(mask) };
    let padding = widened(additive(padding, "key_padding_mask", dtype)?)?;
    let given = padding.shape().to_vec();
    if padding.numel() as i64 != n * s {
        return Err(assertion(format!(
            "expecting key_padding_mask shape of {}, but got torch.Size({given:?})",
            python::tuple(&[n, s])
        )));
    }
    let row = reshape(&padding, &[n, 1, 1, s])?;
    let all = reshape(&crate::op::shape::view::expand_to(&row, &[n, heads, 1, s])?, &[n * heads, 1, s])?;
    match mask {
        Some(mask) => add(&mask, &all).map(Some),
        None => Ok(Some(all)),
    }
}

impl Layer for MultiheadAttention {
    fn name(&self) -> &str {
        "MultiheadAttention"
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        call.responded()
    }

    fn call_row(&self) -> Option<&'static OpDef> {
        static ROW: OpDef = call_row("forward", MultiheadCall::LIST);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        let a = MultiheadCall::of(a)?;
        let masks = Masks { padding: a.key_padding_mask, attention: a.attn_mask, is_causal: a.is_causal };
        let weights = match (a.need_weights, a.average_attn_weights) {
            (false, _) => Weights::None,
            (true, true) => Weights::Averaged,
            (true, false) => Weights::PerHead,
        };
        let (out, seen) = self.attend(call.module, [a.query, a.key, a.value], masks, weights)?;
        Ok(Value::List(vec![out.into(), seen.map_or(Value::None, Value::from)]))
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        let int = |n: usize| Value::Scalar((n as i64).into());
        Some(match name {
            "embed_dim" => int(self.width),
            "num_heads" => int(self.heads),
            "head_dim" => int(self.width / self.heads.max(1)),
            "kdim" => int(self.from[0]),
            "vdim" => int(self.from[1]),
            "dropout" => Value::Scalar(self.dropout.into()),
            "batch_first" => Value::Scalar(self.batch_first.into()),
            "add_zero_attn" => Value::Scalar(self.zero.into()),
            _ => return None,
        })
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }
}

params! {
    MultiheadCall {
        query: kind::Tensor, "what looks: one place of the output for each of its places";
        key: kind::Tensor, "what is looked at";
        value: kind::Tensor, "what is gathered from the places that are looked at";
        key_padding_mask: Maybe<kind::Tensor>, "true or `-inf` at keys that are padding";
        need_weights: kind::Bool = true, "whether the weights come with the output";
        attn_mask: Maybe<kind::Tensor>, "true or `-inf` where a query must not look";
        average_attn_weights: kind::Bool = true, "whether the weights are the means of all heads";
        is_causal: kind::Bool = false, "says that `attn_mask` is the causal mask";
    }
}

/// Options of [`multihead`].
#[derive(Clone, Copy)]
pub(crate) struct Multihead {
    pub width: usize,
    pub heads: usize,
    pub dropout: f64,
    pub bias: bool,
    pub bias_kv: bool,
    pub zero: bool,
    /// Features of keys and values.
    pub from: [usize; 2],
    pub batch_first: bool,
    pub dtype: DType,
}

/// The module, its parameters drawn in PyTorch's order.
pub(crate) fn multihead(options: Multihead) -> Result<Module> {
    let Multihead { width, heads, dropout, bias, bias_kv, zero, from, batch_first, dtype } = options;
    if width == 0 || heads == 0 {
        let text = format!(
            "embed_dim and num_heads must be greater than 0, got embed_dim={width} and num_heads={heads} instead"
        );
        return Err(Error::value(text));
    }
    if !width.is_multiple_of(heads) {
        return Err(assertion("embed_dim must be divisible by num_heads".into())
            .with_hint("each head gets an equal share of the features"));
    }
    check_probability(dropout)?;
    let layer = MultiheadAttention { width, heads, dropout, batch_first, zero, from };
    let out = made("NonDynamicallyQuantizableLinear", [width, width], bias, dtype)?;
    let drawn = |shape: [usize; 2]| -> Result<Option<Tensor>> {
        let weight = init::empty(&shape, dtype)?;
        xavier_uniform_(&weight, 1.0)?;
        Ok(Some(weight))
    };
    let [keys, values] = from;
    let [all, q, k, v] = if layer.together() {
        [drawn([3 * width, width])?, None, None, None]
    } else {
        [None, drawn([width, width])?, drawn([width, keys])?, drawn([width, values])?]
    };
    if let Some(b) = out.tensor("bias") {
        b.fill(0i64.into(), "fill_")?;
    }
    let zeros = if bias { Some(init::full(&[3 * width], 0.0, dtype)?) } else { None };
    let extra = || -> Result<Option<Tensor>> {
        if !bias_kv {
            return Ok(None);
        }
        let b = init::empty(&[1, 1, width], dtype)?;
        xavier_normal_(&b, 1.0)?;
        Ok(Some(b))
    };
    let (bias_k, bias_v) = (extra()?, extra()?);
    let mut parts = Parts::new();
    let weights = [("in_proj_weight", all), ("q_proj_weight", q), ("k_proj_weight", k), ("v_proj_weight", v)];
    for (name, tensor) in weights {
        parts = parts.parameter(name, tensor);
    }
    let parts =
        parts.parameter("in_proj_bias", zeros).parameter("bias_k", bias_k).parameter("bias_v", bias_v);
    Module::new(layer, parts.child("out_proj", out))
}

params! {
    MultiheadParams {
        embed_dim: kind::Size, "how many features a place has, of all heads together";
        num_heads: kind::Size, "how many heads share the features";
        dropout: kind::Float = 0.0, "how probable it is that a weight becomes zero while training";
        bias: OfWeights<kind::Bool> = true, "whether the projections add a trained vector";
        add_bias_kv: kind::Bool = false, "whether a trained pair joins the keys and values";
        add_zero_attn: kind::Bool = false, "whether a pair of zeros joins the keys and values";
        kdim: Maybe<kind::Size>, "how many features keys have, where they are not `embed_dim`";
        vdim: Maybe<kind::Size>, "how many features values have, where they are not `embed_dim`";
        batch_first: kind::Bool = false, "whether the batch is dimension 0 of inputs, and not 1";
        ..made: Made;
    }
}

fn make(a: MultiheadParams) -> Result<Value> {
    let width = a.embed_dim;
    a.made.place(multihead(Multihead {
        width,
        heads: a.num_heads,
        dropout: a.dropout,
        bias: a.bias,
        bias_kv: a.add_bias_kv,
        zero: a.add_zero_attn,
        from: [a.kdim.unwrap_or(width), a.vdim.unwrap_or(width)],
        batch_first: a.batch_first,
        dtype: a.made.dtype(),
    })?)
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[constructor(
    "MultiheadAttention",
    "Attention of several heads, each in its own share of the features.",
    MultiheadParams::LIST,
    by_name!(MultiheadParams, make),
)
.details(
    "`forward(query, key, value, #{key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal})` \
     gives `[output, weights]`. Inputs are `[length, batch, embed_dim]`, with `batch_first` `[batch, length, \
     embed_dim]`; a mask hides where it is true, or is added to the scores.",
)
.shapes(
    "(L, N, embed_dim), (S, N, kdim), (S, N, vdim) -> (L, N, embed_dim) and weights (N, L, S), of each head (N, \
     num_heads, L, S), in which add_bias_kv and add_zero_attn make S one larger; N comes first with batch_first and \
     may be left out",
)
.errors(&[
    "AssertionError: `num_heads` does not divide `embed_dim`",
    "AssertionError: a query has not `embed_dim` features",
    "RuntimeError: a mask is not (L, S)",
    "ValueError: the features or the heads are not above 0",
])
.example(
    "let x = rand([2, 5, 8]); let m = nn::MultiheadAttention(8, 2, #{batch_first: true}); m.forward(x, x, x)[1].shape",
    "[2, 5, 5]",
)];
