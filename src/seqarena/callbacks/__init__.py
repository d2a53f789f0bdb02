"""What watches a run: speed, progress, the record on disk and its mirror in W&B."""
