//! What a step of an optimiser launches on a simulated GPU, and where it leads there.

/// Launches of the seventh step of two parameters, by `foreach` and one by one. Counted in PyTorch 2.15 by a
/// `TorchDispatchMode`.
const LAUNCHES: [(&str, usize, usize); 23] = [
    ("SGD(p, 0.1", 1, 2),
    ("SGD(p, 0.1, #{momentum: 0.9", 3, 6),
    ("SGD(p, 0.1, #{momentum: 0.9, nesterov: true, weight_decay: 0.1", 5, 10),
    ("SGD(p, 0.1, #{maximize: true", 2, 4),
    ("Adam(p", 7, 14),
    ("Adam(p, #{weight_decay: 0.1", 8, 16),
    ("Adam(p, #{amsgrad: true", 8, 16),
    ("Adam(p, #{maximize: true", 8, 16),
    ("AdamW(p", 8, 16),
    ("RMSprop(p", 5, 10),
    ("RMSprop(p, #{momentum: 0.9", 7, 14),
    ("RMSprop(p, #{centered: true, weight_decay: 0.1, momentum: 0.9", 10, 20),
    ("Adagrad(p", 5, 8),
    ("Adagrad(p, #{weight_decay: 0.1, lr_decay: 0.1", 6, 10),
    ("Adadelta(p, #{weight_decay: 0.1", 12, 24),
    ("Adamax(p", 6, 12),
    ("NAdam(p", 8, 16),
    ("NAdam(p, #{weight_decay: 0.1, decoupled_weight_decay: true", 9, 18),
    ("RAdam(p", 9, 24),
    ("RAdam(p, #{weight_decay: 0.1", 10, 26),
    ("ASGD(p", 4, 6),
    ("ASGD(p, #{weight_decay: 0.1", 5, 8),
    ("Rprop(p", 27, 32),
];

fn launches_of(optimiser: &str, parameters: &str, steps: usize) -> String {
    let code = format!(
        "let p = {parameters}; let o = optim::{optimiser}; let n = 0;
         for i in 0..{steps} {{
             for t in p {{ t.grad = ones_like(t); }}
             n = telemetry::record(|| o.step()).launches;
         }}
         n"
    );
    crate::parallel::on("sim:t4", &code)
}

fn with_option(optimiser: &str, option: &str) -> String {
    match optimiser.contains('{') {
        true => format!("{optimiser}, {option}}})"),
        false => format!("{optimiser}, #{{{option}}})"),
    }
}

#[test]
fn a_step_on_a_gpu_is_pytorchs_launches() {
    let two = "[ones(8, #{device: \"cuda\"}).requires_grad_(true), ones(9, #{device: \"cuda\"}).requires_grad_(true)]";
    let mut wrong = String::new();
    for (optimiser, lists, alone) in LAUNCHES {
        let plain = if optimiser.contains('{') { format!("{optimiser}}})") } else { format!("{optimiser})") };
        let ways = [
            (plain, lists),
            (with_option(optimiser, "foreach: true"), lists),
            (with_option(optimiser, "foreach: false"), alone),
        ];
        for (made, want) in ways {
            let found = launches_of(&made, two, 7);
            if found != want.to_string() {
                wrong += &format!("{made}: {found}, not {want}\n");
            }
        }
    }
    // By one kernel for all, and one that counts the steps.
    for (optimiser, want) in [
        ("SGD(p, 0.1", 1),
        ("SGD(p, 0.1, #{momentum: 0.9", 1),
        ("Adam(p", 2),
        ("AdamW(p, #{amsgrad: true", 2),
    ] {
        let made = with_option(optimiser, "fused: true");
        let found = launches_of(&made, two, 2);
        if found != want.to_string() {
            wrong += &format!("{made}: {found}, not {want}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn many_parameters_and_large_ones_take_more_launches() {
    let of = |count: usize, size: usize| {
        format!(
            "range(0, {count}).to_array().map(|i| zeros([{size}], #{{device: \"cuda\"}}).requires_grad_(true))"
        )
    };
    assert_eq!(launches_of("SGD(p, 0.1)", &of(64, 1), 1), "1");
    assert_eq!(launches_of("SGD(p, 0.1)", &of(65, 1), 1), "2");
    assert_eq!(launches_of("SGD(p, 0.1)", &of(1, 320 * 65_536 + 1), 1), "2");
    // Lists of 2, 1, 3, 2 and, with a number for each tensor, 1, 1 and 3.
    assert_eq!(launches_of("Adam(p)", &of(97, 1), 2), (2 + 1 + 3 + 2 + 2 + 1 + 3).to_string());
    assert_eq!(launches_of("Adam(p, #{fused: true})", &of(97, 1), 2), (1 + 3).to_string());
}

#[test]
fn steps_on_a_simulated_gpu_lead_where_the_cpus_do() {
    for (optimiser, ..) in LAUNCHES {
        let made = if optimiser.contains('{') { format!("{optimiser}}})") } else { format!("{optimiser})") };
        let code = |device: &str| {
            format!(
                "{{ let p = [arange(6, #{{dtype: float32, device: \"{device}\"}}).requires_grad_(true)];
                    let o = optim::{made};
                    for i in 0..3 {{ p[0].grad = (p[0].detach() * 0.3 - i).cos(); o.step(); }}
                    p[0].detach().cpu() }}"
            )
        };
        let both = format!("let a = {}; let b = {}; a.equal(b)", code("cuda"), code("cpu"));
        assert_eq!(crate::parallel::on("sim:t4", &both), "true", "{made}");
    }
}
