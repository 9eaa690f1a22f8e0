"""Dumps on their way into a store.

A dump of `ingest.dump` comes through these modules, which `pipeline` runs in threads:

* `batches` plans neighbouring dumps as a Batch, `content` reads and hashes them (HashedFile);
* `deduplicator` reads their manifests and companions, and sorts them into new dumps (NewDump) and
  duplicates;
* `content` decodes the new ones (Content), by a decoder of `decoders` or in `children`;
* `committer` commits a group of batches at once, or finds the dump that makes the commit fail;
* `loader` numbers the dumps, and writes the archive (`entries`) and the tables (`dump_rows`).
"""
