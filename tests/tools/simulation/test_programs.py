"""Programs are those of real dumps, and change as code does."""

from __future__ import annotations

import io
import zipfile

import pytest

from tests.support.corpus import CORPUS, FARM
from tests.tools.simulation import TEMPLATES
from tests.tools.simulation.dump_template import DumpTemplate
from tests.tools.simulation.plan import FarmSize, plan_farm
from tests.tools.simulation.programs import OperatorKey, TemplateProgram, read_program
from tracehouse import decode_dumps
from tracehouse.ingest.decode import DecodedBatch

NAMES = sorted(path.stem for path in TEMPLATES.glob("*.etdp"))


def program(name: str) -> TemplateProgram:
    return read_program((TEMPLATES / f"{name}.etdp").read_bytes())


def sorted_rows(batch: DecodedBatch, table: str) -> list[str]:
    return sorted(map(str, batch.tables[table].to_pylist()))


def source_of(name: str) -> bytes:
    """The dump that a template was cut from."""
    if name.startswith("mixed"):
        return (CORPUS / f"real/{name.replace('-', '_')}_n20.etdp").read_bytes()
    with zipfile.ZipFile(io.BytesIO((FARM / "lab-x86-quiet-ab/base.zip").read_bytes())) as farm:
        return farm.read(f"{name}/000.etdp")


def test_farms_use_all_templates():
    families = plan_farm(FarmSize(1, 1, 3, 1, 1), 0).families
    assert sorted(f"{family.model}-{family.backend}" for family in families) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_templates_are_the_first_runs_of_real_dumps(name):
    template = DumpTemplate((TEMPLATES / f"{name}.etdp").read_bytes())
    real = DumpTemplate(source_of(name))
    count = len(template.starts)
    assert (template.starts == real.starts[:count]).all()
    assert (template.ends == real.ends[:count]).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_program_written_again_has_the_real_signatures(name):
    real = decode_dumps([(TEMPLATES / f"{name}.etdp").read_bytes()])
    written = decode_dumps([program(name).write()])
    for table in ("run_signatures", "event_signatures"):
        assert sorted_rows(written, table) == sorted_rows(real, table)


def test_times_are_those_of_the_template():
    conv = program("conv-portable")
    keyed = conv.key_operators()
    first, second, third = (
        keyed[OperatorKey("native_call_convolution.out", None, ordinal)] for ordinal in (1, 2, 3)
    )
    assert 1.4e6 < first.own_ns < 1.6e6
    assert 2.7e6 < second.own_ns < 3.0e6
    assert 1.2e6 < third.own_ns < 1.4e6
    assert keyed[OperatorKey("native_call_relu.out", None, 1)].first_ratio > 10
    parts = sum(call.total_ns for call in conv.execute.parts)
    assert conv.execute.total_ns == pytest.approx(parts + conv.execute.own_ns)
    assert conv.scale(2).execute.total_ns == pytest.approx(2 * conv.execute.total_ns)


def test_another_speed_changes_one_operator_and_what_holds_it():
    before = program("txf-xnnpack")
    key = OperatorKey("GELU (NC) #1", "GELU (NC) #1", 1)
    after = before.change_speed(before.key_operators()[key].origin, 3.0)
    base, head = before.key_operators(), after.key_operators()
    changed = {each for each in base if head[each].total_ns != base[each].total_ns}
    assert changed == {
        key,
        OperatorKey("DELEGATE_CALL", None, 2),
        OperatorKey("Method::execute", None, 1),
    }
    assert head[key].own_ns == pytest.approx(3 * base[key].own_ns)


def test_an_operator_that_leaves_its_delegate_is_a_kernel_behind_it():
    before = program("conv-xnnpack")
    (origin,) = before.list_last_delegated()
    after = before.move_out(origin, 4.0)
    base, head = set(before.key_operators()), set(after.key_operators())
    softmax = "Softmax (NC, F32) #1"
    assert base - head == {OperatorKey(softmax, softmax, 1)}
    assert head - base == {OperatorKey("native_call_softmax.out", None, 1)}
    last = [(event.label, place.instruction) for event, place in after.list_events()[-4:]]
    assert last == [
        ("DELEGATE_CALL", 0), ("native_call_softmax.out", 1), ("OPERATOR_CALL", 1),
        ("Method::execute", 0),
    ]  # fmt: skip


def test_a_kernel_that_joins_the_delegate_before_it_is_its_last_operator():
    before = program("mixed-xnnpack")
    mean = before.key_operators()[OperatorKey("native_call_mean.out", None, 1)]
    assert mean.origin in before.list_after_delegate()
    after = before.move_in(mean.origin, 0.25)
    events = [(event.label, place.instruction) for event, place in after.list_events()]
    assert ("native_call_mean.out", 3) not in events
    assert events.index(("Mean #1", 2)) + 1 == events.index(("DELEGATE_CALL", 2))
    assert ("native_call_topk.values", 4) in events
    assert after.key_operators()[OperatorKey("Mean #1", "Mean #1", 1)].own_ns == pytest.approx(
        mean.own_ns / 4
    )


def test_operators_of_a_kind_are_counted_on_in_a_delegate():
    program_ = program("txf-xnnpack")
    origins = program_.list_after_delegate()
    once = program_.move_in(origins[0], 1.0)
    assert [part.label for part in once.execute.parts[1].parts][-2:] == [
        "Add (ND) #1",
        "Native Layer Norm #1",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_move_gives_a_dump_that_can_be_read(name):
    before = program(name)
    moved = [before.move_out(origin, 3.0) for origin in before.list_last_delegated()]
    moved += [before.move_in(origin, 0.3) for origin in before.list_after_delegate()]
    assert bool(moved) == name.endswith("xnnpack")
    batch = decode_dumps([after.write() for after in moved])
    assert batch.errors.num_rows == 0
    assert batch.tables["dumps"].num_rows == len(moved)
