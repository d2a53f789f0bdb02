"""torch.compile of the training loss: for a GPU, where it fuses what lies between matrix products.

On a CPU it has never paid: compiling takes a minute, and a step is not faster. The loss is traced with dynamic shapes,
so that batches of all lengths share one program; what needs another all the same gets it MOST times, and from then on
runs as it is written. Recurrent layers and the sliced cross-entropy stay as they are: torch traces neither. Validation,
search and the test are never compiled.
"""

import os
import shutil

import torch

from seqarena.errors import InputError
from seqarena.tasks.task import SequenceTask

MOST = 8
"""Programs for one piece of code."""


def compile_loss(task: SequenceTask, backend: str = "inductor") -> None:
    """Compile `task.loss`; names of weights stay as they are. It is compiled when it is first called."""
    torch._dynamo.config.recompile_limit = MOST
    task.loss = torch.compile(task.loss, dynamic=True, backend=backend)  # type: ignore[method-assign]


def check_compiler() -> None:
    """InputError: there is no compiler to hand the generated code to."""
    told = os.environ.get("CXX", "g++")
    if shutil.which(told) is None:
        raise InputError(
            f"trainer.compile=true needs a C++ compiler, and there is no {told}: install one, set CXX to yours, or "
            "write trainer.compile=false"
        )
