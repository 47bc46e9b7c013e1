"""Graphs: the data structure, its files, known data sets and splits."""
