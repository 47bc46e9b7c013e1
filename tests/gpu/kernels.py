"""Which operations of a traced function a GPU can do, and what it has to wait for.

The registry of kernels of TensorFlow's Linux package lists those for CUDA on machines without a
GPU too.
"""

import functools
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.core.framework import function_pb2, kernel_def_pb2, node_def_pb2, op_def_pb2
from tensorflow.python.framework import kernels, op_def_registry

HOST_TYPES = (tf.int32.as_datatype_enum, tf.resource.as_datatype_enum)
"""What functions take and return in the host's memory."""
COUNTED = ("Unique", "UniqueV2", "Where")
"""Operations whose output is as long as the data say: the host waits to learn how long."""


class Audit(NamedTuple):
    """What a traced function asks of a GPU.

    Attributes:
        operations: Number of operations.
        missing: Operations without a kernel, as `Split(int32)`, and how many there are.
        waits: Values that the host waits for, as the operation that makes them and those that
            need them on the host, and how many there are.
    """

    operations: int
    missing: Counter[str]
    waits: Counter[str]


def audit(function: Any) -> Audit:
    """Audits a concrete function and all functions that it calls.

    An operation in the body of a loop counts once.
    """
    library = {f.signature.name: f for f in function.graph.as_graph_def().library.function}
    functions = [function.function_def, *library.values()]
    nodes = [node for one in functions for node in one.node_def]
    missing = Counter(
        described(node)
        for node in nodes
        if node.op not in library and not pinned(node) and kernel(node) is None
    )
    left_to_host = {
        value.func.name for node in nodes if pinned(node) for value in node.attr.values()
    }
    waits = Counter(
        text
        for one in functions
        if one.signature.name not in left_to_host
        for text in waits_of(one)
    )
    return Audit(len(nodes), missing, waits)


def pinned(node: node_def_pb2.NodeDef) -> bool:
    """Whether the code leaves an operation to the host."""
    return "CPU" in node.device.upper()


def described(node: node_def_pb2.NodeDef) -> str:
    """An operation and its types."""
    types = ", ".join(tf.dtypes.as_dtype(t).name for t in sorted(set(_types(node))))
    return f"{node.op}({types})"


def _types(node: node_def_pb2.NodeDef) -> Iterator[int]:
    for name, value in node.attr.items():
        if not name.startswith("_") and value.WhichOneof("value") == "type":
            yield value.type


# --- kernels ---------------------------------------------------------------------------------


def kernel(node: node_def_pb2.NodeDef) -> kernel_def_pb2.KernelDef | None:
    """The kernel that a GPU would run, None where there is none for these types."""
    given = frozenset(
        (name, (value.type,) if value.type else tuple(value.list.type))
        for name, value in node.attr.items()
        if value.type or value.list.type
    )
    return _kernel(node.op, given)


@functools.cache
def _kernel(
    operation: str, given: frozenset[tuple[str, tuple[int, ...]]]
) -> kernel_def_pb2.KernelDef | None:
    types = dict(given)
    fitting = [
        one
        for one in kernels.get_registered_kernels_for_op(operation).kernel
        if one.device_type in ("GPU", "DEFAULT")
        and not one.label
        and all(
            set(types.get(c.name, ())) <= set(c.allowed_values.list.type) for c in one.constraint
        )
    ]
    return max(fitting, key=lambda one: (one.device_type == "GPU", one.priority), default=None)


# --- what the host waits for -----------------------------------------------------------------


def waits_of(function: function_pb2.FunctionDef) -> Iterator[str]:
    """Values of a function that are made on the GPU and needed by the host.

    TensorFlow keeps what decides shapes and branches in the host's memory, and all of int32: each
    value that a kernel leaves on the GPU and another wants on the host is copied, and the host
    waits for it. A value that several operations want is copied once.
    """
    nodes = {node.name: node for node in function.node_def}
    arguments = {arg.name: arg.type for arg in function.signature.input_arg}
    constant = _constants(function)
    wanted: dict[str, set[str]] = {}
    for node in function.node_def:
        if node.op in COUNTED and not pinned(node):
            yield f"size of {node.op}"
        for name, place, source in _inputs(node):
            maker, *output = source.split(":")
            if maker in constant or not _on_host(node, name, place):
                continue
            if maker in arguments:
                made_on_host = arguments[maker] in HOST_TYPES
            else:
                made_on_host = _on_host(nodes[maker], output[0], int(output[1]))
            if not made_on_host:
                wanted.setdefault(source, set()).add(node.op)
        if node.op in ("While", "StatelessWhile") and not pinned(node):
            yield "condition of a loop"
    for source, users in wanted.items():
        maker = source.split(":")[0]
        made = described(nodes[maker]) if maker in nodes else "argument"
        yield f"{made} -> {', '.join(sorted(users))}"


def _constants(function: function_pb2.FunctionDef) -> set[str]:
    """Operations that depend on constants alone; they are computed once, before the first step."""
    constant: set[str] = set()
    for node in _in_order(function):
        sources = {source.split(":")[0] for *_, source in _inputs(node)}
        definition = op_def_registry.get(node.op)
        is_stateful = definition is None or definition.is_stateful
        if node.op == "Const" or (sources and sources <= constant and not is_stateful):
            constant.add(node.name)
    return constant


def _in_order(function: function_pb2.FunctionDef) -> Iterator[node_def_pb2.NodeDef]:
    """Operations after those that they depend on."""
    nodes = {node.name: node for node in function.node_def}
    done: set[str] = set()
    stack = list(reversed(function.node_def))
    while stack:
        node = stack.pop()
        if node.name in done:
            continue
        before = [s.split(":")[0] for *_, s in _inputs(node)]
        open_ = [nodes[name] for name in before if name in nodes and name not in done]
        if open_:
            stack += [node, *open_]
        else:
            done.add(node.name)
            yield node


def _on_host(node: node_def_pb2.NodeDef, name: str, place: int) -> bool:
    """Whether an input or output of an operation lies in the host's memory.

    Args:
        node: The operation.
        name: Of the argument.
        place: Its number in a list of arguments.
    """
    definition = op_def_registry.get(node.op)
    if pinned(node) or definition is None:
        return pinned(node)
    for argument in (*definition.input_arg, *definition.output_arg):
        if argument.name == name and argument.type_list_attr:
            types = node.attr[argument.type_list_attr].list.type
            return types[place] in HOST_TYPES
    found = kernel(node)
    # Without a kernel the operation itself is done by the host.
    return found is None or name in found.host_memory_arg


def _inputs(node: node_def_pb2.NodeDef) -> Iterator[tuple[str, int, str]]:
    """Name of each argument of an operation, number in its list, and the value that it is."""
    values = (value for value in node.input if not value.startswith("^"))
    definition = op_def_registry.get(node.op)
    if definition is None:
        yield from (("", place, value) for place, value in enumerate(values))
        return
    for argument in definition.input_arg:
        for place in range(_length(argument, node)):
            yield argument.name, place, next(values)


def _length(argument: op_def_pb2.OpDef.ArgDef, node: node_def_pb2.NodeDef) -> int:
    if argument.number_attr:
        return int(node.attr[argument.number_attr].i)
    if argument.type_list_attr:
        return len(node.attr[argument.type_list_attr].list.type)
    return 1
