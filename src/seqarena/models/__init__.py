"""Architectures, in torch alone. Each file holds one family: its parts, then an `Encoder` and a `Decoder`."""
