//! Modules that names stand in, such as `nn` and `optim::lr_scheduler`: their pages, and where they are in PyTorch.

use crate::op::{Family, Form, OpDef};

use crate::op::def::documented;

/// A module of the top.
const fn space(name: &'static str, summary: &'static str) -> OpDef {
    OpDef::script(name, Family::Space, summary, &[]).forms(&[Form::Space("")])
}

/// Every module that a script can name.
pub static ROWS: &[OpDef] = &[
    space("F", "Functions of networks that keep nothing: activations, losses, convolutions.")
        .torch("torch.nn.functional")
        .example("F::relu(tensor([-1.0, 1.0]))", "tensor([0., 1.])"),
    space("nn", "Layers, losses and containers: modules, which keep parameters.")
        .torch("torch.nn")
        .example("nn::Linear(3, 2)", "Linear(in_features=3, out_features=2, bias=True)"),
    space("init", "Fills parameters with the values that training begins with, in place.")
        .forms(&[Form::Space("nn")])
        .torch("torch.nn.init")
        .example("nn::init::ones_(zeros(2))", "tensor([1., 1.])"),
    space("utils", "What training does with parameters beside an optimiser's step.")
        .forms(&[Form::Space("nn")])
        .torch("torch.nn.utils")
        .example("nn::utils::clip_grad_norm_([nn::Parameter(ones(2))], 1.0)", "tensor(0.)"),
    space("parallel", "Networks of ranks.")
        .forms(&[Form::Space("nn")])
        .torch("torch.nn.parallel")
        .example(
            "distributed::spawn(|rank, world| nn::parallel::DistributedDataParallel(nn::Linear(1, 1)).module.in_features, #{nprocs: 2})",
            "[1, 1]",
        ),
    space("rnn", "Sequences of different lengths, padded or packed.")
        .forms(&[Form::Space("nn::utils")])
        .torch("torch.nn.utils.rnn")
        .example("nn::utils::rnn::pad_sequence([ones(2), ones(1)])", "tensor([[1., 1.],\n        [1., 0.]])"),
    space("Transformer", "What goes with nn::Transformer beside the layer itself.")
        .forms(&[Form::Space("nn")])
        .torch("torch.nn.Transformer")
        .example("nn::Transformer::generate_square_subsequent_mask(2).shape", "[2, 2]"),
    space("optim", "Optimisers, which change parameters by their gradients.")
        .torch("torch.optim")
        .example("optim::SGD([nn::Parameter(ones(2))], 0.1).param_groups[0].lr", "0.1"),
    space("lr_scheduler", "Schedules of learning rates.")
        .forms(&[Form::Space("optim")])
        .torch("torch.optim.lr_scheduler")
        .details(
            "`let sched = optim::lr_scheduler::StepLR(opt, 30, 0.1)`, then `sched.step()` after each epoch \
             (ReduceLROnPlateau: `sched.step(loss)`; OneCycleLR: after each batch). `sched.get_last_lr()` gives the rates \
             of all groups, `sched.last_epoch` the epoch they are for; state_dict() and load_state_dict() carry a schedule \
             on.",
        )
        .example(
            "let opt = optim::SGD([nn::Parameter(ones(2))], 0.1); optim::lr_scheduler::StepLR(opt, 30, 0.1).get_last_lr()",
            "[0.1]",
        ),
    space("distributions", "Probability distributions: draws, and logarithms of densities, from which gradients flow.")
        .torch("torch.distributions")
        .example("distributions::Categorical(ones(4)).entropy()", "tensor(1.3863)"),
    space("data", "Datasets, samplers and the loader that makes batches of them.")
        .torch("torch.utils.data")
        .example("data::DataLoader(arange(6), #{batch_size: 4}).len()", "2"),
    space("Embedding", "Tables of vectors that are there already.")
        .forms(&[Form::Space("nn")])
        .torch("torch.nn.Embedding")
        .example("nn::Embedding::from_pretrained(eye(2)).forward(tensor([1]))", "tensor([[0., 1.]])"),
    space("plot", "Figures from arrays and tensors.")
        .own()
        .details("Calls add to the same figure until `plot::figure()` begins another or the cell ends; `plot::show()` shows it, \
             and the end of a cell of the lab shows what was neither shown nor saved.")
        .example("plot::figure(); plot::line([1, 2, 4]).save(\"run.svg\"); 1", "1"),
    space("cuda", "GPUs: their memory, streams, events and graphs.")
        .torch("torch.cuda")
        .example("cuda::is_available()", "true"),
    space("version", "What the program was built for.")
        .torch("torch.version")
        .example("version::cuda", "\"12.8\""),
    space("cudnn", "How convolutions of GPUs are computed.")
        .torch("torch.backends.cudnn")
        .example("cudnn::enabled()", "true"),
    space("matmul", "How products of GPUs are computed.")
        .torch("torch.backends.cuda.matmul")
        .example("matmul::allow_tf32()", "false"),
    space("amp", "Mixed precision: regions in half precision, and losses that are scaled for it.")
        .torch("torch.amp")
        .example("amp::GradScaler().get_scale()", "65536.0"),
    space("amp", "Mixed precision on GPUs, under names that PyTorch advises against by now.")
        .forms(&[Form::Space("cuda")])
        .torch("torch.cuda.amp")
        .example("cuda::amp::GradScaler().get_scale()", "65536.0"),
    space("autograd", "Gradients as values, and errors that say where they come from.")
        .torch("torch.autograd")
        .example("let x = tensor(3.0, #{requires_grad: true}); autograd::grad(x * x, x)[0]", "tensor(6.)"),
    space("functional", "All derivatives of a function at once.")
        .forms(&[Form::Space("autograd")])
        .torch("torch.autograd.functional")
        .example("autograd::functional::jacobian(|x| x * 2, tensor([1.0])).item()", "2.0"),
    space("linalg", "Decompositions, inverses, norms and solutions of linear systems.")
        .torch("torch.linalg")
        .example("linalg::det(eye(2))", "tensor(1.)"),
    space("special", "Functions of mathematical physics and statistics.")
        .torch("torch.special")
        .example("special::entr(tensor([0.5]))", "tensor([0.3466])"),
    space("testing", "Comparisons for tests.")
        .torch("torch.testing")
        .example("testing::assert_close(ones(1), ones(1)); 1", "1"),
    space("telemetry", "What a run did, as numbers and as files.")
        .own()
        .example("telemetry::record(|| ones(2)).len() > 0", "true"),
    space("distributed", "Ranks that work on one task, each with a network and data of its own.")
        .torch("torch.distributed")
        .example("distributed::spawn(|rank, world| rank, #{nprocs: 2})", "[0, 1]"),
    space("parallel", "Tensors and networks on several GPUs.")
        .torch("torch.nn.parallel")
        .example("parallel::scatter(arange(4), [0, 1]).len()", "2"),
];

const _: [&[OpDef]; 1] = documented([ROWS]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::help;

    /// Else it would be told that PyTorch has nothing like what is in it.
    #[test]
    fn every_module_that_something_is_in_has_a_row() {
        for def in help::rows() {
            for form in def.forms {
                let (Form::Of(path) | Form::ValueOf(path)) = form else { continue };
                let (around, name) = path.rsplit_once("::").unwrap_or(("", path));
                let is = |row: &OpDef| {
                    row.name == name && matches!(row.forms, [Form::Space(own)] if *own == around)
                };
                assert!(ROWS.iter().any(is), "{path} has no row, and {} is in it", def.name);
            }
        }
    }
}
