import pytest

from ingest.etdump import runs


@pytest.fixture(autouse=True, scope="module")
def _small_dumps_repeat_runs_too():
    """Repeats are looked for in the small dumps of tests as in large ones."""
    usual, runs.FEWEST_WORDS = runs.FEWEST_WORDS, 0
    yield
    runs.FEWEST_WORDS = usual
