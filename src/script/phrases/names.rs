//! Names of PyTorch, with what they are imported as, and what stands for each here.

use crate::base::name_map::NameMap;

use crate::op::{Form, OpDef, Param};
use crate::script::help::{names, rows, torch_path};
use crate::script::{python, spaces};

use super::book::Idiom;
use super::tree::Arg;

/// What names stand for that nothing of the script's has.
const KNOWN: [(&str, &str); 34] = [
    ("deque", "collections.deque"),
    ("namedtuple", "collections.namedtuple"),
    ("defaultdict", "collections.defaultdict"),
    ("collections", "collections"),
    ("itertools", "itertools"),
    ("tqdm", "tqdm.tqdm"),
    ("trange", "tqdm.trange"),
    ("gc", "gc"),
    ("warnings", "warnings"),
    ("logging", "logging"),
    ("json", "json"),
    ("dist", "torch.distributed"),
    ("random", "random"),
    ("sys", "sys"),
    ("time", "time"),
    ("os", "os"),
    ("torch", "torch"),
    ("np", "numpy"),
    ("numpy", "numpy"),
    ("F", "torch.nn.functional"),
    ("nn", "torch.nn"),
    ("init", "torch.nn.init"),
    ("optim", "torch.optim"),
    ("cuda", "torch.cuda"),
    ("linalg", "torch.linalg"),
    ("special", "torch.special"),
    ("autograd", "torch.autograd"),
    ("amp", "torch.amp"),
    ("cudnn", "torch.backends.cudnn"),
    ("data", "torch.utils.data"),
    ("DataLoader", "torch.utils.data.DataLoader"),
    ("TensorDataset", "torch.utils.data.TensorDataset"),
    ("math", "math"),
    ("plt", "matplotlib.pyplot"),
];

/// Functions of other packages, and of PyTorch's that have another name here.
const OTHERS: [(&str, &str); 18] = [
    ("numpy.concatenate", "cat"),
    ("numpy.load", "load"),
    ("random.seed", "manual_seed"),
    ("numpy.random.seed", "manual_seed"),
    ("sys.argv", "ARGS"),
    ("math.pi", "PI()"),
    ("math.inf", "(1.0 / 0.0)"),
    ("math.e", "E()"),
    ("math.log", "ln"),
    ("math.ceil", "ceiling"),
    ("numpy.array", "tensor"),
    ("numpy.asarray", "tensor"),
    ("numpy.pi", "PI()"),
    ("torch.pi", "PI()"),
    ("torch.inf", "(1.0 / 0.0)"),
    ("time.time", "timestamp"),
    ("time.perf_counter", "timestamp"),
    ("time.monotonic", "timestamp"),
];

/// What makes a tensor of one dtype.
pub(super) const OLD_TENSORS: [(&str, &str); 9] = [
    ("Tensor", "float32"),
    ("FloatTensor", "float32"),
    ("DoubleTensor", "float64"),
    ("HalfTensor", "float16"),
    ("LongTensor", "int64"),
    ("IntTensor", "int32"),
    ("ShortTensor", "int16"),
    ("ByteTensor", "uint8"),
    ("BoolTensor", "bool"),
];

/// Packages of which there is nothing here, by the name that they usually have.
const FOREIGN: &[(&str, Idiom)] = &[
    ("Path", Idiom::Absent),
    ("SummaryWriter", Idiom::Absent),
    ("wandb", Idiom::Absent),
    ("argparse", Idiom::Arguments),
    ("torchvision", Idiom::Packages),
    ("transforms", Idiom::Packages),
    ("datasets", Idiom::Packages),
    ("pandas", Idiom::Packages),
    ("pd", Idiom::Packages),
    ("sklearn", Idiom::Packages),
    ("PIL", Idiom::Packages),
    ("Image", Idiom::Packages),
    ("transformers", Idiom::Packages),
    ("requests", Idiom::Packages),
];

/// What is told of a name with a point behind it that is a package's.
pub(super) fn foreign(name: &str) -> Option<Idiom> {
    FOREIGN.iter().find(|(own, _)| *own == name).map(|(_, idiom)| *idiom)
}

/// Whether a function has to do with what is not here: files of text, a keyboard, another package.
pub(super) fn is_elsewhere(name: &str) -> bool {
    matches!(name, "open" | "input") || foreign(name).is_some()
}

/// Whether nothing stands here for a method of PyTorch's.
pub(super) fn is_absent(name: &str) -> bool {
    name == "register_backward_hook"
}

/// Options that ask for nothing here, by what they are given to.
const IDLE: [(&str, &[&str]); 4] = [
    (
        "DistributedDataParallel",
        &["output_device", "broadcast_buffers", "gradient_as_bucket_view", "static_graph"],
    ),
    ("autograd::grad", &["only_inputs"]),
    ("distributed::spawn", &["join", "daemon", "start_method"]),
    ("distributed::init_process_group", &["init_method", "device_id", "store"]),
];

/// Arguments without those that ask for nothing here.
pub(super) fn without_idle(callee: &str, arguments: &[Arg]) -> Vec<Arg> {
    let idle = IDLE.iter().find(|(name, _)| callee.ends_with(name)).map_or(&[][..], |(_, idle)| *idle);
    let counts = |argument: &&Arg| argument.name.as_deref().is_none_or(|name| !idle.contains(&name));
    arguments.iter().filter(counts).cloned().collect()
}

/// What imports have bound, by its path in Python.
pub(super) type Imports = NameMap<String>;

/// What a path of Python's is here, with what is told of it.
pub(super) fn resolved(path: &[String], imports: &Imports) -> Option<(String, Idiom)> {
    let full = full(path, imports)?;
    let idiom = match full.split('.').next() {
        Some("numpy") => Idiom::Numpy,
        Some("torch") if path.first().is_some_and(|name| name == "torch") => Idiom::Torch,
        Some("torch") if path.len() > 1 => Idiom::Module,
        Some("torch") => Idiom::Inside,
        Some("time") => Idiom::Clock,
        _ => Idiom::Library,
    };
    Some((here(&full)?, idiom))
}

/// A path of Python's from its package on.
pub(super) fn full(path: &[String], imports: &Imports) -> Option<String> {
    let (root, rest) = path.split_first()?;
    // `dist` alone is a function.
    let is = |name: &str| name == root && (name != "dist" || path.len() > 1);
    let known = || KNOWN.iter().find(|(name, _)| is(name)).map(|(_, of)| (*of).to_owned());
    let root = imports.get(root).cloned().or_else(known)?;
    Some(rest.iter().fold(root, |path, name| format!("{path}.{name}")))
}

/// Whether a function of a package's has nothing here that stands for it: `plt.subplots`.
pub(super) fn is_without(path: &[String], imports: &Imports) -> bool {
    const PACKAGES: [&str; 5] =
        ["matplotlib.", "numpy.random.", "torch.func.", "itertools.", "collections.namedtuple"];
    full(path, imports)
        .is_some_and(|full| PACKAGES.iter().any(|package| full.starts_with(package)) && here(&full).is_none())
}

/// The name, with its module, of something that no name alone calls: `nn::Linear` of `Linear`.
pub(super) fn in_module(name: &str) -> Option<String> {
    let of: Vec<&OpDef> = rows().filter(|def| def.name == name).collect();
    let alone = |form: &Form| !matches!(form, Form::Of(_) | Form::Functional | Form::Operator(_));
    if of.iter().flat_map(|def| def.forms).any(alone) {
        return None;
    }
    of.into_iter().flat_map(names).find(|full| full.contains("::"))
}

/// Whether a name of a module is a function of it: `cuda::device_count`.
pub(super) fn is_in_module(full: &str) -> bool {
    let Some((space, name)) = full.rsplit_once("::") else { return false };
    let of = |form: &Form| match form {
        Form::Of(own) => *own == space,
        Form::Functional => space == "F",
        _ => false,
    };
    rows().any(|def| def.name == name && def.forms.iter().any(of))
}

/// A function of the lab's as a value: a closure of what it can't go without.
pub(super) fn handed(full: &str) -> Option<String> {
    let (space, name) = full.rsplit_once("::").unwrap_or_default();
    // Switches, and what a device tells, are nothing to hand on.
    matches!(space.split("::").next(), Some("" | "F" | "nn" | "optim" | "linalg" | "special" | "data"))
        .then_some(())?;
    let is = |form: &Form| match form {
        Form::Of(own) => *own == space,
        Form::Functional => space == "F",
        Form::Function => space.is_empty(),
        _ => false,
    };
    let name = if space.is_empty() { full } else { name };
    // `torch.float` is a dtype.
    let is_value = |form: &Form| matches!(form, Form::Constant | Form::ValueOf(_) | Form::Word);
    if space.is_empty() && rows().any(|def| def.name == name && def.forms.iter().any(is_value)) {
        return None;
    }
    let def = rows().find(|def| def.name == name && def.forms.iter().any(is))?;
    let told = |param: &Param| if param.name == "input" { "x" } else { param.name };
    let is_needed = |param: &&Param| param.default.is_none() || param.name == "modules";
    let mut given: Vec<&str> = def.params.iter().filter(is_needed).map(told).collect();
    // Hardly anyone makes one without its learning rate.
    given.extend((space == "optim").then_some("options"));
    let all = given.join(", ");
    Some(format!("|{all}| {full}({all})"))
}

/// Whether a name of a type is a value of it and no function: `x.shape`.
pub(super) fn is_property(name: &str) -> bool {
    let mut of = rows().filter(|def| def.name == name).peekable();
    of.peek().is_some() && of.all(|def| def.forms.iter().all(|form| matches!(form, Form::Property)))
}

/// Whether something of the lab's has a value of this name: `x.device`.
pub(super) fn has_property(name: &str) -> bool {
    rows().any(|def| def.name == name && def.forms.contains(&Form::Property))
}

/// Whether something has a method of this name.
pub(super) fn is_method(name: &str) -> bool {
    rows().any(|def| def.name == name && def.forms.contains(&Form::Method))
}

/// Whether nothing of the lab's has this name.
pub(super) fn lacks(name: &str) -> bool {
    !rows().any(|def| def.name == name)
}

/// Whether the lab has a function of this name.
pub(super) fn is_function(name: &str) -> bool {
    rows().any(|def| def.name == name && def.forms.contains(&Form::Function))
}

/// Whether a function gives a tensor.
pub(super) fn makes_tensor(name: &str) -> bool {
    let path: Vec<&str> = name.split("::").collect();
    python::gives_tensor(&path)
}

fn here(full: &str) -> Option<String> {
    if let Some((_, own)) = OTHERS.iter().find(|(name, _)| *name == full) {
        return Some((*own).to_owned());
    }
    // `dist.ReduceOp.SUM`
    if let Some((_, name)) = full.split_once(".ReduceOp.") {
        return Some(format!("\"{}\"", name.to_lowercase()));
    }
    let path = full.strip_prefix("numpy.").map_or(full.to_owned(), |rest| format!("torch.{rest}"));
    let last = path.rsplit('.').next()?;
    if path.contains(".nn.functional.") {
        let functional = |def: &OpDef| def.name == last && def.forms.contains(&Form::Functional);
        return rows().any(functional).then(|| format!("F::{last}"));
    }
    let exact = rows().find(|def| torch_path(def).as_deref() == Some(&path));
    if let Some(name) = exact.and_then(|def| names(def).into_iter().next()) {
        return Some(name);
    }
    let (space, name) = path.rsplit_once('.')?;
    if let Some(space) = module(space) {
        return Some(format!("{space}::{name}"));
    }
    match path.split_once('.')? {
        ("torch", rest) if rest.starts_with("func.") || full.starts_with("numpy.random.") => {
            let own = rest.replace('.', "::");
            is_in_module(&own).then_some(own)
        }
        ("torch", rest) if rest.contains('.') => Some(rest.replace('.', "::")),
        ("torch" | "math", rest) => Some(rest.to_owned()),
        ("matplotlib", rest) => {
            let name = rest.rsplit('.').next()?;
            let own = format!("plot::{}", if name == "plot" { "line" } else { name });
            is_in_module(&own).then_some(own)
        }
        _ => None,
    }
}

/// What a module of PyTorch's is here.
fn module(path: &str) -> Option<String> {
    let of = spaces::ROWS.iter().find(|def| torch_path(def).as_deref() == Some(path))?;
    match of.forms {
        [Form::Space("")] => Some(of.name.to_owned()),
        [Form::Space(around)] => Some(format!("{around}::{}", of.name)),
        _ => None,
    }
}
