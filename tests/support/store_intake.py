"""A store beside its model whose dumps come through its inbox, too."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.support.planted import verified
from tests.support.service import kept_children
from tests.support.store_inbox import hand_over
from tests.support.store_machine import FILE, StoreMachine, after_cheap_steps
from tests.support.store_model import File, name_files


class IntakeMachine(StoreMachine):
    """Operations on a store and its inbox, in any order; verifications find nothing wrong."""

    @rule(files=st.lists(FILE, min_size=1, max_size=3))
    def hand_over(self, files: list[File]) -> None:
        named = name_files(files)
        hand_over(self.store, *[file.incoming(source) for source, file in named])
        self.model.waiting.append(named)

    @after_cheap_steps(3)
    @rule()
    def drain(self) -> None:
        self.warehouse._session._children = kept_children()
        self.act(self.model.copy().drain(), self.warehouse.drain)

    @after_cheap_steps(40)
    @rule()
    def verify(self) -> None:
        self.n_cheap_steps = 0
        found = verified(self.warehouse.writing, self.store)
        assert (len(found.dumps), found.damages) == (len(self.model.dumps), []), found
