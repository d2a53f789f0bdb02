"""What every architecture owes its users, for each `conf/model/*.yaml` on disk; a new file needs no edit here.

Each is checked as it stands and, as `<name>+kit`, three layers deep with residuals and the norm switch turned over.
Each law is shown to catch a model that breaks it.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import AGREEMENT, SMALL, Verb
from omegaconf import OmegaConf
from torch import Tensor, nn

from seqarena.models.contract import Decoder, Encoded, Encoder, State, masked_mean
from seqarena.record import Record
from seqarena.soundness.card import examine, key
from seqarena.soundness.laws import LAWS, Broken
from seqarena.soundness.subject import Subject

FOLDER = Path(__file__).parents[2] / "conf" / "model"
FILES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
CASES = [case for name in FILES for case in (name, f"{name}+kit")]


def other_norm(norm: bool | str) -> bool | str:
    """The switch turned over; a named norm is turned off, or on before each sublayer."""
    if isinstance(norm, bool):
        return not norm
    return "none" if norm != "none" else "pre"


@cache
def subject(name: str) -> Subject:
    file, _, kit = name.partition("+")
    model = OmegaConf.load(FOLDER / f"{file}.yaml")
    if kit:
        model.layers, model.residual = 3, True
        model.norm = other_norm(model.norm)
    return Subject.of(model)  # type: ignore[arg-type]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", CASES)
def test_every_law_holds(name: str, law: str) -> None:
    LAWS[law](subject(name))


# models that break a law ----------------------------------------------------------------------------------------------


class Reader(Encoder):
    """A sound encoder: two linear maps, and a mean over real positions."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dim = 24
        self.inner, self.outer = nn.Linear(24, 64), nn.Linear(64, 24)
        self.drop = nn.Dropout(dropout)

    def mix(self, x_BSD: Tensor, mask_BS: Tensor) -> Tensor:
        return self.outer(self.drop(self.inner(x_BSD)).tanh())

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Encoded:
        states_BSD = self.mix(x_BSD, mask_BS) * mask_BS[..., None]
        return Encoded(states_BSD, masked_mean(states_BSD, mask_BS), mask_BS, states_BSD)


class Writer(Decoder):
    """A sound decoder: a sum over the past, which is its state, and the summary of the source."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dim = 24
        self.inner, self.outer = nn.Linear(24, 24), nn.Linear(24, 24)
        self.drop = nn.Dropout(dropout)

    def start(self, encoded: Encoded) -> State:
        return torch.zeros_like(encoded.summary_BD)

    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        assert isinstance(state, Tensor)
        sums_BTD = state[:, None] + self.inner(x_BTD).cumsum(1)
        mixed_BTD = (sums_BTD + encoded.summary_BD[:, None]).tanh()
        return self.outer(self.drop(mixed_BTD)) + mixed_BTD, sums_BTD[:, -1]


class Infinite(Reader):
    def mix(self, x_BSD: Tensor, mask_BS: Tensor) -> Tensor:
        return super().mix(x_BSD, mask_BS) / 0.0


class Unmasked(Reader):
    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Encoded:
        states_BSD = self.mix(x_BSD, mask_BS)
        return Encoded(states_BSD, masked_mean(states_BSD, mask_BS), mask_BS, states_BSD)


class Padded(Reader):
    """Takes the mean over padding too."""

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Encoded:
        read = super().forward(x_BSD, mask_BS)
        return read._replace(summary_BD=read.states_BSD.mean(1))


class Narrow(Reader):
    """Cannot read fewer than two tokens."""

    def mix(self, x_BSD: Tensor, mask_BS: Tensor) -> Tensor:
        if x_BSD.shape[1] < 2:
            raise IndexError("index 1 is out of bounds")
        return super().mix(x_BSD, mask_BS)


class Idle(Reader):
    def __init__(self, dropout: float) -> None:
        super().__init__(dropout)
        self.unused = nn.Parameter(torch.ones(3))


class Unseeded(Reader):
    def __init__(self, dropout: float) -> None:
        super().__init__(dropout)
        fresh = torch.Generator()
        fresh.seed()
        with torch.no_grad():
            self.outer.bias.copy_(torch.randn(24, generator=fresh))


class Noisy(Reader):
    """Drops whatever it is told."""

    def __init__(self, dropout: float) -> None:
        super().__init__(0.3)


class Cancelling(Reader):
    """Loses in bfloat16 what a difference of large numbers leaves."""

    def mix(self, x_BSD: Tensor, mask_BS: Tensor) -> Tensor:
        large_BSD = nn.functional.linear(super().mix(x_BSD, mask_BS) + 1000.0, torch.eye(24))
        return large_BSD - 1000.0


class Forgetful(Reader):
    """Keeps a part of itself out of its weights."""

    def __init__(self, dropout: float) -> None:
        super().__init__(dropout)
        self.hidden = torch.randn(24)

    def mix(self, x_BSD: Tensor, mask_BS: Tensor) -> Tensor:
        return super().mix(x_BSD, mask_BS) + self.hidden


class Constant(Reader):
    """Reads every text alike, with a gradient all the same."""

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Encoded:
        read = super().forward(x_BSD, mask_BS)
        return read._replace(summary_BD=read.summary_BD * 1e-6)


class Clipped(Writer):
    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        out_BTD, state = super().forward(x_BTD, encoded, state)
        return out_BTD[..., :-1], state


class Social(Writer):
    """Looks at its neighbours in the batch."""

    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        out_BTD, state = super().forward(x_BTD, encoded, state)
        return out_BTD + out_BTD.mean(0), state


class Prophetic(Writer):
    """Looks at inputs that are still to come."""

    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        out_BTD, state = super().forward(x_BTD, encoded, state)
        return out_BTD + 0.1 * x_BTD.mean(1, keepdim=True), state


class Restarting(Writer):
    """Forgets its state."""

    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        return super().forward(x_BTD, encoded, self.start(encoded))


class Stubborn(Writer):
    """Keeps its state to itself, where a search cannot reorder it."""

    def start(self, encoded: Encoded) -> State:
        self.own = super().start(encoded)
        return torch.zeros_like(encoded.summary_BD)

    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        out_BTD, own = super().forward(x_BTD, encoded, self.own)
        self.own = own
        return out_BTD, state


class Detached(Writer):
    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        read = Encoded(*(part.detach() for part in encoded))
        return super().forward(x_BTD, read, state)


class Dividing(Writer):
    """Divides by the number of tokens of the source."""

    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        out_BTD, state = super().forward(x_BTD, encoded, state)
        return out_BTD + 1.0 / encoded.mask_BS.sum(1)[:, None, None], state


class Undropped(Writer):
    """Drops nothing, whatever it is told."""

    def __init__(self, dropout: float) -> None:
        super().__init__(0.0)


class Rounding(Writer):
    def forward(self, x_BTD: Tensor, encoded: Encoded, state: State) -> tuple[Tensor, State]:
        out_BTD, state = super().forward(x_BTD, encoded, state)
        return nn.functional.linear(out_BTD + 1000.0, torch.eye(24)) - 1000.0, state


BREAKERS: dict[str, type[Encoder] | type[Decoder]] = {
    "shapes": Infinite, "padding": Unmasked, "mates": Padded, "tiny": Narrow, "reading_gradients": Idle,
    "seeds": Unseeded, "calm": Noisy, "half": Cancelling, "saved": Forgetful, "learns": Constant,
    "writing_shapes": Clipped, "writing_mates": Social, "future": Prophetic, "pieces": Restarting,
    "reordered": Stubborn, "writing_gradients": Detached, "writing_tiny": Dividing, "writing_calm": Undropped,
    "writing_half": Rounding,
}  # fmt: skip


class Invented(Subject):
    """A subject made of classes in place of a config."""

    parts: tuple[Callable[[float], Encoder], Callable[[float], Decoder]] = (Reader, Writer)

    def encoder(self, seed: int = 0, **options: Any) -> Encoder:
        torch.manual_seed(seed)
        return self.parts[0](options.get("dropout", 0.1)).eval()

    def decoder(self, seed: int = 0, **options: Any) -> Decoder:
        torch.manual_seed(seed)
        return self.parts[1](options.get("dropout", 0.1)).eval()


def invented(part: type[Encoder] | type[Decoder] | None = None) -> Subject:
    found = Invented(subject("lstm").model)
    if part is not None:
        chosen: Any = (part, Writer) if issubclass(part, Encoder) else (Reader, part)
        object.__setattr__(found, "parts", chosen)
    return found


@pytest.mark.parametrize("law", LAWS)
def test_a_law_holds_of_a_sound_model_and_catches_a_breaker(law: str) -> None:
    LAWS[law](invented())
    with pytest.raises((Broken, IndexError, RuntimeError)):
        LAWS[law](invented(BREAKERS[law]))


# the card -------------------------------------------------------------------------------------------------------------


def test_a_run_remembers_the_card_of_its_model(verb: Verb) -> None:
    code, out, err = verb("train", "report=model", "model=textcnn", "cache=cache")
    assert code == 0, err
    assert f"all {len(LAWS)} laws hold" in out
    (card,) = Path("cache/soundness").glob("*.json")
    code, _, err = verb("train", *SMALL, *AGREEMENT, "model=textcnn", "hydra.run.dir=run")
    assert code == 0, err
    assert Record.read(Path("run")).soundness == {"card": card.stem, "broken": []}
    code, _, err = verb("train", *SMALL, *AGREEMENT, "model=textcnn", "model.widths=[3]", "hydra.run.dir=other")
    assert code == 0, err
    assert Record.read(Path("other")).soundness == {}, "another model than the one that has the card"


def test_a_card_names_what_is_broken(verb: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    def lame(subject: Subject) -> None:
        """Nothing is lame."""
        raise Broken("it limps")

    monkeypatch.setattr("seqarena.soundness.card.of", lambda subject: [lame, LAWS["shapes"]])
    code, out, _ = verb("train", "report=model", "model=lstm", "cache=cache")
    assert code == 1 and "1 of 2 laws are broken" in out and "it limps" in out
    (card,) = Path("cache/soundness").glob("*.json")
    assert [mark["holds"] for mark in json.loads(card.read_text())["marks"]] == [False, True]


def test_a_model_that_crashes_is_examined_to_the_end() -> None:
    model = OmegaConf.load(FOLDER / "lstm.yaml")
    model.cell = "gru2"
    card = examine(model)  # type: ignore[arg-type]
    assert len(card.broken) == len(card.marks) == len(LAWS) and "gru2" in card.marks[0].found


def test_size_and_rate_are_no_part_of_the_key() -> None:
    model: Any = OmegaConf.load(FOLDER / "transformer.yaml")
    other = OmegaConf.merge(model, {"dim": 512, "lr": 1.0})
    assert key(other) == key(model) != key(OmegaConf.merge(model, {"norm": "post"}))  # type: ignore[arg-type]
