//! The dtypes of results under autocast, of many calls. Recorded by `scripts/record_amp.py`.

use serde_json::Value;
use tensorlab::script::Interpreter;

use crate::conformance::results;

use super::{eval, interpreter};

/// The dtypes of the results of a call in a region, "none" where it gives no tensor, or its error.
fn dtypes(lab: &mut Interpreter, device: &str, lower: &str, input: &str, call: &str) -> String {
    lab.reset();
    let code = format!(
        "let of = #{{device: \"{device}\"}}; let a = rand([4, 4], of) * 0.6 + 0.2; \
         let b = (rand([4, 4], of) * 0.6 + 0.2).to({input}); let f = rand([4, 4], of) * 0.6 + 0.2; \
         let s = a + 4 * eye(4, of); let s = (s + s.mT).to({input}); let a = a.to({input}); \
         let c = a.unsqueeze(0); let e = b.unsqueeze(0); let v = a[0]; let w = b[0]; \
         let u = v.narrow(0, 0, 3); let z = w.narrow(0, 0, 3); let i = arange(4, of); let m = a > 0.5; \
         let j = zeros([4, 4], #{{dtype: int64, device: \"{device}\"}}); \
         with autocast(\"{device}\", #{{dtype: {lower}}}) {{ {call} }}"
    );
    match eval(lab, &code) {
        Ok(value) => {
            let _here = lab.machine().enter();
            let names: Vec<_> = results(&value).iter().map(|t| t.dtype().to_string()).collect();
            if names.is_empty() { "none".into() } else { names.join(" ") }
        }
        Err(text) => text,
    }
}

fn golden() -> Value {
    serde_json::from_str(include_str!("../golden/amp_more.json")).unwrap()
}

/// Whether some recorded call is of the operation.
pub fn tries(name: &str) -> bool {
    let own = |call: &String| call.split([' ', '.', ':']).any(|part| part.starts_with(&format!("{name}(")));
    golden()["cpu"].as_object().unwrap().keys().any(own)
}

fn check(device: &str, devices: &str, lower: &str) {
    let golden = golden();
    let (mut lab, mut wrong, mut count) = (interpreter(devices), Vec::new(), 0);
    for (call, want) in golden[device].as_object().unwrap() {
        for (input, want) in ["float32", lower].into_iter().zip(want.as_array().unwrap()) {
            let Some(want) = want.as_str() else { continue };
            let got = dtypes(&mut lab, device, lower, input, call);
            count += 1;
            let same = got == want || (want == "error" && got.contains("Error: "));
            if !same {
                wrong.push(format!("{call} of {input}: {got}, not {want}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} wrong on {device}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 350);
}

#[test]
fn result_dtypes_of_many_calls_under_cuda_autocast_are_pytorchs() {
    check("cuda", "sim:t4", "float16");
}

#[test]
fn result_dtypes_of_many_calls_under_cpu_autocast_are_pytorchs() {
    check("cpu", "cpu", "bfloat16");
}
