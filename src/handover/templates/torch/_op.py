"""The operator of @problem@ for PyTorch. Written by warpsmith @version@."""
from __future__ import annotations

import torch

from . import _problem@modules@
from ._checks import check_range, dimensions_of, refuse_gradients
from ._runtime import Kernel, Operator

OPERATOR = Operator(
    _problem,
    [
        Kernel(@kernels@),
    ],
)

# Strides are what the kernels were prepared for, so that a compiler must keep them.
_LAYOUT = getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order)
_library = torch.library.Library(@namespace@, "DEF")
_library.define(
    @schema@,
    tags=(torch.Tag.pt2_compliant_tag, _LAYOUT),
)
_library.define(
    @outSchema@,
    tags=(torch.Tag.pt2_compliant_tag, _LAYOUT),
)
_grad_enabled = torch.is_grad_enabled
_increment_version = torch.autograd.graph.increment_version


def _refuse_gradients(*tensors):
    if _grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors):
        refuse_gradients(_problem)


def _run(@parameters@):
    if _grad_enabled() and (@requiresGrad@):
        refuse_gradients(_problem)
    key = (@key@)
    call = OPERATOR.calls.get(key)
    if call is None:
        call = OPERATOR.prepare(key, (@operandTuple@), (@givenTuple@))
    results = call.new_results()
    call.run([@operandList@, *results])
    @returned@


def _run_out(@outParameters@):
    _refuse_gradients(@operandList@, @resultList@)
    results = (@resultTuple@)
    key = (@key@, *[None if tensor is None else (tensor.shape, tensor.stride(), tensor.dtype, tensor.device) for tensor in results])
    call = OPERATOR.calls.get(key)
    if call is None:
        call = OPERATOR.prepare(key, (@operandTuple@), (@givenTuple@), results)
    wanted = [tensor for tensor in results if tensor is not None]
    call.run([@operandList@, *wanted])
    for tensor in wanted:
        _increment_version(tensor)


def _fake(@parameters@):
    """Shapes only. Sizes may be symbols, of which the range is looked at when the kernel runs."""
    _refuse_gradients(@operandList@)
    dimensions = dimensions_of(_problem, (@operandTuple@), (@givenTuple@))
    if all(type(value) is int for value in dimensions):
        check_range(_problem, dimensions)
    results = [
        @first@.new_empty_strided(shape, strides, dtype=known.dtype)
        for known, (wanted, shape, strides) in zip(_problem.RESULTS, _problem.results(dimensions))
        if wanted
    ]
    @returned@


def _fake_out(@outParameters@):
    _refuse_gradients(@operandList@, @resultList@)
    dimensions_of(_problem, (@operandTuple@), (@givenTuple@))


# Tensors that are not on a GPU get the same errors.
for _name, _implementations in {
    @function@: {"CUDA": _run, "CPU": _fake},
    @outFunction@: {"CUDA": _run_out, "CPU": _fake_out},
}.items():
    for _key, _implementation in _implementations.items():
        _library.impl(_name, _implementation, _key)
torch.library.register_fake(@qualified@, _fake, lib=_library)
torch.library.register_fake(@outQualified@, _fake_out, lib=_library)
_operator = getattr(torch.ops, @namespace@).@plain@.default
_operator_out = getattr(torch.ops, @namespace@).@plain@_out.default


def @plain@(@signature@):
    """@description@

    @documentation@
    """
    if out is None:
        @call@
    tensors = (out,) if isinstance(out, torch.Tensor) else tuple(out)
    if len(tensors) > @resultCount@:
        raise ValueError(f"out has {len(tensors)} tensors; expected at most @resultCount@: @resultNames@")
    tensors += (None,) * (@resultCount@ - len(tensors))
    _operator_out(@operandList@, *tensors, @callGiven@)
    return out


def chosen(@chosenSignature@):
    """The kernel that a call of these tensors gets, as text: the workload of the dispatch table, and the kernel."""
    dimensions = dimensions_of(_problem, (@operandTuple@), (@callGivenTuple@))
    workload, number = OPERATOR.choose(dimensions, @first@.device.index)
    return f"{OPERATOR.kernels[number].name}, {'the fallback' if workload is None else workload}"


def load(device=None):
    """Loads every kernel for a device (the current one), so that a first call needs not: before a graph is captured."""
    index = torch.device("cuda" if device is None else device).index
    OPERATOR.load(torch.cuda.current_device() if index is None else index)
