//! Calls made out of seeds: numbers, texts and tensors are put in the place of what stands there, one at a time, and
//! arguments are drawn by the kinds of a row's parameters.

use std::sync::Arc;

use tensorlab::device::Machine;
use tensorlab::op::def::{Domain, Draw, Form, OpDef, Param, ParamKind, Receiver};
use tensorlab::script::{Interpreter, Limits, Silent};

use super::seeds;

/// What a script prints when a call begins, with its number.
pub const MARK: &str = "@call ";

/// A statement list that stands inside a `try`.
pub struct Call {
    /// What it is made from.
    pub name: String,
    pub code: String,
}

/// Names that stand for hostile values. Those of most use come first.
const PRELUDE: &str = "let I63 = 9223372036854775807; let M63 = -9223372036854775807 - 1; let I31 = 2147483648;
let MID = 30000001; let INF = 1.0 / 0.0; let NAN = INF - INF; let TINY = 5e-324; let LARGE = 1e308;
let NONE = zeros([0]); let HUGE = ones([1]).expand([1000000000000000000]);
let WIDE = ones([1, 1]).expand([1000000, 1000000]); let FLAT = zeros([0, 3]); let BLANK = zeros([3, 0]);
let POINT = tensor(1.0); let FAR = tensor([I63, M63, 0]); let COUNT = ones([1], #{dtype: int64}).expand([MID, 2]);
let ODD = tensor([NAN, INF, -INF]); let CUBE = ones([1, 1, 1]).expand([1000000, 1000000, 1000000]);
let DEEP = ones([1, 1, 1, 1]).expand([1, 1, 1000000000, 1000000000]); let SQUARE = ones([2, 2]); let BATCH = rand([2, 3, 4, 5]);
let LONG = \"x\"; LONG.pad(1000000, \"x\"); let MANY = []; MANY.pad(100000, 1); let GPU = ones([2, 2], #{device: \"cuda\"});
fn context() { let held = []; autograd::Function(|ctx, x| { held.push(ctx); x }, |ctx, g| g).apply(ones(1)); held[0] }
fn caught() { try { ones(2) + ones(3) } catch (e) { return e } }
";

const INTS: &[&str] =
    &["I63", "I31", "M63", "(-1)", "0", "MID", "(I63 - 1)", "4294967296", "(-I31)", "100000", "NAN"];
const FLOATS: &[&str] = &["NAN", "INF", "(-INF)", "LARGE", "0.0", "TINY", "(-1.0)", "I63", "1e18"];
const TENSORS: &[&str] = &[
    "HUGE", "WIDE", "NONE", "CUBE", "DEEP", "FAR", "ODD", "FLAT", "BLANK", "POINT", "COUNT", "SQUARE",
    "BATCH", "GPU",
];
const TEXTS: &[&str] = &["\"\"", "LONG", "\"\\x00\""];
const SIZES: &[&str] =
    &["[I63]", "[I31, I31]", "[MID, MID]", "[]", "[0]", "[M63]", "MANY", "I63", "[-1]", "[3, I63]"];
const LISTS: &[&str] =
    &["[]", "[NONE]", "[HUGE, HUGE]", "[SQUARE, SQUARE]", "[WIDE]", "[SQUARE, NONE, POINT]"];
const OTHERS: &[&str] =
    &["I63", "MANY", "NAN", "[]", "HUGE", "\"\"", "[I63, M63]", "#{}", "()", "[[I63]]", "0..I63", "LONG"];
const DTYPES: &[&str] = &["float16", "int8", "bool", "\"\"", "float64"];
const DEVICES: &[&str] = &["\"cpu\"", "\"cuda:65535\"", "\"cuda:1\"", "I63"];

/// The calls of a gate; `more` times as many changes to each where that is above 1, and none where it is 0.
pub fn all(more: usize) -> Vec<Call> {
    let mut out = Made { calls: Vec::new(), draws: Draws(0x9e37_79b9_7f4a_7c15), more };
    for def in tensorlab::script::help::rows() {
        out.add(def.name, def.example.0, 7);
        for sample in def.samples {
            out.add(def.name, &format!("{}{}", inputs(sample.inputs), sample.call), 7);
        }
        for form in def.forms.iter().take(2) {
            for _ in 0..5 * more.max(1) {
                let code = drawn(def, form, &mut out.draws);
                out.add(def.name, &code, 0);
            }
        }
    }
    for seed in seeds::ALL.iter().flat_map(|text| text.lines()).filter(|line| !line.is_empty()) {
        // Statements that need nothing of each other are calls of their own.
        let alone = !["let ", "for ", "with "].iter().any(|word| seed.contains(word));
        let parts: Vec<&str> = if alone { seed.split("; ").collect() } else { vec![seed] };
        parts.iter().for_each(|part| out.add("seed", part, if alone { 6 } else { 16 }));
    }
    let made = out.calls.len();
    let parsed = parsed(out.calls);
    assert!(made - parsed.len() < made / 50, "{} of {made} calls are no code", made - parsed.len());
    parsed
}

/// The calls that are code where they stand: a change in the place of a pattern, or a function in a block, is none.
fn parsed(calls: Vec<Call>) -> Vec<Call> {
    let interpreter = Interpreter::new(Machine::cpu_only(), Arc::new(Silent), &Limits::default());
    let parses = |call: &Call| {
        interpreter.engine().compile(format!("try {{ {}\n }} catch (e) {{ }}", call.code)).is_ok()
    };
    calls.into_iter().filter(parses).collect()
}

struct Made {
    calls: Vec<Call>,
    draws: Draws,
    more: usize,
}

impl Made {
    /// A call as it stands, and with `changes` of the changes that can be made to it.
    fn add(&mut self, name: &str, code: &str, changes: usize) {
        self.calls.push(Call { name: name.into(), code: code.into() });
        let mut left = mutations(code);
        for _ in 0..(changes * self.more).min(left.len()) {
            let code = left.swap_remove(self.draws.below(left.len()));
            self.calls.push(Call { name: name.into(), code });
        }
    }
}

/// The script that makes the calls.
pub fn script(calls: &[Call]) -> String {
    let each = calls.iter().enumerate();
    let body: String = each
        .map(|(i, call)| format!("print(\"\\n{MARK}{i}\"); try {{ {}\n }} catch (e) {{ }}\n", call.code))
        .collect();
    format!("{PRELUDE}{body}")
}

/// Variables of a sample's inputs.
fn inputs(draws: &[Draw]) -> String {
    let each = draws.iter().map(|draw| {
        let shape = draw.shape;
        let value = match draw.domain {
            Domain::Any | Domain::Distinct => format!("randn({shape:?})"),
            Domain::Positive | Domain::Above => format!("rand({shape:?}) + 1.2"),
            Domain::Inside => format!("rand({shape:?}) - 0.5"),
            Domain::Index(n) => format!("randint(0, {n}, {shape:?})"),
            Domain::Mask => format!("rand({shape:?}) > 0.5"),
        };
        format!("let {} = {value}; ", draw.name)
    });
    each.collect()
}

/// A call with arguments drawn by kind.
fn drawn(def: &OpDef, form: &Form, draws: &mut Draws) -> String {
    let wanted = def.params.iter().filter(|p| p.default.is_none()).count();
    let given = wanted + draws.below(def.params.len() - wanted + 1);
    let mut arguments: Vec<&str> =
        def.params.iter().take(given).map(|param| draws.one(pool(param))).collect();
    let first = if arguments.is_empty() { "SQUARE" } else { arguments[0] };
    let own = receiver(def.receiver);
    match form {
        Form::Method if !own.is_empty() => format!("{own}.{}({})", def.name, arguments.join(", ")),
        Form::Property if !own.is_empty() => format!("{own}.{}", def.name),
        Form::With("") => format!("with {}({}) {{ 1 }}", def.name, arguments.join(", ")),
        Form::With(space) => format!("with {space}::{}({}) {{ 1 }}", def.name, arguments.join(", ")),
        Form::Constant | Form::Space(_) => def.name.to_string(),
        Form::ValueOf(space) => format!("{space}::{}", def.name),
        // A word of the language is no call.
        Form::Word => format!("{first} == {first}"),
        Form::Method => {
            let rest = arguments.split_off(arguments.len().min(1)).join(", ");
            format!("{first}.{}({rest})", def.name)
        }
        Form::Property => format!("{first}.{}", def.name),
        Form::Function if !own.is_empty() => {
            let all: Vec<&str> = std::iter::once(own).chain(arguments).collect();
            format!("{}({})", def.name, all.join(", "))
        }
        Form::Function => format!("{}({})", def.name, arguments.join(", ")),
        Form::Functional => format!("F::{}({})", def.name, arguments.join(", ")),
        Form::Of(space) => format!("{space}::{}({})", def.name, arguments.join(", ")),
        Form::Operator(symbol) => format!("{first} {symbol} {}", draws.one(OTHERS)),
    }
}

/// What a method is called on; nothing for those whose first parameter it is.
fn receiver(receiver: Receiver) -> &'static str {
    match receiver {
        Receiver::None | Receiver::Variable => "",
        Receiver::Tensor => "SQUARE",
        Receiver::Handle => "ones([2], #{requires_grad: true}).register_hook(|g| g)",
        Receiver::Distribution => "distributions::Normal(zeros(2), 1.0)",
        Receiver::OwnFunction => "autograd::Function(|ctx, x| x * 2, |ctx, g| g)",
        Receiver::FunctionContext => "context()",
        Receiver::GradScaler => "amp::GradScaler(#{device: \"cpu\"})",
        Receiver::Optimizer => "optim::SGD([ones([2], #{requires_grad: true})], #{lr: 0.1})",
        Receiver::ParamGroup => "optim::SGD([ones([2], #{requires_grad: true})], #{lr: 0.1}).param_groups[0]",
        Receiver::Scheduler => {
            "optim::lr_scheduler::StepLR(optim::SGD([ones([2], #{requires_grad: true})], #{lr: 0.1}), 2)"
        }
        Receiver::Module => "nn::Sequential(nn::Linear(2, 2), nn::BatchNorm1d(2))",
        Receiver::Keys => "nn::Linear(2, 2).load_state_dict(#{}, #{strict: false})",
        Receiver::Packed => "nn::utils::rnn::pack_sequence([ones([2]), ones([1])])",
        Receiver::Dataset => "data::TensorDataset([SQUARE])",
        Receiver::DataLoader => "data::DataLoader(data::TensorDataset([SQUARE]))",
        Receiver::Batches => "iter(data::DataLoader(data::TensorDataset([SQUARE])))",
        Receiver::Sampler => "data::RandomSampler(9)",
        Receiver::Generator => "Generator()",
        Receiver::Figure => "plot::line([1.0, 2.0])",
        Receiver::Stream => "cuda::Stream()",
        Receiver::Event => "cuda::Event(#{enable_timing: true})",
        Receiver::Graph => "cuda::graph(|| GPU + 1)",
        Receiver::Smi => "smi()",
        Receiver::Iteration => "iter([1, 2])",
        Receiver::Progress => "progress(0..3)",
        Receiver::DType => "float16",
        Receiver::Device => "device(\"cuda:1\")",
        Receiver::Error => "caught()",
        Receiver::Run => "events",
        Receiver::Array => "[1, 2, 3]",
        Receiver::Str => "\"text\"",
        Receiver::Char => "'x'",
        Receiver::Map => "#{a: 1}",
        Receiver::Blob => "blob(9, 1)",
        Receiver::Number => "7",
        Receiver::Span => "(0..9)",
        Receiver::Closure => "(|x| x)",
        Receiver::Time => "timestamp()",
        Receiver::Work => {
            "distributed::spawn(|r, w| distributed::barrier(#{async_op: true}), #{nprocs: 1})[0]"
        }
    }
}

fn pool(param: &Param) -> &'static [&'static str] {
    match param.kind {
        ParamKind::Tensor => TENSORS,
        ParamKind::Operand => &["HUGE", "NONE", "NAN", "I63", "WIDE", "SQUARE", "FAR"],
        ParamKind::Scalar | ParamKind::Float => FLOATS,
        ParamKind::Int | ParamKind::Dim => INTS,
        ParamKind::Bool => &["true", "false"],
        ParamKind::Str => TEXTS,
        ParamKind::Ints | ParamKind::Dims | ParamKind::Sizes => SIZES,
        ParamKind::Tensors | ParamKind::TensorRun => LISTS,
        ParamKind::DType => DTYPES,
        ParamKind::Device => DEVICES,
        ParamKind::Function => {
            &["|| 1", "|x| x", "|| throw 1", "I63", "|| HUGE.sum()", "Fn(\"none\")", "|a, b| a"]
        }
        ParamKind::Map => &["#{}", "#{a: 1}", "MANY", "()", "#{scale: NAN, growth_factor: I63}"],
        ParamKind::Any | ParamKind::Object | ParamKind::Rest | ParamKind::Instance(_) => OTHERS,
    }
}

/// The code with one piece changed, in every way there is.
fn mutations(code: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (range, kind) in pieces(code) {
        let pool = match kind {
            Piece::Int => INTS,
            Piece::Float => FLOATS,
            Piece::Text => TEXTS,
            Piece::Tensor => TENSORS,
        };
        all.extend(pool.iter().map(|value| {
            let mut code = code.to_string();
            code.replace_range(range.clone(), value);
            code
        }));
    }
    all
}

#[derive(Clone, Copy)]
enum Piece {
    Int,
    Float,
    Text,
    Tensor,
}

/// Functions whose calls are put aside for another tensor.
const MAKERS: &[&str] = &["tensor", "ones", "zeros", "rand", "randn", "randint", "arange", "eye"];

/// Numbers, texts and calls that make tensors, by their places.
fn pieces(code: &str) -> Vec<(std::ops::Range<usize>, Piece)> {
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    let mut i = 0;
    while let Some(&b) = bytes.get(i) {
        let end = |from: usize, inside: &dyn Fn(u8) -> bool| {
            from + bytes[from..].iter().take_while(|b| inside(**b)).count()
        };
        let next = match b {
            b'"' => {
                let close = bytes[i + 1..].iter().position(|&b| b == b'"').map_or(bytes.len(), |n| i + n + 2);
                found.push((i..close, Piece::Text));
                close
            }
            b'0'..=b'9' => {
                let whole = end(i, &|b| b.is_ascii_digit() || b == b'_');
                let fraction =
                    bytes.get(whole) == Some(&b'.') && bytes.get(whole + 1).is_some_and(u8::is_ascii_digit);
                let after = if fraction { end(whole + 1, &|b| b.is_ascii_digit()) } else { whole };
                let power = bytes.get(after) == Some(&b'e');
                let after = if power { end(after + 1, &|b| b.is_ascii_digit() || b == b'-') } else { after };
                found.push((i..after, if fraction || power { Piece::Float } else { Piece::Int }));
                after
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let word = end(i, &|b| b.is_ascii_alphanumeric() || b == b'_');
                let bare = i == 0 || !matches!(bytes[i - 1], b'.' | b':');
                if bare && bytes.get(word) == Some(&b'(') && MAKERS.contains(&&code[i..word]) {
                    found.push((i..closing(bytes, word), Piece::Tensor));
                }
                word
            }
            _ => i + 1,
        };
        i = next;
    }
    found
}

/// Behind the bracket that closes the one at `open`.
fn closing(bytes: &[u8], open: usize) -> usize {
    let mut depth = 0i32;
    for (i, b) in bytes.iter().enumerate().skip(open) {
        depth += i32::from(*b == b'(') - i32::from(*b == b')');
        if depth == 0 {
            return i + 1;
        }
    }
    bytes.len()
}

/// Numbers that are the same in every run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n.max(1)
    }

    fn one(&mut self, of: &'static [&'static str]) -> &'static str {
        of[self.below(of.len())]
    }
}
