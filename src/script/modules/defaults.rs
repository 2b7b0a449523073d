//! Where new tensors lie that are not told where.

use rhai::Dynamic;

use crate::base::DeviceSpec;
use crate::op::params::{kind, params};
use crate::op::{Family, Form, OpDef};
use crate::script::call::ScriptRow;

params! {
    DefaultDeviceParams {
        device: kind::Device, "where new tensors lie from now on";
    }
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow {
        def: OpDef::script("set_default_device", Family::Type, "Has new tensors lie on a device where they are not told where.", DefaultDeviceParams::LIST)
        .forms(&[Form::Function])
        .details(
            "It holds for functions that make tensors and for the parameters of new modules, not for what is loaded or made \
             like another tensor. `with device(\"cuda\") { … }` does so for a block. No tensor moves, and no check of a lesson \
             sees it.",
        )
        .errors(&["RuntimeError: the text names no kind of device"])
        .example("set_default_device(\"cuda\"); ones(2).device", "device(type='cuda', index=0)"),
        run: |call| {
            call.machine().set_default_device(DefaultDeviceParams::of(&call.args)?.device);
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("get_default_device", Family::Type, "Where new tensors lie that are not told where.", &[])
        .forms(&[Form::Function])
        .example("with device(\"cuda:1\") { get_default_device() }", "device(type='cuda', index=1)"),
        run: |call| {
            let machine = call.machine();
            let device = machine.default_device().unwrap_or(DeviceSpec::Cpu);
            Ok(Dynamic::from(DeviceSpec::from(machine.resolve(device))))
        },
        set: None,
    },
];
