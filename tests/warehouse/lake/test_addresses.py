from __future__ import annotations

import pytest

from warehouse.errors import LakeAddressError
from warehouse.lake.addresses import check_address


@pytest.mark.parametrize("uri", ["", " ", "s3://"])
def test_an_empty_address_is_refused(uri: str) -> None:
    with pytest.raises(LakeAddressError, match=f"'{uri}': no address of a lake, wanted a folder"):
        check_address(uri)


@pytest.mark.parametrize("uri", ["lake", "/data/lake", "s3://bucket/lake", "file:///data/lake"])
def test_folders_and_uris_are_addresses(uri: str) -> None:
    check_address(uri)
