"""Places of a block's events in the program, as far as a dump has them. Pure.

Events outside of the program's instructions are logged with instruction 0 and no chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from tracehouse.queries.event_blocks.logged_values import Instruction, LoggedValues
from tracehouse.queries.event_blocks.profile_samples import ProfileSamples
from tracehouse.warehouse.programs.correlation import Place
from tracehouse.warehouse.programs.origins import is_in_program

_Ids = tuple[Any, Any, Any]  # instruction id and delegate ids


class EventPlaces:
    """Places of the events of one dump."""

    def __init__(self, profiles: ProfileSamples, logged: LoggedValues) -> None:
        self._profiles = profiles
        self._logged = logged

    def of(self, block: int, run: int, signatures: Sequence[Mapping[str, Any]]) -> list[Place]:
        """The place of each event signature of a block, that is, a run signature.

        `run` is one of the block's runs.
        """
        logged = self._logged_only(block, run, signatures)
        return [self._place(block, signature, logged) for signature in signatures]

    def _logged_only(
        self, block: int, run: int, signatures: Sequence[Mapping[str, Any]]
    ) -> set[_Ids]:
        """Ids of instructions on a chain for which a run logged values but no times."""
        events = (event for event in self._logged.of_run(run) if not event.is_output)
        logged = {event.instruction for event in events if event.instruction.chain_index >= 0}
        if not logged:
            return set()
        timed = {
            Instruction(*_ids(signature), chain)
            for signature in signatures
            for chain in self._profiles.chains(block, signature["event_signature_id"], run)
        }
        return {instruction[:3] for instruction in logged - timed}

    def _place(self, block: int, signature: Mapping[str, Any], logged: Set[_Ids]) -> Place:
        instruction, kind = signature["instruction_id"], signature["kind"]
        is_on_chain = self._profiles.is_inside(block, signature["event_signature_id"]) or (
            not signature["is_profiled"] and _ids(signature) in logged
        )
        is_inside = is_in_program(kind, instruction, is_on_chain=is_on_chain)
        return Place(
            signature["name"], kind, instruction if is_inside else None, delegate_id(signature)
        )


def delegate_id(signature: Mapping[str, Any]) -> int | str | None:
    """The delegate id of an event signature's row; None if the event is not delegated."""
    id_: int | str | None = signature["delegate_id_int"]
    return signature["delegate_id_str"] if id_ is None else id_


def _ids(signature: Mapping[str, Any]) -> _Ids:
    return (signature["instruction_id"], signature["delegate_id_int"], signature["delegate_id_str"])
