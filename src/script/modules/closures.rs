//! Closures by the name that modules are called by.

use std::any::TypeId;

use rhai::{Array, Dynamic, Engine, FnPtr, NativeCallContext};

/// As many as a function of the engine's takes beside the closure.
const MOST_ARGUMENTS: usize = 12;

/// `f.forward(x)`: what is given a module, or a function such as `|x| F::gelu(x)`, calls both the same way.
pub(super) fn register(engine: &mut Engine) {
    for count in 0..=MOST_ARGUMENTS {
        let given = std::iter::repeat_n(TypeId::of::<Dynamic>(), count);
        let types: Vec<TypeId> = std::iter::once(TypeId::of::<FnPtr>()).chain(given).collect();
        engine.register_raw_fn("forward", types, |context: NativeCallContext, args: &mut [&mut Dynamic]| {
            let function = args.first().and_then(|f| f.read_lock::<FnPtr>().map(|f| f.clone()));
            let Some(function) = function else { return Ok(Dynamic::UNIT) };
            let given: Array = args.iter_mut().skip(1).map(|arg| arg.take()).collect();
            function.call_within_context::<Dynamic>(&context, given)
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::script::testing::shown;

    #[test]
    fn layers_and_closures_are_called_by_one_name() {
        let code = "let n = 1.0; let xs = []; for f in [nn::ReLU(), |x| x + n, |x| F::relu(x) * 2] { \
                    xs.push(f.forward(tensor([-2.0, 3.0])).sum().item()) } xs";
        assert_eq!(shown(&[code]), "[3.0, 3.0, 6.0]");
        assert_eq!(shown(&["let f = |a, b| a - b; f.forward(5, 2)"]), "3");
        assert_eq!(shown(&["(|| 4).forward()"]), "4");
    }
}
