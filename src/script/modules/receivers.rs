//! The types that methods are of.

use std::any::TypeId;

use rhai::Dynamic;

use crate::base::Error;
use crate::op::Receiver;

use super::cuda::{Captured, Event, Smi, Stream};
use super::data::Batches;
use super::iterables::{Iteration, Progress};
use super::optim::ParamGroup;
use super::own_function::{FunctionContext, OwnFunction};
use super::plot::screen::Drawn;
use super::run_events::RunEvents;

/// The type that a method belongs to.
pub(super) fn type_of(receiver: Receiver) -> Option<TypeId> {
    Some(match receiver {
        Receiver::None => return None,
        Receiver::Variable => TypeId::of::<Dynamic>(),
        Receiver::Tensor => TypeId::of::<crate::tensor::Tensor>(),
        Receiver::Handle => TypeId::of::<crate::tensor::hooks::Handle>(),
        Receiver::Distribution => TypeId::of::<crate::nn::laws::Law>(),
        Receiver::OwnFunction => TypeId::of::<OwnFunction>(),
        Receiver::FunctionContext => TypeId::of::<FunctionContext>(),
        Receiver::GradScaler => TypeId::of::<crate::amp::GradScaler>(),
        Receiver::Optimizer => TypeId::of::<crate::optim::Optimizer>(),
        Receiver::ParamGroup => TypeId::of::<ParamGroup>(),
        Receiver::Scheduler => TypeId::of::<crate::optim::Scheduler>(),
        Receiver::Module => TypeId::of::<crate::nn::Module>(),
        Receiver::Keys => TypeId::of::<crate::nn::state::Mismatch>(),
        Receiver::Packed => TypeId::of::<crate::nn::packed::Packed>(),
        Receiver::Dataset => TypeId::of::<crate::data::Data>(),
        Receiver::DataLoader => TypeId::of::<crate::data::DataLoader>(),
        Receiver::Batches => TypeId::of::<Batches>(),
        Receiver::Sampler => TypeId::of::<crate::data::sampler::Sampler>(),
        Receiver::Generator => TypeId::of::<crate::data::sampler::Generator>(),
        Receiver::Work => TypeId::of::<crate::distributed::PendingWork>(),
        Receiver::Figure => TypeId::of::<Drawn>(),
        Receiver::Stream => TypeId::of::<Stream>(),
        Receiver::Event => TypeId::of::<Event>(),
        Receiver::Graph => TypeId::of::<Captured>(),
        Receiver::Smi => TypeId::of::<Smi>(),
        Receiver::Iteration => TypeId::of::<Iteration>(),
        Receiver::Progress => TypeId::of::<Progress>(),
        Receiver::DType => TypeId::of::<crate::base::DType>(),
        Receiver::Device => TypeId::of::<crate::base::DeviceSpec>(),
        Receiver::Error => TypeId::of::<Error>(),
        Receiver::Run => TypeId::of::<RunEvents>(),
        // Rhai's own types have Rhai's own methods.
        Receiver::Array
        | Receiver::Str
        | Receiver::Char
        | Receiver::Map
        | Receiver::Blob
        | Receiver::Number
        | Receiver::Span
        | Receiver::Closure
        | Receiver::Time => return None,
    })
}
