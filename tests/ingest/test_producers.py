"""Which rule of which producer an event is of."""

import pytest

from tests.support.producer_dumps import QNN_EVENTS, QNN_GPU_EVENTS, VULKAN_SHADER
from tracehouse.ingest.producers import LONGEST_MATCHED, Producers, parse_rule, shipped_producers

MINE = {"producer": "Mine", "delegate_id": "npu .*", "kind": "delegate_counter", "unit": "mJ"}


def _told(text, delegate=True):
    rule = shipped_producers().rule_of(b"" if delegate else text, text if delegate else None)
    return rule and (rule.producer, rule.kind, rule.unit)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("RPC (execute) time (us)", ("QNN", "delegate_phase", "us")),
        ("conv2d_1:OpId_12 (us)", ("QNN", "delegate_op", "us")),
        ("conv2d_1:OpId_12 (cycles)", ("QNN", "delegate_counter", "cycles")),
        ("conv2d_1:OpId_12", ("QNN", "other", "unknown")),
        ("RPC (execute) retries", ("QNN", "other", "unknown")),
        ("Number of HVX threads used (count)", ("QNN", "delegate_counter", "count")),
        ("VTCM acquired (bytes)", ("QNN", "delegate_counter", "bytes")),
        ("Fully Connected (NC, F32) GEMM #12", ("XNNPACK", "delegate_op", None)),
        ("ETVK_COPY_INPUTS", ("Vulkan", "delegate_phase", None)),
        ('{"kernel_name": "conv", "dispatch_id": 1}', ("Vulkan", "delegate_op", None)),
        (VULKAN_SHADER, ("Vulkan", "delegate_op", None)),
        ("ETVK_COMPUTE_GRAPH_EXECUTE", ("Vulkan", "delegate_phase", None)),
        ("VGF_EXECUTE", ("VGF", "delegate_phase", None)),
        ("VGF_QUEUE_SUBMIT_AND_WAIT_FENCE", ("VGF", "delegate_phase", None)),
        ("x:ios17.conv", ("Core ML", "delegate_op", "ns")),
        ("aten_relu_default", None),
        ("a\n (us)", ("QNN", "delegate_phase", "us")),
    ],
)
def test_a_delegate_event_is_classified_by_its_id(text, told):
    assert _told(text.encode()) == told


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Method::execute", ("ExecuTorch", "method", None)),
        ("native_call_add.out", ("ExecuTorch", "kernel", None)),
        ("native_call_llama::gated_delta_rule.out", ("ExecuTorch", "kernel", None)),
        ("FREE_CALL", ("ExecuTorch", "control", None)),
        ("llama::custom_sdpa.out", ("Custom operators", "kernel", None)),
        ("torchao::_linear_8bit_act_4bit_weight.out", ("Custom operators", "kernel", None)),
        ("Module::forward", None),
        ("+EthosUBackend::execute()NPU", ("Ethos-U", "delegate_phase", None)),
        ("+ArmBackend::execute()processed_data", ("Ethos-U", "delegate_phase", None)),
        ("+EthosUBackend::init()vela_bin_read()", ("Ethos-U", "load", None)),
        ("Method::execute2", None),
        ("RPC (execute) time (us)", None),
    ],
)
def test_an_event_outside_delegates_is_classified_by_its_name(name, told):
    assert _told(name.encode(), delegate=False) == told


def test_a_numeric_delegate_id_matches_no_producer_rule():
    assert shipped_producers().rule_of(b"Method::execute", 3) is None


def test_every_value_of_qnn_has_a_unit():
    rules = [shipped_producers().rule_of(b"", name.encode()) for name in QNN_EVENTS]
    rules += [shipped_producers().rule_of(b"", name.encode()) for name in QNN_GPU_EVENTS]
    assert {rule.producer for rule in rules} == {"QNN"}
    assert None not in {rule.unit for rule in rules}


def test_rules_of_ones_own_come_before_those_of_producers_but_not_of_the_runtime():
    own = [
        parse_rule(MINE | {"delegate_id": "RPC .*"}),
        parse_rule({"producer": "Mine", "event_name": ".*", "kind": "other"}),
    ]
    rules = Producers(own)
    assert rules.rule_of(b"", b"RPC (execute) time (us)").unit == "mJ"
    assert rules.rule_of(b"", b"conv (us)").producer == "QNN"
    assert rules.rule_of(b"Method::execute", None).kind == "method"
    assert rules.rule_of(b"mine", None).producer == "Mine"
    assert rules.rule_of(b"mine::run.copies", None).producer == "Mine"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": "red"}, "colour: unknown field, wanted one of producer, source"),
        ({"producer": 3}, "producer: found 3, wanted a text"),
        ({"event_name": "x"}, "wanted either delegate_id or event_name"),
        ({"delegate_id": "("}, "delegate_id: not a regular expression: missing"),
        ({"delegate_id": "(" * 900 + ")" * 90}, "delegate_id: not a regular expression: "),
        ({"delegate_id": "(" * 500 + ")" * 500}, "delegate_id: not a regular expression: maximum"),
        ({"delegate_id": "a{99999999999}"}, "delegate_id: not a regular expression: the repet"),
        ({"delegate_id": "a" * 1_001}, "delegate_id: more than 1,000 characters"),
        ({"kind": "method"}, "kind: found 'method', wanted delegate_op, delegate_phase"),
        ({"unit": "us"}, "unit: a delegate_counter needs a unit other than a unit of time"),
        ({"kind": "delegate_op"}, "unit: found 'mJ', wanted ns, us, ms, s or unknown"),
        (
            {"kind": "delegate_op", "unit": "unknown"},
            "unit: unknown is for events of kind other only",
        ),
    ],
)
def test_a_rule_that_says_something_else_is_refused(change, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        parse_rule(MINE | change)


def test_a_rule_needs_a_producer_and_a_pattern():
    with pytest.raises(ValueError, match="producer: missing"):
        parse_rule({"delegate_id": "x", "kind": "other"})
    with pytest.raises(ValueError, match="wanted either"):
        parse_rule({"producer": "x", "kind": "other"})


def test_a_users_pattern_is_not_tried_on_names_that_are_longer_than_any_backend_writes():
    rules = Producers([parse_rule(MINE | {"delegate_id": "(a|b)*x"})])
    assert rules.rule_of(b"", b"a" * (LONGEST_MATCHED - 1) + b"x").producer == "Mine"
    assert rules.rule_of(b"", b"a" * LONGEST_MATCHED + b"x") is None


def test_a_long_name_of_qnn_takes_no_longer_than_its_length():
    digits = "1" * 60_000  # took minutes
    assert _told(f"conv:OpId_{digits}".encode()) == ("QNN", "other", "unknown")
    assert _told(f"conv:OpId_{digits} x (us)".encode()) == ("QNN", "delegate_op", "us")
    assert _told(f"conv:OpId_{digits} (us)".encode()) == ("QNN", "delegate_op", "us")
