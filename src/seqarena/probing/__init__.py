"""What a model makes of its input, measured: how far back it reaches, where it looks, what order is worth."""
