from __future__ import annotations

import pytest

from tracehouse.warehouse.errors import LakeAddressError
from tracehouse.warehouse.lake.addresses import check_address


@pytest.mark.parametrize("uri", ["", " ", "s3://"])
def test_an_empty_address_is_refused(uri: str) -> None:
    with pytest.raises(
        LakeAddressError, match=f"'{uri}': not the address of a lake; wanted a folder"
    ):
        check_address(uri)


@pytest.mark.parametrize(
    "uri",
    [
        *("lake", "/data/lake", "s3://bucket/lake", "file:///data/lake"),
        *("./s3:/bucket", "s3/lake", "s3lake", "/data//lake", "hdfs"),
    ],
)
def test_folders_and_uris_are_addresses(uri: str) -> None:
    check_address(uri)


@pytest.mark.parametrize(
    ("uri", "meant"),
    [
        ("s3:/bucket/lake", "s3://bucket/lake"),
        ("s3:bucket/lake", "s3://bucket/lake"),
        ("s3//bucket/lake", "s3://bucket/lake"),
        ("gs:/bucket/lake", "gs://bucket/lake"),
        ("file:/data/lake", "file:///data/lake"),
    ],
)
def test_a_uri_that_is_mistyped_is_refused_with_what_was_meant(uri: str, meant: str) -> None:
    with pytest.raises(LakeAddressError) as caught:
        check_address(uri)
    assert f"write {meant}, or ./{uri} for a folder" in str(caught.value)


def test_keys_in_a_mistyped_address_are_not_told() -> None:
    with pytest.raises(LakeAddressError) as caught:
        check_address("s3:/key:secret@bucket/lake?endpoint_override=host")
    assert "secret" not in str(caught.value)
    assert "endpoint" not in str(caught.value)
