"""Label or translate with a finished run: python predict.py run=outputs/runs/... text="a man rides a bike"."""

import os
import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig

from seqarena import usage
from seqarena.errors import interruptible
from seqarena.spelling import spelled

ROOT = Path(__file__).resolve().parent

for argument in sys.argv[
    1:
]:  # a text is taken as it stands: in Hydra's grammar commas, quotes and braces mean something
    if argument.startswith("text="):
        os.environ["SEQARENA_TEXT"] = argument.removeprefix("text=")
        sys.argv.remove(argument)


@hydra.main(version_base="1.3", config_path="conf", config_name="predict")
def main(config: DictConfig) -> None:
    """Print one line an input."""
    from seqarena.errors import InputError, MachineError, explained, unread
    from seqarena.models.contract import TooLong
    from seqarena.predicting import engine, line_of, predict, texts_of
    from seqarena.runs import asked, open_run

    with explained(InputError, TooLong, MachineError), unread():
        run = open_run(asked(config), {} if config.beam is None else {"beam": config.beam})
        answering = engine(run, config.engine, config.compute, config.accelerator)
        for answer in predict(answering, texts_of(config.text, config.file), config.batch):
            print(line_of(answer), flush=True)


if __name__ == "__main__":
    if usage.asked():
        usage.show("predict", str(__doc__), (), ROOT)
    else:
        with interruptible(), spelled(ROOT, "predict"):
            main()
