"""The archive: sealed segments that hold everything a store was made from.

Functions of this package raise ArchiveError if a segment is damaged or gone.
"""
