#!/usr/bin/env python3
"""Records what PyTorch's modules and optimisers print, draw, refuse and lose: tests/golden/modules.json.

Each entry pairs a line of tensorlab's script language with what PyTorch gave for the Python beside it here.
Run it with a PyTorch on the CPU: python3 scripts/record_modules.py > tests/golden/modules.json
"""

import json
import warnings

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.optim import lr_scheduler as schedule

warnings.simplefilter("ignore")
torch.set_num_threads(2)

PRINTED = [
    ("nn::Linear(3, 2, #{bias: false})", lambda: nn.Linear(3, 2, bias=False)),
    ("nn::Conv1d(2, 4, 3)", lambda: nn.Conv1d(2, 4, 3)),
    ("nn::Conv2d(1, 32, 3, #{padding: 1})", lambda: nn.Conv2d(1, 32, 3, padding=1)),
    ("nn::Conv2d(4, 8, [3, 5], #{stride: 2, padding: 1, dilation: [1, 2], groups: 2, bias: false})",
     lambda: nn.Conv2d(4, 8, (3, 5), stride=2, padding=1, dilation=(1, 2), groups=2, bias=False)),
    ("nn::Conv2d(1, 2, 3, #{padding: \"same\"})", lambda: nn.Conv2d(1, 2, 3, padding="same")),
    ("nn::Conv2d(1, 2, 3, #{padding: 1, padding_mode: \"reflect\"})",
     lambda: nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect")),
    ("nn::BatchNorm1d(3)", lambda: nn.BatchNorm1d(3)),
    ("nn::BatchNorm2d(3, #{momentum: (), affine: false})", lambda: nn.BatchNorm2d(3, momentum=None, affine=False)),
    ("nn::BatchNorm2d(3, #{track_running_stats: false})", lambda: nn.BatchNorm2d(3, track_running_stats=False)),
    ("nn::LayerNorm(4)", lambda: nn.LayerNorm(4)),
    ("nn::LayerNorm([2, 4], #{elementwise_affine: false})", lambda: nn.LayerNorm([2, 4], elementwise_affine=False)),
    ("nn::LayerNorm(4, #{bias: false})", lambda: nn.LayerNorm(4, bias=False)),
    ("nn::GroupNorm(2, 4)", lambda: nn.GroupNorm(2, 4)),
    ("nn::Dropout(0.25)", lambda: nn.Dropout(0.25)),
    ("nn::Embedding(10, 3)", lambda: nn.Embedding(10, 3)),
    ("nn::Embedding(10, 3, #{padding_idx: -1})", lambda: nn.Embedding(10, 3, padding_idx=-1)),
    ("nn::Flatten()", lambda: nn.Flatten()),
    ("nn::Identity()", lambda: nn.Identity()),
    ("nn::MaxPool2d(2)", lambda: nn.MaxPool2d(2)),
    ("nn::MaxPool2d([3, 2], #{stride: 2, padding: 1, ceil_mode: true})",
     lambda: nn.MaxPool2d((3, 2), stride=2, padding=1, ceil_mode=True)),
    ("nn::AvgPool2d([2, 3], #{stride: [1, 2]})", lambda: nn.AvgPool2d((2, 3), stride=(1, 2))),
    ("nn::AdaptiveAvgPool2d(1)", lambda: nn.AdaptiveAvgPool2d(1)),
    ("nn::AdaptiveAvgPool2d([(), 2])", lambda: nn.AdaptiveAvgPool2d((None, 2))),
    ("nn::ReLU()", lambda: nn.ReLU()),
    ("nn::ReLU(true)", lambda: nn.ReLU(True)),
    ("nn::GELU(\"tanh\")", lambda: nn.GELU("tanh")),
    ("nn::SiLU()", lambda: nn.SiLU()),
    ("nn::Tanh()", lambda: nn.Tanh()),
    ("nn::Sigmoid()", lambda: nn.Sigmoid()),
    ("nn::Softmax()", lambda: nn.Softmax()),
    ("nn::LogSoftmax(-1)", lambda: nn.LogSoftmax(-1)),
    ("nn::Softplus()", lambda: nn.Softplus()),
    ("nn::ELU()", lambda: nn.ELU()),
    ("nn::LeakyReLU(0.2)", lambda: nn.LeakyReLU(0.2)),
    ("nn::Hardtanh()", lambda: nn.Hardtanh()),
    ("nn::ReLU6()", lambda: nn.ReLU6()),
    ("nn::Mish()", lambda: nn.Mish()),
    ("nn::CrossEntropyLoss(#{weight: ones(3)})", lambda: nn.CrossEntropyLoss(weight=torch.ones(3))),
    ("nn::MSELoss()", lambda: nn.MSELoss()),
    ("nn::NLLLoss()", lambda: nn.NLLLoss()),
    ("nn::BCEWithLogitsLoss()", lambda: nn.BCEWithLogitsLoss()),
    ("nn::Softsign()", lambda: nn.Softsign()),
    ("nn::Hardswish()", lambda: nn.Hardswish()),
    ("nn::Hardsigmoid()", lambda: nn.Hardsigmoid()),
    ("nn::LogSigmoid()", lambda: nn.LogSigmoid()),
    ("nn::SELU()", lambda: nn.SELU()),
    ("nn::CELU(0.5)", lambda: nn.CELU(0.5)),
    ("nn::GLU()", lambda: nn.GLU()),
    ("nn::Softmin()", lambda: nn.Softmin()),
    ("nn::PReLU(3)", lambda: nn.PReLU(3)),
    ("nn::RMSNorm([2, 3], #{eps: 0.001, elementwise_affine: false})",
     lambda: nn.RMSNorm([2, 3], eps=1e-3, elementwise_affine=False)),
    ("nn::Dropout1d()", lambda: nn.Dropout1d()),
    ("nn::Dropout2d(0.3)", lambda: nn.Dropout2d(0.3)),
    ("nn::MaxPool1d(3, 2, 1)", lambda: nn.MaxPool1d(3, 2, 1)),
    ("nn::AvgPool1d(3, #{stride: 1})", lambda: nn.AvgPool1d(3, stride=1)),
    ("nn::AdaptiveAvgPool1d(3)", lambda: nn.AdaptiveAvgPool1d(3)),
    ("nn::Unflatten(1, [2, 3])", lambda: nn.Unflatten(1, (2, 3))),
    ("nn::ModuleDict(#{a: nn::ReLU(), b: nn::Linear(1, 2)})",
     lambda: nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(1, 2)})),
    ("nn::MultiheadAttention(8, 2)", lambda: nn.MultiheadAttention(8, 2)),
    ("nn::MultiheadAttention(8, 2, #{bias: false, kdim: 4})", lambda: nn.MultiheadAttention(8, 2, bias=False, kdim=4)),
    ("nn::TransformerEncoderLayer(8, 2, 16)", lambda: nn.TransformerEncoderLayer(8, 2, 16)),
    ("nn::TransformerEncoderLayer(8, 2, 16, #{dropout: 0, activation: nn::GELU(), bias: false})",
     lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0, activation=nn.GELU(), bias=False)),
    ("nn::TransformerEncoder(nn::TransformerEncoderLayer(8, 2, 16), 3, nn::LayerNorm(8))",
     lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 3, nn.LayerNorm(8))),
    ("nn::Sequential()", lambda: nn.Sequential()),
    ("nn::ModuleList([])", lambda: nn.ModuleList([])),
    ("nn::ModuleList([nn::Linear(2, 2), nn::Linear(2, 2), nn::ReLU()])",
     lambda: nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU()])),
    ("nn::Sequential(nn::Sequential(nn::Linear(1, 2)), nn::Dropout())",
     lambda: nn.Sequential(nn.Sequential(nn.Linear(1, 2)), nn.Dropout())),
    ("nn::RNN(3, 4)", lambda: nn.RNN(3, 4)),
    ("nn::RNN(3, 4, 2, \"relu\", #{bias: false})", lambda: nn.RNN(3, 4, 2, "relu", bias=False)),
    ("nn::LSTM(3, 4, 2, #{batch_first: true, dropout: 0.1, bidirectional: true, proj_size: 2})",
     lambda: nn.LSTM(3, 4, 2, batch_first=True, dropout=0.1, bidirectional=True, proj_size=2)),
    ("nn::GRU(3, 4, #{num_layers: 3})", lambda: nn.GRU(3, 4, num_layers=3)),
    ("nn::LSTMCell(3, 4)", lambda: nn.LSTMCell(3, 4)),
    ("nn::GRUCell(3, 4, false)", lambda: nn.GRUCell(3, 4, False)),
    ("nn::RNNCell(3, 4, #{nonlinearity: \"relu\"})", lambda: nn.RNNCell(3, 4, nonlinearity="relu")),
    ("nn::ConvTranspose1d(2, 4, 3, #{dilation: 2, groups: 2})", lambda: nn.ConvTranspose1d(2, 4, 3, dilation=2, groups=2)),
    ("nn::ConvTranspose2d(2, 4, [3, 2], 2, 1, 1, #{bias: false})",
     lambda: nn.ConvTranspose2d(2, 4, (3, 2), 2, 1, 1, bias=False)),
    ("nn::InstanceNorm1d(3, #{momentum: ()})", lambda: nn.InstanceNorm1d(3, momentum=None)),
    ("nn::InstanceNorm2d(3, #{affine: true, track_running_stats: true})",
     lambda: nn.InstanceNorm2d(3, affine=True, track_running_stats=True)),
    ("nn::ZeroPad1d(2)", lambda: nn.ZeroPad1d(2)),
    ("nn::ZeroPad2d([1, 2, 3, 4])", lambda: nn.ZeroPad2d((1, 2, 3, 4))),
    ("nn::ZeroPad3d(1)", lambda: nn.ZeroPad3d(1)),
    ("nn::ConstantPad1d(2, 3.5)", lambda: nn.ConstantPad1d(2, 3.5)),
    ("nn::ConstantPad2d([1, 2, 0, 1], 0)", lambda: nn.ConstantPad2d((1, 2, 0, 1), 0)),
    ("nn::ConstantPad3d(3, 1.0)", lambda: nn.ConstantPad3d(3, 1.0)),
    ("nn::ReflectionPad1d(2)", lambda: nn.ReflectionPad1d(2)),
    ("nn::ReflectionPad2d(2)", lambda: nn.ReflectionPad2d(2)),
    ("nn::ReplicationPad2d([1, 2, 3, 4])", lambda: nn.ReplicationPad2d((1, 2, 3, 4))),
    ("nn::CircularPad3d(2)", lambda: nn.CircularPad3d(2)),
    ("nn::Unfold([2, 3])", lambda: nn.Unfold((2, 3))),
    ("nn::Unfold(2, 1, 0, 2)", lambda: nn.Unfold(2, 1, 0, 2)),
    ("nn::Fold([4, 5], [2, 2])", lambda: nn.Fold((4, 5), (2, 2))),
    ("nn::Fold(4, 2, #{stride: 2})", lambda: nn.Fold(4, 2, stride=2)),
    ("nn::Bilinear(2, 3, 4, #{bias: false})", lambda: nn.Bilinear(2, 3, 4, bias=False)),
    ("nn::EmbeddingBag(10, 3)", lambda: nn.EmbeddingBag(10, 3)),
    ("nn::EmbeddingBag(10, 3, #{mode: \"sum\", padding_idx: -1, include_last_offset: true})",
     lambda: nn.EmbeddingBag(10, 3, mode="sum", padding_idx=-1, include_last_offset=True)),
    ("nn::CTCLoss(#{blank: 2})", lambda: nn.CTCLoss(blank=2)),
    ("nn::Conv3d(2, 4, 3)", lambda: nn.Conv3d(2, 4, 3)),
    ("nn::Conv3d(4, 8, [3, 5, 1], #{stride: 2, padding: 1, dilation: [1, 2, 1], groups: 2, bias: false, padding_mode: \"circular\"})",
     lambda: nn.Conv3d(4, 8, (3, 5, 1), stride=2, padding=1, dilation=(1, 2, 1), groups=2, bias=False, padding_mode="circular")),
    ("nn::MaxPool3d([3, 2, 1], #{padding: 1})", lambda: nn.MaxPool3d((3, 2, 1), padding=1)),
    ("nn::AvgPool3d(2, #{stride: [1, 2, 3]})", lambda: nn.AvgPool3d(2, stride=(1, 2, 3))),
    ("nn::BatchNorm3d(3, #{momentum: ()})", lambda: nn.BatchNorm3d(3, momentum=None)),
    ("nn::TransformerDecoderLayer(8, 2, 16)", lambda: nn.TransformerDecoderLayer(8, 2, 16)),
    ("nn::TransformerDecoderLayer(8, 2, 16, #{activation: nn::GELU(), bias: false})",
     lambda: nn.TransformerDecoderLayer(8, 2, 16, activation=nn.GELU(), bias=False)),
    ("nn::TransformerDecoder(nn::TransformerDecoderLayer(8, 2, 16), 2, nn::LayerNorm(8))",
     lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2, nn.LayerNorm(8))),
    ("nn::Transformer(8, 2, 2, 1, 16)", lambda: nn.Transformer(8, 2, 2, 1, 16)),
]

DRAWN = [
    ("nn::Linear(3, 2).weight", lambda: nn.Linear(3, 2).weight),
    ("nn::Linear(3, 2).bias", lambda: nn.Linear(3, 2).bias),
    ("nn::Linear(7, 5).weight", lambda: nn.Linear(7, 5).weight),
    ("nn::Linear(3, 2, #{dtype: float64}).weight", lambda: nn.Linear(3, 2, dtype=torch.float64).weight),
    ("nn::Conv1d(2, 4, 3).bias", lambda: nn.Conv1d(2, 4, 3).bias),
    ("nn::Conv2d(2, 3, 3).weight", lambda: nn.Conv2d(2, 3, 3).weight),
    ("nn::Conv2d(4, 6, [1, 3], #{groups: 2}).weight", lambda: nn.Conv2d(4, 6, (1, 3), groups=2).weight),
    ("nn::Embedding(5, 4).weight", lambda: nn.Embedding(5, 4).weight),
    ("nn::Embedding(3, 2, #{padding_idx: 1}).weight", lambda: nn.Embedding(3, 2, padding_idx=1).weight),
    ("F::dropout(ones(10), 0.5)", lambda: F.dropout(torch.ones(10), 0.5)),
    ("F::dropout(arange(40).float(), 0.1)", lambda: F.dropout(torch.arange(40).float(), 0.1)),
    ("F::dropout(ones([4, 5, 6]).permute([2, 0, 1]), 0.4)", lambda: F.dropout(torch.ones(4, 5, 6).permute(2, 0, 1), 0.4)),
    ("F::dropout(ones([30]).expand([4, 30]), 0.4)", lambda: F.dropout(torch.ones(30).expand(4, 30), 0.4)),
    ("F::dropout(ones([30, 4]).t(), 0.4)", lambda: F.dropout(torch.ones(30, 4).t(), 0.4)),
    ("F::dropout2d(ones([3, 4, 2, 2]), 0.4)", lambda: F.dropout2d(torch.ones(3, 4, 2, 2), 0.4)),
    ("F::dropout1d(ones([6, 3]), 0.4)", lambda: F.dropout1d(torch.ones(6, 3), 0.4)),
    ("nn::LSTM(3, 4, 2, #{bidirectional: true, proj_size: 2}).weight_hr_l1_reverse",
     lambda: nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2).weight_hr_l1_reverse),
    ("nn::GRU(3, 4, 2, #{bidirectional: true}).weight_ih_l1", lambda: nn.GRU(3, 4, 2, bidirectional=True).weight_ih_l1),
    ("nn::RNN(3, 4).bias_hh_l0", lambda: nn.RNN(3, 4).bias_hh_l0),
    ("nn::LSTMCell(3, 4).bias_hh", lambda: nn.LSTMCell(3, 4).bias_hh),
    ("nn::ConvTranspose2d(4, 6, [1, 3], #{groups: 2}).weight", lambda: nn.ConvTranspose2d(4, 6, (1, 3), groups=2).weight),
    ("nn::ConvTranspose1d(4, 6, 3).bias", lambda: nn.ConvTranspose1d(4, 6, 3).bias),
    ("nn::PReLU(2).weight", lambda: nn.PReLU(2).weight),
    ("nn::Sequential(nn::Linear(2, 3), nn::ReLU(), nn::Linear(3, 1))[2].weight",
     lambda: nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))[2].weight),
    ("nn::MultiheadAttention(8, 2).in_proj_weight", lambda: nn.MultiheadAttention(8, 2).in_proj_weight),
    ("nn::MultiheadAttention(8, 2).out_proj.weight", lambda: nn.MultiheadAttention(8, 2).out_proj.weight),
    ("nn::MultiheadAttention(8, 2).out_proj.bias", lambda: nn.MultiheadAttention(8, 2).out_proj.bias),
    ("nn::MultiheadAttention(8, 2, #{kdim: 3, vdim: 5}).v_proj_weight",
     lambda: nn.MultiheadAttention(8, 2, kdim=3, vdim=5).v_proj_weight),
    ("nn::MultiheadAttention(4, 2, #{add_bias_kv: true}).bias_v /* normal */",
     lambda: nn.MultiheadAttention(4, 2, add_bias_kv=True).bias_v),
    ("nn::TransformerEncoderLayer(8, 2, 16).linear2.weight",
     lambda: nn.TransformerEncoderLayer(8, 2, 16).linear2.weight),
    ("nn::TransformerEncoder(nn::TransformerEncoderLayer(8, 2, 16), 2).layers[1].self_attn.in_proj_weight",
     lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2).layers[1].self_attn.in_proj_weight),
    ("nn::BatchNorm2d(3).weight", lambda: nn.BatchNorm2d(3).weight),
    ("nn::BatchNorm1d(3).running_var", lambda: nn.BatchNorm1d(3).running_var),
    ("nn::LayerNorm([2, 3]).weight", lambda: nn.LayerNorm([2, 3]).weight),
    ("nn::GroupNorm(2, 4).bias", lambda: nn.GroupNorm(2, 4).bias),
    ("nn::init::xavier_uniform_(empty([3, 4]))", lambda: nn.init.xavier_uniform_(torch.empty(3, 4))),
    ("nn::init::xavier_normal_(empty([4, 5]), 0.5)", lambda: nn.init.xavier_normal_(torch.empty(4, 5), 0.5)),
    ("nn::init::kaiming_normal_(empty([4, 5]), #{mode: \"fan_out\", nonlinearity: \"relu\"})",
     lambda: nn.init.kaiming_normal_(torch.empty(4, 5), mode="fan_out", nonlinearity="relu")),
    ("nn::Bilinear(2, 3, 4).weight", lambda: nn.Bilinear(2, 3, 4).weight),
    ("nn::Bilinear(2, 3, 4).bias", lambda: nn.Bilinear(2, 3, 4).bias),
    ("nn::EmbeddingBag(5, 4).weight", lambda: nn.EmbeddingBag(5, 4).weight),
    ("nn::Conv3d(2, 3, [1, 2, 3]).weight", lambda: nn.Conv3d(2, 3, (1, 2, 3)).weight),
    ("nn::Conv3d(2, 3, 2).bias", lambda: nn.Conv3d(2, 3, 2).bias),
    ("nn::TransformerDecoderLayer(8, 2, 16).multihead_attn.in_proj_weight",
     lambda: nn.TransformerDecoderLayer(8, 2, 16).multihead_attn.in_proj_weight),
    ("nn::TransformerDecoderLayer(8, 2, 16).linear2.bias", lambda: nn.TransformerDecoderLayer(8, 2, 16).linear2.bias),
    ("nn::Transformer(8, 2, 2, 1, 16).decoder.layers[0].linear2.weight",
     lambda: nn.Transformer(8, 2, 2, 1, 16).decoder.layers[0].linear2.weight),
    ("nn::Transformer(8, 2, 2, 1, 16).encoder.layers[1].self_attn.in_proj_weight",
     lambda: nn.Transformer(8, 2, 2, 1, 16).encoder.layers[1].self_attn.in_proj_weight),
    ("nn::init::orthogonal_(empty([3, 5])) /* normal */", lambda: nn.init.orthogonal_(torch.empty(3, 5))),
    ("nn::init::orthogonal_(empty([6, 2, 2]), 2.0) /* normal */", lambda: nn.init.orthogonal_(torch.empty(6, 2, 2), 2.0)),
    ("nn::init::trunc_normal_(empty([40])) /* normal */", lambda: nn.init.trunc_normal_(torch.empty(40))),
    ("nn::init::trunc_normal_(empty([5, 7]), #{mean: 0.3, std: 2.0, a: -2.0, b: 1.5}) /* normal */",
     lambda: nn.init.trunc_normal_(torch.empty(5, 7), mean=0.3, std=2.0, a=-2.0, b=1.5)),
    ("nn::init::trunc_normal_(empty([50]), 0.0, 1.0, 1.5, 3.0) /* normal */",
     lambda: nn.init.trunc_normal_(torch.empty(50), 0.0, 1.0, 1.5, 3.0)),
]

CAUSAL = nn.Transformer.generate_square_subsequent_mask
X, K, V = torch.linspace(-1, 1, 80).reshape(2, 5, 8), torch.linspace(0, 1, 36).reshape(3, 2, 6), torch.ones(3, 2, 4)
HIDDEN = torch.tensor([[False, False, False, False, True], [False, True, True, False, False]])


def encoder():
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, norm_first=True, activation=nn.SiLU()), 2, nn.LayerNorm(8))
    return net.eval()


# `x`, `k`, `v` and `hidden` are those above. Masks drop out as PyTorch's do.
CALLED = [
    ("nn::MultiheadAttention(8, 2).forward(x, x, x)[0]", lambda: nn.MultiheadAttention(8, 2)(X, X, X)[0]),
    ("nn::MultiheadAttention(8, 4, #{batch_first: true}).forward(x, x, x)[1]",
     lambda: nn.MultiheadAttention(8, 4, batch_first=True)(X, X, X)[1]),
    ("nn::MultiheadAttention(8, 2, #{batch_first: true}).forward(x, x, x, #{key_padding_mask: hidden, average_attn_weights: false})[1]",
     lambda: nn.MultiheadAttention(8, 2, batch_first=True)(X, X, X, key_padding_mask=HIDDEN, average_attn_weights=False)[1]),
    ("nn::MultiheadAttention(8, 2, 0.3).forward(x, x * 2, x * 2)[1]",
     lambda: (lambda k: nn.MultiheadAttention(8, 2, 0.3)(X, k, k)[1])(X * 2)),
    ("nn::MultiheadAttention(8, 2, #{batch_first: true}).forward(x, x, x, #{attn_mask: causal, is_causal: true, need_weights: false})[0]",
     lambda: nn.MultiheadAttention(8, 2, batch_first=True)(X, X, X, attn_mask=CAUSAL(5), is_causal=True, need_weights=False)[0]),
    ("nn::MultiheadAttention(8, 2, #{batch_first: true, bias: false}).forward(x, x, x * 2, hidden, true, causal)[0]",
     lambda: nn.MultiheadAttention(8, 2, batch_first=True, bias=False)(X, X, X * 2, HIDDEN, True, CAUSAL(5))[0]),
    ("nn::MultiheadAttention(8, 2).forward(x[0], x[1], x[1], #{need_weights: false, attn_mask: hidden[0].expand([5, 5])})[0]",
     lambda: nn.MultiheadAttention(8, 2)(X[0], X[1], X[1], need_weights=False, attn_mask=HIDDEN[0].expand(5, 5))[0]),
    ("nn::MultiheadAttention(8, 2, #{add_bias_kv: true, add_zero_attn: true, kdim: 6, vdim: 4}).forward(x.transpose(0, 1), k, v)[1]",
     lambda: nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True, kdim=6, vdim=4)(X.transpose(0, 1), K, V)[1]),
    ("nn::TransformerEncoderLayer(8, 2, 16).forward(x)", lambda: nn.TransformerEncoderLayer(8, 2, 16)(X)),
    ("nn::TransformerEncoderLayer(8, 2, 16, #{batch_first: true, dropout: 0}).forward(x, causal, hidden)",
     lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0)(X, CAUSAL(5), HIDDEN)),
    ("nn::TransformerEncoderLayer(8, 2, 16, #{activation: \"gelu\"}).forward(x[0])",
     lambda: nn.TransformerEncoderLayer(8, 2, 16, activation="gelu")(X[0])),
    ("nn::TransformerEncoder(nn::TransformerEncoderLayer(8, 2, 16, #{norm_first: true, activation: nn::SiLU()}), 2, "
     "nn::LayerNorm(8)).eval().forward(x.transpose(0, 1), causal)",
     lambda: encoder()(X.transpose(0, 1), CAUSAL(5))),
]

GIVEN = [
    ("nn::ConstantPad1d([1, 2], 0.5).forward(x)", lambda: nn.ConstantPad1d((1, 2), 0.5)(X)),
    ("nn::ZeroPad2d([1, -1, 0, 2]).forward(x)", lambda: nn.ZeroPad2d((1, -1, 0, 2))(X)),
    ("nn::ReflectionPad1d([3, 2]).forward(x)", lambda: nn.ReflectionPad1d((3, 2))(X)),
    ("nn::ReflectionPad2d([3, 2, 1, 4]).forward(x)", lambda: nn.ReflectionPad2d((3, 2, 1, 4))(X)),
    ("nn::ReflectionPad3d(1).forward(x.unsqueeze(0))", lambda: nn.ReflectionPad3d(1)(X.unsqueeze(0))),
    ("nn::ReplicationPad2d([3, 2, 1, 9]).forward(x)", lambda: nn.ReplicationPad2d((3, 2, 1, 9))(X)),
    ("nn::ReplicationPad3d(2).forward(x.unsqueeze(0))", lambda: nn.ReplicationPad3d(2)(X.unsqueeze(0))),
    ("nn::CircularPad2d([3, 2, 1, 4]).forward(x)", lambda: nn.CircularPad2d((3, 2, 1, 4))(X)),
    ("nn::Unfold([2, 3], #{stride: 2}).forward(x)", lambda: nn.Unfold((2, 3), stride=2)(X)),
    ("nn::Fold([5, 8], 1).forward(x.reshape([1, 2, 40]))", lambda: nn.Fold((5, 8), 1)(X.reshape(1, 2, 40))),
    ("nn::Conv3d(1, 3, 2, #{padding: 1}).forward(x.reshape([1, 1, 2, 5, 8]))",
     lambda: nn.Conv3d(1, 3, 2, padding=1)(X.reshape(1, 1, 2, 5, 8))),
    ("nn::Conv3d(2, 2, [1, 3, 2], #{padding: \"same\", padding_mode: \"reflect\", groups: 2}).forward(x.reshape([2, 2, 4, 5]))",
     lambda: nn.Conv3d(2, 2, (1, 3, 2), padding="same", padding_mode="reflect", groups=2)(X.reshape(2, 2, 4, 5))),
    ("nn::MaxPool3d(2, 1).forward(x.reshape([2, 2, 4, 5]))", lambda: nn.MaxPool3d(2, 1)(X.reshape(2, 2, 4, 5))),
    ("nn::AvgPool3d(2, #{padding: 1, ceil_mode: true, count_include_pad: false}).forward(x.reshape([1, 2, 2, 4, 5]))",
     lambda: nn.AvgPool3d(2, padding=1, ceil_mode=True, count_include_pad=False)(X.reshape(1, 2, 2, 4, 5))),
    ("nn::BatchNorm3d(2).forward(x.square().reshape([1, 2, 2, 4, 5]))",
     lambda: nn.BatchNorm3d(2)(X.square().reshape(1, 2, 2, 4, 5))),
    ("nn::TransformerDecoderLayer(8, 2, 16).forward(x, x * 2)", lambda: nn.TransformerDecoderLayer(8, 2, 16)(X, X * 2)),
    ("nn::TransformerDecoderLayer(8, 2, 16, #{batch_first: true, dropout: 0, norm_first: true, activation: \"gelu\"}).forward(x, x.square(), causal, #{memory_key_padding_mask: hidden})",
     lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, dropout=0, norm_first=True, activation="gelu")(
         X, X.square(), CAUSAL(5), memory_key_padding_mask=HIDDEN)),
    ("nn::TransformerDecoder(nn::TransformerDecoderLayer(8, 2, 16), 2, nn::LayerNorm(8)).eval().forward(x, x * 2)",
     lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2, nn.LayerNorm(8)).eval()(X, X * 2)),
    ("nn::Transformer(8, 2, 2, 1, 16).forward(x, x * 2)", lambda: nn.Transformer(8, 2, 2, 1, 16)(X, X * 2)),
    ("nn::Transformer(8, 2, 1, 2, 16, #{batch_first: true, norm_first: true}).eval().forward(x, x * 2, #{tgt_mask: causal, src_key_padding_mask: hidden, memory_key_padding_mask: hidden})",
     lambda: nn.Transformer(8, 2, 1, 2, 16, batch_first=True, norm_first=True).eval()(
         X, X * 2, tgt_mask=CAUSAL(5), src_key_padding_mask=HIDDEN, memory_key_padding_mask=HIDDEN)),
    ("nn::Bilinear(8, 8, 3).forward(x, x * 2)", lambda: nn.Bilinear(8, 8, 3)(X, X * 2)),
    ("nn::EmbeddingBag(10, 3, #{mode: \"max\"}).forward(tensor([1, 9, 4]), tensor([0, 2]))",
     lambda: nn.EmbeddingBag(10, 3, mode="max")(torch.tensor([1, 9, 4]), torch.tensor([0, 2]))),
    ("nn::EmbeddingBag(10, 3, #{mode: \"sum\"}).forward(tensor([[1, 9, 4]]), #{per_sample_weights: tensor([[0.5, 1.0, 2.0]])})",
     lambda: nn.EmbeddingBag(10, 3, mode="sum")(torch.tensor([[1, 9, 4]]), per_sample_weights=torch.tensor([[0.5, 1.0, 2.0]]))),
    ("nn::CTCLoss(#{reduction: \"none\"}).forward(x.transpose(0, 1).log_softmax(2), tensor([[1, 2], [3, 3]]), tensor([5, 4]), [2, 2])",
     lambda: nn.CTCLoss(reduction="none")(X.transpose(0, 1).log_softmax(2), torch.tensor([[1, 2], [3, 3]]), torch.tensor([5, 4]),
                                          torch.tensor([2, 2]))),
    ("F::softsign(x)", lambda: F.softsign(X)),
    ("F::hardswish(x * 4)", lambda: F.hardswish(X * 4)),
    ("F::hardsigmoid(x * 4)", lambda: F.hardsigmoid(X * 4)),
    ("F::logsigmoid(x * 40)", lambda: F.logsigmoid(X * 40)),
    ("F::selu(x)", lambda: F.selu(X)),
    ("F::celu(x, 0.3)", lambda: F.celu(X, 0.3)),
    ("F::glu(x)", lambda: F.glu(X)),
    ("F::glu(x, 0)", lambda: F.glu(X, 0)),
    ("F::softmin(x, -1)", lambda: F.softmin(X, -1)),
    ("F::prelu(x, linspace(0, 1, 5))", lambda: F.prelu(X, torch.linspace(0, 1, 5))),
    ("F::normalize(x)", lambda: F.normalize(X)),
    ("F::normalize(x, 1.0, -1, 3.0)", lambda: F.normalize(X, 1.0, -1, 3.0)),
    ("F::rms_norm(x, [5, 8])", lambda: F.rms_norm(X, [5, 8])),
    ("F::rms_norm(x.half(), [8], linspace(0, 1, 8).half(), 0.1)",
     lambda: F.rms_norm(X.half(), [8], torch.linspace(0, 1, 8).half(), 0.1)),
    ("F::rms_norm(zeros([2, 3]).double(), [3])", lambda: F.rms_norm(torch.zeros(2, 3).double(), [3])),
    ("F::max_pool1d(x, 3, #{padding: 1, stride: 2, dilation: 2})",
     lambda: F.max_pool1d(X, 3, padding=1, stride=2, dilation=2)),
    ("F::max_pool1d(x[0], 3, #{ceil_mode: true})", lambda: F.max_pool1d(X[0], 3, ceil_mode=True)),
    ("F::avg_pool1d(x, 3, 2, 1, #{count_include_pad: false})",
     lambda: F.avg_pool1d(X, 3, 2, 1, count_include_pad=False)),
    ("F::adaptive_avg_pool1d(x, 3)", lambda: F.adaptive_avg_pool1d(X, 3)),
    ("nn::Unflatten(-1, [2, -1]).forward(x)", lambda: nn.Unflatten(-1, (2, -1))(X)),
    ("nn::RMSNorm(8).forward(x)", lambda: nn.RMSNorm(8)(X)),
    ("nn::PReLU().forward(x)", lambda: nn.PReLU()(X)),
]
CALLED += GIVEN


def gradient(net, run, name):
    run(net).square().sum().backward()
    return net.get_parameter(name).grad


def tuned():
    net = nn.Sequential(nn.Linear(8, 3), nn.ReLU(), nn.Linear(3, 2))
    net[2] = nn.Linear(3, 5)
    opt = optim.SGD(net[2].parameters(), lr=0.1)
    net(X).square().sum().backward()
    opt.step()
    return net(X)


def evaluated(net):
    net(X)
    return net.eval()(X * 2)


H, C = torch.linspace(-1, 1, 40).reshape(4, 5, 2), torch.linspace(0, 2, 60).reshape(4, 5, 3)
CALLED += [
    ("let net = nn::Sequential(nn::Linear(8, 3), nn::ReLU(), nn::Linear(3, 2)); net[2] = nn::Linear(3, 5); "
     "let opt = optim::SGD(net[2].parameters(), #{lr: 0.1}); net.forward(x).square().sum().backward(); opt.step(); "
     "net.forward(x)", tuned),
    ("nn::RNN(8, 3).forward(x)[0]", lambda: nn.RNN(8, 3)(X)[0]),
    ("nn::RNN(8, 3, 2, \"relu\").forward(x)[1]", lambda: nn.RNN(8, 3, 2, "relu")(X)[1]),
    ("nn::RNN(8, 3, #{bias: false}).forward(x[0])[1]", lambda: nn.RNN(8, 3, bias=False)(X[0])[1]),
    ("nn::LSTM(8, 3).forward(x)[0]", lambda: nn.LSTM(8, 3)(X)[0]),
    ("nn::LSTM(8, 3, 2, #{batch_first: true, bidirectional: true}).forward(x)[1][1]",
     lambda: nn.LSTM(8, 3, 2, batch_first=True, bidirectional=True)(X)[1][1]),
    ("let h = linspace(-1, 1, 40).reshape([4, 5, 2]); let c = linspace(0, 2, 60).reshape([4, 5, 3]); "
     "nn::LSTM(8, 3, 2, #{bidirectional: true, proj_size: 2}).forward(x, [h, c])[0]",
     lambda: nn.LSTM(8, 3, 2, bidirectional=True, proj_size=2)(X, (H, C))[0]),
    ("nn::LSTM(8, 3, 2, #{dropout: 0.4}).forward(x)[0]", lambda: nn.LSTM(8, 3, 2, dropout=0.4)(X)[0]),
    ("nn::GRU(8, 3, #{bidirectional: true}).forward(x)[0]", lambda: nn.GRU(8, 3, bidirectional=True)(X)[0]),
    ("nn::GRU(8, 3, 2, #{batch_first: true}).forward(x)[1]", lambda: nn.GRU(8, 3, 2, batch_first=True)(X)[1]),
    ("nn::GRU(8, 3).forward(x[0], zeros([1, 3]))[0]", lambda: nn.GRU(8, 3)(X[0], torch.zeros(1, 3))[0]),
    ("nn::LSTMCell(8, 3).forward(x[0])[1]", lambda: nn.LSTMCell(8, 3)(X[0])[1]),
    ("nn::LSTMCell(8, 3).forward(x[0][0], [ones(3), zeros(3)])[0]",
     lambda: nn.LSTMCell(8, 3)(X[0][0], (torch.ones(3), torch.zeros(3)))[0]),
    ("nn::GRUCell(8, 3).forward(x[0], ones([5, 3]))", lambda: nn.GRUCell(8, 3)(X[0], torch.ones(5, 3))),
    ("nn::RNNCell(8, 3, #{nonlinearity: \"relu\"}).forward(x[1])", lambda: nn.RNNCell(8, 3, nonlinearity="relu")(X[1])),
    ("nn::ConvTranspose1d(5, 4, 3, #{stride: 2, padding: 1, output_padding: 1}).forward(x)",
     lambda: nn.ConvTranspose1d(5, 4, 3, stride=2, padding=1, output_padding=1)(X)),
    ("nn::ConvTranspose1d(5, 4, 3, #{stride: 3}).forward(x, [25])", lambda: nn.ConvTranspose1d(5, 4, 3, stride=3)(X, [25])),
    ("nn::ConvTranspose2d(2, 4, [2, 3], #{groups: 2, dilation: 3, output_padding: 2}).forward(x)",
     lambda: nn.ConvTranspose2d(2, 4, (2, 3), groups=2, dilation=3, output_padding=2)(X)),
    ("nn::InstanceNorm1d(5).forward(x.square())", lambda: nn.InstanceNorm1d(5)(X.square())),
    ("let net = nn::InstanceNorm1d(5, #{affine: true, track_running_stats: true}); net.forward(x); "
     "net.eval().forward(x * 2)", lambda: evaluated(nn.InstanceNorm1d(5, affine=True, track_running_stats=True))),
    ("nn::InstanceNorm2d(2).forward(x.square())", lambda: nn.InstanceNorm2d(2)(X.square())),
]
# Gradients after the square of an output: the layer, how it is called, and whose gradient.
CALLED += [
    (f"let net = {code}; net.forward(x){part}.square().sum().backward(); net.get_parameter(\"{name}\").grad",
     lambda make=make, run=run, name=name: gradient(make(), run, name))
    for code, part, name, make, run in [
        ("nn::LSTM(8, 3, 2, #{bidirectional: true})", "[0]", "weight_hh_l0_reverse",
         lambda: nn.LSTM(8, 3, 2, bidirectional=True), lambda net: net(X)[0]),
        ("nn::LSTM(8, 3, 2)", "[1][1]", "bias_ih_l0", lambda: nn.LSTM(8, 3, 2), lambda net: net(X)[1][1]),
        ("nn::GRU(8, 3, 2)", "[0]", "weight_ih_l0", lambda: nn.GRU(8, 3, 2), lambda net: net(X)[0]),
        ("nn::GRU(8, 3)", "[1]", "bias_hh_l0", lambda: nn.GRU(8, 3), lambda net: net(X)[1]),
        ("nn::RNN(8, 3, 2)", "[0]", "weight_hh_l1", lambda: nn.RNN(8, 3, 2), lambda net: net(X)[0]),
        ("nn::ConvTranspose2d(2, 4, [2, 3], #{dilation: 3, output_padding: 2})", "", "weight",
         lambda: nn.ConvTranspose2d(2, 4, (2, 3), dilation=3, output_padding=2), lambda net: net(X)),
        ("nn::Sequential(nn::Conv2d(2, 2, 1), nn::ConvTranspose2d(2, 4, [2, 3], #{dilation: 3, output_padding: 2}))", "",
         "0.weight",
         lambda: nn.Sequential(nn.Conv2d(2, 2, 1), nn.ConvTranspose2d(2, 4, (2, 3), dilation=3, output_padding=2)),
         lambda net: net(X)),
        ("nn::Sequential(nn::Linear(8, 4), nn::InstanceNorm1d(5, #{affine: true}), nn::Tanh())", "", "0.weight",
         lambda: nn.Sequential(nn.Linear(8, 4), nn.InstanceNorm1d(5, affine=True), nn.Tanh()), lambda net: net(X)),
    ]
]

W = torch.ones(4, 3, 3, 3)
M = nn.MultiheadAttention(4, 2)
P = [torch.ones(2, requires_grad=True)]
LONG = torch.long

# `q` is an image [1, 3, 5, 5], `w` a weight [4, 3, 3, 3], `p` an array of one parameter, `l` a Linear(3, 2).
L = nn.Linear(3, 2)
Q = torch.ones(1, 3, 5, 5)
ERRORS = [
    ("F::conv2d(ones([1, 2, 5, 5]), w)", lambda: F.conv2d(torch.ones(1, 2, 5, 5), W)),
    ("F::conv2d(ones([2, 5]), w)", lambda: F.conv2d(torch.ones(2, 5), W)),
    ("F::conv2d(ones([1, 3, 2, 2]), w)", lambda: F.conv2d(torch.ones(1, 3, 2, 2), W)),
    ("F::conv2d(ones([1, 3, 5, 5]), w, ones(3))", lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, torch.ones(3))),
    ("F::conv2d(ones([1, 3, 5, 5]), w, #{stride: 0})", lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, stride=0)),
    ("F::conv2d(ones([1, 3, 5, 5]), w, #{padding: -1})", lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, padding=-1)),
    ("F::conv2d(ones([1, 3, 5, 5]), w, #{dilation: 0})", lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, dilation=0)),
    ("F::conv2d(ones([1, 3, 5, 5]), w, #{groups: 0})", lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, groups=0)),
    ("F::conv2d(ones([1, 3, 5, 5]), w, #{groups: 3})", lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, groups=3)),
    ("F::conv2d(ones([1, 3, 5, 5]), w, #{stride: [1, 2, 3]})",
     lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, stride=(1, 2, 3))),
    ("F::conv2d(ones([1, 3, 5, 5]), w, #{padding: \"same\", stride: 2})",
     lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, padding="same", stride=2)),
    ("F::conv2d(ones([1, 3, 5, 5]), w, #{padding: \"foo\"})",
     lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, padding="foo")),
    ("F::conv2d(ones([1, 3, 5, 5]), w, ones(4).double())",
     lambda: F.conv2d(torch.ones(1, 3, 5, 5), W, torch.ones(4).double())),
    ("nn::Conv2d(3, 4, 3, #{groups: 2})", lambda: nn.Conv2d(3, 4, 3, groups=2)),
    ("nn::Conv2d(4, 3, 3, #{groups: 2})", lambda: nn.Conv2d(4, 3, 3, groups=2)),
    ("F::max_pool2d(ones([1, 1, 4, 4]), 2, #{padding: 2})", lambda: F.max_pool2d(torch.ones(1, 1, 4, 4), 2, padding=2)),
    ("F::max_pool2d(ones([1, 1, 1, 1]), 2)", lambda: F.max_pool2d(torch.ones(1, 1, 1, 1), 2)),
    ("F::max_pool2d(ones(4), 2)", lambda: F.max_pool2d(torch.ones(4), 2)),
    ("F::adaptive_avg_pool2d(ones(4), 2)", lambda: F.adaptive_avg_pool2d(torch.ones(4), 2)),
    ("F::cross_entropy(ones([4, 3]), zeros(2).long())",
     lambda: F.cross_entropy(torch.ones(4, 3), torch.zeros(2, dtype=LONG))),
    ("F::cross_entropy(ones([4, 3]), zeros(4).int())",
     lambda: F.cross_entropy(torch.ones(4, 3), torch.zeros(4, dtype=torch.int))),
    ("F::cross_entropy(ones([4, 3]), zeros(4))", lambda: F.cross_entropy(torch.ones(4, 3), torch.zeros(4))),
    ("F::cross_entropy(ones([4, 3]), zeros([4, 4]).long())",
     lambda: F.cross_entropy(torch.ones(4, 3), torch.zeros(4, 4, dtype=LONG))),
    ("F::cross_entropy(ones([4, 3, 2]), zeros([4, 3]).long())",
     lambda: F.cross_entropy(torch.ones(4, 3, 2), torch.zeros(4, 3, dtype=LONG))),
    ("F::cross_entropy(ones([4, 3]), zeros(4).long(), #{reduction: \"foo\"})",
     lambda: F.cross_entropy(torch.ones(4, 3), torch.zeros(4, dtype=LONG), reduction="foo")),
    ("F::cross_entropy(ones([4, 3]), zeros(4).long(), #{label_smoothing: 2})",
     lambda: F.cross_entropy(torch.ones(4, 3), torch.zeros(4, dtype=LONG), label_smoothing=2)),
    ("F::cross_entropy(ones([4, 3]), zeros(4).long(), ones(4))",
     lambda: F.cross_entropy(torch.ones(4, 3), torch.zeros(4, dtype=LONG), torch.ones(4))),
    ("F::cross_entropy(ones(3), zeros(2).long())", lambda: F.cross_entropy(torch.ones(3), torch.zeros(2, dtype=LONG))),
    ("F::cross_entropy(ones([4, 3]), tensor([0, 1, 7, 2]))",
     lambda: F.cross_entropy(torch.ones(4, 3), torch.tensor([0, 1, 7, 2]))),
    ("F::cross_entropy(ones([4, 3]), tensor([0, 1, -1, 2]))",
     lambda: F.cross_entropy(torch.ones(4, 3), torch.tensor([0, 1, -1, 2]))),
    ("F::mse_loss(ones([4, 3]), ones([2, 3]))", lambda: F.mse_loss(torch.ones(4, 3), torch.ones(2, 3))),
    ("F::smooth_l1_loss(ones(2), ones(2), #{beta: -1})", lambda: F.smooth_l1_loss(torch.ones(2), torch.ones(2), beta=-1)),
    ("F::huber_loss(ones(2), ones(2), #{delta: 0})", lambda: F.huber_loss(torch.ones(2), torch.ones(2), delta=0)),
    ("F::binary_cross_entropy(ones([4, 3]), ones(4))", lambda: F.binary_cross_entropy(torch.ones(4, 3), torch.ones(4))),
    ("F::binary_cross_entropy_with_logits(ones([4, 3]), ones(4))",
     lambda: F.binary_cross_entropy_with_logits(torch.ones(4, 3), torch.ones(4))),
    ("F::embedding(tensor([-1]), ones([3, 2]))", lambda: F.embedding(torch.tensor([-1]), torch.ones(3, 2))),
    ("F::embedding(tensor([3]), ones([3, 2]))", lambda: F.embedding(torch.tensor([3]), torch.ones(3, 2))),
    ("F::embedding(tensor([1.0]), ones([3, 2]))", lambda: F.embedding(torch.tensor([1.0]), torch.ones(3, 2))),
    ("F::pad(ones(2), [1, 1, 1, 1])", lambda: F.pad(torch.ones(2), [1, 1, 1, 1])),
    ("F::pad(ones(2), [1])", lambda: F.pad(torch.ones(2), [1])),
    ("F::pad(ones([1, 2]), [3, 0], \"circular\")", lambda: F.pad(torch.ones(1, 2), [3, 0], mode="circular")),
    ("F::dropout(ones(3), 1.5)", lambda: F.dropout(torch.ones(3), 1.5)),
    ("F::gelu(tensor([1]))", lambda: F.gelu(torch.tensor([1]))),
    ("F::layer_norm(ones([2, 3]), [4])", lambda: F.layer_norm(torch.ones(2, 3), [4])),
    ("F::layer_norm(ones([2, 3]), [3], ones(4))", lambda: F.layer_norm(torch.ones(2, 3), [3], torch.ones(4))),
    ("F::batch_norm(ones([1, 3]), (), (), #{training: true})",
     lambda: F.batch_norm(torch.ones(1, 3), None, None, training=True)),
    ("F::batch_norm(ones([4, 3]), (), ())", lambda: F.batch_norm(torch.ones(4, 3), None, None)),
    ("F::batch_norm(ones([4, 3]), ones(4), ones(4))", lambda: F.batch_norm(torch.ones(4, 3), torch.ones(4), torch.ones(4))),
    ("nn::BatchNorm1d(3).forward(ones([2, 3, 4, 5]))", lambda: nn.BatchNorm1d(3)(torch.ones(2, 3, 4, 5))),
    ("nn::BatchNorm2d(3).forward(ones([2, 3]))", lambda: nn.BatchNorm2d(3)(torch.ones(2, 3))),
    ("F::group_norm(ones([2, 4, 3]), 3)", lambda: F.group_norm(torch.ones(2, 4, 3), 3)),
    ("nn::GroupNorm(3, 4)", lambda: nn.GroupNorm(3, 4)),
    ("F::scaled_dot_product_attention(ones([2, 3, 4]), ones([2, 3, 4]), ones([2, 3, 4]), ones([3, 3]), "
     "#{is_causal: true})",
     lambda: F.scaled_dot_product_attention(*3 * [torch.ones(2, 3, 4)], torch.ones(3, 3), is_causal=True)),
    ("F::conv_transpose1d(ones([1, 2, 5]), ones([3, 4, 2]))",
     lambda: F.conv_transpose1d(torch.ones(1, 2, 5), torch.ones(3, 4, 2))),
    ("F::conv_transpose1d(ones([5]), ones([3, 4, 2]))", lambda: F.conv_transpose1d(torch.ones(5), torch.ones(3, 4, 2))),
    ("F::conv_transpose1d(ones([1, 3, 5]), ones([3, 4, 2]), ones(3))",
     lambda: F.conv_transpose1d(torch.ones(1, 3, 5), torch.ones(3, 4, 2), torch.ones(3))),
    ("F::conv_transpose1d(ones([1, 3, 5]), ones([3, 4, 2]), #{stride: 2, output_padding: 2})",
     lambda: F.conv_transpose1d(torch.ones(1, 3, 5), torch.ones(3, 4, 2), stride=2, output_padding=2)),
    ("F::conv_transpose2d(ones([1, 3, 5, 5]), ones([3, 4, 2, 2]), #{stride: 2, output_padding: 2})",
     lambda: F.conv_transpose2d(torch.ones(1, 3, 5, 5), torch.ones(3, 4, 2, 2), stride=2, output_padding=2)),
    ("F::conv_transpose1d(ones([1, 3, 5]), ones([3, 4, 2]), #{padding: 4})",
     lambda: F.conv_transpose1d(torch.ones(1, 3, 5), torch.ones(3, 4, 2), padding=4)),
    ("F::conv_transpose1d(ones([1, 3, 5]), ones([3, 4, 2]), #{output_padding: -1})",
     lambda: F.conv_transpose1d(torch.ones(1, 3, 5), torch.ones(3, 4, 2), output_padding=-1)),
    ("F::conv_transpose1d(ones([1, 3, 5]), ones([3, 4, 2]), #{groups: 2})",
     lambda: F.conv_transpose1d(torch.ones(1, 3, 5), torch.ones(3, 4, 2), groups=2)),
    ("nn::ConvTranspose2d(3, 4, 2, #{padding_mode: \"reflect\"})",
     lambda: nn.ConvTranspose2d(3, 4, 2, padding_mode="reflect")),
    ("nn::ConvTranspose2d(3, 4, 2, #{groups: 2})", lambda: nn.ConvTranspose2d(3, 4, 2, groups=2)),
    ("nn::ConvTranspose1d(3, 4, 3, #{stride: 3}).forward(ones([1, 3, 8]), [29])",
     lambda: nn.ConvTranspose1d(3, 4, 3, stride=3)(torch.ones(1, 3, 8), [29])),
    ("nn::InstanceNorm1d(3).forward(ones([1, 3, 1]))", lambda: nn.InstanceNorm1d(3)(torch.ones(1, 3, 1))),
    ("nn::InstanceNorm1d(3).forward(ones([1, 3, 4, 4]))", lambda: nn.InstanceNorm1d(3)(torch.ones(1, 3, 4, 4))),
    ("nn::InstanceNorm2d(3, #{affine: true}).forward(ones([1, 2, 4, 4]))",
     lambda: nn.InstanceNorm2d(3, affine=True)(torch.ones(1, 2, 4, 4))),
    ("F::instance_norm(ones([1, 2, 3]), #{use_input_stats: false})",
     lambda: F.instance_norm(torch.ones(1, 2, 3), use_input_stats=False)),
    ("F::instance_norm(ones([1, 2, 3]), #{weight: ones(3)})",
     lambda: F.instance_norm(torch.ones(1, 2, 3), weight=torch.ones(3))),
    ("nn::RNN(3, 4).forward(ones([2, 1, 4]))", lambda: nn.RNN(3, 4)(torch.ones(2, 1, 4))),
    ("nn::RNN(3, 4).forward(ones([2, 1, 1, 3]))", lambda: nn.RNN(3, 4)(torch.ones(2, 1, 1, 3))),
    ("nn::LSTM(3, 4).forward(ones(3))", lambda: nn.LSTM(3, 4)(torch.ones(3))),
    ("nn::GRU(3, 4).forward(ones(3))", lambda: nn.GRU(3, 4)(torch.ones(3))),
    ("nn::GRU(3, 4).forward(ones([2, 1, 3]).double())", lambda: nn.GRU(3, 4)(torch.ones(2, 1, 3).double())),
    ("nn::GRU(3, 4).forward(ones([2, 1, 3]), ones([1, 2, 4]))", lambda: nn.GRU(3, 4)(torch.ones(2, 1, 3), torch.ones(1, 2, 4))),
    ("nn::GRU(3, 4).forward(ones([2, 3]), ones([1, 2, 4]))", lambda: nn.GRU(3, 4)(torch.ones(2, 3), torch.ones(1, 2, 4))),
    ("nn::LSTM(3, 4).forward(ones([2, 1, 3]), [ones([1, 1, 4]), ones([1, 1, 5])])",
     lambda: nn.LSTM(3, 4)(torch.ones(2, 1, 3), (torch.ones(1, 1, 4), torch.ones(1, 1, 5)))),
    ("nn::LSTM(3, 4).forward(ones([2, 1, 3]), [ones([1, 4]), ones([1, 4])])",
     lambda: nn.LSTM(3, 4)(torch.ones(2, 1, 3), (torch.ones(1, 4), torch.ones(1, 4)))),
    ("nn::LSTM(3, 4, #{proj_size: 4})", lambda: nn.LSTM(3, 4, proj_size=4)),
    ("nn::RNN(3, 4, #{nonlinearity: \"gelu\"})", lambda: nn.RNN(3, 4, nonlinearity="gelu")),
    ("nn::RNN(3, 0)", lambda: nn.RNN(3, 0)),
    ("nn::GRU(3, 4, #{dropout: 2.0})", lambda: nn.GRU(3, 4, dropout=2.0)),
    ("nn::GRUCell(3, 4).forward(ones([2, 4]))", lambda: nn.GRUCell(3, 4)(torch.ones(2, 4))),
    ("nn::GRUCell(3, 4).forward(ones([2, 3]), ones([3, 4]))", lambda: nn.GRUCell(3, 4)(torch.ones(2, 3), torch.ones(3, 4))),
    ("nn::LSTMCell(3, 4).forward(ones([2, 3]), [ones([2, 4]), ones([2, 5])])",
     lambda: nn.LSTMCell(3, 4)(torch.ones(2, 3), (torch.ones(2, 4), torch.ones(2, 5)))),
    ("nn::RNNCell(3, 4).forward(ones([2, 2, 3]))", lambda: nn.RNNCell(3, 4)(torch.ones(2, 2, 3))),
    ("optim::SGD(p, #{lr: -1})", lambda: optim.SGD(P, lr=-1)),
    ("optim::SGD(p, #{momentum: -0.5})", lambda: optim.SGD(P, momentum=-0.5)),
    ("optim::SGD(p, #{weight_decay: -1})", lambda: optim.SGD(P, weight_decay=-1)),
    ("optim::SGD(p, #{nesterov: true})", lambda: optim.SGD(P, nesterov=True)),
    ("optim::Adam(p, #{eps: -1})", lambda: optim.Adam(P, eps=-1)),
    ("optim::Adam(p, #{betas: [1.0, 0.9]})", lambda: optim.Adam(P, betas=(1.0, 0.9))),
    ("optim::AdamW(p, #{weight_decay: -1})", lambda: optim.AdamW(P, weight_decay=-1)),
    ("optim::RMSprop(p, #{alpha: -1})", lambda: optim.RMSprop(P, alpha=-1)),
    ("optim::Adagrad(p, #{lr_decay: -1})", lambda: optim.Adagrad(P, lr_decay=-1)),
    ("optim::SGD([], #{lr: 0.1})", lambda: optim.SGD([], lr=0.1)),
    ("optim::SGD([1], #{lr: 0.1})", lambda: optim.SGD([1], lr=0.1)),
    ("optim::SGD([p[0] * 2], #{lr: 0.1})", lambda: optim.SGD([P[0] * 2], lr=0.1)),
    ("optim::SGD([#{params: p}, #{params: p}], #{lr: 0.1})",
     lambda: optim.SGD([{"params": P}, {"params": P}], lr=0.1)),
    ("l.load_state_dict(#{weight: ones([2, 4]), foo: ones(1)})",
     lambda: L.load_state_dict({"weight": torch.ones(2, 4), "foo": torch.ones(1)})),
    ("l.to(int64)", lambda: L.to(torch.int64)),
    ("nn::Sequential(nn::ReLU())[3]", lambda: nn.Sequential(nn.ReLU())[3]),
    ("nn::Embedding(3, 2, #{padding_idx: 5})", lambda: nn.Embedding(3, 2, padding_idx=5)),
    ("nn::Dropout(-0.5)", lambda: nn.Dropout(-0.5)),
    ("nn::MultiheadAttention(5, 2)", lambda: nn.MultiheadAttention(5, 2)),
    ("nn::MultiheadAttention(0, 2)", lambda: nn.MultiheadAttention(0, 2)),
    ("m.forward(ones([3, 1, 5]), ones([3, 1, 4]), ones([3, 1, 4]))",
     lambda: M(torch.ones(3, 1, 5), torch.ones(3, 1, 4), torch.ones(3, 1, 4))),
    ("m.forward(ones([3, 1, 4]), ones([3, 4]), ones([3, 1, 4]))",
     lambda: M(torch.ones(3, 1, 4), torch.ones(3, 4), torch.ones(3, 1, 4))),
    ("m.forward(ones([3, 4]), ones([3, 4]), ones([2, 4]))",
     lambda: M(torch.ones(3, 4), torch.ones(3, 4), torch.ones(2, 4))),
    ("m.forward(ones(4), ones(4), ones(4))", lambda: M(*3 * [torch.ones(4)])),
    ("m.forward(ones([3, 4]), ones([3, 4]), ones([3, 4]), #{attn_mask: ones([2, 3])})",
     lambda: M(*3 * [torch.ones(3, 4)], attn_mask=torch.ones(2, 3))),
    ("m.forward(ones([3, 4]), ones([3, 4]), ones([3, 4]), #{attn_mask: ones([3, 3]).long()})",
     lambda: M(*3 * [torch.ones(3, 4)], attn_mask=torch.ones(3, 3).long())),
    ("m.forward(ones([3, 4]), ones([3, 4]), ones([3, 4]), #{is_causal: true})",
     lambda: M(*3 * [torch.ones(3, 4)], is_causal=True)),
    ("nn::TransformerEncoderLayer(4, 2, #{activation: \"tanh\"})",
     lambda: nn.TransformerEncoderLayer(4, 2, activation="tanh")),
    ("F::glu(ones(3))", lambda: F.glu(torch.ones(3))),
    ("F::prelu(ones([2, 3]), ones(2))", lambda: F.prelu(torch.ones(2, 3), torch.ones(2))),
    ("F::max_pool1d(ones(3), 2)", lambda: F.max_pool1d(torch.ones(3), 2)),
    ("F::avg_pool1d(ones(3), 2)", lambda: F.avg_pool1d(torch.ones(3), 2)),
    ("F::rms_norm(ones([2, 3]), [4])", lambda: F.rms_norm(torch.ones(2, 3), [4])),
    ("F::celu(ones(1), 0.0)", lambda: F.celu(torch.ones(1), 0.0)),
    ("nn::Unflatten(1, [2, 4]).forward(ones([2, 6]))", lambda: nn.Unflatten(1, (2, 4))(torch.ones(2, 6))),
    ("optim::lr_scheduler::LinearLR(optim::SGD(p), 0.0)", lambda: schedule.LinearLR(optim.SGD(P), 0.0)),
    ("optim::lr_scheduler::LinearLR(optim::SGD(p), 1.0, 2.0)", lambda: schedule.LinearLR(optim.SGD(P), 1.0, 2.0)),
    ("optim::lr_scheduler::ConstantLR(optim::SGD(p), 2.0)", lambda: schedule.ConstantLR(optim.SGD(P), 2.0)),
    ("optim::lr_scheduler::OneCycleLR(optim::SGD(p), 1.0)", lambda: schedule.OneCycleLR(optim.SGD(P), 1.0)),
    ("optim::lr_scheduler::OneCycleLR(optim::SGD(p), 1.0, 0)", lambda: schedule.OneCycleLR(optim.SGD(P), 1.0, 0)),
    ("optim::lr_scheduler::OneCycleLR(optim::SGD(p), [1.0, 2.0], 9)",
     lambda: schedule.OneCycleLR(optim.SGD(P), [1.0, 2.0], 9)),
    ("optim::lr_scheduler::OneCycleLR(optim::Adagrad(p), 1.0, 9)",
     lambda: schedule.OneCycleLR(optim.Adagrad(P), 1.0, 9)),
    ("optim::lr_scheduler::OneCycleLR(optim::SGD(p), 1.0, 9, #{anneal_strategy: \"foo\"})",
     lambda: schedule.OneCycleLR(optim.SGD(P), 1.0, 9, anneal_strategy="foo")),
    ("optim::lr_scheduler::ReduceLROnPlateau(optim::SGD(p), #{factor: 1.0})",
     lambda: schedule.ReduceLROnPlateau(optim.SGD(P), factor=1.0)),
    ("optim::lr_scheduler::ReduceLROnPlateau(optim::SGD(p), \"foo\")",
     lambda: schedule.ReduceLROnPlateau(optim.SGD(P), "foo")),
    ("optim::lr_scheduler::ReduceLROnPlateau(optim::SGD(p), #{min_lr: [1, 2]})",
     lambda: schedule.ReduceLROnPlateau(optim.SGD(P), min_lr=[1, 2])),
    ("optim::lr_scheduler::ReduceLROnPlateau(optim::SGD(p)).step()",
     lambda: schedule.ReduceLROnPlateau(optim.SGD(P)).step()),
    ("optim::lr_scheduler::LambdaLR(optim::SGD(p), [|e| 1, |e| 2])",
     lambda: schedule.LambdaLR(optim.SGD(P), [lambda e: 1, lambda e: 2])),
    ("optim::lr_scheduler::MultiplicativeLR(optim::SGD(p), 1.0)",
     lambda: schedule.MultiplicativeLR(optim.SGD(P), 1.0)),
    ("optim::lr_scheduler::CosineAnnealingWarmRestarts(optim::SGD(p), 0)",
     lambda: schedule.CosineAnnealingWarmRestarts(optim.SGD(P), 0)),
    ("optim::lr_scheduler::SequentialLR(optim::SGD(p), [], [])",
     lambda: schedule.SequentialLR(optim.SGD(P), [], [])),
    ("let o = optim::SGD(p); optim::lr_scheduler::SequentialLR(o, [optim::lr_scheduler::StepLR(o, 2)], [3])",
     lambda: (lambda o: schedule.SequentialLR(o, [schedule.StepLR(o, 2)], [3]))(optim.SGD(P))),
    ("optim::lr_scheduler::ChainedScheduler([])", lambda: schedule.ChainedScheduler([])),
    ("nn::ReflectionPad1d(2).forward(ones([1, 1, 2]))", lambda: nn.ReflectionPad1d(2)(torch.ones(1, 1, 2))),
    ("nn::ReplicationPad2d(1).forward(ones(3))", lambda: nn.ReplicationPad2d(1)(torch.ones(3))),
    ("nn::CircularPad1d(3).forward(ones([1, 1, 2]))", lambda: nn.CircularPad1d(3)(torch.ones(1, 1, 2))),
    ("nn::CircularPad2d(1).forward(ones(3))", lambda: nn.CircularPad2d(1)(torch.ones(3))),
    ("F::unfold(ones([1, 1, 2, 2]), 3)", lambda: F.unfold(torch.ones(1, 1, 2, 2), 3)),
    ("F::unfold(ones([1, 1, 2, 2]), 1, #{stride: 0})", lambda: F.unfold(torch.ones(1, 1, 2, 2), 1, stride=0)),
    ("F::unfold(ones([1, 1, 4, 4]).long(), 2)", lambda: F.unfold(torch.ones(1, 1, 4, 4).long(), 2)),
    ("F::fold(ones([1, 5, 4]), 3, 2)", lambda: F.fold(torch.ones(1, 5, 4), (3, 3), 2)),
    ("F::fold(ones([1, 4, 5]), [3, 3], 2)", lambda: F.fold(torch.ones(1, 4, 5), (3, 3), 2)),
    ("F::fold(ones(4), 3, 2)", lambda: F.fold(torch.ones(4), (3, 3), 2)),
    ("F::grid_sample(ones([1, 3, 5, 5]), ones([2, 2, 2, 2]))", lambda: F.grid_sample(Q, torch.ones(2, 2, 2, 2))),
    ("F::grid_sample(ones([1, 3, 5, 5]), ones([1, 2, 2, 3]))", lambda: F.grid_sample(Q, torch.ones(1, 2, 2, 3))),
    ("F::grid_sample(ones([1, 3, 5, 5]), ones([1, 2, 2, 2]), \"foo\")", lambda: F.grid_sample(Q, torch.ones(1, 2, 2, 2), mode="foo")),
    ("F::grid_sample(ones([1, 3, 5, 5]), ones([1, 2, 2, 2]), #{padding_mode: \"foo\"})",
     lambda: F.grid_sample(Q, torch.ones(1, 2, 2, 2), padding_mode="foo")),
    ("F::grid_sample(ones([1, 3, 5, 5]), ones([1, 2, 2, 2]).double())", lambda: F.grid_sample(Q, torch.ones(1, 2, 2, 2).double())),
    ("F::grid_sample(ones([1, 1, 0, 3]), ones([1, 2, 2, 2]))",
     lambda: F.grid_sample(torch.ones(1, 1, 0, 3), torch.ones(1, 2, 2, 2))),
    ("F::affine_grid(ones([1, 2, 2]), [1, 1, 2, 2])", lambda: F.affine_grid(torch.ones(1, 2, 2), [1, 1, 2, 2])),
    ("F::affine_grid(ones([1, 2, 3]), [1, 1, 2])", lambda: F.affine_grid(torch.ones(1, 2, 3), [1, 1, 2])),
    ("F::affine_grid(ones([1, 2, 3]), [1, 1, 0, 2])", lambda: F.affine_grid(torch.ones(1, 2, 3), [1, 1, 0, 2])),
    ("F::affine_grid(ones([1, 2, 3]).long(), [1, 1, 2, 2])", lambda: F.affine_grid(torch.ones(1, 2, 3).long(), [1, 1, 2, 2])),
    ("F::bilinear(ones([2, 3]), ones([2, 4]), ones([5, 3, 3]))",
     lambda: F.bilinear(torch.ones(2, 3), torch.ones(2, 4), torch.ones(5, 3, 3))),
    ("F::bilinear(ones([2, 3]), ones([3, 4]), ones([5, 3, 4]))",
     lambda: F.bilinear(torch.ones(2, 3), torch.ones(3, 4), torch.ones(5, 3, 4))),
    ("F::bilinear(ones([2, 3]), ones([2, 4]), ones([5, 3, 4]), ones(4))",
     lambda: F.bilinear(torch.ones(2, 3), torch.ones(2, 4), torch.ones(5, 3, 4), torch.ones(4))),
    ("F::bilinear(ones([2, 3]), ones(4), ones([5, 3, 4]))", lambda: F.bilinear(torch.ones(2, 3), torch.ones(4), torch.ones(5, 3, 4))),
    ("F::embedding_bag(tensor([1, 2]), ones([6, 2]))", lambda: F.embedding_bag(torch.tensor([1, 2]), torch.ones(6, 2))),
    ("F::embedding_bag(tensor([1, 2]), ones([6, 2]), tensor([0, 3]))",
     lambda: F.embedding_bag(torch.tensor([1, 2]), torch.ones(6, 2), torch.tensor([0, 3]))),
    ("F::embedding_bag(tensor([[1, 2]]), ones([6, 2]), tensor([0]))",
     lambda: F.embedding_bag(torch.tensor([[1, 2]]), torch.ones(6, 2), torch.tensor([0]))),
    ("F::embedding_bag(tensor([1, 2]), ones([6, 2]), tensor([0]), #{mode: \"foo\"})",
     lambda: F.embedding_bag(torch.tensor([1, 2]), torch.ones(6, 2), torch.tensor([0]), mode="foo")),
    ("F::embedding_bag(tensor([1, 2]), ones([6, 2]), tensor([0]), #{per_sample_weights: ones(2)})",
     lambda: F.embedding_bag(torch.tensor([1, 2]), torch.ones(6, 2), torch.tensor([0]), per_sample_weights=torch.ones(2))),
    ("F::embedding_bag(tensor([1, 2]), ones([6, 2]), tensor([0]), #{mode: \"sum\", per_sample_weights: ones(3)})",
     lambda: F.embedding_bag(torch.tensor([1, 2]), torch.ones(6, 2), torch.tensor([0]), mode="sum", per_sample_weights=torch.ones(3))),
    ("F::embedding_bag(tensor([1, 9]), ones([6, 2]), tensor([0]))",
     lambda: F.embedding_bag(torch.tensor([1, 9]), torch.ones(6, 2), torch.tensor([0]))),
    ("F::embedding_bag(tensor([1, 2]), ones([6, 2]), tensor([0]), #{padding_idx: 7})",
     lambda: F.embedding_bag(torch.tensor([1, 2]), torch.ones(6, 2), torch.tensor([0]), padding_idx=7)),
    ("F::embedding_bag(tensor([1.0, 2.0]), ones([6, 2]), tensor([0]))",
     lambda: F.embedding_bag(torch.tensor([1.0, 2.0]), torch.ones(6, 2), torch.tensor([0]))),
    ("F::embedding_bag(tensor(1), ones([6, 2]), tensor([0]))",
     lambda: F.embedding_bag(torch.tensor(1), torch.ones(6, 2), torch.tensor([0]))),
    ("F::ctc_loss(ones([5, 2, 4]), ones([2, 2]).long(), [5, 6], [2, 2])",
     lambda: F.ctc_loss(torch.ones(5, 2, 4), torch.ones(2, 2).long(), (5, 6), (2, 2))),
    ("F::ctc_loss(ones([5, 2, 4]), ones([2, 2]).long(), [5], [2, 2])",
     lambda: F.ctc_loss(torch.ones(5, 2, 4), torch.ones(2, 2).long(), (5,), (2, 2))),
    ("F::ctc_loss(ones([5, 2, 4]), ones([2, 2]).long(), [5, 5], [2, 3])",
     lambda: F.ctc_loss(torch.ones(5, 2, 4), torch.ones(2, 2).long(), (5, 5), (2, 3))),
    ("F::ctc_loss(ones([5, 2, 4]), ones(4).long(), [5, 5], [2, 3])",
     lambda: F.ctc_loss(torch.ones(5, 2, 4), torch.ones(4).long(), (5, 5), (2, 3))),
    ("F::ctc_loss(ones([5, 2, 4]), ones([2, 2]).long(), [5, 5], [2, -1])",
     lambda: F.ctc_loss(torch.ones(5, 2, 4), torch.ones(2, 2).long(), (5, 5), (2, -1))),
    ("F::ctc_loss(ones([5, 2, 4]), ones([2, 2]).long(), [5, 5], [2, 2], 9)",
     lambda: F.ctc_loss(torch.ones(5, 2, 4), torch.ones(2, 2).long(), (5, 5), (2, 2), blank=9)),
    ("F::ctc_loss(ones([5, 2, 4]).half(), ones([2, 2]).long(), [5, 5], [2, 2])",
     lambda: F.ctc_loss(torch.ones(5, 2, 4).half(), torch.ones(2, 2).long(), (5, 5), (2, 2))),
    ("F::conv3d(ones([3, 3]), ones([4, 3, 2, 2, 2]))", lambda: F.conv3d(torch.ones(3, 3), torch.ones(4, 3, 2, 2, 2))),
    ("F::conv3d(ones([1, 3, 1, 5, 5]), ones([4, 3, 2, 2, 2]))", lambda: F.conv3d(torch.ones(1, 3, 1, 5, 5), torch.ones(4, 3, 2, 2, 2))),
    ("F::conv3d(ones([1, 2, 5, 5, 5]), ones([4, 3, 2, 2, 2]))", lambda: F.conv3d(torch.ones(1, 2, 5, 5, 5), torch.ones(4, 3, 2, 2, 2))),
    ("F::conv3d(ones([1, 3, 5, 5, 5]), ones([4, 3, 2, 2, 2]), ones(3))",
     lambda: F.conv3d(torch.ones(1, 3, 5, 5, 5), torch.ones(4, 3, 2, 2, 2), torch.ones(3))),
    ("F::conv3d(ones([1, 3, 5, 5, 5]), ones([4, 3, 2, 2, 2]), #{stride: 0})",
     lambda: F.conv3d(torch.ones(1, 3, 5, 5, 5), torch.ones(4, 3, 2, 2, 2), stride=0)),
    ("F::conv3d(ones([1, 3, 5, 5, 5]), ones([4, 3, 2, 2, 2]), #{dilation: 0})",
     lambda: F.conv3d(torch.ones(1, 3, 5, 5, 5), torch.ones(4, 3, 2, 2, 2), dilation=0)),
    ("F::conv3d(ones([1, 3, 5, 5, 5]), ones([4, 3, 2, 2, 2]), #{stride: [1, 2]})",
     lambda: F.conv3d(torch.ones(1, 3, 5, 5, 5), torch.ones(4, 3, 2, 2, 2), stride=(1, 2))),
    ("F::max_pool3d(ones([3, 3, 3]), 2)", lambda: F.max_pool3d(torch.ones(3, 3, 3), 2)),
    ("F::max_pool3d(ones([1, 1, 3, 3, 3]), [2, 2])", lambda: F.max_pool3d(torch.ones(1, 1, 3, 3, 3), (2, 2))),
    ("nn::BatchNorm3d(3).forward(ones([2, 3, 4]))", lambda: nn.BatchNorm3d(3)(torch.ones(2, 3, 4))),
    ("nn::Transformer(8, 2, 1, 1, 16).forward(ones([5, 2, 8]), ones([4, 3, 8]))",
     lambda: nn.Transformer(8, 2, 1, 1, 16)(torch.ones(5, 2, 8), torch.ones(4, 3, 8))),
    ("nn::Transformer(8, 2, 1, 1, 16).forward(ones([5, 2, 8]), ones([4, 2, 7]))",
     lambda: nn.Transformer(8, 2, 1, 1, 16)(torch.ones(5, 2, 8), torch.ones(4, 2, 7))),
    ("nn::init::orthogonal_(ones(3))", lambda: nn.init.orthogonal_(torch.ones(3))),
    ("optim::ASGD(p, #{lambd: -1})", lambda: optim.ASGD(P, lambd=-1)),
    ("optim::lr_scheduler::CyclicLR(optim::SGD(p), 0.1, 1.0, #{mode: \"foo\"})",
     lambda: schedule.CyclicLR(optim.SGD(P), 0.1, 1.0, mode="foo")),
    ("optim::lr_scheduler::CyclicLR(optim::Adagrad(p), 0.1, 1.0)", lambda: schedule.CyclicLR(optim.Adagrad(P), 0.1, 1.0)),
    ("linalg::solve_triangular(eye(3), ones(3), true)", lambda: torch.linalg.solve_triangular(torch.eye(3), torch.ones(3), upper=True)),
    ("linalg::solve_triangular(eye(3), ones([2, 2]), true)",
     lambda: torch.linalg.solve_triangular(torch.eye(3), torch.ones(2, 2), upper=True)),
    ("linalg::solve_triangular(eye(3), ones([2, 2]), true, false)",
     lambda: torch.linalg.solve_triangular(torch.eye(3), torch.ones(2, 2), upper=True, left=False)),
    ("linalg::solve_triangular(eye(3).long(), ones([3, 2]).long(), true)",
     lambda: torch.linalg.solve_triangular(torch.eye(3).long(), torch.ones(3, 2).long(), upper=True)),
    ("linalg::lu(ones(3))", lambda: torch.linalg.lu(torch.ones(3))),
    ("linalg::lu_factor(ones([2, 2]))", lambda: torch.linalg.lu_factor(torch.ones(2, 2))),
    ("linalg::cond(ones([2, 3]), 1)", lambda: torch.linalg.cond(torch.ones(2, 3), 1)),
    ("linalg::cond(ones([2, 2]), \"foo\")", lambda: torch.linalg.cond(torch.ones(2, 2), "foo")),
    ("linalg::cond(ones([2, 2]), 3)", lambda: torch.linalg.cond(torch.ones(2, 2), 3)),
    ("linalg::matrix_exp(ones([2, 3]))", lambda: torch.linalg.matrix_exp(torch.ones(2, 3))),
    ("linalg::matrix_exp(ones([2, 2]).long())", lambda: torch.linalg.matrix_exp(torch.ones(2, 2).long())),
    ("ones(2).retain_grad()", lambda: torch.ones(2).retain_grad()),
    ("ones(2).register_hook(|g| g)", lambda: torch.ones(2).register_hook(lambda g: g)),
]


def mlp():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, bias=False),
        nn.BatchNorm2d(8), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))


def norms():
    return nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.Tanh(), nn.Linear(16, 16), nn.GroupNorm(4, 16), nn.SiLU(),
                         nn.Dropout(0.2), nn.Linear(16, 4))


MLP = "nn::Sequential(nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 4))"
CNN = ("nn::Sequential(nn::Conv2d(1, 4, 3, #{padding: 1}), nn::BatchNorm2d(4), nn::ReLU(), nn::MaxPool2d(2), "
       "nn::Conv2d(4, 8, 3, #{bias: false}), nn::BatchNorm2d(8), nn::GELU(), nn::AdaptiveAvgPool2d(1), nn::Flatten(), "
       "nn::Linear(8, 4))")
NORMS = ("nn::Sequential(nn::Linear(8, 16), nn::LayerNorm(16), nn::Tanh(), nn::Linear(16, 16), nn::GroupNorm(4, 16), "
         "nn::SiLU(), nn::Dropout(0.2), nn::Linear(16, 4))")

TRAINED = [
    ("mlp sgd", mlp, MLP, "[32, 8]", (32, 8), "optim::SGD(net.parameters(), #{lr: 0.1})",
     lambda p: optim.SGD(p, lr=0.1)),
    ("mlp sgd nesterov", mlp, MLP, "[32, 8]", (32, 8),
     "optim::SGD(net.parameters(), #{lr: 0.1, momentum: 0.9, nesterov: true, weight_decay: 0.01})",
     lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)),
    ("mlp sgd dampening", mlp, MLP, "[32, 8]", (32, 8),
     "optim::SGD(net.parameters(), #{lr: 0.1, momentum: 0.8, dampening: 0.3})",
     lambda p: optim.SGD(p, lr=0.1, momentum=0.8, dampening=0.3)),
    ("mlp adam", mlp, MLP, "[32, 8]", (32, 8), "optim::Adam(net.parameters(), #{lr: 0.01, weight_decay: 0.1})",
     lambda p: optim.Adam(p, lr=0.01, weight_decay=0.1)),
    ("mlp adamw", mlp, MLP, "[32, 8]", (32, 8), "optim::AdamW(net.parameters(), #{lr: 0.01, betas: [0.8, 0.9]})",
     lambda p: optim.AdamW(p, lr=0.01, betas=(0.8, 0.9))),
    ("mlp amsgrad", mlp, MLP, "[32, 8]", (32, 8),
     "optim::AdamW(net.parameters(), #{lr: 0.02, amsgrad: true, betas: [0.5, 0.6]})",
     lambda p: optim.AdamW(p, lr=0.02, amsgrad=True, betas=(0.5, 0.6))),
    ("mlp rmsprop", mlp, MLP, "[32, 8]", (32, 8),
     "optim::RMSprop(net.parameters(), #{lr: 0.01, centered: true, momentum: 0.5, weight_decay: 0.01})",
     lambda p: optim.RMSprop(p, lr=0.01, centered=True, momentum=0.5, weight_decay=0.01)),
    ("mlp adagrad", mlp, MLP, "[32, 8]", (32, 8), "optim::Adagrad(net.parameters(), #{lr: 0.05, lr_decay: 0.1})",
     lambda p: optim.Adagrad(p, lr=0.05, lr_decay=0.1)),
    ("mlp asgd", mlp, MLP, "[32, 8]", (32, 8), "optim::ASGD(net.parameters(), #{lr: 0.1, lambd: 0.1, t0: 3, weight_decay: 0.01})",
     lambda p: optim.ASGD(p, lr=0.1, lambd=0.1, t0=3, weight_decay=0.01)),
    ("cnn momentum", cnn, CNN, "[16, 1, 8, 8]", (16, 1, 8, 8), "optim::SGD(net.parameters(), #{lr: 0.05, momentum: 0.9})",
     lambda p: optim.SGD(p, lr=0.05, momentum=0.9)),
    ("norms adamw", norms, NORMS, "[32, 8]", (32, 8), "optim::AdamW(net.parameters(), #{lr: 0.01})",
     lambda p: optim.AdamW(p, lr=0.01)),
]


def text_of(run):
    try:
        run()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    raise SystemExit("no error where one was expected")


def drawn(make):
    torch.manual_seed(0)
    t = make().detach()
    return {"shape": list(t.shape), "dtype": str(t.dtype)[6:], "data": t.double().flatten().tolist()}


def losses(make, shape, optimiser):
    torch.manual_seed(0)
    net = make()
    x = torch.rand(shape)
    y = torch.randint(0, 4, (shape[0],))
    opt = optimiser(net.parameters())
    seen = []
    for _ in range(10):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        seen.append(loss.item())
    net.eval()
    seen.append(F.cross_entropy(net(x), y).item())
    return seen


def main():
    record = {
        "torch": torch.__version__,
        "printed": [[code, repr(make())] for code, make in PRINTED],
        "drawn": [[code, drawn(make)] for code, make in DRAWN],
        "called": [[code, drawn(make)] for code, make in CALLED],
        "errors": [[code, text_of(run)] for code, run in ERRORS],
        "trained": [
            {"name": name, "net": net, "shape": sizes, "optimiser": opt, "losses": losses(make, shape, optimiser)}
            for name, make, net, sizes, shape, opt, optimiser in TRAINED
        ],
    }
    keys = []
    for key, value in record.items():
        if isinstance(value, list):
            rows = ",\n".join(json.dumps(row) for row in value)
            keys.append(f"{json.dumps(key)}: [\n{rows}\n]")
        else:
            keys.append(f"{json.dumps(key)}: {json.dumps(value)}")
    print("{\n" + ",\n".join(keys) + "\n}")


main()
