"""CADE-MS, CADE-MA, CADE-gb and GraphSAGE, made of the same parts."""
