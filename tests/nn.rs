//! Modules and optimisers: what they print, draw, refuse and learn, against what PyTorch gave for the same.

mod gradients;
mod modules;
mod optimisers;
mod packed;
mod parts;
mod recurrent;
mod steps;

use std::sync::Arc;

use rhai::Dynamic;
use serde_json::Value;
use tensorlab::device::Machine;
use tensorlab::device::open::Use;
use tensorlab::script::engine::Stopped;
use tensorlab::script::{Interpreter, Limits, Origin, Silent};
use tensorlab::tensor::Tensor;

/// A session without output.
pub struct Lab(Interpreter);

impl Lab {
    pub fn new() -> Lab {
        Lab::on("cpu")
    }

    pub fn on(devices: &str) -> Lab {
        let machine = if devices == "cpu" {
            Machine::cpu_only()
        } else {
            Machine::open(&devices.parse().unwrap(), Use::Headless).unwrap().machine
        };
        Lab(Interpreter::new(machine, Arc::new(Silent), &Limits::default()))
    }

    /// Checks on the CPU and on a simulated GPU, where `leaf(values)` gives a tensor that requires a gradient.
    pub fn everywhere(check: impl Fn(&mut Lab)) {
        for (devices, device) in [("cpu", "cpu"), ("sim:t4", "cuda")] {
            let mut lab = Lab::on(devices);
            lab.run(&format!(
                "fn leaf(values) {{ tensor(values, #{{device: \"{device}\", requires_grad: true}}) }}"
            ));
            check(&mut lab);
        }
    }

    /// The value of some code, or its error as `Kind: message`, with the hint.
    pub fn try_run(&mut self, code: &str) -> Result<Dynamic, (String, Option<String>)> {
        self.0.evaluate(1, &Origin { name: "test", code, first_line: 1 }).map_err(|stopped| match stopped {
            Stopped::Fault(f) => (format!("{}: {}", f.kind, f.message), f.hint.clone()),
            Stopped::Cancelled(e) => (e.to_string(), None),
        })
    }

    pub fn run(&mut self, code: &str) {
        let _ = self.value(code);
    }

    pub fn value(&mut self, code: &str) -> Dynamic {
        self.try_run(code).unwrap_or_else(|(e, hint)| panic!("{code}\n{e}\n{hint:?}"))
    }

    /// The printed form of a value; a string is itself.
    pub fn text(&mut self, code: &str) -> String {
        let value = self.value(code);
        if let Ok(text) = value.clone().into_string() {
            return text;
        }
        self.0.show(&value).unwrap_or_default()
    }

    pub fn tensor(&mut self, code: &str) -> Tensor {
        let value = self.value(code);
        value.read_lock::<Tensor>().unwrap_or_else(|| panic!("{code} is no tensor: {value:?}")).clone()
    }

    pub fn numbers(&mut self, code: &str) -> Vec<f64> {
        self.tensor(code).to_f64s("test").unwrap()
    }

    pub fn float(&mut self, code: &str) -> f64 {
        self.value(code).as_float().unwrap()
    }

    pub fn truth(&mut self, code: &str) -> bool {
        self.value(code).as_bool().unwrap()
    }

    /// The error of some code and its hint.
    pub fn error(&mut self, code: &str) -> (String, String) {
        match self.try_run(code) {
            Ok(value) => panic!("{code} gives {value:?}"),
            Err((text, hint)) => (text, hint.unwrap_or_default()),
        }
    }

    pub fn set(&mut self, name: &str, value: Tensor) {
        self.0.set(name, Dynamic::from(value));
    }

    pub fn reset(&mut self) {
        self.0.reset();
    }
}

/// What PyTorch gave: see `scripts/record_modules.py`.
pub fn recorded() -> Value {
    serde_json::from_str(include_str!("golden/modules.json")).unwrap()
}

/// Entries of the form `[code, expected]`.
pub fn pairs<'a>(record: &'a Value, key: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    record[key].as_array().unwrap().iter().map(|pair| (pair[0].as_str().unwrap(), &pair[1]))
}
