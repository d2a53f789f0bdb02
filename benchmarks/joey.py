"""JoeyNMT's own training loop on our tokens: python benchmarks/joey.py WORK [options]

Kreutzer et al. 2019. Its model of the same size, its data loader, batches (of as many tokens, but of any lengths),
loss, clipping and AdamW; its loop is called as its command calls it and watched from outside. Prints real tokens and
examples a second as JSON, as loop.py does. It asks for a protobuf of 2022, so install it without what it asks for:
`pip install --no-deps joeynmt==2.3.0`, and `pip install` what it then says that it lacks.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from works import WARM, composed, works

from seqarena.data.module import DataModule
from seqarena.device import available_cores
from seqarena.runs import build_data

SPECIALS = ["<unk>", "<pad>", "<s>", "</s>"]


def write_data(data: DataModule, folder: Path) -> None:
    """Our tokens as words, one line a sentence, and a vocabulary of all of them."""
    for split in ("train", "val"):
        table = data.table(split)
        for side, ending in (("source_ids", "src"), ("target_ids", "trg")):
            lines = (" ".join(f"t{one}" for one in ids) for ids in table[side].to_pylist())
            (folder / f"{split}.{ending}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = [*SPECIALS, *(f"t{number}" for number in range(len(SPECIALS), len(data.vocabulary.source)))]
    (folder / "vocabulary").write_text("\n".join(words) + "\n", encoding="utf-8")


def side(language: str, folder: Path) -> dict[str, Any]:
    """How it is to read one language: split at spaces."""
    return {"lang": language, "level": "word", "lowercase": False, "voc_file": str(folder / "vocabulary")}


def model(work: str) -> dict[str, Any]:
    """The work's model in its terms."""
    embeddings = {"embedding_dim": 256, "scale": work.startswith("transformer"), "dropout": 0.1}
    if work.startswith("transformer"):
        half = {
            "type": "transformer", "num_layers": 3, "num_heads": 4, "embeddings": embeddings, "hidden_size": 256,
            "ff_size": 1024, "dropout": 0.1, "layer_norm": "pre",
        }  # fmt: skip
        return {"tied_embeddings": True, "tied_softmax": True, "encoder": half, "decoder": half}
    cell = {"type": "recurrent", "rnn_type": "lstm", "num_layers": 1, "embeddings": embeddings, "dropout": 0.1}
    decoder = {"attention": "luong", "input_feeding": "feeding" in work, "init_hidden": "bridge", "hidden_dropout": 0.1}
    return {
        "tied_embeddings": True,
        "tied_softmax": True,
        "encoder": {**cell, "hidden_size": 128, "bidirectional": True},
        "decoder": {**cell, "hidden_size": 256, **decoder},
    }


def settings(work: str, steps: int, tokens: int, folder: Path) -> dict[str, Any]:
    """Its config file."""
    never = 10**9
    return {
        "name": "speed",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder),
        "use_cuda": False,
        "data": {
            "train": str(folder / "train"), "dev": str(folder / "val"), "dataset_type": "plain",
            "src": side("src", folder), "trg": side("trg", folder),
        },
        "testing": {},
        "training": {
            "optimizer": "adamw", "adam_betas": [0.9, 0.98], "learning_rate": 1e-3, "clip_grad_norm": 1.0,
            "label_smoothing": 0.1, "normalization": "tokens", "batch_size": tokens, "batch_type": "token",
            "scheduling": "exponential", "updates": steps + 1, "epochs": 100, "logging_freq": never,
            "validation_freq": never,
        },
        "model": model(work),
    }  # fmt: skip


def main(work: str, options: list[str]) -> None:
    """Train for half of the work's steps, as each takes far longer, and one more, whose beginning ends the clock."""
    from joeynmt import training

    config = composed(options)
    torch.set_num_threads(available_cores())
    data = build_data(config)
    data.prepare_data()
    data.setup()
    seen: list[tuple[float, int, int]] = []
    parameters = 0
    step = training.TrainManager._train_step

    def watched(manager: Any, batch: Any) -> Any:
        nonlocal parameters
        parameters = sum(one.numel() for one in manager.model.parameters())
        sources = int(batch.src_length.sum()) - batch.nseqs  # without end marks, as ours are counted
        seen.append((time.perf_counter(), sources + batch.ntokens, batch.nseqs))
        return step(manager, batch)

    training.TrainManager._train_step = watched
    with tempfile.TemporaryDirectory() as place:
        write_data(data, Path(place))
        training.train(
            0, 1, settings(work, WARM + works()[work].steps // 2, config.data.batch_tokens, Path(place)), skip_test=True
        )
    counted, seconds = seen[WARM:-1], seen[-1][0] - seen[WARM][0]
    tokens, examples = (sum(column) for column in list(zip(*counted, strict=True))[1:])
    print(json.dumps({"tokens": tokens / seconds, "examples": examples / seconds, "parameters": parameters}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
