//! Files, and the data that are part of the program.

use std::path::Path;

use crate::base::{Error, Result};
use crate::data::files::{self, LoadTarget, Saving};
use crate::data::rows::declare::row;
use crate::data::tree::entries;
use crate::data::{csv, digits, text};
use crate::device::Machine;
use crate::op::def::{DefaultValue, FUNCTION};
use crate::op::params::{Maybe, by_name, kind, kinds, params};
use crate::op::{Args, OpDef, Value, map_value};

use super::given::Count;

pub(super) static ROWS: &[OpDef] = &[
    row(
        "load",
        "Reads tensors from a `.safetensors`, `.npy` or `.npz` file.",
        LoadParams::LIST,
        by_name!(LoadParams, load),
    )
    .forms(FUNCTION)
    .details(
        "A `.npy` file gives a tensor, an `.npz` file a map of tensors, and a `.safetensors` file what was saved, which is \
         a map of tensors where another program wrote it. Tensors come on the CPU unless `map_location` or `device`, \
         which mean the same, names another place: the copy there shows as a transfer. `dtype` converts tensors of \
         floating point. A file that is damaged, or claims more than it holds, is an error that names it.",
    )
    .shapes("-> tensors as they were saved")
    .errors(&["ValueError: the file can't be read, is damaged, or its name ends in something else"])
    .example(
        "save(#{w: ones(2), epoch: 3}, \"run.safetensors\"); load(\"run.safetensors\").w",
        "tensor([1., 1.])",
    ),
    row(
        "save",
        "Writes a value to a `.safetensors`, `.npy` or `.npz` file.",
        SaveParams::LIST,
        by_name!(SaveParams, save),
    )
    .forms(FUNCTION)
    .details(
        "A `.safetensors` file takes tensors, numbers, strings, and maps and arrays of them, such as \
         `#{model: net.state_dict(), optimizer: opt.state_dict(), epoch: 3}`; a map of tensors alone is read by every \
         program that knows the format. `.npy` takes one tensor, `.npz` a map or an array of tensors, which `compress` \
         deflates. `metadata` is a map of strings for a `.safetensors` file. Tensors on a GPU are copied to the host. The \
         file is there whole or not at all: until everything is written, an old file stays.",
    )
    .shapes("tensors of any shapes")
    .errors(&[
        "ValueError: the file can't be written, or its name ends in something else",
        "ValueError: there are options that the format has no place for",
        "TypeError: the value is none that the format holds",
    ])
    .example(
        "save(arange(3), \"run.npy\"); load(\"run.npy\")",
        "tensor([0, 1, 2])",
    ),
    row(
        "load_metadata",
        "Reads the strings that stand beside the tensors of a `.safetensors` file.",
        LoadMetadataParams::LIST,
        by_name!(LoadMetadataParams, |a| load_metadata(a.path)),
    )
    .own()
    .forms(FUNCTION)
    .errors(&["ValueError: the file can't be read, or is damaged"])
    .example(
        "save(#{w: ones(2)}, \"run.safetensors\", #{metadata: #{author: \"Ada\"}}); load_metadata(\"run.safetensors\").author",
        "\"Ada\"",
    ),
    row("digits", "Handwritten digits: 1,797 images of 8x8 pixels with their labels.", &[], |_| digits_row())
        .details(
            "A map of `x_train` `[1437, 64]` and `x_test` `[360, 64]`, float32 in 0..1, and `y_train` and `y_test`, int64 in \
             0..10. They are part of the program.",
        )
        .own()
    .shapes("-> `x_train` (1437, 64), `y_train` (1437), `x_test` (360, 64), `y_test` (360)")
        .example("data::digits().x_train.shape", "[1437, 64]"),
    row(
        "csv",
        "Reads numbers from comma-separated text as a tensor of rows and columns.",
        CsvParams::LIST,
        by_name!(CsvParams, read_csv),
    )
    .own()
    .details(
        "A first line that is no numbers is a header. `dtype` is float32, float64 or int64. An error names the line and \
         the column.",
    )
    .shapes("-> (rows, columns)")
    .errors(&[
        "ValueError: the file can't be read, a row is longer or shorter than the first, or what it holds is no number",
        "ValueError: `delimiter` is not one character",
    ])
    .example(
        "let told = (); try { data::csv(\"no-such.csv\") } catch (e) { told = e.kind; } told",
        "\"ValueError\"",
    ),
    row(
        "text",
        "Reads a file of text whole: what `open(path).read()` is in Python.",
        TextParams::LIST,
        by_name!(TextParams, |a| text::read(Path::new(a.path)).map(Value::Str)),
    )
    .own()
    .details("`.split(\"\\n\")` gives its lines, and `.chars()` its characters. Line ends are `\\n`. At most 16 MiB are read.")
    .errors(&["ValueError: the file can't be read, is too large, or is no UTF-8"])
    .example(
        "let told = (); try { data::text(\"no-such.txt\") } catch (e) { told = e.kind; } told",
        "\"ValueError\"",
    ),
];

params! {
    LoadParams {
        path: kind::Str, "where the file is";
        map_location: Maybe<kind::Device>, "where the tensors come to lie; without it on the CPU";
        device: Maybe<kind::Device>, "the same as `map_location`";
        dtype: Maybe<kind::DType>, "what tensors of floating point are converted to";
        weights_only: kind::Bool = true, "true or not, no file holds code that would run";
    }
}

kinds! {
    /// Strings by name.
    Metadata(Any) => Vec<(String, String)>, |args: &Args, at| {
        let map = entries(args.get(at)).ok_or_else(|| args.wrong(at, args.get(at)))?;
        let text = |(key, value): (&str, &Value)| match value {
            Value::Str(text) => Ok((key.to_string(), text.clone())),
            other => {
                let text =
                    format!("save(): '{key}' of metadata must be a string, not {}", other.describe());
                Err(Error::type_error(text))
            }
        };
        map.into_iter().map(text).collect()
    };
}

params! {
    SaveParams {
        value: kind::Any, "what is written: tensors, or maps and arrays of them";
        path: kind::Str, "where the file is to be; its ending says in which format";
        compress: kind::Bool = false, "whether an `.npz` file is deflated";
        metadata: Maybe<Metadata>, "strings by name that stand beside the tensors of a `.safetensors` file";
    }
}

params! {
    LoadMetadataParams {
        path: kind::Str, "where the file is";
    }
}

params! {
    CsvParams {
        path: kind::Str, "where the file is";
        delimiter: kind::Str = ",", "the character between numbers";
        skiprows: Count => DefaultValue::Int(0), "how many lines at the beginning are passed over";
        dtype: Maybe<kind::DType>, "what the tensor holds; without it float32";
    }
}

params! {
    TextParams {
        path: kind::Str, "where the file is";
    }
}

fn load(a: LoadParams) -> Result<Value> {
    let _ = a.weights_only;
    let spec = match (a.map_location, a.device) {
        (Some(_), Some(_)) => {
            return Err(Error::type_error("load(): map_location and device mean the same: give one of them"));
        }
        (one, other) => one.or(other),
    };
    let device = spec.map(|s| Machine::current().resolve(s));
    if let Some(dtype) = a.dtype.filter(|d| !d.is_float()) {
        let text = format!("load(): dtype converts tensors of floating point, and {dtype} is none");
        return Err(Error::type_error(text).with_hint("`.to(dtype)` converts a tensor to any dtype"));
    }
    files::load(Path::new(a.path), LoadTarget { device, dtype: a.dtype })
}

fn save(a: SaveParams) -> Result<Value> {
    let how = Saving { metadata: a.metadata.unwrap_or_default(), compress: a.compress };
    files::save(a.value, Path::new(a.path), &how).map(|()| Value::None)
}

fn load_metadata(path: &str) -> Result<Value> {
    let all = files::load_metadata(Path::new(path))?;
    Ok(map_value(all.into_iter().map(|(k, v)| (k, Value::Str(v))).collect()))
}

fn digits_row() -> Result<Value> {
    let d = digits::load()?;
    Ok(Value::Map(vec![
        ("x_train", d.x_train.into()),
        ("y_train", d.y_train.into()),
        ("x_test", d.x_test.into()),
        ("y_test", d.y_test.into()),
    ]))
}

fn read_csv(a: CsvParams) -> Result<Value> {
    let mut delimiter = a.delimiter.chars();
    let (Some(delimiter), None) = (delimiter.next(), delimiter.next()) else {
        return Err(Error::value(format!("csv(): delimiter must be one character, not {:?}", a.delimiter)));
    };
    let dtype = a.dtype.unwrap_or(csv::Reading::default().dtype);
    let how = csv::Reading { delimiter, skiprows: a.skiprows, dtype };
    csv::read(Path::new(a.path), how).map(Value::Tensor)
}
