"""How fast and how large: timings against bare arithmetic, the paper's literal path and peers."""
