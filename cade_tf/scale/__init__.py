"""Graphs larger than memory: shards, tables on disk and on servers, clusters."""
