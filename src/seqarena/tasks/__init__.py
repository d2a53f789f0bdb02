"""Tasks: the LightningModules that give every architecture the same embedding, loss, metric and decoding."""
