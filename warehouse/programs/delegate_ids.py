"""Look-up of a dump's delegate ids in an ETRecord. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property

from tracehouse.ingest.allowance import Allowance
from tracehouse.warehouse.programs.origins import Handles, as_list

HANDLE_BYTES = 8

_WORD = re.compile(r"\w+|\W")
_LETTER = re.compile(r"\w")
_NODE = re.compile(r'\{.*?"delegate_node_id": *([^,} ]+)', re.DOTALL)


class DelegateIds:
    """Debug handles by delegate id, of one delegate."""

    def __init__(self, handles: Mapping[str, Handles]) -> None:
        self._handles = handles

    @property
    def count(self) -> int:
        """Number of ids."""
        return len(self._handles)

    def find(self, id_: int | str, allowance: Allowance) -> Handles | None:
        """The handles of an id: its own, or otherwise those of all known ids that are words in it.

        An id that is JSON with a node, like Vulkan's ids, has the node's handles. The work is
        charged; more than the allowance raises AllowanceError.
        """
        text = str(id_)
        node = _NODE.match(text)
        if node:
            return self._handles.get(node[1])
        if not self._handles or text in self._handles or isinstance(id_, int):
            return self._handles.get(text)
        words = self._words.find(text, allowance)
        if len(words) == 1:
            return self._handles[words[0]]
        lists = [as_list(self._handles[word]) for word in words]
        allowance.take(HANDLE_BYTES * sum(map(len, lists)))
        return [handle for handles in lists for handle in handles] or None

    @cached_property
    def _words(self) -> WordIndex:
        return WordIndex(self._handles)


class WordIndex:
    """Keys to find in texts as whole words.

    >>> WordIndex(["relu1", "relu12", "fused", "use"]).find("relu12 (fused)", Allowance(999, ""))
    ['relu12', 'fused']
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = {key for key in keys if key}
        lengths: dict[str, set[int]] = {}
        for key in self._keys:
            lengths.setdefault(_first_word(key), set()).add(len(key))
        self._lengths = {word: sorted(some, reverse=True) for word, some in lengths.items()}

    def find(self, text: str, allowance: Allowance) -> list[str]:
        """The keys that are whole words in a text, each once; the longest at each place.

        Compared letters are charged; more than the allowance raises AllowanceError.
        """
        found: dict[str, None] = {}
        end = 0
        for word in _WORD.finditer(text):
            start, lengths = word.start(), self._lengths.get(word[0])
            if start < end or not lengths or self._is_inside(text, start):
                continue
            allowance.take(sum(lengths))
            key = next(filter(None, (self._match(text, start, n) for n in lengths)), None)
            if key:
                found[key] = None
                end = start + len(key)
        return list(found)

    def _match(self, text: str, start: int, length: int) -> str | None:
        end = start + length
        key = text[start:end]
        is_whole = len(key) == length and key in self._keys and not _LETTER.match(text, end)
        return key if is_whole else None

    def _is_inside(self, text: str, start: int) -> bool:
        """Whether a letter precedes the match, which then is not a whole word."""
        return start > 0 and _LETTER.match(text, start - 1) is not None


def _first_word(key: str) -> str:
    match = _WORD.match(key)
    return match[0] if match else ""
