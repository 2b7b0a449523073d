//! How PyTorch takes a step on a GPU: each operation over lists of tensors in a few launches (`foreach`), one kernel for lists
//! (`fused`), or one parameter after the other. Here the values are computed one parameter after the other in any case; a
//! simulated GPU shows PyTorch's launches.

use crate::base::{DType, Device, Result};
use crate::device::Kernel;
use crate::device::class::KernelClass;
use crate::tensor::{In, Tensor, launch};

use super::{Group, Options};

/// Which of PyTorch's implementations takes the step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepWay {
    Lists,
    Fused,
    OneByOne,
}

/// The operations of a step, in words that [`Operation::parse`] reads.
pub type Operations = Vec<&'static str>;

/// Elements of a tensor that a block of threads takes.
const CHUNK: usize = 65_536;
/// Blocks of one launch.
const BLOCKS: usize = 320;
/// Tensors of one launch, by the number of lists: what fits into its arguments; and with a number for each tensor.
const TENSORS: [usize; 5] = [110, 64, 48, 36, 30];
const WITH_NUMBERS: [usize; 5] = [96, 64, 48, 36, 30];

/// How a step of the group is shown: not at all where it does not lie on simulated GPUs, or is captured in a graph, whose
/// parts are the kernels that compute it.
pub(super) fn shown(group: &Group) -> Option<StepWay> {
    let mut any = false;
    for parameter in group.parameters.iter().filter(|p| p.grad().is_some()) {
        let context = parameter.context();
        if !context.device.is_cuda()
            || !context.backend.properties().simulated
            || context.is_capturing()
            || !parameter.dtype().is_float()
        {
            return None;
        }
        any = true;
    }
    any.then(|| group.options.way())
}

impl Options {
    /// What the options `foreach` and `fused` say; on a GPU the first is the default.
    pub(super) fn way(&self) -> StepWay {
        match (self.bool("fused"), self.is_off("foreach")) {
            (true, _) => StepWay::Fused,
            (false, true) => StepWay::OneByOne,
            (false, false) => StepWay::Lists,
        }
    }

    /// What comes before the moments: gradients with the other sign, and with the decay in them or the parameters less.
    pub(super) fn prepared(&self, decoupled: bool) -> Operations {
        let mut all = Operations::new();
        let (maximize, decays) = (self.bool("maximize"), self.float("weight_decay") != 0.0);
        if maximize {
            all.push("_foreach_neg/2");
        }
        match (decays, decoupled) {
            (true, true) => all.push("_foreach_mul_/1"),
            (true, false) => all.push(if maximize { "_foreach_add_/2" } else { "_foreach_add/3" }),
            _ => {}
        }
        all
    }
}

/// One operation of a step: `name/lists`, with an `n` behind where each tensor has a number of its own, `:k` where so many
/// lists are read and written, a `*` before what runs for each parameter alone, and a `#` before what counts the steps.
struct Operation {
    name: &'static str,
    lists: usize,
    numbered: bool,
    /// Lists that are read and written.
    moved: usize,
    alone: bool,
    counts: bool,
}

impl Operation {
    fn parse(text: &'static str, way: StepWay) -> Operation {
        let (name, about) = text.split_once('/').unwrap_or((text, "1"));
        let (alone, counts) = (name.starts_with('*'), name.starts_with('#'));
        let name = name.trim_start_matches(['*', '#']);
        let (lists, moved) = about.split_once(':').unwrap_or((about, ""));
        let lists: usize = lists.trim_end_matches('n').parse().unwrap_or(1);
        let in_place = usize::from(name.ends_with('_'));
        Operation {
            name: if way == StepWay::OneByOne { name.trim_start_matches("_foreach_") } else { name },
            lists,
            numbered: about.contains('n'),
            moved: moved.parse().unwrap_or(lists + in_place),
            alone: alone || way == StepWay::OneByOne,
            counts,
        }
    }

    fn most(&self) -> usize {
        let table = if self.numbered { WITH_NUMBERS } else { TENSORS };
        table.get(self.lists.saturating_sub(1)).copied().unwrap_or(1)
    }
}

/// Puts the launches of a step on the clock.
pub(super) fn tell(group: &Group, way: StepWay, operations: &[&'static str]) -> Result<()> {
    let mut sets: Vec<((Device, DType), Vec<(Tensor, Tensor)>)> = Vec::new();
    for parameter in &group.parameters {
        let Some(grad) = parameter.grad().filter(|_| parameter.numel() > 0) else { continue };
        let key = (parameter.device(), parameter.dtype());
        let pair = (parameter.clone(), grad);
        match sets.iter_mut().find(|(of, _)| *of == key) {
            Some((_, set)) => set.push(pair),
            None => sets.push((key, vec![pair])),
        }
    }
    let words = || operations.iter().flat_map(|all| all.split(' '));
    for (_, set) in &sets {
        if way == StepWay::OneByOne {
            for one in set.chunks(1) {
                words().try_for_each(|word| run(&Operation::parse(word, way), one))?;
            }
        } else {
            words().try_for_each(|word| run(&Operation::parse(word, way), set))?;
        }
    }
    Ok(())
}

/// One operation over a list, in as many launches as it takes.
fn run(operation: &Operation, set: &[(Tensor, Tensor)]) -> Result<()> {
    let sizes: Vec<usize> =
        set.iter().map(|(parameter, _)| if operation.counts { 1 } else { parameter.numel() }).collect();
    let most = if operation.alone { 1 } else { operation.most() };
    let blocks = if operation.alone { usize::MAX } else { BLOCKS };
    for Share { first, last, elements } in parts(&sizes, most, blocks) {
        let members = set.get(first..=last).unwrap_or(&[]);
        let size = members.first().map_or(0, |(parameter, _)| parameter.dtype().size());
        let bytes = (elements * size * operation.moved) as u64;
        let kernel = Kernel::Whole {
            name: operation.name,
            class: KernelClass::Elementwise,
            flops: elements as u64,
            bytes: Some(bytes),
        };
        let inputs: Vec<In> = members.iter().map(|(_, grad)| In::Tensor(grad)).collect();
        let outputs: Vec<&Tensor> = members.iter().map(|(parameter, _)| parameter).collect();
        launch(operation.name, &kernel, &inputs, &outputs)?;
    }
    Ok(())
}

/// The tensors of one launch, and how many of their elements are in it.
#[derive(Debug, PartialEq)]
struct Share {
    first: usize,
    last: usize,
    elements: usize,
}

/// How tensors of such sizes are shared out over launches: by the chunk, in order, until one is full.
fn parts(sizes: &[usize], most: usize, blocks: usize) -> Vec<Share> {
    let mut all = Vec::new();
    let (mut tensors, mut taken) = (0, 0);
    let mut part: Option<Share> = None;
    for (at, &size) in sizes.iter().enumerate() {
        tensors += 1;
        let chunks = size.div_ceil(CHUNK);
        for chunk in 0..chunks {
            let here = CHUNK.min(size - chunk * CHUNK);
            let open = part.get_or_insert(Share { first: at, last: at, elements: 0 });
            (open.last, open.elements) = (at, open.elements + here);
            taken += 1;
            let is_last = chunk + 1 == chunks;
            if (tensors == most && is_last) || taken == blocks {
                all.extend(part.take());
                (tensors, taken) = (usize::from(!is_last), 0);
            }
        }
    }
    all.extend(part);
    all
}

#[cfg(test)]
mod tests {
    use super::{BLOCKS, CHUNK, parts};

    fn count(sizes: &[usize], most: usize) -> usize {
        parts(sizes, most, BLOCKS).len()
    }

    /// The numbers of launches that PyTorch's loop over chunks gives.
    #[test]
    fn lists_are_shared_out_by_tensors_and_by_blocks() {
        assert_eq!(count(&[1; 110], 110), 1);
        assert_eq!(count(&[1; 111], 110), 2);
        assert_eq!(count(&[CHUNK * 320], 110), 1);
        assert_eq!(count(&[CHUNK * 320 + 1], 110), 2);
        assert_eq!(count(&[CHUNK * 319, 1, 1], 110), 2);
        // What goes on in the next launch is one of its tensors.
        assert_eq!(count(&[CHUNK * 321, 1, 1], 2), 3);
        assert_eq!(count(&[], 110), 0);
    }

    #[test]
    fn every_element_is_in_one_launch() {
        let sizes = [CHUNK * 400 + 3, 5, CHUNK, 7];
        let all = parts(&sizes, 3, BLOCKS);
        assert_eq!(all.iter().map(|part| part.elements).sum::<usize>(), sizes.iter().sum::<usize>());
    }
}
