"""The Inspector's event blocks: runs of one signature with their events and values."""
