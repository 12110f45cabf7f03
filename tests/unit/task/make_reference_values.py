#!/usr/bin/env python3
"""Writes reference_values.inc: what NumPy makes of each operator of operator_catalogue.h.

    python3 make_reference_values.py > reference_values.inc

The catalogue is read for names and shapes only; every operator is written here a second time, in
NumPy and float64. Inputs follow from the element's number alone (see `generate`), the same in
reference_values_test.cc. An element that a keep rule leaves unwritten is given as nan.
"""
import math
import os
import re

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

S = 0.75  # every scalar
erf = np.vectorize(math.erf)


def generate(tensor, dtype, shape, positive):
    n = int(np.prod(shape)) if shape else 1
    h = (np.arange(n, dtype=np.uint64) * 2654435761 + tensor * 40503 + 12345) % 2**32 // 2**16
    if dtype == "i32":
        v = (h % 9).astype(np.int64) - 1
    elif dtype == "bool":
        v = (h % 2).astype(bool)
    else:
        v = ((h % 64).astype(np.float64) - 32) / 16
        if positive:
            v = np.abs(v) + 1 / 16
    return v.reshape(shape)


def pad(x, axes, low, high, mode="constant", **kw):
    w = [(0, 0)] * x.ndim
    for a, l, h in zip(axes, low, high):
        w[a] = (l, h)
    return np.pad(x, w, mode=mode, **kw)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def lse(x):
    m = x.max(-1, keepdims=True)
    return (m + np.log(np.exp(x - m).sum(-1, keepdims=True)))[..., 0]


def gelu(x):
    return x / 2 * (1 + erf(x / math.sqrt(2)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.log1p(np.exp(x))


def norm(x, axes, eps=1e-5):
    m = x.mean(axes, keepdims=True)
    return (x - m) / np.sqrt(((x - m) ** 2).mean(axes, keepdims=True) + eps)


def conv(x, w, pads, strides, dilations):
    """x [n, c, ...], w [f, c, ...]"""
    d = x.ndim - 2
    x = pad(x, range(2, 2 + d), pads, pads)
    k = [(w.shape[2 + a] - 1) * dilations[a] + 1 for a in range(d)]
    v = sliding_window_view(x, k, axis=tuple(range(2, 2 + d)))
    v = v[(slice(None),) * 2 + tuple(slice(None, None, s) for s in strides)
          + tuple(slice(None, None, s) for s in dilations)]
    o, q = "abd"[:d], "rst"[:d]
    return np.einsum(f"nc{o}{q},fc{q}->nf{o}", v, w)


def conv_transposed(x, w, shape, pads, strides, dilations):
    """x [n, c, ...], w [c, f, ...]: adds each input element's contribution where it belongs."""
    y = np.zeros((x.shape[0], w.shape[1]) + shape)
    for i in np.ndindex(x.shape[2:]):
        for r in np.ndindex(w.shape[2:]):
            at = tuple(i[a] * strides[a] - pads[a] + r[a] * dilations[a] for a in range(len(shape)))
            if all(0 <= at[a] < shape[a] for a in range(len(shape))):
                y[(slice(None),) * 2 + at] += x[(slice(None),) * 2 + i] @ w[(slice(None),) * 2 + r]
    return y


def windows(x, k):
    return sliding_window_view(x, k, axis=tuple(range(x.ndim - len(k), x.ndim)))


def attention(q, k, v, causal=False):
    s = 0.5 * np.einsum("hid,hjd->hij", q, k)
    if causal:
        s = np.where(np.tril(np.ones(s.shape[1:], bool)), s, -np.inf)
    return softmax(s) @ v


def heat(u):
    u = u.copy()
    for _ in range(4):
        n = u.copy()
        n[1:-1, 1:-1] += S * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
                              - 4 * u[1:-1, 1:-1])
        u = n
    u[[0, -1], :] = np.nan
    u[:, [0, -1]] = np.nan
    return u


def star3(u):
    for _ in range(3):
        u = 0.4 * u + 0.1 * sum(np.roll(u, s, a) for a in range(3) for s in (1, -1))
    return u


def wave(u, old, _):
    for _ in range(5):
        u, old = 2 * u - old + 0.25 * (np.roll(u, 1) - 2 * u + np.roll(u, -1)), u
    return u


def huber(p, t, _):
    d = np.abs(p - t)
    return np.where(d < 1, 0.5 * d**2, d - 0.5).mean()


def gemm_mish(a, b, d, _):
    l = lse(np.clip(4 * (a @ b + d), -10, 10))
    return l * l * np.tanh(softplus(l))


def star2(u):
    p = np.pad(u, 1)
    return 0.5 * u + 0.125 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])


def gradient(u):
    p = np.pad(u, 1, mode="edge")
    return u / np.sqrt(0.01 + (p[2:, 1:-1] - p[:-2, 1:-1]) ** 2 + (p[1:-1, 2:] - p[1:-1, :-2]) ** 2)


def embedding(e, word, _):
    return np.where(((word >= 0) & (word < 11))[:, None], e[np.clip(word, 0, 10)], 0)


def integers(x, _):
    i, j = np.indices(x.shape)
    return np.where(x % 3 == 0, np.maximum(x, j), -np.abs(x) + 2 * i)


def exclusive(f, one, x):
    return np.concatenate([np.full((x.shape[0], 1), one), f(x, 1)[:, :-1]], 1)


# Each takes the bound tensors in order and returns what the outputs hold, in order. Where only one
# value is returned it is the last tensor's.
OPERATORS = {
    "gemm_nn": lambda a, b, c: a @ b,
    "gemm_tn": lambda a, b, c: a.T @ b,
    "gemm_nt": lambda a, b, c: a @ b.T,
    "gemm_tt": lambda a, b, c: a.T @ b.T,
    "gemm_alpha_beta": lambda a, b, c: S * (a @ b) + S * c,
    "gemm_batched": lambda a, b, c: a @ b,
    "gemm_3d_times_matrix": lambda a, b, c: a @ b,
    "gemm_4d_times_matrix": lambda a, b, c: a @ b,
    "gemm_symmetric": lambda a, c: a @ a.T,
    "gemm_diagonal": lambda d, b, c: np.diag(d) @ b,
    "gemm_lower_triangular": lambda a, b, c: np.tril(a) @ np.tril(b),
    "gemm_upper_triangular": lambda a, b, c: np.triu(a) @ np.triu(b),
    "matrix_vector": lambda a, x, y: a @ x,
    "matrix_scalar": lambda a, c: S * a,
    "gemm_f16_into_f32": lambda a, b, c: a @ b,
    "gemm_bf16": lambda a, b, c: a @ b,
    "gemm_strided": lambda a, b, c: a @ b,
    "contraction_of_two_axes": lambda a, b, c: np.einsum("ikl,ljk->ij", a, b),
    "relu": lambda x, y: np.maximum(x, 0),
    "leaky_relu": lambda x, y: np.where(x > 0, x, 0.01 * x),
    "sigmoid": lambda x, y: sigmoid(x),
    "tanh": lambda x, y: np.tanh(x),
    "softmax": lambda x, y: softmax(x),
    "log_softmax": lambda x, y: np.log(softmax(x)),
    "silu": lambda x, y: x * sigmoid(x),
    "gelu": lambda x, y: gelu(x),
    "gelu_tanh": lambda x, y: 0.5 * x * (
        1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "elu": lambda x, y: np.where(x > 0, x, np.expm1(x)),
    "selu": lambda x, y: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "hard_sigmoid": lambda x, y: np.clip(x / 6 + 0.5, 0, 1),
    "hard_swish": lambda x, y: x * np.clip(x + 3, 0, 6) / 6,
    "hard_tanh": lambda x, y: np.clip(x, -1, 1),
    "softplus": lambda x, y: softplus(x),
    "softsign": lambda x, y: x / (1 + np.abs(x)),
    "mish": lambda x, y: x * np.tanh(softplus(x)),
    "batch_norm": lambda x, g, b, y: g[:, None, None] * norm(x, (0, 2, 3)) + b[:, None, None],
    "instance_norm": lambda x, y: norm(x, (2, 3)),
    "group_norm": lambda x, s, t, y: s[..., None] * norm(x, (2, 3)) + t[..., None],
    "layer_norm": lambda x, g, b, y: g * norm(x, 1) + b,
    "rms_norm": lambda x, g, y: g * x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-6),
    "l1_norm": lambda x, y: x / np.abs(x).sum(1, keepdims=True),
    "l2_norm": lambda x, y: x / np.linalg.norm(x, axis=1, keepdims=True),
    "frobenius_norm": lambda x, y: x / np.linalg.norm(x),
    "max_pool_1d_dilated": lambda x, y: windows(x, (5,))[..., ::2].max(-1)[..., ::2],
    "max_pool_2d_padded": lambda x, y: windows(
        pad(x, (2, 3), (1, 1), (1, 1), constant_values=-np.inf),
        (3, 3)).max((-1, -2))[..., ::2, ::2],
    "max_pool_2d_padded_dilated": lambda x, y: windows(
        pad(x, (2,), (1,), (1,), constant_values=-np.inf), (5,))[..., ::2].max(-1),
    "max_pool_3d": lambda x, y: x.reshape(2, 2, 2, 3, 2, 4, 2).max((2, 4, 6)),
    "average_pool_1d_padded": lambda x, y: windows(
        pad(x, (2,), (1,), (1,)), (4,)).mean(-1)[..., ::2],
    "average_pool_2d": lambda x, y: x.reshape(2, 3, 2, 3, 4, 2).mean((3, 5)),
    "average_pool_3d": lambda x, y: x.reshape(2, 2, 2, 3, 2, 4, 2).mean((2, 4, 6)),
    "global_average_pool": lambda x, y: x.mean((2, 3)),
    "sum_over_last_axis": lambda x, y: x.sum(1),
    "sum_over_first_axis": lambda x, y: x.sum(0),
    "mean_over_middle_axis": lambda x, y: x.mean(1),
    "max_over_axis": lambda x, y: x.max(1),
    "min_over_axis": lambda x, y: x.min(2),
    "prod_over_axis": lambda x, y: x.prod(1),
    "argmax_over_axis": lambda x, y: x.argmax(1),
    "argmin_over_axis": lambda x, y: x.argmin(1),
    "any_and_all": lambda x, p, q: ((x > 1).any(1), (x > -1).all(1)),
    "count": lambda x, y: (x > 0).sum(1),
    "integers": integers,
    "conv_1d": lambda x, w, y: conv(x, w, [0], [1], [1]),
    "conv_1d_strided_dilated": lambda x, w, y: conv(x, w, [0], [2], [2]),
    "conv_2d_padded_bias": lambda x, w, b, y: conv(x, w, [1, 1], [1, 1], [1, 1]) + b[:, None, None],
    "conv_2d_strided": lambda x, w, y: conv(x, w, [1, 2], [2, 3], [1, 1]),
    "conv_2d_dilated": lambda x, w, y: conv(x, w, [0, 0], [1, 1], [2, 2]),
    "conv_2d_grouped": lambda x, w, y: np.stack(
        [conv(x[:, g], w[g], [0, 0], [1, 1], [1, 1]) for g in range(2)], 1),
    "conv_2d_depthwise": lambda x, w, y: np.concatenate(
        [conv(x[:, c:c + 1], w[c][None, None], [1, 1], [1, 1], [1, 1]) for c in range(3)], 1),
    "conv_2d_pointwise": lambda x, w, y: np.einsum("ncyx,fc->nfyx", x, w),
    "conv_2d_separable": lambda x, d, p, y: np.einsum("ncyx,fc->nfyx", np.concatenate(
        [conv(x[:, c:c + 1], d[c][None, None], [1, 1], [1, 1], [1, 1]) for c in range(3)], 1), p),
    "conv_3d": lambda x, w, y: conv(x, w, [1] * 3, [1] * 3, [1] * 3),
    "conv_2d_channels_last": lambda x, w, y: conv(
        x.transpose(0, 3, 1, 2), w.transpose(0, 3, 1, 2), [1, 1], [1, 1],
        [1, 1]).transpose(0, 2, 3, 1),
    "conv_transposed_1d": lambda x, w, y: conv_transposed(x, w, (7,), [0], [1], [1]),
    "conv_transposed_1d_strided_dilated": lambda x, w, y: conv_transposed(
        x, w, (11,), [1], [2], [2]),
    "conv_transposed_2d_output_padding": lambda x, w, y: conv_transposed(
        x, w, (8, 15), [1, 1], [2, 3], [1, 1]),
    "conv_transposed_2d_grouped": lambda x, w, y: np.stack(
        [conv_transposed(x[:, g], w[g], (9, 9), [0, 0], [2, 2], [1, 1]) for g in range(2)], 1),
    "conv_transposed_3d": lambda x, w, y: conv_transposed(
        x, w, (4, 6, 4), [0] * 3, [2] * 3, [1] * 3),
    "cumsum": lambda x, y: x.cumsum(1),
    "cumsum_first_axis": lambda x, y: x.cumsum(0),
    "cumprod": lambda x, y: x.cumprod(1),
    "cumsum_reverse": lambda x, y: x[:, ::-1].cumsum(1)[:, ::-1],
    "cumsum_exclusive": lambda x, y: exclusive(np.cumsum, 0.0, x),
    "cumprod_reverse_exclusive": lambda x, y: exclusive(np.cumprod, 1.0, x[:, ::-1])[:, ::-1],
    "cumsum_masked": lambda x, mask, y: np.where(mask, x, 0).cumsum(1),
    "mse_loss": lambda p, t, l: ((p - t) ** 2).mean(),
    "huber_loss": huber,
    "hinge_loss": lambda p, t, l: np.maximum(1 - p * t, 0).mean(),
    "cross_entropy_loss": lambda x, t, l: np.mean(
        lse(x) - x[np.arange(4), np.clip(t, 0, 8)]),
    "kl_divergence_loss": lambda p, t, l: (t * np.log(t / p)).sum() / 4,
    "triplet_margin_loss": lambda a, p, n, l: np.maximum(
        np.linalg.norm(a - p + 1e-6, axis=1) - np.linalg.norm(a - n + 1e-6, axis=1) + 1, 0).mean(),
    "cosine_similarity_loss": lambda p, t, l: np.mean(1 - (p * t).sum(1) / (
        np.linalg.norm(p, axis=1) * np.linalg.norm(t, axis=1))),
    "attention": lambda q, k, v, o: attention(q, k, v),
    "attention_causal": lambda q, k, v, o: attention(q, k, v, True),
    "attention_relu_masked": lambda q, k, v, mask, o: np.where(
        mask, np.maximum(q @ k.T, 0), 0) @ v,
    "embedding": embedding,
    "gather_of_a_sum": lambda x, n, y: np.take_along_axis(x, (n + 2) % 9, 1).sum(1),
    "gemm_bias_gelu": lambda a, b, d, c: gelu(a @ b + d),
    "gemm_scale_residual_clamp_log_sum_exp_mish": gemm_mish,
    "gemm_group_norm_hard_tanh": lambda a, b, y: np.clip(
        norm(np.einsum("ik,kgj->igj", a, b), 2), -2, 2),
    "gemm_max_pool_sum_scale": lambda a, b, y: 0.5 * (a @ b.T).reshape(5, 4, 2).max(2).sum(1),
    "conv_relu_max_pool": lambda x, w, b, y: windows(pad(np.maximum(
        conv(x, w, [1, 1], [1, 1], [1, 1]) + b[:, None, None], 0), (2, 3), (1, 1), (1, 1)),
        (3, 3)).max((-1, -2))[..., ::2, ::2],
    "conv_instance_norm_divide": lambda x, w, y: norm(
        conv(x, w, [0, 0], [1, 1], [1, 1]), (2, 3)) / 2,
    "conv_transposed_softmax_bias_sigmoid": lambda x, w, b, y: sigmoid(2 * (softmax(
        conv_transposed(x, w, (8, 8), [1, 1], [2, 2], [1, 1]), 1) + b[:, None, None])),
    "log_sum_exp": lambda x, y: lse(x),
    "stencil_star_2d": lambda u, v: star2(u),
    "stencil_star_3d_wrap_steps": lambda u, v: star3(u),
    "stencil_heat_keep_steps": lambda u, v: heat(u),
    "stencil_gradient_2d": lambda u, v: gradient(u),
    "stencil_wave_two_states": wave,
    "stencil_box_2d": lambda u, w, v: np.einsum(
        "ijrs,rs->ij", windows(np.pad(u, 2, mode="edge"), (5, 5)), w),
}


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "operator_catalogue.h"), encoding="utf-8") as f:
        entries = re.findall(r'\{"(\w+)",\s*R"\((.*?)\)"\}', f.read(), re.S)
    print("// Made by make_reference_values.py; see there.")
    for name, text in entries:
        if name not in OPERATORS:
            raise SystemExit(f"{name}: no NumPy version; add one to OPERATORS")
        tensors = re.findall(r"tensor \w+: (\w+)\[([\d,]*)\]", text)
        shapes = [tuple(int(e) for e in s.split(",") if e) for _, s in tensors]
        positive = "inputs=positive" in text
        inputs = [generate(t, dtype, shapes[t], positive) for t, (dtype, _) in enumerate(tensors)]
        outputs = OPERATORS[name](*inputs)
        if not isinstance(outputs, tuple):
            outputs = (outputs,)
        for output, shape in zip(outputs, shapes[-len(outputs):]):
            output = np.asarray(output)
            if output.shape != shape:
                raise SystemExit(f"{name}: {output.shape}, the catalogue says {shape}")
        values = np.concatenate([np.asarray(o, np.float64).ravel() for o in outputs])
        print(f'{{"{name}", {{')
        line = "   "
        for v in values:
            word = " NAN," if np.isnan(v) else f" {float(v)!r},"
            if len(line) + len(word) > 96:
                print(line)
                line = "   "
            line += word
        print(line + "}},")


if __name__ == "__main__":
    main()
