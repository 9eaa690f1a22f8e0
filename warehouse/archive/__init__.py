"""The archive: sealed segments that hold everything a store was made from."""
