import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from inspect_core.runtime import graph_check
from inspect_core.runtime.graph import MAP, session_of
from inspect_core.runtime.graph_check import GraphError, check_graph

FLOAT = TensorProto.FLOAT


def value(name: str, kind: int = FLOAT, shape: tuple[int, ...] = (1,)) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def model(*nodes: onnx.NodeProto, **more) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "g", [value("x")], [value(MAP)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10, **more)


def body() -> onnx.GraphProto:
    same = [helper.make_node("Identity", ["go"], ["again"]), helper.make_node("Identity", ["x"], ["y"])]
    inputs = [value("i", TensorProto.INT64, ()), value("go", TensorProto.BOOL, ())]
    return helper.make_graph(same, "body", inputs, [value("again", TensorProto.BOOL, ()), value("y", shape=())])


def endless() -> onnx.ModelProto:
    rounds = helper.make_tensor("n", TensorProto.INT64, (), [2**62])
    constant = helper.make_node("Constant", [], ["n"], value=rounds)
    return model(constant, helper.make_node("Loop", ["n", ""], [MAP], body=body()))


def test_a_graph_of_plain_operators_runs():
    content = model(helper.make_node("Neg", ["x"], [MAP])).SerializeToString()
    assert session_of(content).run([MAP], {"x": np.ones(1, np.float32)})[0].tolist() == [-1]


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (endless(), "'Loop' contains a subgraph"),
        (
            model(helper.make_node("If", ["c"], [MAP], then_branch=body(), else_branch=body())),
            "'If' contains a subgraph",
        ),
        (model(helper.make_node("Scan", ["x"], [MAP], body=body(), num_scan_inputs=1)), "'Scan' contains a subgraph"),
        (model(helper.make_node("Neg", ["x"], [MAP], many=[body(), body()])), "'Neg' contains a subgraph"),
        (model(helper.make_node("Mystery", ["x"], [MAP], domain="com.example")), "domain 'com.example'"),
        (
            model(
                helper.make_node("Own", ["x"], [MAP], domain="own"),
                functions=[helper.make_function("own", "Own", ["a"], ["b"], [], [helper.make_opsetid("", 18)])],
            ),
            "functions|domain 'own'",
        ),
    ],
)
def test_loops_branches_and_foreign_operators_are_refused(refused, message):
    with pytest.raises(GraphError, match=message):
        session_of(refused.SerializeToString())


def test_split_and_aliased_graphs_are_detected():
    good, bad = model(helper.make_node("Neg", ["x"], [MAP])), endless()
    with pytest.raises(GraphError, match="contains a subgraph,"):
        check_graph(good.SerializeToString() + onnx.ModelProto(graph=bad.graph).SerializeToString())


@given(st.binary(max_size=200))
def test_any_bytes_are_a_graph_or_refused(content):
    with pytest.raises(GraphError):
        check_graph(content + b"\x0b")  # ends in a group, which no model has


def test_more_fields_than_any_export_has_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(graph_check, "MOST_FIELDS", 10)
    with pytest.raises(GraphError, match="more than 10 fields"):
        check_graph(b"\x08\x09" * 11)


def test_a_graph_is_never_taken_for_the_format_of_onnx_runtime():
    """Its mark stands where a model may have a text; a file in that format would not have been checked."""
    content = b"\x32\x0aabORTM0123" + model(helper.make_node("Neg", ["x"], [MAP])).SerializeToString()
    assert content[4:8] == b"ORTM"
    assert session_of(content).run([MAP], {"x": np.ones(1, np.float32)})[0].tolist() == [-1]
