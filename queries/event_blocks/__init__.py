"""The Inspector's event blocks: runs of one signature, their events and values."""
