"""Hugging Face's Marian (transformers' MarianMTModel) of the size of `transformer-translation`, with random weights."""

import statistics
import sys
import time
from typing import Any

import torch


def marian(words: int, dim: int = 256, inner: int = 1024, layers: int = 3, dropout: float = 0.1) -> Any:
    """Pre-trained shapes of its own: post-norm, and learned by nobody; 4 heads, one embedding for all."""
    from transformers import MarianConfig, MarianMTModel

    size = {f"{half}_{name}": value for half in ("encoder", "decoder") for name, value in
            (("layers", layers), ("attention_heads", 4), ("ffn_dim", inner))}  # fmt: skip
    marks = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 2}
    return MarianMTModel(
        MarianConfig(
            vocab_size=words, d_model=dim, dropout=dropout, attention_dropout=dropout, activation_dropout=dropout,
            activation_function="relu", scale_embedding=True, forced_eos_token_id=None, **size, **marks,
        )
    )  # fmt: skip


def main(words: int, dim: int, inner: int, layers: int, sentences: int, length: int, tokens: int) -> None:
    """Seconds that it takes to write `tokens` for each of `sentences`, greedily and with a beam of 5: two medians."""
    model = marian(words, dim, inner, layers).eval()
    torch.manual_seed(0)
    source = torch.randint(4, words, (sentences, length))
    for beam in (1, 5):
        forced = {"min_new_tokens": tokens, "max_new_tokens": tokens, "num_beams": beam, "do_sample": False}
        taken = []
        with torch.inference_mode():
            for _ in range(4):
                started = time.perf_counter()
                model.generate(source, attention_mask=torch.ones_like(source), **forced)
                taken.append(time.perf_counter() - started)
        print(statistics.median(taken[1:]))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
