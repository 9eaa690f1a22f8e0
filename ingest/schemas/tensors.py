"""Arrow schema of the contents of logged tensors; each content is stored once."""

from __future__ import annotations

import pyarrow as pa

from tracehouse.ingest.schemas.fields import field, table

_HASH = "SHA-256 of a tensor's bytes in logical C order, lower-case hex"

TENSORS = table(
    "One row per distinct content of logged tensors, whatever their dtype.",
    field("sha256", pa.string(), f"{_HASH}; unique."),
    field("byte_count", pa.int64(), "Size in bytes."),
    field("data", pa.binary(), "The bytes, little-endian; dtype and sizes are in debug_values."),
)

SHA256 = field("sha256", pa.string(), f"{_HASH}; null without one or its content.", nullable=True)
