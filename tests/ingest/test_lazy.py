from __future__ import annotations

import subprocess
import sys

import pytest

from ingest.lazy import lazy_attributes


@pytest.mark.system
@pytest.mark.parametrize("package", ["ingest", "ingest.tracer"])
def test_a_name_of_a_package_is_loaded_on_first_use(package):
    code = (
        f"import sys, {package} as package\n"
        "assert not sys.modules.keys() & {'numpy', 'pyarrow', 'flatbuffers'}\n"
        "assert all(getattr(package, name).__name__ == name for name in package.__all__)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_other_names_are_missing_as_anywhere():
    get = lazy_attributes("shapes", {"sqrt": "math"})
    with pytest.raises(AttributeError, match="module 'shapes' has no attribute 'cbrt'"):
        get("cbrt")
