"""The reader of ETRecords: zip, JSON and pickles -> graphs, maps and tables, without torch."""
