//! What is told of classes and decorators for which no line can be offered.

/// What is told of a class for which no line can be offered, by what it is derived from.
pub(super) fn of_class(line: &str) -> &'static str {
    const BASES: [(&str, &str); 5] = [
        (
            "Dataset",
            "a data set is what `data::Dataset(length, |i| …)` makes, or `data::TensorDataset(x, y)`: a loader takes either",
        ),
        ("Sequential", "`let Net = || nn::Sequential([…]);` is such a class"),
        (
            "Function",
            "a function with a gradient of its own is what `autograd::Function(|ctx, x| …, |ctx, g| …)` makes, and `f.apply(x)` \
             calls it",
        ),
        (
            "Module",
            "a class of a module is a closure that makes one: `let Net = || nn::module(#{…}, |self, x| …);`, with its methods \
             as closures that are given the module",
        ),
        ("Scheduler", "`optim::lr_scheduler::LambdaLR(opt, |epoch| …)` takes a rule of one's own"),
    ];
    let base = line.split_once('(').map_or("", |(_, base)| base);
    let known = BASES.iter().find(|(name, _)| base.contains(name)).map(|(_, told)| *told);
    known.unwrap_or(
        "there are no classes, and nothing is inherited: a map holds values and closures, `nn::module(#{…}, |self, x| …)` \
         makes a network",
    )
}

/// What is told of what stands before a function.
pub(super) fn decorator(line: &str) -> &'static str {
    match line.trim() {
        line if line.starts_with("@dataclass") => {
            "a map holds values that belong together: `let c = #{lr: 0.1};`, and `c.lr`"
        }
        line if line.starts_with("@property") => {
            "a value of a map is a property: `#{area: w * h}`, or a closure that is called"
        }
        _ => "nothing stands before a function here: a closure that takes it is called with it",
    }
}
