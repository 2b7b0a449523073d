//! Where the variables that hold tensors are, as marks beside the code.

use std::collections::HashMap;

use ratatui::style::Style;
use ratatui::text::Span;

use crate::base::{DType, Device};
use crate::lab::model::text;
use crate::lab::model::theme::Theme;
use crate::session::protocol::{TensorInfo, Variable};

/// Variables by name.
pub(crate) type Places = HashMap<String, VariablePlace>;

/// Where a variable's tensors are, and of which dtype; `None` for several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VariablePlace {
    pub device: Option<Device>,
    pub dtype: Option<DType>,
}

impl VariablePlace {
    fn and(self, other: VariablePlace) -> VariablePlace {
        VariablePlace {
            device: self.device.filter(|device| other.device == Some(*device)),
            dtype: self.dtype.filter(|dtype| other.dtype == Some(*dtype)),
        }
    }

    fn device_name(&self) -> String {
        self.device.map_or_else(|| "several devices".into(), |device| device.to_string())
    }

    fn dtype_name(&self) -> &'static str {
        self.dtype.map_or("several", DType::short_name)
    }
}

/// The places of variables. A module, an array or a map is where the tensors within it are.
pub(crate) fn of(variables: &[Variable], held: &[(String, TensorInfo)]) -> Places {
    let place =
        |tensor: &TensorInfo| VariablePlace { device: Some(tensor.device), dtype: Some(tensor.dtype) };
    let own = variables.iter().filter_map(|v| Some((text::clean_line(&v.name), place(v.tensor.as_ref()?))));
    let mut places: Places = own.collect();
    let alone: Vec<String> = places.keys().cloned().collect();
    for (path, tensor) in held {
        let root = path.split(['.', '[']).next().unwrap_or_default();
        if alone.iter().any(|name| name == root) || path.ends_with(".grad") {
            continue;
        }
        let here = place(tensor);
        places.entry(text::clean_line(root)).and_modify(|known| *known = known.and(here)).or_insert(here);
    }
    places
}

/// Columns of a mark, with the space after it.
pub(crate) const WIDE: usize = 7;
pub(crate) const NARROW: usize = 2;

/// The mark of a line that names these variables: `0·f32` for a float32 on `cuda:0`, `c` for the CPU, `≠` for
/// several devices. With `columns` too few, the device alone.
pub(crate) fn mark(named: &[VariablePlace], columns: usize, theme: &Theme) -> Span<'static> {
    let Some(all) = named.iter().copied().reduce(VariablePlace::and) else {
        return Span::raw(" ".repeat(columns));
    };
    let (device, style) = match all.device {
        None => ("≠".to_owned(), theme.warn),
        Some(Device::Cpu) => ("c".into(), theme.dim),
        Some(Device::Cuda(i)) => (if i < 10 { i.to_string() } else { "+".into() }, theme.accent),
    };
    let text = if columns < WIDE {
        device
    } else {
        format!("{device}·{}", all.dtype.map_or("*", DType::short_name))
    };
    Span::styled(text::left(&text, columns), style)
}

/// `x cuda:0 f32`: a variable's place in words.
pub(crate) fn told(name: &str, place: &VariablePlace, theme: &Theme) -> Vec<Span<'static>> {
    let style: Style = match place.device {
        None => theme.warn,
        Some(Device::Cpu) => theme.dim,
        Some(Device::Cuda(_)) => theme.accent,
    };
    vec![
        Span::styled(format!("{name} "), theme.text),
        Span::styled(place.device_name(), style),
        Span::styled(format!(" {}", place.dtype_name()), theme.dim),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::model::theme::{Colour, Look};

    fn tensor(device: Device, dtype: DType) -> TensorInfo {
        TensorInfo {
            shape: vec![2],
            dtype,
            device,
            bytes: 8,
            address: 1,
            requires_grad: false,
            grad: None,
            is_view: false,
        }
    }

    #[test]
    fn a_module_is_where_its_parameters_are() {
        let (cpu, gpu) = (Device::Cpu, Device::Cuda(0));
        let variable = |name: &str, tensor| Variable {
            name: name.into(),
            type_name: "Tensor".into(),
            summary: String::new(),
            tensor,
        };
        let x = variable("x", Some(tensor(cpu, DType::Float32)));
        let held = [
            ("x.grad".to_owned(), tensor(gpu, DType::Float16)),
            ("net.0.weight".into(), tensor(gpu, DType::Float32)),
            ("net.0.weight.grad".into(), tensor(gpu, DType::Float16)),
            ("net.0.bias".into(), tensor(gpu, DType::Float32)),
            ("both[0]".into(), tensor(gpu, DType::Float32)),
            ("both[1]".into(), tensor(cpu, DType::Float32)),
        ];
        let places = of(&[x, variable("net", None)], &held);
        let f32 = Some(DType::Float32);
        assert_eq!(places["x"], VariablePlace { device: Some(cpu), dtype: f32 });
        assert_eq!(places["net"], VariablePlace { device: Some(gpu), dtype: f32 });
        assert_eq!(places["both"], VariablePlace { device: None, dtype: f32 });
    }

    #[test]
    fn marks_differ_without_colour_and_keep_their_width() {
        let theme = Theme::new(Look { colour: Colour::None, light: false, ascii: false });
        let on = |device| VariablePlace { device: Some(device), dtype: Some(DType::BFloat16) };
        let (cpu, gpu) = (on(Device::Cpu), on(Device::Cuda(1)));
        let shown = |named: &[VariablePlace], columns| mark(named, columns, &theme).content.into_owned();
        assert_eq!(shown(&[cpu, cpu], WIDE), "c·bf16 ");
        assert_eq!(shown(&[gpu], WIDE), "1·bf16 ");
        assert_eq!(shown(&[cpu, gpu], WIDE), "≠·bf16 ");
        assert_eq!(shown(&[], WIDE), "       ");
        assert_eq!((shown(&[gpu], NARROW), shown(&[cpu, gpu], NARROW)), ("1 ".into(), "≠ ".into()));
    }
}
