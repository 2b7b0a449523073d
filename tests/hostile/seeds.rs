//! Calls beside the examples of rows: several methods of a module, an optimiser, a schedule, a loader, a stream or a figure
//! one after the other, and Rhai's own functions. A line is a call; its numbers, texts and tensors are changed one at a
//! time.

pub const ALL: &[&str] = &[MODULES, TRAINING, DATA, DEVICES, FIGURES, TENSORS, RHAI];

const MODULES: &str = r#"
let m = nn::Linear(3, 2); m.forward(rand([4, 3])).sum().backward(); m.zero_grad(); m.to(float64); m.train(); m.eval(); m.training
let m = nn::Sequential([nn::Linear(3, 2), nn::ReLU()]); m.insert(1, nn::Tanh()); m.append(nn::ReLU()); m.pop(0); m.extend([nn::ReLU()]); m.len()
let m = nn::ModuleList([nn::Linear(3, 2)]); m[0].forward(rand([1, 3])); m.insert(0, nn::ReLU()); m.pop(1)
let m = nn::Linear(3, 2); m.register_buffer("b", ones([3])); m.register_parameter("p", nn::Parameter(ones([2]))); m.add_module("c", nn::ReLU()); m.register_module("d", nn::ReLU())
let m = nn::Linear(3, 2); m.get_parameter("weight"); m.parameters(); m.named_parameters(); m.buffers(); m.named_buffers(); m.modules(); m.children(); m.named_children(); m.get_submodule("")
let m = nn::BatchNorm1d(3); m.get_buffer("running_mean"); m.load_state_dict(m.state_dict()); m.requires_grad_(false); m.apply(|c| isinstance(c, "Linear")); print(m)
let m = nn::module("Own", #{fc: nn::Linear(3, 2)}, |self, x| self.fc.forward(x)); m.forward(rand([4, 3]))
let m = nn::Conv2d(1, 2, 3, #{stride: 1, padding: 1, dilation: 1, groups: 1}); m.forward(rand([1, 1, 8, 8]))
let m = nn::ConvTranspose2d(1, 2, 3, #{stride: 2, padding: 1, output_padding: 1}); m.forward(rand([1, 1, 4, 4]))
let m = nn::Conv1d(1, 2, 3, #{padding: 2, padding_mode: "circular"}); m.forward(rand([1, 1, 8]))
let m = nn::LSTM(3, 4, #{num_layers: 1, batch_first: true}); m.forward(rand([2, 5, 3]))
let m = nn::GRU(3, 4, 1); m.forward(rand([2, 5, 3]))
let m = nn::Embedding(10, 3); m.forward(tensor([1, 2]))
let m = nn::MultiheadAttention(4, 2); m.forward(rand([2, 1, 4]), rand([2, 1, 4]), rand([2, 1, 4]))
let m = nn::TransformerEncoderLayer(4, 2, 8); m.forward(rand([2, 1, 4]))
let m = nn::AdaptiveAvgPool2d([2, 3]); m.forward(rand([1, 1, 8, 8]))
let m = nn::Upsample(#{scale_factor: 2.0, mode: "bilinear"}); m.forward(rand([1, 1, 8, 8]))
let m = nn::MaxPool2d(2, #{stride: 2, padding: 1, dilation: 1, ceil_mode: true}); m.forward(rand([1, 1, 8, 8]))
let m = nn::Fold([4, 5], [2, 2]); m.forward(rand([1, 12, 12]))
let m = nn::Unfold(2, #{dilation: 1, padding: 1, stride: 1}); m.forward(rand([1, 3, 8, 8]))
let m = nn::GroupNorm(2, 4); m.forward(rand([2, 4, 3]))
let m = nn::PixelShuffle(2); m.forward(rand([1, 4, 2, 2]))
let m = nn::ZeroPad2d(2); m.forward(rand([1, 1, 4, 4]))
nn::init::sparse_(ones([10, 10]), 0.5); nn::init::normal_(ones([3, 3]), 0.0, 1.0); nn::init::trunc_normal_(ones([3, 3]), 0.0, 1.0, -2.0, 2.0)
nn::utils::clip_grad_norm_([ones([3], #{requires_grad: true})], 1.0)
nn::utils::clip_grad_value_([ones([3], #{requires_grad: true})], 1.0)
let p = nn::utils::rnn::pack_padded_sequence(rand([5, 3, 2]), [5, 3, 1]); p.data; p.batch_sizes; p.sorted_indices; p.unsorted_indices
nn::utils::rnn::pad_sequence([ones([3]), ones([2])], #{padding_value: 1.0})
let m = nn::DataParallel(nn::Linear(3, 2), [0, 1]); m.forward(rand([4, 3]))
parallel::scatter(rand([4, 3]), [0, 1])
"#;

const TRAINING: &str = r#"
let w = ones([3], #{requires_grad: true}); let o = optim::SGD([w], #{lr: 0.1, momentum: 0.9, weight_decay: 0.1}); (w * 2.0).sum().backward(); o.step(); o.zero_grad(); o.param_groups
let w = ones([3], #{requires_grad: true}); let o = optim::Adam([w], #{lr: 0.1, betas: [0.9, 0.99], eps: 1e-8}); (w * 2.0).sum().backward(); o.step(); o.load_state_dict(o.state_dict())
let w = ones([3], #{requires_grad: true}); let o = optim::LBFGS([w], #{lr: 1.0, max_iter: 5, history_size: 10}); o.step(|| { o.zero_grad(); let l = (w * w).sum(); l.backward(); l })
let w = ones([3], #{requires_grad: true}); let o = optim::SGD([w], #{lr: 0.1}); o.add_param_group(#{params: [ones([2], #{requires_grad: true})], lr: 0.1})
let w = ones([3], #{requires_grad: true}); let o = optim::SGD([w], 0.1); let s = optim::lr_scheduler::StepLR(o, 3, 0.1); o.step(); s.step(); s.get_last_lr(); s.last_epoch; s.base_lrs; s.optimizer
let w = ones([3], #{requires_grad: true}); let o = optim::SGD([w], 0.1); let s = optim::lr_scheduler::OneCycleLR(o, 0.1, #{total_steps: 10}); o.step(); s.step()
let w = ones([3], #{requires_grad: true}); let o = optim::SGD([w], 0.1); let s = optim::lr_scheduler::CosineAnnealingWarmRestarts(o, 3, 2); o.step(); s.step(); s.step(5)
let w = ones([3], #{requires_grad: true}); let o = optim::SGD([w], 0.1); let s = optim::lr_scheduler::MultiStepLR(o, [2, 4], 0.1); o.step(); s.step(); s.load_state_dict(s.state_dict())
let w = ones([3], #{requires_grad: true}); let o = optim::SGD([w], 0.1); let s = optim::lr_scheduler::CyclicLR(o, 0.1, 0.2, #{step_size_up: 3}); s.step()
let w = ones([3], #{requires_grad: true}); let o = optim::SGD([w], 0.1); let s = optim::lr_scheduler::ReduceLROnPlateau(o, #{patience: 2}); s.step(1.0)
let s = amp::GradScaler(#{device: "cpu", init_scale: 1024.0}); s.scale(ones([2])); s.set_growth_factor(2.0); s.set_backoff_factor(0.5); s.set_growth_interval(10); s.get_growth_factor(); s.get_backoff_factor(); s.get_growth_interval(); s.get_scale(); s.is_enabled()
let s = amp::GradScaler(#{device: "cpu"}); let w = ones([2], #{requires_grad: true}); let o = optim::SGD([w], 0.1); s.scale(w.sum()).backward(); s.unscale_(o); s.step(o); s.update(8.0)
is_autocast_enabled("cpu"); get_autocast_dtype("cpu"); with amp::autocast("cpu") { rand([2, 2]).matmul(rand([2, 2])) }
let x = ones([3], #{requires_grad: true}); autograd::grad((x * 2.0).sum(), [x], #{create_graph: true}); x.grad
let x = ones([3], #{requires_grad: true}); let h = x.register_hook(|g| g * 2.0); (x * 3.0).sum().backward(); h.remove(); x.backward(ones([3]))
with no_grad() { ones([2]) }; with enable_grad() { ones([2]) }; set_grad_enabled(true); is_grad_enabled(); with autograd::detect_anomaly() { ones([2]) }
testing::assert_close(ones([3]), ones([3]), #{rtol: 0.1, atol: 0.1})
sleep(0); sleep(0.001); timeit(|| 1, #{warmup: 1, repeat: 2}); time(|| 1); let d = 1; drop(d); for i in progress(0..3, "x") { }
"#;

const DATA: &str = r#"
let d = data::TensorDataset([rand([8, 3]), arange(8)]); let l = data::DataLoader(d, #{batch_size: 3, shuffle: true, drop_last: true}); for b in l { }; l.len(); l.batch_size; l.dataset
for b in data::DataLoader(#{len: 8, get: |i| ones([1])}, #{batch_size: 4, shuffle: true}) { break; }
for b in data::DataLoader(#{len: 8, get: |i| ones([1])}, #{batch_size: 4, num_workers: 2, prefetch_factor: 2}) { break; }
for b in data::DataLoader(#{len: 8, get: |i| ones([1])}, #{batch_size: 4}) { break; }
let it = iter(data::DataLoader(data::TensorDataset([rand([8, 3])]), 4)); next(it)
for b in data::DataLoader(data::TensorDataset([rand([8, 3])]), #{batch_sampler: data::BatchSampler(data::RandomSampler(8), 3, false)}) { break; }
for b in data::DataLoader(#{len: 8, get: |i| ones([1])}, #{sampler: data::RandomSampler(8, #{replacement: true, num_samples: 5})}) { break; }
for b in data::DataLoader(#{len: 8, get: |i| ones([1])}, #{sampler: data::RandomSampler(8, #{num_samples: 20})}) { break; }
for b in data::DataLoader(#{len: 8, get: |i| ones([1])}, #{sampler: data::SequentialSampler(8)}) { break; }
for b in data::DataLoader(#{len: 8, get: |i| ones([1])}, #{sampler: data::WeightedRandomSampler([0.5, 0.5], 5, true)}) { break; }
for b in data::DataLoader(#{len: 8, get: |i| ones([1])}, #{sampler: data::SubsetRandomSampler([0, 1])}) { break; }
data::random_split(data::TensorDataset([rand([8, 3])]), [3, 5])
data::Subset(data::TensorDataset([rand([8, 3])]), [0, 2, 5])[1]
data::TensorDataset([rand([8, 3])])[3]
data::ConcatDataset([data::TensorDataset([rand([8, 3])]), data::TensorDataset([rand([4, 3])])])[9]
let g = Generator(); g.manual_seed(3); rand([3], #{generator: g}); g.initial_seed()
set_rng_state(get_rng_state()); let g = Generator(); g.set_state(g.get_state()); initial_seed(); with fork_rng([], #{enabled: true}) { rand([3]) }
save(#{a: ones([3])}, "a.npz"); load("a.npz"); data::csv("a.csv", #{delimiter: ","})
"#;

const DEVICES: &str = r#"
let s = cuda::Stream(0); with cuda::stream(s) { ones([3], #{device: "cuda"}) + 1 }; s.synchronize(); s.query(); s.wait_stream(cuda::current_stream(0)); cuda::default_stream(0); cuda::set_stream(s)
let e = cuda::Event(#{enable_timing: true}); e.record(); let f = cuda::Event(#{enable_timing: true}); f.record(); e.elapsed_time(f); e.synchronize()
cuda::set_per_process_memory_fraction(0.5, 0); cuda::get_per_process_memory_fraction(0); cuda::set_per_process_memory_fraction(1.0)
cuda::memory_allocated(0); cuda::max_memory_allocated(0); cuda::memory_reserved(0); cuda::max_memory_reserved(0); cuda::memory_stats(0); cuda::memory_summary(0); cuda::memory_snapshot(); cuda::mem_get_info(0)
cuda::reset_peak_memory_stats(0); cuda::reset_accumulated_memory_stats(0); cuda::empty_cache(); cuda::synchronize(0); cuda::set_device(0); cuda::current_device()
cuda::get_device_name(0); cuda::get_device_properties(0); cuda::get_device_capability(0); cuda::can_device_access_peer(0, 1); cuda::is_simulated(0); cuda::device_count(); cuda::is_available(); smi()
cuda::manual_seed(3); cuda::manual_seed_all(3); cuda::initial_seed(); cuda::set_rng_state(cuda::get_rng_state(0), 0); cuda::set_rng_state_all(cuda::get_rng_state_all()); manual_seed(3); with cuda::device(0) { 1 }
let g = cuda::graph(|| ones([3], #{device: "cuda"}) + 1); g.replay(); cuda::is_current_stream_capturing()
backends::cudnn::benchmark(true); backends::cudnn::deterministic(true); backends::cudnn::enabled(true); backends::cuda::matmul::allow_tf32(false)
use_deterministic_algorithms(true, #{warn_only: true}); are_deterministic_algorithms_enabled(); use_deterministic_algorithms(false); set_float32_matmul_precision("highest"); get_float32_matmul_precision()
telemetry::record(|| ones([3])); telemetry::export_chrome_trace("t.json", || ones([3])); telemetry::export_lines("t.l", || ones([3])); telemetry::export_memory_snapshot("t.p", || ones([3]))
device("cuda", 1); device("cpu")
parallel::gather(parallel::scatter(arange(4), [0, 1]), 1)
"#;

const FIGURES: &str = r#"
plot::figure(#{title: "t", x_label: "x", y_label: "y", x_scale: "log", y_scale: "linear", width: 300, height: 200}); plot::line([1.0, 2.0], [3.0, 4.0], #{label: "l"}); plot::show(#{id: "a"}); plot::save("a.png")
plot::figure(); plot::scatter(rand([5]), rand([5])).save("b.svg")
plot::figure(); plot::line(rand([5])).save("d.png")
plot::figure(); plot::bar([1.0, 2.0], #{labels: ["a", "b"]}).save("c.png")
plot::figure(); plot::hist(rand([50]), #{bins: 5}).show()
plot::figure(); plot::hist(rand([50]), #{bins: [0.0, 0.5, 1.0], weights: rand([50])}).save("h.png")
plot::figure(); plot::image(rand([8, 8]), #{color_map: "gray", range: [0.0, 1.0]}).save("i.png")
plot::figure(); plot::image(rand([3, 8, 8])).show()
plot::figure(); plot::heatmap(rand([4, 5]), #{color_map: "viridis", range: [0.0, 1.0]}).save("m.png")
plot::figure(); plot::heatmap(rand([4, 5])).show()
display(rand([3, 8, 8]), #{kind: "image", id: "x"})
display(rand([8]), #{kind: "hist"})
display(rand([8]), #{kind: "line"})
display(rand([4, 4]), #{kind: "heatmap"})
display(rand([4, 4]), #{kind: "text"})
"#;

const TENSORS: &str = r#"
let x = rand([4, 5]); x[1]; x[1..3]; x[tensor([0, 1])]; x[rand([4, 5]) > 0.5]; x[1] = 2.0; x[1..3] = rand([2, 5])
let x = rand([4, 5]); x.at([(), 1]); x.at([1..2, tensor([0, 1])]); x.put([0, 1], 3.0); x.put([(), 1..3], rand([4, 2]))
print(rand([4, 5])); print(HUGE.to_string()); print(WIDE.to_debug())
rand([4, 5]).tolist(); rand([4, 5]).to("cuda").to("cpu"); rand([4, 5]).cuda(0).cpu()
tensor([[1, 2], [3, 4]], #{dtype: int16}); tensor([1], #{dtype: uint8}); tensor([1], #{dtype: int32}); tensor([1.0, 2.0], #{dtype: "int8"}); tensor([])
let x = rand([4, 5]); x += 1; x -= 2.0; x *= 3; x /= 4; x ** 2; x % 3; x == 1; x < 2; -x; x @ rand([5, 2])
tril_indices(3, 4, 0); triu_indices(3, 4, 0); tril_indices(100000, 100000)
zeros([0]).tensor_split(3); zeros([0]).hsplit(3); zeros([0, 0]).vsplit(3); zeros([0]).chunk(3); zeros([0, 0, 0]).dsplit(3); zeros([3, 0]).split(3); zeros([30000000, 0]).unbind(0)
F::adaptive_avg_pool1d(rand([1, 1, 4]), 3); F::adaptive_avg_pool2d(rand([1, 1, 4, 4]), 3)
F::interpolate(rand([1, 1, 4]), #{scale_factor: 2.0, mode: "linear"}); F::interpolate(rand([1, 1, 4]), #{size: 3, mode: "nearest"})
rand([30000001]).sort(); rand([3000, 10000]).svd(); rand([30000001]).unique(); rand([30000001]).topk(30000001); rand([30000001]).median()
linalg::matrix_rank(WIDE); linalg::svd(rand([100, 30000])); linalg::eigh(ones([1, 1]).expand([3000, 3000])); linalg::qr(rand([30000, 100])); linalg::inv(ones([1, 1]).expand([20000, 20000]))
linalg::svd(rand([3000, 3000])); linalg::eigh(rand([3000, 3000])); linalg::svdvals(WIDE); linalg::pinv(WIDE); linalg::det(WIDE); linalg::cholesky(WIDE)
randperm(30000001); combinations(arange(30001), 2); cartesian_prod([arange(30001), arange(30001)]); meshgrid([arange(30001), arange(30001)]); cdist(rand([30001, 2]), rand([30001, 2]))
F::one_hot(tensor([1, 2]), 3); bucketize(rand([5]), rand([3])); histc(rand([5]), 3); bincount(tensor([1, 2]), #{minlength: 3}); bincount(FAR); linspace(0, 1, 3); logspace(0, 1, 3); eye(3, 4); vander(rand([3]), 4)
einsum("ij,jk->ik", [rand([2, 3]), rand([3, 4])]); einsum("ii->i", [WIDE]); multinomial(rand([5]), 3, true); rand([5]).repeat_interleave(3); rand([5]).repeat(3)
"#;

const RHAI: &str = r#"
for i in range(0, 9, 2) { break; }; for i in range(0.0, 9.0, 2.0) { break; }; range(0, 9); 0..9
let a = [1, 2]; a.pad(9, 0); let s = "x"; s.pad(9, "y"); let b = blob(9, 0); b.pad(9, 1); blob(9)
let a = [1, 2, 3]; a.insert(1, 2); a.remove(1); a.truncate(1); a.chop(1); a.extract(0, 2); a.splice(0, 2, [1]); a.drain(0, 2); a.retain(0, 2); a[0]
let a = [1, 2, 3]; a.split(1); a.index_of(2, 1); a.swap(0, 1); a.some(|x| x > 1); a.map(|x| x + 1); a.reduce(|s, x| s + x, 0); a.push(1); a.append([1]); a + [1]; a == a; a.contains(1)
parse_int("9", 10); parse_float("1.0"); "x".sub_string(0, 1); let s = "xyz"; s.crop(0, 1); s.truncate(1); s.remove("x"); s.replace("x", "yy"); s.split(1); s.index_of("x", 0); s.get(0); s.set(0, 'x')
let b = blob(9, 0); b.parse_le_int(0, 8); b.parse_be_float(0, 8); b.write_le(0, 8, 7); b.write_utf8(0, 8, "x"); b.extract(0, 2); b.splice(0, 2, blob(1)); b.drain(0, 2); b.as_string(); b[0]
1 << 3; 1 >> 3; 7 ** 3; 7 % 3; 7 / 3; -7; abs(7); sign(7); 7 + 3; 7 * 3; 7 - 3; 2.0 ** 9; to_int(7.5); 7.5.to_int(); 7.to_float(); (7).to_hex(); 7.get_bit(3); 7.get_bits(0, 3); let n = 7; n.set_bit(3, true); n.set_bits(0, 3, 1); bits(7, 0, 3)
sqrt(7.0); exp(7.0); ln(7.0); log(7.0, 10.0); 7.5.floor(); 7.5.round(); min(1, 2); max(1, 2)
let m = #{a: 1}; m.get("a"); m.set("b", 1); m.remove("a"); m.keys(); m.values(); m.contains("a"); m.to_json(); "x".to_upper(); "x" + 1; "x" * 3; `${1}`
print([1, 2]); debug([1, 2]); type_of(1); timestamp() + 1; timestamp() - 1.0
let f = |x| x; f.call(1); curry(f, 1); is_def_fn("f", 1); Fn("f")
"#;
