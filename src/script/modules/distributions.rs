//! `distributions::Normal(…)` and its like.

use rhai::{Dynamic, Engine, INT};

use crate::base::{Error, Result};
use crate::nn::laws::Law;
use crate::op::params::{Maybe, kind, params};
use crate::op::{Family, Form, OpDef, Operand, Receiver};
use crate::script::call::kind::Typed;
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::fault::raise;
use crate::tensor::Tensor;

params! {
    NormalParams {
        loc: kind::Operand, "where each is centred: the mean, a tensor or a number";
        scale: kind::Operand, "how far they spread: the standard deviation, above 0";
    }
}

params! {
    CategoricalParams {
        probs: Maybe<kind::Tensor>, "how often each number is drawn, along the last dimension; the sum does not matter";
        logits: Maybe<kind::Tensor>, "the logarithms of that, such as the scores that a network gives";
    }
}

params! {
    BernoulliParams {
        probs: Maybe<kind::Operand>, "how often each element is 1";
        logits: Maybe<kind::Operand>, "numbers whose sigmoid that is";
    }
}

params! {
    SampleParams {
        sample_shape: Maybe<kind::Sizes>, "how many draws there are; without it one";
    }
}

params! {
    ValueParams {
        value: kind::Operand, "what could be drawn: a tensor, or a number";
    }
}

params! {
    DivergenceParams {
        p: Law, "the distribution that holds";
        q: Law, "the one that it is taken for";
    }
}

impl Typed for Law {
    const RECEIVER: Receiver = Receiver::Distribution;
}

const MADE: &[Form] = &[Form::Of("distributions")];

const fn made(name: &'static str, summary: &'static str, params: &'static [crate::op::Param]) -> OpDef {
    OpDef::script(name, Family::Random, summary, params).forms(MADE)
}

const fn of_one(name: &'static str, summary: &'static str, params: &'static [crate::op::Param]) -> OpDef {
    OpDef::script(name, Family::Random, summary, params).on(Receiver::Distribution)
}

const fn property(name: &'static str, summary: &'static str) -> OpDef {
    of_one(name, summary, &[]).forms(&[Form::Property])
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        made("Normal", "Normal distributions, one for each mean and deviation.", NormalParams::LIST)
            .torch("torch.distributions.Normal")
            .shapes("loc and scale broadcast together -> one distribution for each element")
            .errors(&["ValueError: a deviation is not above 0", "RuntimeError: the shapes do not fit each other"])
            .example("distributions::Normal(0.0, 2.0).log_prob(1.0)", "tensor(-1.7371)"),
        |call| {
            let given = NormalParams::of(&call.args)?;
            let model = [given.loc, given.scale].into_iter().find_map(tensor_of);
            let [loc, scale] = [given.loc, given.scale].map(|x| as_tensor(x, model.as_ref()));
            Ok(Dynamic::from(Law::normal(&loc?, &scale?)?))
        },
    ),
    ScriptRow::of(
        made("Categorical", "Draws whole numbers from 0 on, by weights or by scores.", CategoricalParams::LIST)
            .torch("torch.distributions.Categorical")
            .shapes("(…, K) -> numbers from 0 to K - 1, one distribution for each row")
            .errors(&[
                "ValueError: both are given or none, a weight is negative, or there is no dimension",
                "NotImplementedError: the logits are bools",
            ])
            .details("What an agent does next: `let a = d.sample();`, and `-d.log_prob(a) * reward` is its loss.")
            .example(
                "let d = distributions::Categorical(#{logits: tensor([0.0, 0.0])}); d.log_prob(tensor(1))",
                "tensor(-0.6931)",
            ),
        |call| {
            let given = CategoricalParams::of(&call.args)?;
            Ok(Dynamic::from(Law::categorical(given.probs, given.logits)?))
        },
    ),
    ScriptRow::of(
        made("Bernoulli", "Draws 1 or 0, each element for itself.", BernoulliParams::LIST)
            .torch("torch.distributions.Bernoulli")
            .shapes("any -> one distribution for each element")
            .errors(&["ValueError: both are given or none, or a probability is not from 0 to 1"])
            .example("distributions::Bernoulli(0.25).entropy()", "tensor(0.5623)"),
        |call| {
            let given = BernoulliParams::of(&call.args)?;
            let given = [given.probs, given.logits].map(|x| x.map(|x| as_tensor(x, None)).transpose());
            let [probs, logits] = given;
            Ok(Dynamic::from(Law::bernoulli(probs?.as_ref(), logits?.as_ref())?))
        },
    ),
    ScriptRow::of(
        made(
            "kl_divergence",
            "How far a distribution is from another, in nats: the Kullback-Leibler divergence.",
            DivergenceParams::LIST,
        )
        .torch("torch.distributions.kl_divergence")
        .shapes("one for each pair of distributions")
        .errors(&["NotImplementedError: they are of two kinds"])
        .example(
            "distributions::kl_divergence(distributions::Normal(1.0, 1.0), distributions::Normal(0.0, 1.0))",
            "tensor(0.5000)",
        ),
        |call| {
            let given = DivergenceParams::of(&call.args)?;
            Ok(Dynamic::from(given.p.divergence(&given.q)?))
        },
    ),
    ScriptRow::of(
        of_one("sample", "Draws, without a graph.", SampleParams::LIST)
            .torch("torch.distributions.Distribution.sample")
            .shapes("-> sample_shape, and that of the parameters behind it")
            .errors(&["RuntimeError: a size is negative"])
            .example("manual_seed(0); distributions::Normal(0.0, 1.0).sample([3])", "tensor([ 1.5410, -0.2934, -2.1788])"),
        |call| drawn(call, Law::sample),
    ),
    ScriptRow::of(
        of_one(
            "rsample",
            "Draws so that gradients flow into the parameters: mean plus noise times deviation.",
            SampleParams::LIST,
        )
        .torch("torch.distributions.Distribution.rsample")
        .shapes("-> sample_shape, and that of the parameters behind it")
        .errors(&["NotImplementedError: what is drawn moves in steps", "RuntimeError: a size is negative"])
        .example(
            "let scale = tensor(2.0, #{requires_grad: true}); distributions::Normal(0.0, scale).rsample().requires_grad",
            "true",
        ),
        |call| drawn(call, Law::rsample),
    ),
    ScriptRow::of(
        of_one(
            "log_prob",
            "The logarithm of the density at a value, or of the value's probability.",
            ValueParams::LIST,
        )
        .torch("torch.distributions.Distribution.log_prob")
        .shapes("the value and the parameters broadcast together")
        .errors(&[
            "ValueError: the value is none that is drawn, or its shape does not fit the parameters'",
            "RuntimeError: the value lies on another device",
        ])
        .example("distributions::Categorical(tensor([1.0, 3.0])).log_prob(tensor([0, 1]))", "tensor([-1.3863, -0.2877])"),
        |call| of_value(call, Law::log_prob),
    ),
    ScriptRow::of(
        of_one("cdf", "The probability of what is at most a value.", ValueParams::LIST)
            .torch("torch.distributions.Distribution.cdf")
            .shapes("the value and the parameters broadcast together")
            .errors(&["NotImplementedError: it is no normal distribution"])
            .example("distributions::Normal(0.0, 1.0).cdf(0.0)", "tensor(0.5000)"),
        |call| of_value(call, Law::cdf),
    ),
    ScriptRow::of(
        of_one("icdf", "The value that is not exceeded with a probability: what `cdf` undoes.", ValueParams::LIST)
            .torch("torch.distributions.Distribution.icdf")
            .shapes("the value and the parameters broadcast together")
            .errors(&["NotImplementedError: it is no normal distribution"])
            .example("distributions::Normal(0.0, 1.0).icdf(0.975)", "tensor(1.9600)"),
        |call| of_value(call, Law::icdf),
    ),
    ScriptRow::of(
        of_one("entropy", "How much is not known before a draw, in nats.", &[])
            .torch("torch.distributions.Distribution.entropy")
            .shapes("one for each distribution")
            .example("distributions::Categorical(ones(4)).entropy()", "tensor(1.3863)"),
        |call| given(call, Law::entropy),
    ),
    ScriptRow::of(
        property("mean", "The mean of what is drawn.")
            .torch("torch.distributions.Distribution.mean")
            .shapes("one for each distribution")
            .details("That of numbers which stand for something, as a Categorical's, is NaN.")
            .example("distributions::Normal(tensor([1.0, 2.0]), 1.0).mean", "tensor([1., 2.])"),
        |call| given(call, Law::mean),
    ),
    ScriptRow::of(
        property("variance", "The variance of what is drawn.")
            .torch("torch.distributions.Distribution.variance")
            .shapes("one for each distribution")
            .example("distributions::Normal(0.0, 3.0).variance", "tensor(9.)"),
        |call| given(call, Law::variance),
    ),
    ScriptRow::of(
        property("stddev", "The standard deviation of what is drawn.")
            .torch("torch.distributions.Distribution.stddev")
            .shapes("one for each distribution")
            .example("distributions::Bernoulli(0.5).stddev", "tensor(0.5000)"),
        |call| given(call, Law::deviation),
    ),
    ScriptRow::of(
        property("mode", "The likeliest value.")
            .torch("torch.distributions.Distribution.mode")
            .shapes("one for each distribution")
            .errors(&["IndexError: there is no number that could be drawn"])
            .example("distributions::Categorical(tensor([0.2, 0.5, 0.3])).mode", "tensor(1)"),
        |call| given(call, Law::mode),
    ),
    ScriptRow::of(
        property("probs", "Probabilities: of each number along the last dimension, or of 1.")
            .torch("torch.distributions.Categorical.probs")
            .shapes("that of the parameters")
            .errors(&["TypeError: it is a normal distribution"])
            .example("distributions::Categorical(tensor([1.0, 3.0])).probs", "tensor([0.2500, 0.7500])"),
        |call| part(call, "probs", |law| law.probs()),
    ),
    ScriptRow::of(
        property("logits", "The logarithms of probabilities, or what probabilities are the sigmoid of.")
            .torch("torch.distributions.Categorical.logits")
            .shapes("that of the parameters")
            .errors(&["TypeError: it is a normal distribution"])
            .example("distributions::Bernoulli(tensor([0.5])).logits", "tensor([0.])"),
        |call| part(call, "logits", |law| law.logits()),
    ),
    ScriptRow::of(
        property("loc", "The means of normal distributions.")
            .own()
            .shapes("one for each distribution")
            .errors(&["TypeError: it is no normal distribution"])
            .example("distributions::Normal(1.0, tensor([1.0, 2.0])).loc", "tensor([1., 1.])"),
        |call| part(call, "loc", |law| law.location().map(Ok)),
    ),
    ScriptRow::of(
        property("scale", "The deviations of normal distributions.")
            .own()
            .shapes("one for each distribution")
            .errors(&["TypeError: it is no normal distribution"])
            .example("distributions::Normal(tensor([1.0, 2.0]), 0.5).scale", "tensor([0.5000, 0.5000])"),
        |call| part(call, "scale", |law| law.width().map(Ok)),
    ),
    ScriptRow::of(
        property("batch_shape", "The shape in which the distributions stand.")
            .torch("torch.distributions.Distribution.batch_shape")
            .example("distributions::Categorical(ones(3, 4)).batch_shape", "[3]"),
        |call| {
            let law = call.on::<Law>()?;
            Ok(law.batch_shape().iter().map(|&n| Dynamic::from(n as INT)).collect::<rhai::Array>().into())
        },
    ),
];

/// What no row has: the type, and how it is printed.
pub(super) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Law>("Distribution");
    engine.register_fn("to_string", |law: &mut Law| law.shown().map_err(raise));
    engine.register_fn("to_debug", |law: &mut Law| law.shown().map_err(raise));
}

fn drawn(call: &mut Call, draw: fn(&Law, &[i64]) -> Result<Tensor>) -> Outcome {
    let shape = SampleParams::of(&call.args)?.sample_shape.unwrap_or_default();
    Ok(Dynamic::from(draw(&call.on::<Law>()?, &shape)?))
}

fn of_value(call: &mut Call, run: fn(&Law, &Tensor) -> Result<Tensor>) -> Outcome {
    let law = call.on::<Law>()?;
    let value = as_tensor(ValueParams::of(&call.args)?.value, Some(law.parameter()))?;
    Ok(Dynamic::from(run(&law, &value)?))
}

fn given(call: &mut Call, run: fn(&Law) -> Result<Tensor>) -> Outcome {
    Ok(Dynamic::from(run(&call.on::<Law>()?)?))
}

fn part(call: &mut Call, name: &str, run: impl FnOnce(&Law) -> Option<Result<Tensor>>) -> Outcome {
    let law = call.on::<Law>()?;
    match run(&law) {
        Some(found) => Ok(Dynamic::from(found?)),
        None => Err(Error::type_error(format!("'{}' object has no attribute '{name}'", law.name())).into()),
    }
}

fn tensor_of(x: Operand) -> Option<Tensor> {
    if let Operand::Tensor(t) = x { Some(t.clone()) } else { None }
}

/// A number as a tensor like another, or as PyTorch makes one of it.
fn as_tensor(x: Operand, like: Option<&Tensor>) -> Result<Tensor> {
    match x {
        Operand::Tensor(t) => Ok(t.clone()),
        Operand::Scalar(n) => match like {
            Some(like) => Tensor::full(&[], n, like.dtype(), &like.context(), "full"),
            None => Tensor::from_f32(&[n.as_f64() as f32], &[]),
        },
    }
}
