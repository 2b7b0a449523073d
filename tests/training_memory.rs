//! Bytes allocated after every phase of training, against PyTorch's on a GPU.
//!
//! Only the memory of these runs is looked at, so the device does no arithmetic: its allocator is the simulated
//! GPU's own, and every launch succeeds at once.

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use rhai::{Array, Dynamic};
use serde_json::Value;
use tensorlab::base::event::{Clock, Span};
use tensorlab::base::{Device, Result};
use tensorlab::device::Buffer;
use tensorlab::device::backend::{DevicePool, Mark, Moved, Properties, Refusal, Transfer, When, Workspace};
use tensorlab::device::cpu::memory::HostBlock;
use tensorlab::device::sim::{Host, HostProfile, Profile, devices};
use tensorlab::device::{Backend, Launch, Machine};
use tensorlab::script::{Interpreter, Limits, Origin, Silent};

/// A simulated GPU that computes nothing, with or without what libraries work in.
struct Idle(Box<dyn Backend>, bool);

impl Backend for Idle {
    fn device(&self) -> Device {
        self.0.device()
    }
    fn properties(&self) -> &Properties {
        self.0.properties()
    }
    fn allocate(&self, bytes: usize, stream: u32) -> std::result::Result<Buffer, Refusal> {
        self.0.allocate(bytes, stream)
    }
    fn free(&self, buffer: Buffer) {
        self.0.free(buffer);
    }
    fn workspace(&self, launch: &Launch) -> std::result::Result<Option<Workspace>, Refusal> {
        if self.1 { self.0.workspace(launch) } else { Ok(None) }
    }
    fn page_lock(&self, block: &HostBlock) -> Result<()> {
        self.0.page_lock(block)
    }
    fn pool(&self) -> Option<&Mutex<DevicePool>> {
        self.0.pool()
    }
    fn launch(&self, _: &Launch) -> Result<When> {
        Ok(When::Ran(Span { start: 0, nanos: 0, clock: Clock::Modelled }))
    }
    fn transfer(&self, transfer: &Transfer) -> Result<Moved> {
        self.0.transfer(transfer)
    }
    fn create_stream(&self) -> Result<u32> {
        self.0.create_stream()
    }
    fn record(&self, stream: u32) -> Result<Mark> {
        self.0.record(stream)
    }
    fn wait(&self, stream: u32, mark: Mark) -> Result<()> {
        self.0.wait(stream, mark)
    }
    fn query(&self, mark: Mark) -> Result<bool> {
        self.0.query(mark)
    }
    fn elapsed(&self, from: Mark, to: Mark) -> Result<f64> {
        self.0.elapsed(from, to)
    }
    fn synchronize(&self, stream: Option<u32>) -> Result<Span> {
        self.0.synchronize(stream)
    }
    fn synchronize_mark(&self, mark: Mark) -> Result<Span> {
        self.0.synchronize_mark(mark)
    }
    fn now(&self) -> u64 {
        self.0.now()
    }
}

fn idle(workspaces: bool) -> Arc<Machine> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/device/sim/profiles/h100.toml");
    let profile = Profile::parse(&std::fs::read_to_string(path).unwrap(), "h100").unwrap();
    Machine::new(|shared| {
        let host = Host { profile: HostProfile::builtin("notebook").unwrap(), measured: true };
        let (_, gpus) = devices(vec![profile], &host, shared);
        (None, gpus.into_iter().map(|d| Box::new(Idle(d, workspaces)) as Box<dyn Backend>).collect())
    })
}

/// The parts of a run that differ.
struct Run {
    name: &'static str,
    model: &'static str,
    input: &'static str,
    optimizer: &'static str,
    forward: &'static str,
    loss: &'static str,
}

const MLP: &str = "let parts = []; for i in 0..8 { parts.push(nn::Linear(1024, 1024)); parts.push(nn::ReLU()); } \
                   nn::Sequential(parts).cuda()";
const WIDE: &str = "ones([4096, 1024], #{device: \"cuda\"})";
const SGD: &str = "optim::SGD(net.parameters(), #{lr: 0.01})";
const ADAM: &str = "optim::Adam(net.parameters())";
const SUM: &str = "out.float().sum()";

const RUNS: [Run; 7] = [
    Run { name: "mlp sgd", model: MLP, input: WIDE, optimizer: SGD, forward: "net.forward(x)", loss: SUM },
    Run { name: "mlp adam", model: MLP, input: WIDE, optimizer: ADAM, forward: "net.forward(x)", loss: SUM },
    Run {
        name: "mlp no_grad",
        model: MLP,
        input: WIDE,
        optimizer: SGD,
        forward: "with no_grad() { net.forward(x) }",
        loss: "",
    },
    Run {
        name: "mlp checkpoint_sequential 4",
        model: MLP,
        input: WIDE,
        optimizer: SGD,
        forward: "checkpoint_sequential(net, 4, x)",
        loss: SUM,
    },
    Run {
        name: "mlp autocast float16",
        model: MLP,
        input: WIDE,
        optimizer: SGD,
        forward: "with autocast(\"cuda\") { net.forward(x) }",
        loss: SUM,
    },
    Run {
        name: "mlp 64-256-10 b128 cross_entropy",
        model: "nn::Sequential(nn::Linear(64, 256), nn::ReLU(), nn::Linear(256, 10)).cuda()",
        input: "ones([128, 64], #{device: \"cuda\"})",
        optimizer: SGD,
        forward: "net.forward(x)",
        loss: "F::cross_entropy(out, zeros([128], #{dtype: int64, device: \"cuda\"}))",
    },
    Run {
        name: "gelu layernorm tanh sigmoid dropout softmax",
        model: "nn::Sequential(nn::Linear(256, 256), nn::GELU(), nn::LayerNorm(256), nn::Linear(256, 256), \
                nn::Tanh(), nn::Linear(256, 256), nn::Sigmoid(), nn::Dropout(0.5), nn::Linear(256, 256), \
                nn::Softmax(-1)).cuda()",
        input: "ones([512, 256], #{device: \"cuda\"})",
        optimizer: ADAM,
        forward: "net.forward(x)",
        loss: SUM,
    },
];

impl Run {
    /// Two steps, each phase followed by a note of what is allocated.
    fn script(&self) -> String {
        let mut code = format!(
            "ones([2, 2], #{{device: \"cuda\"}}) @ ones([2, 2], #{{device: \"cuda\"}});\n\
             let start = cuda::memory_allocated(); cuda::reset_peak_memory_stats(); let seen = [];\n\
             let note = |seen, tag| {{ seen.push([tag, cuda::memory_allocated(), cuda::max_memory_allocated()]); seen }};\n\
             let net = {{ {} }}; let opt = {}; seen = note.call(seen, \"model\");\n\
             let x = {}; seen = note.call(seen, \"input\");\n",
            self.model, self.optimizer, self.input
        );
        for step in 0..2 {
            let _ = writeln!(code, "let out = {}; seen = note.call(seen, \"forward{step}\");", self.forward);
            if !self.loss.is_empty() {
                let _ = writeln!(
                    code,
                    "let loss = {}; seen = note.call(seen, \"loss{step}\");\n\
                     loss.backward(); seen = note.call(seen, \"backward{step}\");\n\
                     opt.step(); seen = note.call(seen, \"step{step}\");\n\
                     opt.zero_grad(); seen = note.call(seen, \"zero{step}\");\ndrop(loss);",
                    self.loss
                );
            }
            let _ = writeln!(code, "drop(out); seen = note.call(seen, \"del{step}\");");
        }
        code + "seen.map(|s| [s[0], s[1] - start, s[2] - start])"
    }

    /// Tag, allocated and peak bytes of each phase.
    fn phases(&self, workspaces: bool) -> Vec<(String, i64, i64)> {
        let mut interpreter = Interpreter::new(idle(workspaces), Arc::new(Silent), &Limits::default());
        let code = self.script();
        let value = interpreter.evaluate(1, &Origin { name: self.name, code: &code, first_line: 1 });
        let value = value.unwrap_or_else(|e| panic!("{}: {e:?}", self.name));
        let row = |phase: &Dynamic| {
            let row = phase.read_lock::<Array>().unwrap();
            (row[0].to_string(), row[1].as_int().unwrap(), row[2].as_int().unwrap())
        };
        value.read_lock::<Array>().unwrap().iter().map(row).collect()
    }
}

/// By how much PyTorch's peaks are higher: sums work in memory of their own there. In the loss it holds the parts that
/// 512 blocks sum up, and their semaphores; in the backward pass the gradient of a bias of 1,024 elements and 512 bytes
/// more stand beside the workspace of the last layer's products. Small sums have no such parts.
fn unlike(run: &str, tag: &str) -> i64 {
    let backward = !["model", "input", "forward0", "loss0"].contains(&tag);
    match run {
        "mlp autocast float16" if tag == "loss0" => 2048 + 512,
        "mlp autocast float16" if backward => 2048 + 512,
        "mlp sgd" | "mlp checkpoint_sequential 4" if backward => 4096 + 512,
        // Adam's state is there from the first step on, so that later forward passes have peaks of their own.
        "mlp adam" if backward && !["forward1", "loss1"].contains(&tag) => 4096 + 512,
        _ => 0,
    }
}

#[test]
fn training_takes_the_bytes_it_takes_in_pytorch() {
    let golden: Value = serde_json::from_str(include_str!("golden/training_memory.json")).unwrap();
    let runs = golden["runs"].as_object().unwrap();
    assert_eq!(runs.len(), RUNS.len());
    let mut wrong = String::new();
    for run in &RUNS {
        let want = runs[run.name].as_array().unwrap();
        let got = run.phases(true);
        assert_eq!(got.len(), want.len(), "{}: phases", run.name);
        let mut table = format!(
            "\n{}\n{:<12}{:>14}{:>14}{:>14}{:>14}\n",
            run.name, "", "bytes", "PyTorch", "peak", "PyTorch"
        );
        let mut differs = false;
        for ((tag, bytes, peak), want) in got.iter().zip(want) {
            let (their_bytes, their_peak) = (want[1].as_i64().unwrap(), want[2].as_i64().unwrap());
            assert_eq!(tag, want[0].as_str().unwrap());
            let bad = *bytes != their_bytes || *peak + unlike(run.name, tag) != their_peak;
            differs |= bad;
            let mark = if bad { "  <--" } else { "" };
            let _ = writeln!(table, "{tag:<12}{bytes:>14}{their_bytes:>14}{peak:>14}{their_peak:>14}{mark}");
        }
        if differs {
            wrong += &table;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

const MIB: i64 = 1 << 20;

/// What a real H100 holds besides, by run and by the phase in which it comes; it stays, and later runs find it there. It
/// fits workspaces of cuBLASLt (1 MiB) and cuBLAS (32 MiB), one for each thread that makes products.
const WORKSPACES: [(&str, &str, i64); 3] =
    [("plain", "fwd0", MIB), ("plain", "bwd0", 32 * MIB), ("ckpt", "bwd0", MIB)];

#[test]
fn a_real_gpu_holds_the_same_bytes_and_its_workspaces() {
    let recorded: Value = serde_json::from_str(include_str!("../docs/gpu/h100/semantics.json")).unwrap();
    let rows = recorded["trainmem"].as_array().unwrap();
    let runs = [
        ("plain", "mlp sgd"),
        ("adam", "mlp adam"),
        ("ckpt", "mlp checkpoint_sequential 4"),
        ("nograd", "mlp no_grad"),
        ("amp", "mlp autocast float16"),
    ];
    let (mut wrong, mut compared) = (String::new(), 0);
    for (kind, name) in runs {
        let of_kind = |row: &&Value| row[0].as_str().unwrap().split(' ').next() == Some(kind);
        let number = |row: &Value, at: usize| row[at].as_i64().unwrap();
        let mut rows = rows.iter().filter(of_kind);
        let start = number(rows.next().unwrap(), 1);
        let run = RUNS.iter().find(|run| run.name == name).unwrap();
        let phases = run.phases(false);
        let mut workspaces = 0;
        for row in rows {
            let theirs = row[0].as_str().unwrap().split_once(' ').unwrap().1;
            let came = WORKSPACES.iter().filter(|(of, at, _)| (*of, *at) == (kind, theirs));
            workspaces += came.map(|(.., bytes)| bytes).sum::<i64>();
            let ours = theirs.replace("fwd", "forward").replace("bwd", "backward").replace("del y", "del");
            let (_, bytes, peak) = phases.iter().find(|(tag, ..)| *tag == ours).unwrap();
            let (want, most) = (number(row, 1) - start - workspaces, number(row, 3) - start);
            if *bytes != want || *peak > most {
                let _ = writeln!(wrong, "{kind} {theirs}: {bytes} (peak {peak}), not {want} (peak {most})");
            }
            compared += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(compared, 54);
}

/// What a step takes beside the state, in parameters: `foreach`, which PyTorch takes on GPUs, holds lists of tensors at
/// once. Counted in PyTorch 2.15 by a `TorchDispatchMode` over the second step of each with `foreach=True`.
#[test]
fn steps_take_the_memory_that_pytorchs_take_for_all_parameters_at_once() {
    for (optimizer, want) in [
        ("SGD(p, 0.1)", 0.0),
        ("SGD(p, #{lr: 0.1, momentum: 0.9, nesterov: true})", 0.0),
        ("SGD(p, #{lr: 0.1, weight_decay: 0.1})", 1.0),
        ("SGD(p, #{lr: 0.1, maximize: true})", 1.0),
        ("Adam(p)", 1.0),
        ("Adam(p, #{weight_decay: 0.1})", 1.0),
        ("AdamW(p)", 1.0),
        ("NAdam(p, #{weight_decay: 0.1})", 2.0),
        ("NAdam(p, #{weight_decay: 0.1, decoupled_weight_decay: true})", 1.0),
        ("Adadelta(p)", 2.0),
        ("Adadelta(p, #{maximize: true})", 3.0),
        ("Adagrad(p)", 2.0),
        ("RMSprop(p)", 1.0),
        ("RMSprop(p, #{weight_decay: 0.1})", 2.0),
        ("AdamW(p, #{fused: true})", 0.0),
        ("AdamW(p, #{foreach: false})", 0.0),
    ] {
        let code = format!(
            "let p = range(0, 64).to_array().map(|i| zeros([1024], #{{device: \"cuda\"}}).requires_grad_(true));
             let o = optim::{optimizer};
             let most = 0.0;
             for i in 0..2 {{
                 for t in p {{ t.grad = ones([1024], #{{device: \"cuda\"}}); }}
                 let before = cuda::memory_allocated();
                 cuda::reset_peak_memory_stats();
                 o.step();
                 most = (cuda::max_memory_allocated() - before) / (64.0 * 4096.0);
             }}
             most"
        );
        let most = crate::parallel::on("sim:t4", &code).parse::<f64>().unwrap();
        // Some take a few tensors of one parameter after the other.
        assert!((want..want + 0.1).contains(&most), "{optimizer}: {most}, not {want}");
    }
    let both = crate::parallel::fault(
        "sim:t4",
        "optim::Adam([ones(1).requires_grad_(true)], #{foreach: true, fused: true})",
    );
    assert_eq!(both.message, "`fused` and `foreach` cannot be `True` together.");
}
