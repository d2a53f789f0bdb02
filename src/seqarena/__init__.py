"""seqarena: compare sequence architectures fairly, on the same data, loop and budget."""
