"""The reader of ETRecords: zip, JSON and pickles to graphs, maps and tables, without torch."""
